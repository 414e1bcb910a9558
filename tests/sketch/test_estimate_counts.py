# SPDX-License-Identifier: Apache-2.0
"""Counts of items: unbiased, variance as stated, intervals cover.

Error probabilities as in the tests of products: 2e-9 for a mean, 1e-8 for a coverage of
95 %, 2e-12 for a variance of normal rows.
"""

import numpy as np
import pytest

from lexfed.sketch.estimates import noised_cells
from support.sketch.trials import (
    EVERY_KIND,
    Trials,
    coverage,
    deviations_off,
    two_sites,
)

SIGNED = pytest.mark.parametrize("signed", [True, False])


@EVERY_KIND
def test_counts_are_unbiased_and_covered(kind: str, signed: bool) -> None:
    _, f = two_sites(kind)
    items = np.array([int(np.argmax(f)), 150, int(np.argmin(f))], dtype=np.uint64)
    truth = f[items.astype(int)]
    asked = Trials(8, 128, 6.0, signed).draw(f)
    answers = [noised_cells.counts(table, hashes, items) for hashes, (table,) in asked]
    for place, count in enumerate(truth):
        mine = [answer[place] for answer in answers]
        assert deviations_off(np.array([each.value for each in mine]), count) < 6
        assert 0.93 < coverage(mine, count) < 0.97
        # Negative control: a count two deviations away is not covered so often.
        away = count + 2 * np.sqrt(np.mean([each.variance for each in mine]))
        assert coverage(mine, away) < 0.93


def test_intervals_are_not_too_narrow_beside_very_heavy_items() -> None:
    f = np.round(400 / (np.arange(300) + 1) ** 1.1)
    items = np.array([0, 150], dtype=np.uint64)
    asked = Trials(8, 64, 1.0, True).draw(f)
    answers = [noised_cells.counts(table, hashes, items) for hashes, (table,) in asked]
    for place, count in enumerate(f[[0, 150]]):
        assert 0.95 < coverage([answer[place] for answer in answers], count) < 0.995


@SIGNED
def test_variance_of_a_count_is_as_stated(signed: bool) -> None:
    _, f = two_sites("skewed")
    items = np.array([150], dtype=np.uint64)
    rows = []
    for hashes, (table,) in Trials(10, 64, 4.0, signed).draw(f):
        rows.append(noised_cells.point_rows(table, hashes, items))
    stated = (
        noised_cells.point_variance(table, float(f @ f), float(f[150])) * table.depth
    )
    assert np.var(rows) == pytest.approx(stated, rel=0.05)
    # Negative control: without the collisions the formula says less.
    assert np.var(rows) != pytest.approx(table.noise_variance, rel=0.05)


def test_the_smallest_cell_would_be_biased() -> None:
    f, _ = two_sites("skewed")
    smallest = [
        table.cells[np.arange(8), hashes.column[:, 0]].min()
        for hashes, (table,) in Trials(8, 256, 4.0, False).draw(f)
    ]
    assert deviations_off(np.array(smallest), f[0]) > 6


def test_totals_are_unbiased_and_covered() -> None:
    f, _ = two_sites("skewed")
    drawn = [table for _, (table,) in Trials(8, 64, 4.0, False).draw(f)]
    answers = [noised_cells.total(table) for table in drawn]
    values = np.array([each.value for each in answers])
    assert deviations_off(values, float(f.sum())) < 6
    assert 0.93 < coverage(answers, float(f.sum())) < 0.97
    # 4000 values: 12 % are five standard errors of a variance, 6e-7.
    assert values.var() == pytest.approx(answers[0].variance, rel=0.12)
    # A correlation of 0.1 would be six standard errors.
    moments = [noised_cells.second_moment(table).value for table in drawn]
    assert abs(np.corrcoef(values, moments)[0, 1]) < 0.1
    # Negative control: a total two deviations away is not covered so often.
    away = float(f.sum()) + 2 * np.sqrt(answers[0].variance)
    assert coverage(answers, away) < 0.93


def test_signed_cells_have_no_total() -> None:
    f, _ = two_sites("skewed")
    _, (table,) = next(Trials(2, 4, 1.0, True).draw(f))
    with pytest.raises(ValueError, match="no total"):
        noised_cells.total(table)
