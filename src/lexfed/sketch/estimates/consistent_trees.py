# SPDX-License-Identifier: Apache-2.0
"""Counts of a tree that agree with each other, and the variance of what is asked.

Every node of a tree is noised on its own, so a node and the sum of its children are two
values for one count. Least squares finds the leaves that fit all nodes best, in one
pass up and one pass down (Hay, Rastogi, Miklau and Suciu 2010, Theorem 3, here for any
variance of each level):

    up     z = mean of the node and of the sum of its children's z, weighted by the
           inverse variances; V = the variance of that mean
    down   h = z + (h of the parent - sum of the siblings' z) / b

**The variance of any weighted sum q of the leaves** comes from the same two passes.
Least squares maps nodes y to (A'WA)^-1 A'W y, with the tree's matrix A and the inverse
variances W. Take y as s^2 q at the leaves, s^2 their noise, and 0 above: A'W y = q, so
the passes return (A'WA)^-1 q, whose product with q is the variance sought.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lexfed import checks
from lexfed.arrays import Floats
from lexfed.sketch.estimates.intervals import Estimate, from_variance


@dataclass(frozen=True)
class NoisedTree:
    """Levels of a tree that are counted exactly, each node with independent noise.

    Attributes:
        branching: children of each node, b.
        levels: the coarsest first; each has b times as many nodes as the one before.
        noise_variances: of a node at each level, above zero.

    Raises:
        ValueError: if there is no level, or numbers do not fit.
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
        return from_variance(value, float(self.variances(weights[None])[0]))

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
        for level, own in zip(
            levels[-2::-1], self.noise_variances[-2::-1], strict=True
        ):
            children = _families(fitted[-1], b).sum(axis=-1)
            weight = b * variance / (own + b * variance)
            fitted.append(weight * level + (1 - weight) * children)
            variance = weight * own
        agreed = fitted.pop()
        while fitted:
            families = _families(fitted.pop(), b)
            missing = (agreed - families.sum(axis=-1)) / b
            agreed = (families + missing[..., None]).reshape(*agreed.shape[:-1], -1)
        return agreed


def _families(nodes: Floats, branching: int) -> Floats:
    """Nodes by their parents, [..., parents, branching]."""
    return nodes.reshape(*nodes.shape[:-1], -1, branching)
