# SPDX-License-Identifier: Apache-2.0
"""Quantiles below the exact levels of a tree, where nodes are counted by sketches.

From the leaf of the exact part the answer goes down one level at a time, to one of the
b children. D(k), the count up to child k less the share of the total, is a weighted sum
of exact leaves and a sum of nodes before k on the way down, which are independent.

The ends of the interval go down on ways of their own: the lower one to the first child
whose D is not surely below zero, the upper one to the last child before which D is not
surely above. A way that has left the true nodes on the right side cannot err any more,
so only the tests at the true nodes count, one at each level and side: each has its part
of the error.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from lexfed.sketch.estimates.consistent_trees import NoisedTree
from lexfed.sketch.estimates.intervals import (
    CONFIDENCE,
    Estimate,
    from_rows,
    summed_estimates,
)
from lexfed.sketch.estimates.item_counts import point_rows
from lexfed.sketch.estimates.range_counts import QuantileBin, SketchedLevel, quantile

_Choose = Callable[[Sequence[Estimate]], int]


def fine_quantile(
    tree: NoisedTree, finer: Sequence[SketchedLevel], share: float
) -> QuantileBin:
    """The first value up to which a share of all values lies, at the finest level.

    Args:
        tree: the exact levels.
        finer: levels below, the coarsest first; each has b times as many nodes.
        share: between 0 and 1.

    Guarantees:
        The interval covers the true value in 95 % of seeds at least.

    Raises:
        ValueError: if the share is not between 0 and 1.
        DataError: if the total is lost in the noise.
    """
    confidence = 1 - (1 - CONFIDENCE) / (len(finer) + 1)
    leaf = quantile(tree, share, confidence)

    def down(start: int, choose: _Choose) -> int:
        return _descend(tree, finer, share, start, confidence, choose)

    found = down(leaf.bin, _nearest)
    low, high = down(leaf.low, _first), down(leaf.high, _last)
    return QuantileBin(found, min(low, found), max(high, found))


def _nearest(above: Sequence[Estimate]) -> int:
    """Noise lets D fall now and then: the number below zero leans to no side."""
    return sum(each.value < 0 for each in above[:-1])


def _first(above: Sequence[Estimate]) -> int:
    """The first child up to which the share may be reached."""
    may = [at for at, each in enumerate(above[:-1]) if each.high >= 0]
    return may[0] if may else len(above) - 1


def _last(above: Sequence[Estimate]) -> int:
    """The last child before which the share may not be reached yet."""
    may = [at + 1 for at, each in enumerate(above[:-1]) if each.low < 0]
    return may[-1] if may else 0


def _descend(
    tree: NoisedTree,
    finer: Sequence[SketchedLevel],
    share: float,
    leaf: int,
    confidence: float,
    choose: _Choose,
) -> int:
    """Follow the chosen child of every level, from a leaf of the exact part."""
    before = (np.arange(len(tree.leaves)) < leaf).astype(np.float64) - share
    parts: list[tuple[Estimate, float]] = [(tree.weighted(before), math.inf)]
    node = leaf
    for level in finer:
        children = node * tree.branching + np.arange(tree.branching)
        rows = point_rows(level.table, level.hashes, children.astype(np.uint64))
        upto = [from_rows(each) for each in np.cumsum(rows, axis=1).T]
        freedom = level.table.depth - 1
        child = choose(
            [summed_estimates([*parts, (each, freedom)], confidence) for each in upto]
        )
        if child:
            parts.append((upto[child - 1], freedom))
        node = int(children[child])
    return node
