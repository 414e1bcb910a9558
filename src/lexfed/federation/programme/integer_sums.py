# SPDX-License-Identifier: Apache-2.0
"""The integer pipeline of a release: grid, exact sums, noise or shares of it, descale.

Each coordinate has the grid and the noise of its group and is treated alone. Masked
sums are taken modulo 2^b, so their grids are coarser (`FINENESS`), at less than 1 % of
the clip.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lexfed.arrays import Floats, Integers
from lexfed.federation.programme.sequence import Programme, Stage
from lexfed.privacy.noise.gaussian import rounded_gaussian
from lexfed.privacy.noise.grids import Grid
from lexfed.privacy.noise.shares import (
    RING_BITS,
    NoiseCohort,
    draw_share,
    half_variance,
    ring_bits,
    sum_bound,
)
from lexfed.privacy.releases import Release
from lexfed.randomness import RandomSource

if TYPE_CHECKING:
    from torch import Tensor

FINENESS = 128.0
"""Clip over step and root of the dimension: of sums that have to fit a ring."""

_LONGEST = 2 ** (RING_BITS[-1] - 1) - 1


def to_grid(total: "Tensor", stage: Stage) -> Integers:
    """Put a site's float64 sum on the integer grid."""
    return stage.grids.encode(total.numpy())


def exact_sum(totals: Sequence[Integers]) -> Integers:
    """Add the sites' integers; the grid leaves room, so nothing can overflow."""
    first, *others = totals
    total = first.copy()
    for other in others:
        total += other
    return total


def descale(total: Integers, stage: Stage) -> Floats:
    """Return the released numbers in their own unit."""
    return stage.grids.decode(total)


def add_noise(
    total: Integers, stage: Stage, release: Release | None, source: RandomSource
) -> Integers:
    """Add the release's noise, fresh for every coordinate and every call."""
    if release is None:
        return total
    scales = stage.grids.scales([group.sigma for group in release.groups])
    noise = rounded_gaussian(source, scales, len(total))
    return np.add(total, noise, out=noise)


def add_share(
    total: Integers,
    stage: Stage,
    release: Release,
    cohort: NoiseCohort,
    source: RandomSource,
) -> Integers:
    """Add one site's share of a release's noise to its sum, fresh for every call."""
    halves = [
        half_variance(group.sigma, block.grid.step, cohort)
        for group, block in zip(release.groups, stage.blocks, strict=True)
    ]
    dimensions = [block.grid.dimension for block in stage.blocks]
    return total + draw_share(source, halves, dimensions)


def noised_by_site(
    total: Integers,
    programme: Programme,
    stage: Stage,
    release: Release | None,
    source: RandomSource,
) -> Integers:
    """Add one site's noise: all of it, or its share."""
    cohort = programme.cohort
    if cohort is None or release is None:
        return add_noise(total, stage, release, source)
    return add_share(total, stage, release, cohort, source)


def grid_in_ring(grid: Grid, units: int, cohort: NoiseCohort) -> Grid:
    """Return a grid whose sums fit the widest ring, with as much room as there is."""
    coarse = replace(grid, fineness=FINENESS)
    while _bound(coarse, cohort) > _LONGEST and coarse.units > units:
        coarse = replace(coarse, units=max(units, coarse.units // 2))
    ring_bits([_bound(coarse, cohort)])
    return coarse


def stays_within(total: Integers, stage: Stage, cohort: NoiseCohort) -> bool:
    """Return True if honest sites can have this sum; else it may have wrapped."""
    return all(
        int(abs(total[block.start : block.stop]).max()) <= _bound(block.grid, cohort)
        for block in stage.blocks
    )


def longest_sum(stage: Stage, cohort: NoiseCohort) -> int:
    """Return the bound on coordinates of an honest sum of a stage."""
    return max(_bound(block.grid, cohort) for block in stage.blocks)


def ring_of(programme: Programme, cohort: NoiseCohort) -> int:
    """Return the bits of the smallest ring that holds every sum of a programme."""
    return ring_bits(longest_sum(stage, cohort) for stage in programme.stages)


def _bound(grid: Grid, cohort: NoiseCohort) -> int:
    # A grid's sigma is the most noise of any round on it.
    return sum_bound(grid, half_variance(grid.sigma, grid.step, cohort), cohort)
