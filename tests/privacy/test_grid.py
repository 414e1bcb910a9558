# SPDX-License-Identifier: Apache-2.0
"""The grid: rounding is paid for, sums are exact, engines agree within one step."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lexfed.privacy.noise.grids import CLIP_ROUNDING, Grid, GridVector
from lexfed.randomness import SeededSource

GRIDS = st.builds(
    lambda clip, multiplier, dimension, units: Grid(
        clip, clip * multiplier, dimension, units
    ),
    clip=st.floats(1e-3, 1e3),
    multiplier=st.floats(1e-2, 1e4),
    dimension=st.integers(1, 3000),
    units=st.integers(1, 100_000),
)


@given(GRIDS)
def test_everything_fits_into_the_clip(grid: Grid) -> None:
    rounding = math.sqrt(grid.dimension) * grid.step
    assert grid.clip_to * (1 + CLIP_ROUNDING) + rounding <= grid.clip
    assert grid.clip_to >= grid.clip * (1 - 3e-4)
    assert math.log2(grid.step).is_integer()
    assert math.log2(grid.release_step).is_integer()
    assert grid.release_step >= grid.step


@given(GRIDS, st.integers(0, 2**32), st.sampled_from([0.0, 1.0, 1e4]))
def test_neighbours_differ_by_at_most_the_clip(
    grid: Grid, seed: int, others: float
) -> None:
    rng = np.random.default_rng(seed)
    rest = rng.normal(size=grid.dimension)
    rest *= min(others, grid.units - 1) * grid.clip_to / np.linalg.norm(rest)
    unit = rng.normal(size=grid.dimension)
    unit *= grid.clip_to * (1 + CLIP_ROUNDING) / np.linalg.norm(unit)
    apart = grid.encode(rest + unit) - grid.encode(rest)
    assert float(np.linalg.norm(apart)) * grid.step <= grid.clip


def test_clipping_to_the_charged_clip_itself_would_not_fit() -> None:
    grid = Grid(1.0, 1.0, 4096, 10)
    rest = np.zeros(4096)
    unit = np.full(4096, 1.0 / 64.0) + grid.step * 0.501
    unit *= 1.0 / np.linalg.norm(unit) * (1 + CLIP_ROUNDING)
    apart = grid.encode(rest + unit) - grid.encode(rest)
    ceiled = np.ceil(unit / grid.step)
    assert float(np.linalg.norm(ceiled)) * grid.step > 1.0
    assert float(np.linalg.norm(apart)) * grid.step > grid.clip_to


@pytest.mark.parametrize("fineness", [100.0, 128.0, 4000.0])
@pytest.mark.parametrize("dimension", [1, 7, 4096])
def test_a_grid_is_as_fine_as_asked(fineness: float, dimension: int) -> None:
    grid = Grid(1.0, 30.0, dimension, 10, fineness=fineness)
    rounding = math.sqrt(dimension) * grid.step
    assert rounding <= 1.0 / fineness < 2.0 * rounding
    assert grid.clip_to >= 1.0 - 1.0 / fineness - 3e-6
    assert Grid(1.0, 30.0, dimension, 10).step == 2.0 ** math.floor(
        math.log2(2.5e-4 / math.sqrt(dimension))
    )


@pytest.mark.parametrize("moved", [1, 5, 100])
def test_coordinates_that_nobody_moves_are_not_paid_for(moved: int) -> None:
    """Each coordinate of the unit is rounded up, and each without it down."""
    sparse = Grid(1.0, 30.0, 10**6, 10, fineness=128.0, moved=moved)
    assert sparse.step == Grid(1.0, 30.0, moved, 10, fineness=128.0).step
    assert sparse.clip_to == Grid(1.0, 30.0, moved, 10, fineness=128.0).clip_to
    part = sparse.clip_to / math.sqrt(moved)
    up = math.ceil(part / sparse.step + 0.5) - 0.5 + 1e-6
    unit = np.zeros(10**6)
    unit[:moved] = part
    rest = np.full(10**6, sparse.step * (up - part / sparse.step))
    apart = sparse.encode(rest + unit) - sparse.encode(rest)
    assert not apart[moved:].any()
    length = float(np.linalg.norm(apart)) * sparse.step
    assert sparse.clip_to < length <= sparse.clip


def test_a_grid_for_few_coordinates_does_not_pay_for_all() -> None:
    """Why float sums, whose last bits move everywhere, must not use such a grid."""
    sparse = Grid(1.0, 30.0, 10**6, 10, fineness=128.0, moved=1)
    rest = np.full(10**6, sparse.step * (0.5 - 1e-9))
    apart = sparse.encode(rest + 1e-9) - sparse.encode(rest)
    assert float(np.linalg.norm(apart)) * sparse.step > sparse.clip


def test_the_summation_error_is_charged_twice() -> None:
    plain, with_error = (Grid(1.0, 1.0, 10, 10, error) for error in (0.0, 1e-3))
    assert plain.clip_to - with_error.clip_to == pytest.approx(2e-3, rel=1e-3)


def test_sums_over_sites_are_exact_in_any_order() -> None:
    grid = Grid(1.0, 5.0, 50, 1000)
    rng = np.random.default_rng(1)
    sites = [grid.encode(rng.normal(size=50)) for _ in range(20)]
    assert np.array_equal(sum(sites), sum(sites[::-1]))


@given(GRIDS, st.integers(0, 2**32))
def test_release_is_within_half_a_release_step(grid: Grid, seed: int) -> None:
    rng = np.random.default_rng(seed)
    total = rng.normal(size=grid.dimension)
    total *= grid.clip / np.linalg.norm(total)
    exact = grid.encode(total)
    released = grid.decode(exact)
    assert np.abs(released - exact * grid.step).max() <= grid.release_step / 2
    # One fine step apart is at most one release step apart.
    assert np.abs(grid.decode(exact + 1) - released).max() <= grid.release_step


@given(st.lists(GRIDS, min_size=1, max_size=5), st.integers(0, 2**32))
def test_every_group_is_treated_by_its_own_grid(grids: list[Grid], seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = [rng.normal(size=grid.dimension) * grid.clip / 100 for grid in grids]
    together, alone = GridVector(grids), zip(grids, parts, strict=True)
    encoded = [grid.encode(part) for grid, part in alone]
    noisy = [part + rng.integers(-(2**40), 2**40, len(part)) for part in encoded]
    decoded = [grid.decode(part) for grid, part in zip(grids, noisy, strict=True)]
    assert np.array_equal(
        together.encode(np.concatenate(parts)), np.concatenate(encoded)
    )
    assert np.array_equal(
        together.decode(np.concatenate(noisy)), np.concatenate(decoded)
    )
    scales = np.broadcast_to(
        together.scales([grid.sigma for grid in grids]), len(np.concatenate(parts))
    )
    assert together.scales([grid.sigma for grid in grids]) is together.scales(
        [grid.sigma for grid in grids]
    )
    ends = np.cumsum([grid.dimension for grid in grids])
    assert [scales[end - 1] for end in ends] == [grid.scale for grid in grids]


def test_shifts_round_as_division_does() -> None:
    grid = Grid(1.0, 30.0, 100, 100)
    ratio = int(grid.release_step / grid.step)
    numbers = np.arange(-50, 50) * ratio // 4
    wanted = np.floor(numbers / ratio + 0.5) * grid.release_step
    assert ratio > 4
    assert np.array_equal(grid.decode(numbers), wanted)


def test_each_group_stays_within_its_own_bound() -> None:
    """A refusal would say something about the sum that no noise covers."""
    grids = [Grid(1.0, 1.0, 4, 10), Grid(5.0, 1.0, 4, 10)]
    total = np.array([12.0, -12.0, 10.0, 3.0, 12.0, -49.0, 51.0, -60.0])
    wanted = np.array([10.0, -10.0, 10.0, 3.0, 12.0, -49.0, 50.0, -50.0])
    steps = np.repeat([grid.step for grid in grids], 4)
    assert np.array_equal(GridVector(grids).encode(total) * steps, wanted)


@given(arrays(float, (2, 6), elements=st.floats(-30.0, 30.0)))
def test_bounding_moves_no_two_sums_further_apart(sums: np.ndarray) -> None:
    grid = Grid(1.0, 1.0, 6, 10)
    encoded = [grid.encode(total) * grid.step for total in sums]
    rounding = math.sqrt(grid.dimension) * grid.step
    distance = float(np.linalg.norm(sums[0] - sums[1]))
    assert np.linalg.norm(encoded[0] - encoded[1]) <= distance + rounding * (1 + 1e-9)


def test_noise_has_the_charged_deviation() -> None:
    grid = Grid(0.5, 20.0, 100_000, 100)
    noise = grid.noise(SeededSource(1)) * grid.step
    # 6.11 standard errors of a variance: error probability 1e-9.
    allowed = 6.11 * math.sqrt(2 / grid.dimension)
    assert abs(noise.var() / 20.0**2 - 1) < allowed
    assert abs(noise.var() / (0.97 * 20.0) ** 2 - 1) > allowed
    assert grid.decode(grid.noise(SeededSource(2))).dtype == np.float64


def test_rounding_to_the_release_grid_is_negligible() -> None:
    grid = Grid(1.0, 30.0, 100, 100)
    assert grid.release_step <= 30.0 * 2.0**-13
    assert Grid(1.0, 1.0, 1, 100).release_step == Grid(1.0, 1.0, 1, 100).step


@pytest.mark.parametrize(
    "total", [np.zeros(3), np.full(4, math.nan), np.full(4, math.inf)]
)
def test_sums_that_cannot_be_are_refused(total: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"expected a vector|not finite"):
        Grid(1.0, 1.0, 4, 10).encode(total)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ((0.0, 1.0, 1, 1), "clip"),
        ((1.0, math.inf, 1, 1), "sigma"),
        ((1.0, 1.0, 0, 1), "dimension"),
        ((1.0, 1.0, 1, 0), "units"),
        ((1.0, 1.0, 1, 1, 0.5), "summation_error"),
        ((1.0, 1.0, 1, 1, 0.0, 99.0), "fineness"),
        ((1.0, 1.0, 1, 1, 0.0, 128.0, 2), "moved"),
        ((1.0, 1.0, 1, 1, 0.0, 128.0, 0), "moved"),
        ((1.0, 1e9, 10**6, 1), "sigma"),
        ((1.0, 1e5, 10**6, 2**40), "units"),
    ],
)
def test_impossible_grids_are_refused(fields: tuple[float, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Grid(*fields)  # type: ignore[arg-type]
