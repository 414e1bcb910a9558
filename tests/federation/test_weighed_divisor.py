# SPDX-License-Identifier: Apache-2.0
"""Sums of weighed sites are divided by what is in them, with private sizes too."""

from dataclasses import replace

import numpy as np
import pytest

from lexfed.federation.coordinator import sketch_learner
from lexfed.federation.coordinator.sketch_learner import SketchLearner
from lexfed.sketch.queries.duplicates import persons_by_site
from lexfed.sketch.queries.requested_tables import ReleasedTable, RequestedTable
from lexfed.sketch.tables.shape import HashRows
from support.federation.sketched_worlds import sketched
from support.federation.worlds import play, world
from support.mutant import Mutant, Patch, both_tests

SIZES = (4000, 4000, 1000)
HALVES = np.array([0.5, 0.5, 1.0])


def told(noise: float, seed: int = 1) -> ReleasedTable:
    """Return noised tables of keys of sites of different sizes."""
    rows = HashRows(7, 5, 256)
    cells = np.random.default_rng(seed).normal(0.0, noise, (len(SIZES), 5, 256))
    for site, size in enumerate(SIZES):
        keys = np.arange(10**6 * site, 10**6 * site + size, dtype=np.uint64)
        for own, columns, signs in zip(
            cells[site], rows.columns(keys.copy()), rows.signs(keys.copy()), strict=True
        ):
            np.add.at(own, columns, signs)
    table = RequestedTable("", "keys", (), 256, 5, 7, len(SIZES))
    return ReleasedTable(table, np.zeros(0), cells, noise**2)


def test_sizes_are_seen_in_tables_of_keys() -> None:
    """Over 40 draws; a mean is off by 2 % at most, 5 deviations (1e-6)."""
    found = np.mean([persons_by_site(told(3.0, seed)) for seed in range(40)], axis=0)
    exact = persons_by_site(told(0.0))
    assert found == pytest.approx(exact, rel=0.02)
    # Collisions: deviation sqrt(2 / (5 * 256)) = 4 % of a size.
    assert exact == pytest.approx(SIZES, rel=0.2)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1e300])
def test_cells_of_no_honest_sum_tell_no_size(wrong: float) -> None:
    broken = told(1.0)
    broken.counts[0, 0, 0] = wrong
    assert persons_by_site(broken).tolist() == [0.0, 0.0, 0.0]


def test_the_divisor_follows_sizes_that_were_released() -> None:
    of = world(sizes=(40, 40, 10)).programme
    stage = of.stages[-1]
    public = of.weighted(stage, HALVES)
    assert public.divisor == pytest.approx(stage.divisor * 2.0 / 3.0)
    # Of 9,000 persons 8,000 count a half: 5,000 in all, not 6,000.
    known = of.weighted(stage, HALVES, np.array(SIZES, dtype=np.float64))
    assert known.divisor == pytest.approx(stage.divisor * 5.0 / 9.0)
    assert known.weights == public.weights


def test_public_sizes_are_better_than_released_ones() -> None:
    of = replace(world(sizes=(40, 40, 10)).programme, site_units=(40.0, 40.0, 10.0))
    lied = np.array([1.0, 1.0, 1e6])
    found = of.weighted(of.stages[-1], HALVES, lied)
    assert found.divisor == pytest.approx(of.stages[-1].divisor * 5.0 / 9.0)


def test_nothing_released_leaves_the_public_units() -> None:
    of = world(sizes=(40, 40, 10)).programme
    stage = of.stages[-1]
    found = of.weighted(stage, HALVES, np.zeros(3))
    assert found == of.weighted(stage, HALVES)


def sums_of_a_run_are_divided_by_what_is_in_them() -> None:
    """The first two sites share nearly everybody, and are far larger than the third.

    Sizes are seen to 10 % or so, which moves this divisor by 1 %; public units alone
    are wrong by more than 10 %. Seeds are fixed.
    """
    of = sketched(sizes=(1500, 1500, 200), common=1450)
    seen = play(of)
    assert seen.progress is not None
    weights = seen.progress.memory["site_weights"]
    assert weights[:2].max() < 0.8
    last = len(of.programme.stages) - 1
    stage, progress = of.programme.stages[last], replace(seen.progress, stage=last)
    found = SketchLearner(of.programme).counted(stage, progress).divisor
    truth = stage.divisor * float(weights @ (1500, 1500, 200)) / 3200.0
    assert found == pytest.approx(truth, rel=0.03)


def _sizes_forgotten(patch: Patch) -> None:
    patch.setattr(
        sketch_learner, "persons_by_site", lambda told: np.zeros(told.table.sites)
    )


test_the_real_code_passes, test_a_mutant_is_caught = both_tests(
    [
        Mutant(
            "sums of weighed sites divided by public units",
            _sizes_forgotten,
            sums_of_a_run_are_divided_by_what_is_in_them,
        )
    ]
)
