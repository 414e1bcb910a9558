# SPDX-License-Identifier: Apache-2.0
"""Draws that the synthetic generators share; the generator is always an argument."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lexfed.arrays import Floats, Integers


def draw_site_sizes(total: int, sites: int) -> list[int]:
    """Return uneven site sizes that sum to the total, each at least 1.

    The largest site is about three times the smallest, as among real consortia.
    """
    shares = np.linspace(1.5, 0.5, sites) if sites > 1 else np.ones(1)
    counts = 1 + np.floor(shares / shares.sum() * (total - sites)).astype(np.int64)
    counts[: total - int(counts.sum())] += 1
    return [int(count) for count in counts]


def softmax(scores: Floats) -> Floats:
    """Return probabilities by row."""
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def draw_categories(rng: np.random.Generator, probabilities: Floats) -> Integers:
    """Return one category for each row of probabilities."""
    cumulated = np.cumsum(probabilities, axis=1)
    # The last step is left out so that rounding cannot pass the last category.
    thresholds = rng.random(len(probabilities))[:, None]
    return np.asarray((thresholds > cumulated[:, :-1]).sum(axis=1), dtype=np.int64)


def category_names(values: tuple[str, ...], codes: Integers) -> NDArray[Any]:
    """Return the names behind category codes."""
    return np.array(values, dtype=object)[codes]


def with_gaps(
    rng: np.random.Generator, values: NDArray[Any], rates: Floats
) -> NDArray[Any]:
    """Return the values with each one missing at its own rate."""
    gaps = rng.random(len(values)) < rates
    gapped = values.copy()
    gapped[gaps] = None
    return gapped
