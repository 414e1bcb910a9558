# SPDX-License-Identifier: Apache-2.0
"""Values with intervals: quantiles against scipy, rows and the jackknife."""

import numpy as np
import pytest
from scipy import stats

from lexfed.sketch.estimates import intervals
from lexfed.sketch.estimates.intervals import Estimate


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 8, 15, 30, 99, 1000])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_student_quantile_is_that_of_scipy(freedom: int, confidence: float) -> None:
    mine = intervals.student_quantile(confidence, freedom)
    assert mine == pytest.approx(stats.t.ppf(0.5 + confidence / 2, freedom), rel=1e-9)


def test_normal_quantile_is_that_of_scipy() -> None:
    assert intervals.normal_quantile(0.95) == pytest.approx(stats.norm.ppf(0.975))


def test_rows_give_students_interval() -> None:
    rows = np.array([3.0, 5.0, 4.0, 9.0])
    got = intervals.from_rows(rows)
    low, high = stats.t.interval(0.95, 3, rows.mean(), stats.sem(rows))
    assert (got.value, got.low, got.high) == pytest.approx((rows.mean(), low, high))


def test_jackknife_of_a_mean_is_the_mean() -> None:
    rows = np.array([[3.0], [5.0], [4.0], [9.0]])
    plain = intervals.from_rows(rows[:, 0])
    got = intervals.jackknife(rows, lambda mean: float(mean[0]))
    assert [got.value, got.variance] == pytest.approx([plain.value, plain.variance])


def test_jackknife_removes_the_bias_of_a_square() -> None:
    # The square of a mean is too large by its variance; the jackknife is exact here.
    # 4 000 trials, six standard errors: error probability 2e-9.
    rows = np.random.default_rng(1).normal(2, 3, (4_000, 5, 1))
    free = [intervals.jackknife(row, lambda mean: float(mean[0] ** 2)) for row in rows]
    values = np.array([each.value for each in free])
    error = values.std() / np.sqrt(len(values))
    assert abs(values.mean() - 4) < 6 * error
    # Negative control: the plain square is off.
    assert abs((rows.mean(axis=1) ** 2).mean() - 4) > 6 * error


def test_cutting_keeps_a_possible_truth() -> None:
    cut = Estimate(-3.0, 4.0, -7.0, 1.0).within(0, 10)
    assert cut == Estimate(0.0, 4.0, 0.0, 1.0)


def test_one_row_has_no_spread() -> None:
    with pytest.raises(ValueError, match="depth"):
        intervals.from_rows(np.array([1.0]))
    with pytest.raises(ValueError, match="depth"):
        intervals.jackknife(np.array([[1.0]]), lambda mean: float(mean[0]))


def test_sums_of_independent_estimates() -> None:
    rows = np.array([3.0, 5.0, 4.0, 9.0])
    spread = intervals.from_rows(rows)
    known = intervals.from_variance(7.0, 2.0)
    assert intervals.summed_estimates([(known, np.inf)]) == known
    assert intervals.summed_estimates([(spread, 3.0)]) == spread
    both = intervals.summed_estimates([(spread, 3.0), (known, np.inf)])
    freedom = int((spread.variance + 2) ** 2 / (spread.variance**2 / 3))
    reach = stats.t.ppf(0.975, freedom) * np.sqrt(spread.variance + 2)
    assert both.value == spread.value + 7
    assert both.high - both.value == pytest.approx(reach)
