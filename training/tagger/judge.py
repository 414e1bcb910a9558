# SPDX-License-Identifier: Apache-2.0
"""Figures: how well answers agree with labels, tier by tier."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from lexfed.law.tagger.suggestions import CATEGORIES, TIER_OF, TIERS

Rows = NDArray[np.float32]
TIER = np.array([TIERS.index(TIER_OF[category]) for category in CATEGORIES])
_SENSITIVE = 2


def tiers_of(logs: Rows) -> NDArray[np.int64]:
    """Return the likeliest tier of each row of log-probabilities of categories."""
    found: NDArray[np.int64] = by_tier(np.exp(logs)).argmax(axis=1)
    return found


def by_tier(chances: Rows) -> Rows:
    """Return the probabilities of the tiers, given those of the categories."""
    return np.stack(
        [chances[:, tier == TIER].sum(axis=1) for tier in range(len(TIERS))], axis=1
    )


def macro_f1(expected: NDArray[np.int64], found: NDArray[np.int64]) -> float:
    """Return the mean over the tiers of the harmonic mean of precision and recall."""
    scores = []
    for tier in range(len(TIERS)):
        both = np.sum((expected == tier) & (found == tier))
        total = np.sum(expected == tier) + np.sum(found == tier)
        scores.append(2.0 * both / total if total else 0.0)
    return float(np.mean(scores))


def figures(
    labels: NDArray[np.int64], logs: Rows, languages: NDArray[np.str_]
) -> Mapping[str, float]:
    """Return the figures of answers given as log-probabilities."""
    expected, found = TIER[labels], tiers_of(logs)
    foreign = languages != "en"
    sensitive = expected < _SENSITIVE
    out = {
        "columns": float(len(labels)),
        "macro_f1": macro_f1(expected, found),
        "recall_special_or_identifier": float(np.mean(found[sensitive] < _SENSITIVE)),
        "category_accuracy": float(np.mean(labels == logs.argmax(axis=1))),
    }
    if foreign.any():
        out["macro_f1_not_english"] = macro_f1(expected[foreign], found[foreign])
    return {name: round(value, 4) for name, value in out.items()}


def best_temperature(labels: NDArray[np.int64], logs: Rows) -> float:
    """Return the temperature at which held-out answers are best calibrated.

    It minimises the negative log-likelihood [Guo et al.: arXiv:1706.04599, 4.2].
    """
    options = np.round(np.arange(0.6, 3.01, 0.05), 2)

    def loss(temperature: float) -> float:
        scaled = logs / temperature
        total = np.log(np.exp(scaled).sum(axis=1))
        own = scaled[np.arange(len(labels)), labels]
        return float(np.mean(total - own))

    return float(min(options, key=loss))
