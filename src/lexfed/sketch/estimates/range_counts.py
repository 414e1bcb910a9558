# SPDX-License-Identifier: Apache-2.0
"""Counts of values in ranges, and quantiles.

A range of leaves of a consistent tree is a weighted sum. Below its exact levels a tree
may have levels that are sketches: a range is then at most 2 (b - 1) nodes of each of
these, and leaves of the exact part for the rest.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lexfed import checks
from lexfed.arrays import Floats
from lexfed.sketch.estimates.consistent_trees import NoisedTree
from lexfed.sketch.estimates.intervals import (
    CONFIDENCE,
    Estimate,
    from_rows,
    lost_in_noise,
    normal_quantile,
    summed_estimates,
)
from lexfed.sketch.estimates.item_counts import point_rows
from lexfed.sketch.estimates.noised_cells import HashedPlaces, NoisedCells

_AT_ONCE = 256
"""Variances that are computed at once, which bounds the memory."""


@dataclass(frozen=True)
class SketchedLevel:
    """A level that is a Count-Sketch of its node numbers.

    Raises:
        ValueError: if it is a Count-Min sketch, whose rows are skewed.
    """

    table: NoisedCells
    hashes: HashedPlaces

    def __post_init__(self) -> None:
        if not self.table.signed:
            raise ValueError("expected a Count-Sketch as level of a tree")


@dataclass(frozen=True)
class QuantileBin:
    """The bin in which a share of all values is reached.

    Attributes:
        bin: a leaf of the exact tree, or a node of the finest level.
        low: first leaf of the interval.
        high: last leaf of the interval.
    """

    bin: int
    low: int
    high: int


def range_count(
    tree: NoisedTree, finer: Sequence[SketchedLevel], start: int, stop: int
) -> Estimate:
    """Return the number of values in [start, stop), numbered at the finest level.

    Args:
        tree: the exact levels.
        finer: levels below, the coarsest first; each has b times as many nodes.
        start: first value.
        stop: the one after the last.

    Guarantees:
        The value is unbiased.
        The interval covers the truth in 93 to 97 % of seeds.

    Raises:
        ValueError: if it is no range of the domain.
    """
    domain = len(tree.levels[-1]) * tree.branching ** len(finer)
    checks.in_range(0, domain, stop=stop)
    checks.in_range(0, stop, start=start)
    parts: list[tuple[Estimate, float]] = []
    for level in reversed(finer):
        up_start, up_stop = -(-start // tree.branching), stop // tree.branching
        if up_start >= up_stop:
            single = [*range(start, stop)]
            start = stop = 0
        else:
            left = range(start, up_start * tree.branching)
            single = [*left, *range(up_stop * tree.branching, stop)]
            start, stop = up_start, up_stop
        if single:
            nodes = np.array(single, dtype=np.uint64)
            rows = point_rows(level.table, level.hashes, nodes).sum(axis=1)
            parts.append((from_rows(rows), level.table.depth - 1))
    weights = np.zeros(len(tree.levels[-1]))
    weights[start:stop] = 1.0
    return summed_estimates([*parts, (tree.weighted(weights), math.inf)])


def quantile(
    tree: NoisedTree, share: float, confidence: float = CONFIDENCE
) -> QuantileBin:
    """The first leaf up to which a share of all values lies.

    The leaf k is the quantile if D(k) >= 0 > D(k - 1), D(k) the count up to k less the
    share of the total. Both are weighted sums of leaves with known variances; the
    interval holds every leaf from the first to the last that neither of two tests
    rejects, each with half of the error.

    Guarantees:
        The interval covers the true leaf with this confidence at least.

    Raises:
        ValueError: if the share is not between 0 and 1.
        DataError: if the total is lost in the noise.
    """
    checks.in_range(1e-6, 1 - 1e-6, share=share)
    leaves = len(tree.leaves)
    if tree.weighted(np.ones(leaves)).low <= 0:
        raise lost_in_noise("the total")
    above = np.cumsum(tree.leaves) - share * tree.leaves.sum()
    reach = normal_quantile(confidence) * np.sqrt(_prefix_variances(tree, share))
    # The last leaf has D > 0 for certain, and there is none before the first.
    may_reach = np.append(above[:-1] >= -reach[:-1], True)
    may_miss_before = np.insert(above[:-1] < reach[:-1], 0, True)
    # Noise lets D fall now and then: the number of leaves below zero leans to no side.
    found = int((above[:-1] < 0).sum())
    low = int(np.argmax(may_reach))
    high = leaves - 1 - int(np.argmax(may_miss_before[::-1]))
    return QuantileBin(found, min(low, found), max(high, found))


def _prefix_variances(tree: NoisedTree, share: float) -> Floats:
    """Variance of D(k) for every leaf k."""
    leaves = np.arange(len(tree.leaves))
    return np.concatenate(
        [
            tree.variances((leaves <= block[:, None]).astype(np.float64) - share)
            for block in np.split(leaves, range(_AT_ONCE, len(leaves), _AT_ONCE))
        ]
    )
