# SPDX-License-Identifier: Apache-2.0
"""Noise in shares for the stages of a programme: grids, shares, and what sums reach.

Masked sums are taken modulo 2^b, so their integers must be short. Grids are therefore
coarser than elsewhere (`FINENESS`), which costs less than 1 % of the clip. Every group
keeps its own clip, step and sigma in the one vector that is masked.
"""

from dataclasses import replace

from lexfed.arrays import Integers
from lexfed.federation.programme.integer_sums import add_noise
from lexfed.federation.programme.sequence import Programme, Stage
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

FINENESS = 128.0
"""Clip over step and root of the dimension: of sums that have to fit a ring."""

_LONGEST = 2 ** (RING_BITS[-1] - 1) - 1


def grid_in_ring(grid: Grid, units: int, cohort: NoiseCohort) -> Grid:
    """Return a grid whose sums fit the widest ring, with as much room as there is.

    Args:
        grid: with room for many times the declared units; its fineness is not used.
        units: the public number of units.
        cohort: who adds noise.

    Raises:
        ConfigError: if not even the declared units fit.
    """
    coarse = replace(grid, fineness=FINENESS)
    while _bound(coarse, cohort) > _LONGEST and coarse.units > units:
        coarse = replace(coarse, units=max(units, coarse.units // 2))
    ring_bits([_bound(coarse, cohort)])
    return coarse


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
