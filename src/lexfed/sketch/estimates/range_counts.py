# SPDX-License-Identifier: Apache-2.0
"""Counts of values in ranges, and quantiles, from trees whose counts agree.

A node and the sum of its children are two noised values for one count. Least squares
finds the leaves that fit all nodes best, in one pass up and one pass down (Hay,
Rastogi, Miklau and Suciu 2010, Theorem 3), and the variance of any weighted sum of them
in the same two passes (docs/theory/sketches.md#trees-of-counts).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lexfed import checks
from lexfed.arrays import Floats
from lexfed.sketch.estimates import intervals
from lexfed.sketch.estimates.intervals import CONFIDENCE, Estimate
from lexfed.sketch.estimates.noised_cells import HashedPlaces, NoisedCells, point_rows

_AT_ONCE = 256
"""Variances that are computed at once, which bounds the memory."""


@dataclass(frozen=True)
class NoisedTree:
    """Levels of a tree that are counted exactly, each node with independent noise.

    The coarsest level is first, and each has `branching` times more nodes.
    """

    branching: int
    levels: tuple[Floats, ...]
    noise_variances: tuple[float, ...]

    def __post_init__(self) -> None:
        checks.in_range(2, 2**16, branching=self.branching)
        checks.in_range(1, 64, levels=len(self.levels))
        sizes = [level.shape for level in self.levels]
        first = len(self.levels[0])
        if sizes != [(first * self.branching**at,) for at in range(len(sizes))]:
            raise ValueError(
                f"expected `branching` times more nodes each, got: {sizes}"
            )
        if len(self.noise_variances) != len(self.levels):
            raise ValueError("expected one noise variance for each level")
        for noise_variance in self.noise_variances:
            checks.finite_positive(noise_variance=noise_variance)
        if not all(np.isfinite(level).all() for level in self.levels):
            raise ValueError("expected `levels` to be finite")

    @cached_property
    def leaves(self) -> Floats:
        """The counts of the finest level that fit all levels best."""
        return self._fit(self.levels)

    def weighted(self, weights: Floats) -> Estimate:
        """A weighted sum of the leaves.

        Guarantees:
            The value is unbiased, and no linear unbiased one has less variance.
            The variance is exact.
        """
        value = float(weights @ self.leaves)
        return intervals.from_variance(value, float(self.variances(weights[None])[0]))

    def variances(self, weights: Floats) -> Floats:
        """Variances of several weighted sums of the leaves, [n, leaves] to [n]."""
        scaled = self.noise_variances[-1] * weights
        above = [np.zeros((len(weights), len(level))) for level in self.levels[:-1]]
        spread: Floats = np.einsum("nl,nl->n", weights, self._fit([*above, scaled]))
        return spread

    def _fit(self, levels: Sequence[Floats]) -> Floats:
        """Both passes, over the last axis."""
        b = self.branching
        fitted = [levels[-1]]
        variance = self.noise_variances[-1]
        above = zip(levels[-2::-1], self.noise_variances[-2::-1], strict=True)
        for level, noise_variance in above:
            children = _families(fitted[-1], b).sum(axis=-1)
            weight = b * variance / (noise_variance + b * variance)
            fitted.append(weight * level + (1 - weight) * children)
            variance = weight * noise_variance
        agreed = fitted.pop()
        while fitted:
            families = _families(fitted.pop(), b)
            missing = (agreed - families.sum(axis=-1)) / b
            agreed = (families + missing[..., None]).reshape(*agreed.shape[:-1], -1)
        return agreed


def _families(nodes: Floats, branching: int) -> Floats:
    """Nodes by their parents, [..., parents, branching]."""
    return nodes.reshape(*nodes.shape[:-1], -1, branching)


@dataclass(frozen=True)
class SketchedLevel:
    """A level that is a Count-Sketch of its node numbers."""

    table: NoisedCells
    hashes: HashedPlaces

    def __post_init__(self) -> None:
        if not self.table.signed:
            raise ValueError("expected a Count-Sketch as level of a tree")


@dataclass(frozen=True)
class QuantileBin:
    """The bin in which a share of all values is reached, and the interval of leaves."""

    bin: int
    low: int
    high: int


def range_count(
    tree: NoisedTree, finer: Sequence[SketchedLevel], start: int, stop: int
) -> Estimate:
    """Return the number of values in [start, stop), numbered at the finest level.

    `tree` has the exact levels, `finer` those below, the coarsest first.

    Guarantees:
        The value is unbiased.
        The interval covers the truth in 93 to 97 % of seeds.
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
            parts.append((intervals.from_rows(rows), level.table.depth - 1))
    weights = np.zeros(len(tree.levels[-1]))
    weights[start:stop] = 1.0
    return intervals.summed_estimates([*parts, (tree.weighted(weights), math.inf)])


def quantile(
    tree: NoisedTree, share: float, confidence: float = CONFIDENCE
) -> QuantileBin:
    """The first leaf up to which a share of all values lies, by two tests.

    Guarantees:
        The interval covers the true leaf with this confidence at least.
    """
    checks.in_range(1e-6, 1 - 1e-6, share=share)
    leaves = len(tree.leaves)
    if tree.weighted(np.ones(leaves)).low <= 0:
        raise intervals.lost_in_noise("the total")
    above = np.cumsum(tree.leaves) - share * tree.leaves.sum()
    reach = intervals.normal_quantile(confidence) * np.sqrt(
        _prefix_variances(tree, share)
    )
    # The last leaf has D > 0 for certain, and there is none before the first.
    may_reach = np.append(above[:-1] >= -reach[:-1], True)
    may_miss_before = np.insert(above[:-1] < reach[:-1], 0, True)
    # Noise lets D fall now and then: the number of leaves below zero leans to no side.
    leaf = int((above[:-1] < 0).sum())
    low = int(np.argmax(may_reach))
    high = leaves - 1 - int(np.argmax(may_miss_before[::-1]))
    return QuantileBin(leaf, min(low, leaf), max(high, leaf))


def _prefix_variances(tree: NoisedTree, share: float) -> Floats:
    """Variance of D(k) for every leaf k."""
    leaves = np.arange(len(tree.leaves))
    return np.concatenate(
        [
            tree.variances((leaves <= block[:, None]).astype(np.float64) - share)
            for block in np.split(leaves, range(_AT_ONCE, len(leaves), _AT_ONCE))
        ]
    )
