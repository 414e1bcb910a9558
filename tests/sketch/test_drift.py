# SPDX-License-Identifier: Apache-2.0
"""Drift: warned of where it is, and in few cases where there is none."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from lexfed.sketch.queries.drift import (
    ERROR,
    WORTH_A_WARNING,
    NoisedHistogram,
    _largest_square,
    drift,
)

FLAT = np.full(16, 1 / 16)
SKEWED = np.array([0.7, 0.2, 0.1] + [0.0] * 13)


def sample(
    parts: NDArray[np.float64], people: int, noise: float, seed: int
) -> NoisedHistogram:
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(people, parts) + rng.normal(0, noise, len(parts))
    return NoisedHistogram(counts, noise**2)


def moved(parts: NDArray[np.float64], by: float) -> NDArray[np.float64]:
    other = parts.copy()
    other[0], other[1] = other[0] + by, other[1] - by
    return other


@pytest.mark.parametrize("parts", [FLAT, SKEWED])
@pytest.mark.parametrize(("people", "noise"), [(60, 0.0), (300, 4.0), (5000, 100.0)])
def test_lower_ends_are_above_zero_without_drift_in_5_percent_at_most(
    parts: NDArray[np.float64], people: int, noise: float
) -> None:
    """At 5 %, 300 trials show more than 29 with probability 3e-4."""
    wrong = 0
    for k in range(300):
        before = sample(parts, people, noise, 2 * k)
        wrong += drift(before, sample(parts, people, noise, 2 * k + 1)).at_least > 0
    assert wrong <= 29


@pytest.mark.parametrize("by", [0.05, 0.2])
def test_lower_ends_are_below_the_true_distance(by: float) -> None:
    """At 5 %, 300 trials show more than 29 with probability 3e-4."""
    other, true = moved(SKEWED, by), by * math.sqrt(2)
    wrong = 0
    for k in range(300):
        found = drift(
            sample(SKEWED, 500, 5.0, 2 * k), sample(other, 500, 5.0, 2 * k + 1)
        )
        wrong += found.at_least > true
    assert wrong <= 29


def test_a_large_drift_is_warned_of() -> None:
    found = drift(
        sample(SKEWED, 5000, 5.0, 1), sample(moved(SKEWED, 0.2), 5000, 5.0, 2)
    )
    assert found.warns
    assert WORTH_A_WARNING < found.at_least <= found.distance


def test_a_drift_that_is_real_but_small_is_not() -> None:
    found = drift(
        sample(SKEWED, 10**7, 5.0, 1), sample(moved(SKEWED, 0.02), 10**7, 5.0, 2)
    )
    assert found.at_least > 0
    assert not found.warns


def test_noise_that_nobody_speaks_of_is_caught() -> None:
    """Negative control: the same trials with half of the variance unsaid."""
    wrong = 0
    for k in range(60):
        before, now = sample(FLAT, 300, 12.0, 2 * k), sample(FLAT, 300, 12.0, 2 * k + 1)
        quiet = (NoisedHistogram(before.counts, 0.0), NoisedHistogram(now.counts, 0.0))
        wrong += drift(*quiet).at_least > 0
    assert wrong > 10


def test_asking_more_takes_more_to_warn() -> None:
    pair = sample(SKEWED, 500, 5.0, 1), sample(moved(SKEWED, 0.2), 500, 5.0, 2)
    assert drift(*pair, asked=100).at_least < drift(*pair).at_least


def test_the_bound_holds_for_squares() -> None:
    """Above it in 5 % at most; 4000 trials show more than 6.5 % with 1e-5."""
    spread = np.array([3.0, 1.0, 0.2, 0.0])
    rng = np.random.default_rng(1)
    squares = np.square(rng.normal(size=(4000, 4))) @ spread
    assert (squares > _largest_square(spread, 1)).mean() <= ERROR + 0.015


@pytest.mark.parametrize("counts", [np.zeros(16), np.full(16, -3.0), np.full(16, 0.05)])
def test_nothing_is_said_where_the_total_is_lost(counts: NDArray[np.float64]) -> None:
    known = sample(FLAT, 1000, 1.0, 1)
    for pair in (
        (known, NoisedHistogram(counts, 1.0)),
        (NoisedHistogram(counts, 1.0), known),
    ):
        assert drift(*pair).at_least == 0.0
        assert not drift(*pair).warns


def test_what_is_no_histogram_is_refused() -> None:
    with pytest.raises(ValueError, match="vector"):
        NoisedHistogram(np.zeros((2, 2)), 1.0)
    with pytest.raises(ValueError, match="finite"):
        NoisedHistogram(np.array([1.0, np.nan]), 1.0)
    with pytest.raises(ValueError, match="variance"):
        NoisedHistogram(np.ones(3), -1.0)
    with pytest.raises(ValueError, match="same cells"):
        drift(NoisedHistogram(np.ones(3), 0.0), NoisedHistogram(np.ones(4), 0.0))
    with pytest.raises(ValueError, match="asked"):
        drift(
            NoisedHistogram(np.ones(3), 0.0), NoisedHistogram(np.ones(3), 0.0), asked=0
        )
