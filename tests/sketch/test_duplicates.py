# SPDX-License-Identifier: Apache-2.0
"""Persons at several sites: found where they are, and hardly ever elsewhere."""

import math

import numpy as np
import pytest

from lexfed.sketch.queries.duplicates import (
    ERROR,
    duplicate_shares,
    noise_of_overlap,
    persons_by_site,
    reach,
)
from lexfed.sketch.queries.requested_tables import ReleasedTable, RequestedTable
from lexfed.sketch.tables.shape import HashRows

DEPTH, WIDTH = 5, 256


def told(
    sizes: tuple[int, ...], common: int, noise: float, seed: int, hashed: int
) -> ReleasedTable:
    """Return noised tables of sites of which the first two share persons."""
    rng = np.random.default_rng(seed)
    rows = HashRows(hashed, DEPTH, WIDTH)
    cells = np.zeros((len(sizes), DEPTH, WIDTH))
    start = 0
    for site, size in enumerate(sizes):
        own = np.arange(start, start + size, dtype=np.uint64)
        if site == 1:
            own[:common] = np.arange(common)
        for row, (at, sign) in enumerate(
            zip(rows.columns(own.copy()), rows.signs(own.copy()), strict=True)
        ):
            np.add.at(cells[site, row], at, sign)
        start += size
    cells += rng.normal(0.0, noise, cells.shape)
    table = RequestedTable("", "keys", (), WIDTH, DEPTH, hashed, len(sizes))
    return ReleasedTable(table, np.zeros(0), cells, noise**2)


def test_a_planted_overlap_is_found() -> None:
    found = duplicate_shares(told((4000, 2000, 2000), 1500, 1.0, seed=1, hashed=1))
    assert found[1].part == pytest.approx(0.75, abs=0.15)
    assert 0.3 < found[1].at_least <= 0.75
    assert 0.1 < found[0].at_least <= 0.375
    assert found[2].at_least == 0.0


@pytest.mark.parametrize(
    ("sizes", "noise"), [((900, 500, 700), 3.0), ((400,) * 8, 1.0)]
)
def test_without_overlap_some_lower_end_is_above_zero_in_5_percent_at_most(
    sizes: tuple[int, ...], noise: float
) -> None:
    """At 5 %, 200 trials show more than 20 with probability 5e-4."""
    wrong = sum(
        any(
            each.at_least > 0
            for each in duplicate_shares(told(sizes, 0, noise, k, 1000 + k))
        )
        for k in range(200)
    )
    assert wrong <= 20


def test_lower_ends_are_below_the_truth() -> None:
    """At 5 %, 200 trials show more than 20 with probability 5e-4."""
    wrong = 0
    for k in range(200):
        found = duplicate_shares(told((800, 800), 400, 2.0, k, 3000 + k))
        wrong += any(each.at_least > 0.5 for each in found)
    assert wrong <= 20


def test_the_value_itself_would_be_no_bound() -> None:
    """Negative control: half of all unbiased values are above the truth."""
    wrong = 0
    for k in range(40):
        found = duplicate_shares(told((900, 500, 700), 0, 3.0, k, 5000 + k))
        wrong += any(each.part > 0 for each in found)
    assert wrong > 10


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300, -(2.0**53), 0.0])
def test_whatever_the_cells_are_parts_are_parts(value: float) -> None:
    one = told((50, 50), 10, 1.0, 1, 1)
    cells = one.counts.copy()
    cells[0] = value
    found = duplicate_shares(ReleasedTable(one.table, one.asked, cells, one.variance))
    sizes = persons_by_site(ReleasedTable(one.table, one.asked, cells, one.variance))
    assert np.isfinite(sizes).all()
    assert (sizes >= 0.0).all()
    for each in found:
        assert 0.0 <= each.at_least <= 1.0
        assert 0.0 <= each.part <= 1.0


def test_the_spread_is_foreseen() -> None:
    """A standard deviation of 200 trials is off by 20 % with probability 1e-4."""
    square, n = DEPTH / 3.0**2, 700
    values = []
    for k in range(200):
        a, b = told((n, n), 0, 3.0, k, 9000 + k).counts
        values.append(float((a * b).sum(axis=1).mean()))
    expected = noise_of_overlap(DEPTH * WIDTH, square, n, n)
    assert np.std(values) == pytest.approx(expected, rel=0.2)


def test_more_sites_are_further_away() -> None:
    assert reach(100) > reach(2) > 1.9
    assert math.isclose(2 * (1 - 0.5 * (1 + math.erf(reach(3) / 2**0.5))), ERROR / 3)


@pytest.mark.parametrize("sites", [0, 1])
def test_one_table_for_all_says_nothing_about_overlap(sites: int) -> None:
    table = RequestedTable("", "keys", (), WIDTH, DEPTH, 1, sites)
    with pytest.raises(ValueError, match="each of several sites"):
        duplicate_shares(ReleasedTable(table, np.zeros(0), np.zeros(table.cells), 1.0))
