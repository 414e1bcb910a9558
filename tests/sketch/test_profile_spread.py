# SPDX-License-Identifier: Apache-2.0
"""Cells with a public sum. Error probabilities: 1e-8 for coverages in 4000 trials."""

import numpy as np
import pytest

from lexfed.sketch.profile.cell_spread import Spread
from support.sketch.trials import deviations_off

TRIALS = 4000
NOISE = 20.0
COUNTS = np.array([0.0, 5, 100, 300, 50, 500, 200, 45, 100])


def draw(seed: int, counts: np.ndarray = COUNTS) -> list[Spread]:
    rng = np.random.default_rng(seed)
    people = float(counts.sum())
    noised = counts + rng.normal(0, NOISE, (TRIALS, len(counts)))
    return [Spread(each, NOISE**2, people) for each in noised]


def test_sums_are_unbiased_with_their_variance_and_covered() -> None:
    weights = np.array([1.0, 1, 1, 0, 0, 0, -0.5, 0, 0])
    answers = [spread.weighted(weights) for spread in draw(1)]
    truth = float(weights @ COUNTS)
    values = np.array([each.value for each in answers])
    assert deviations_off(values, truth) < 6
    assert values.var() == pytest.approx(answers[0].variance, rel=0.15)
    covered = np.mean([each.low <= truth <= each.high for each in answers])
    assert 0.93 < covered < 0.97
    # Control: without the public sum the variance is larger.
    assert answers[0].variance < NOISE**2 * float(weights @ weights)


def test_both_ends_are_equally_far_from_all_people() -> None:
    (spread, *_) = draw(2)
    start = np.array([1.0, 1, 1, 0, 0, 0, 0, 0, 0])
    upto, rest = spread.weighted(start), spread.weighted(1 - start)
    assert upto.value + rest.value == pytest.approx(spread.people)
    assert upto.variance == pytest.approx(rest.variance)
    assert spread.weighted(np.ones(9)).variance == pytest.approx(0, abs=1e-9)


@pytest.mark.no_cover
@pytest.mark.parametrize("share", [0.005, 0.25, 0.5, 0.995])
def test_quantiles_are_covered(share: float) -> None:
    valued = COUNTS[:-1]
    truth = int(np.argmax(np.cumsum(valued) >= share * valued.sum()))
    places = [spread.place(share) for spread in draw(3)]
    found = [each for each in places if each is not None]
    assert len(found) == TRIALS
    assert all(each.low <= each.cell <= each.high for each in found)
    assert all(0 <= each.share <= 1 for each in found)
    assert np.mean([each.low <= truth <= each.high for each in found]) > 0.93
    # Control: a cell on the other side of the middle is not in most intervals.
    wrong = 7 if truth < 4 else 0
    assert np.mean([each.low <= wrong <= each.high for each in found]) < 0.6


def test_the_place_within_a_cell_is_where_the_share_is_reached() -> None:
    exact = Spread(np.array([100.0, 200.0, 100.0, 0.0]), 0.0, 400.0)
    half = exact.place(0.5)
    assert half is not None
    assert (half.cell, half.low, half.high) == (1, 1, 1)
    assert half.share == 0.5


def test_quantiles_far_out_end_near_the_last_person() -> None:
    rng = np.random.default_rng(5)
    counts = np.concatenate([np.zeros(10), np.full(20, 200.0), np.zeros(35)])
    drawn = [
        Spread(counts + rng.normal(0, NOISE, 65), NOISE**2, 4000.0) for _ in range(200)
    ]
    for spread in drawn:
        first, stop = spread.occupied
        assert 8 <= first <= 10
        assert 30 <= stop <= 32
        low, high = spread.place(0.005), spread.place(0.995)
        assert low is not None
        assert high is not None
        assert 8 <= low.cell <= 11
        assert 28 <= high.cell <= 32
    # Control: all cells together reach that share much later, every third time.
    late = [(np.cumsum(each.counts[:-1]) < 0.995 * 4000).sum() > 34 for each in drawn]
    assert np.mean(late) > 0.3


def test_noise_alone_occupies_all_cells_as_often_as_stated() -> None:
    # Not in at most 5 % of 4000 times, 200; 270 or more have probability 1e-6.
    nobody = draw(6, np.append(np.zeros(8), 1000.0))
    assert sum(spread.occupied != (0, 8) for spread in nobody) < 270


def test_thin_tails_are_occupied_by_their_sum() -> None:
    counts = np.concatenate([np.full(8, 1000.0), np.full(16, 45.0), np.zeros(41)])
    rng = np.random.default_rng(7)
    drawn = [
        Spread(counts + rng.normal(0, NOISE, 65), NOISE**2, 8720.0) for _ in range(50)
    ]
    assert np.mean([20 <= spread.occupied[1] <= 30 for spread in drawn]) > 0.9


def test_where_nobody_is_seen_there_is_no_place() -> None:
    nobody = Spread(np.array([1.0, -2.0, 100.0]), NOISE**2, 100.0)
    assert nobody.place(0.5) is None


def test_what_is_no_spread_is_refused() -> None:
    with pytest.raises(ValueError, match="cells"):
        Spread(np.zeros(1), 1.0, 10.0)
