# SPDX-License-Identifier: Apache-2.0
"""Shares of noise: their size, their law, and the rings that hold their sums."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexfed.errors import ConfigError
from lexfed.privacy.noise.grids import CLIP_ROUNDING, Grid
from lexfed.privacy.noise.shares import (
    RING_BITS,
    NoiseCohort,
    draw_share,
    half_variance,
    ring_bits,
    sum_bound,
    wrap_probability,
)
from lexfed.randomness import SecureSource, SeededSource
from lexfed.secagg.primitives import ring
from support.privacy.skellam_exact import log_probabilities

GRID = Grid(1.0, 2.0, 40_000, 1000, fineness=128.0)
VARIANCES = 6.11 * math.sqrt(2 / GRID.dimension)
"""Standard errors of a variance for an error probability of 1e-9."""


@settings(deadline=None)
@given(st.floats(1e-3, 1e4), st.integers(2, 300), st.data())
def test_shares_are_the_smallest_that_reach_theorem_d(
    sigma: float, sites: int, data: st.DataObject
) -> None:
    colluders = data.draw(st.integers(0, sites // 3))
    cohort = NoiseCohort(sites, colluders, (sites - colluders - 1) // 2)
    half = half_variance(sigma, GRID.step, cohort)
    wanted = (Fraction(sigma) / Fraction(GRID.step)) ** 2 + Fraction(5, 2)
    assert 2 * half * cohort.honest >= wanted
    assert 2 * (half - 1) * cohort.honest < wanted


def test_shares_of_hardly_any_noise_still_pay_the_correction() -> None:
    assert half_variance(1e-9, 1.0, NoiseCohort(2)) == 1
    assert half_variance(0.5, 1.0, NoiseCohort(3, 0, 1)) == 1
    assert half_variance(4.0, 1.0, NoiseCohort(3, 0, 1)) == 5  # 18.5/4
    with pytest.raises(ConfigError, match="too much for a grid") as caught:
        half_variance(1e12, 2.0**-20, NoiseCohort(3))
    assert "coarser grid" in caught.value.hint
    for sigma, step in [(0.0, 1.0), (math.inf, 1.0), (1.0, 0.0)]:
        with pytest.raises(ValueError, match="expected"):
            half_variance(sigma, step, NoiseCohort(3))


def test_noise_after_dropouts_and_without_colluders_is_at_least_the_charged() -> None:
    cohort = NoiseCohort(5, 1, 1)
    half = half_variance(GRID.sigma, GRID.step, cohort)
    source, charged = SeededSource(1), GRID.scale**2
    shares = [draw_share(source, [half], [GRID.dimension]) for _ in range(5)]
    # There are 10 sets of three honest sites that may be left.
    for honest in combinations(shares, cohort.honest):
        assert abs(np.sum(honest, axis=0).var() / charged - 1) < VARIANCES
    everybody = np.sum(shares, axis=0).var()
    assert abs(everybody / charged / cohort.inflation**2 - 1) < VARIANCES
    # Negative control: shares sized for all five sites would leave too little.
    small = half_variance(GRID.sigma, GRID.step, NoiseCohort(5))
    less = [draw_share(source, [small], [GRID.dimension]) for _ in range(cohort.honest)]
    assert np.sum(less, axis=0).var() / charged < 1 - VARIANCES


def test_every_group_has_its_own_noise() -> None:
    share = draw_share(SeededSource(2), [50, 10**6], [20_000, 30_000])
    assert share.dtype == np.int64
    assert len(share) == 50_000
    for part, variance in [(share[:20_000], 100), (share[20_000:], 2 * 10**6)]:
        # The kurtosis of 50 adds a hundredth to the squared standard error.
        assert abs(part.var() / variance - 1) < 6.2 * math.sqrt(2 / len(part))
    again = draw_share(SeededSource(2), [50, 10**6], [20_000, 30_000])
    assert np.array_equal(share, again)
    fresh = [draw_share(SecureSource(), [10**6], [100]) for _ in range(2)]
    assert not np.array_equal(fresh[0], fresh[1])
    assert len(draw_share(SeededSource(1), [], [])) == 0
    with pytest.raises(ValueError, match="zip"):
        draw_share(SeededSource(1), [1, 2], [3])


@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 300), st.integers(1, 6))
def test_sums_stay_within_their_bound(seed: int, dimension: int, sites: int) -> None:
    grid = Grid(1.0, 2.0, dimension, 3 * sites, fineness=128.0)
    cohort = NoiseCohort(sites + 1)
    rng = np.random.default_rng(seed)
    total = np.zeros(dimension, dtype=np.int64)
    for _ in range(sites):
        # As long as clipping leaves three units that pull one coordinate together.
        unit = rng.standard_normal(dimension) ** 9
        unit *= 3 * grid.clip_to * (1 + CLIP_ROUNDING) / np.linalg.norm(unit)
        total += grid.encode(unit)
    half = half_variance(grid.sigma, grid.step, cohort)
    room = sum_bound(grid, half, cohort) - np.abs(total).max()
    assert room >= 8 * math.sqrt(2 * half * cohort.sites)


def test_the_bound_counts_units_and_everybodys_noise() -> None:
    grid = Grid(1.0, 2.0, 4, 7, fineness=128.0)
    assert grid.step == 2.0**-8
    assert sum_bound(grid, 500, NoiseCohort(10, 1, 2)) == 7 * 256 + 800
    with pytest.raises(ValueError, match="half"):
        sum_bound(grid, 0, NoiseCohort(3))


def test_rings_hold_signed_sums() -> None:
    assert ring_bits([2**15 - 1]) == 16
    assert ring_bits([5, 2**15]) == 24
    assert ring_bits([2**23, 2**23 - 1]) == 32
    assert RING_BITS == ring.WIDTHS
    for bound in (1, 2**15 - 1, 2**15, 2**23, 2**31 - 1):
        assert ring_bits([bound]) == ring.Ring.for_bound(bound).bits
    with pytest.raises(ConfigError, match="need 33 bits") as caught:
        ring_bits([1, 2**31])
    assert "fewer units" in caught.value.hint


@pytest.mark.parametrize("half", [1, 5, 500])
def test_wraps_are_no_likelier_than_stated(half: int) -> None:
    cohort = NoiseCohort(3)
    variance = 2 * half * cohort.sites
    reach = int(30 * math.sqrt(variance)) + 40
    law = np.exp(log_probabilities(variance, reach))
    beyond = np.abs(np.arange(-reach, reach + 1)) > 8 * math.sqrt(variance)
    one = wrap_probability([half], [1], cohort)
    assert 0 < law[beyond].sum() <= one
    many = wrap_probability([half, half], [10, 5], cohort)
    assert many == pytest.approx(min(1.0, 15 * one))


def test_wraps_are_rare_where_it_matters() -> None:
    assert wrap_probability([10**7], [10**6], NoiseCohort(5)) < 3e-8
    assert wrap_probability([1], [10**9], NoiseCohort(2)) == 1.0
