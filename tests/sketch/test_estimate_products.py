# SPDX-License-Identifier: Apache-2.0
"""Inner products and second moments: unbiased, variance as stated, intervals cover.

Error probabilities: a mean is off by six standard errors with 2e-9. A coverage of
95 % leaves [93 %, 97 %] in 4000 trials with 1e-8. Variances compare 40 000 rows; their
bound of 5 % is seven standard errors for normal rows, 2e-12.
"""

import numpy as np
import pytest

from lexfed.sketch.estimates import noised_cells
from lexfed.sketch.estimates.noised_cells import NoisedCells
from support.sketch.trials import (
    EVERY_KIND,
    Trials,
    coverage,
    deviations_off,
    pair_answers,
    two_sites,
)


@EVERY_KIND
def test_inner_product_is_unbiased_and_covered(kind: str, signed: bool) -> None:
    sites = two_sites(kind)
    truth = float(sites[0] @ sites[1])
    trials = Trials(8, 64, 4.0, signed)
    answers = pair_answers(trials, sites, noised_cells.inner_product)
    assert deviations_off(np.array([each.value for each in answers]), truth) < 6
    # A Count-Min sketch leaves out sum f^2 g^2, which is not small here.
    wide = kind == "correlated" and not signed
    assert 0.93 < coverage(answers, truth) < (0.985 if wide else 0.97)
    # Negative control: a truth two deviations away is not covered so often.
    away = truth + 2 * np.sqrt(np.mean([each.variance for each in answers]))
    assert coverage(answers, away) < 0.93


@EVERY_KIND
def test_variances_are_as_stated(kind: str, signed: bool) -> None:
    f, g = two_sites(kind)
    trials = Trials(10, 64, 4.0, signed)
    joined, moments = [], []
    for _, (left, right) in trials.draw(f, g):
        joined.append(noised_cells.product_rows(left, right))
        moments.append(noised_cells.moment_rows(left))
    ff, gg, fg = float(f @ f), float(g @ g), float(f @ g)
    fourth = float(f**2 @ g**2)
    product = noised_cells.product_variance(left, right, ff, gg, fg, fourth)
    moment = noised_cells.moment_variance(left, ff, float((f**4).sum()))
    assert np.var(joined) == pytest.approx(product * trials.depth, rel=0.05)
    assert np.var(moments) == pytest.approx(moment * trials.depth, rel=0.05)
    # Negative control: with a fifth more cells in a row the formula says less.
    wide = NoisedCells(np.zeros((10, 77)), 0.8 * left.noise_variance, signed)
    less = noised_cells.product_variance(wide, wide, ff, gg, fg, fourth)
    assert np.var(joined) != pytest.approx(less * trials.depth, rel=0.05)


@EVERY_KIND
def test_second_moment_is_unbiased_and_covered(kind: str, signed: bool) -> None:
    f, _ = two_sites(kind)
    answers = [
        noised_cells.second_moment(table)
        for _, (table,) in Trials(8, 64, 4.0, signed).draw(f)
    ]
    values = np.array([each.value for each in answers])
    assert deviations_off(values, float(f @ f)) < 6
    assert 0.93 < coverage(answers, float(f @ f)) < 0.97
    # Negative control: noise that is not taken off is seen.
    assert deviations_off(values + 64 * 16, float(f @ f)) > 6


def test_a_site_finds_its_overlap_with_the_rest() -> None:
    f, g = two_sites("sets")
    # The same seed gives the same hashes, with and without noise.
    released = Trials(8, 64, 4.0, True).draw(f + g)
    own = Trials(8, 64, 0.0, True).draw(f)
    answers = [
        noised_cells.inner_product(
            mine, NoisedCells(total.cells - mine.cells, 16.0, True)
        )
        for (_, (total,)), (_, (mine,)) in zip(released, own, strict=True)
    ]
    assert 0.93 < coverage(answers, float(f @ g)) < 0.97


def test_best_size_is_where_the_variance_is_least() -> None:
    rho, f, g = 0.05, 20_000.0, 5_000.0
    best = noised_cells.best_cells(rho, np.sqrt(f), np.sqrt(g))
    assert best == pytest.approx(1000)
    sizes = 2.0 ** np.arange(4, 16)
    depth = 4
    variances = [
        noised_cells.product_variance(table, table, f, g, 0.0)
        for size in sizes
        for table in [
            NoisedCells(np.zeros((depth, int(size) // depth)), depth / (2 * rho), True)
        ]
    ]
    assert sizes[np.argmin(variances)] == 1024
    assert variances[-1] > 2 * min(variances)


def test_one_table_twice_is_refused() -> None:
    table = NoisedCells(np.zeros((2, 4)), 1.0, True)
    with pytest.raises(ValueError, match="second_moment"):
        noised_cells.inner_product(table, table)


def test_tables_of_two_shapes_are_refused() -> None:
    table = NoisedCells(np.zeros((2, 4)), 1.0, True)
    for other in (
        NoisedCells(np.zeros((2, 8)), 1.0, True),
        NoisedCells(np.zeros((2, 4)), 1.0, False),
    ):
        with pytest.raises(ValueError, match="one shape and kind"):
            noised_cells.inner_product(table, other)


@pytest.mark.parametrize("cells", [np.zeros(4), np.zeros((1, 4)), np.zeros((2, 1))])
def test_what_is_no_table_is_refused(cells: np.ndarray) -> None:
    with pytest.raises(ValueError, match="at least 2 rows"):
        NoisedCells(cells, 1.0, True)


def test_values_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        NoisedCells(np.full((2, 4), np.nan), 1.0, True)
    for variance in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="noise_variance"):
            NoisedCells(np.zeros((2, 4)), variance, True)
