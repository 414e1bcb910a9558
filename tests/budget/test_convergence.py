# SPDX-License-Identifier: Apache-2.0
"""Noise that follows convergence: the published formulas, and bounds that hold."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.budget import noise_feedback
from lexfed.budget.noise_feedback import Signal, cosine, distance
from lexfed.tiers import Tier

ANYTHING = st.floats(allow_nan=True, allow_infinity=True)


def test_the_score_is_the_published_one() -> None:
    distances = [0.5, 0.25, 0.125, 0.0, 0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
    expected = math.exp(-0.1 * sum(distances))
    assert noise_feedback.convergence_score(distances, 10, 0.1) == pytest.approx(
        expected, rel=1e-15
    )
    # Only the window counts, and its latest part.
    assert noise_feedback.convergence_score(
        [9.0, *distances], 10, 0.1
    ) == pytest.approx(expected)


def test_a_short_window_goes_on_as_it_began() -> None:
    assert noise_feedback.convergence_score([], 10, 0.1) == 0.0
    assert noise_feedback.convergence_score([0.2], 10, 0.1) == pytest.approx(
        math.exp(-0.2)
    )
    assert noise_feedback.convergence_score([0.0], 10, 0.1) == 1.0


def test_the_factors_are_the_published_ones() -> None:
    assert noise_feedback.convergence_factor(0.5, 0.3) == pytest.approx(0.85)
    # base * (2.0 * weight + 0.5 * (1 - convergence)), convergence at most 0.8
    assert noise_feedback.linear_factor(0.5, 0.25) == pytest.approx(0.75)
    assert noise_feedback.linear_factor(1.0, 1.0) == pytest.approx(2.1)
    assert noise_feedback.linear_bounds(0.5) == pytest.approx((1.1, 1.5))
    assert set(noise_feedback.TIER_WEIGHT) == set(Tier) - {Tier.IDENTIFIER}


@given(score=ANYTHING, beta=st.floats(0.0, 0.9), weight=st.floats(0.25, 1.0))
def test_factors_stay_in_their_bounds(score: float, beta: float, weight: float) -> None:
    low, high = noise_feedback.convergence_bounds(beta)
    assert low <= noise_feedback.convergence_factor(score, beta) <= high
    low, high = noise_feedback.linear_bounds(weight)
    assert low <= noise_feedback.linear_factor(score, weight) <= high


def test_bounds_leave_noise() -> None:
    with pytest.raises(ValueError, match="beta"):
        noise_feedback.convergence_bounds(0.95)
    with pytest.raises(ValueError, match="weight"):
        noise_feedback.linear_bounds(0.1)


def test_distances_have_the_noise_taken_off() -> None:
    """200 pairs at noise as strong as the signal: the mean square is the true one.

    The mean of 200 squares has a relative deviation below 2 %; 10 % are five of them.
    Without the correction the mean would be 3 times too large.
    """
    generator = np.random.default_rng(5)
    first, second = np.zeros(100), np.full(100, 0.2)
    true = float(np.sum((second - first) ** 2))
    squares = []
    for _ in range(200):
        noises = generator.normal(0.0, 0.2, (2, 100))
        power = 100 * 0.2**2
        pair = Signal(first + noises[0], power), Signal(second + noises[1], power)
        squares.append(distance(pair[1], pair[0]) ** 2)
    assert np.mean(squares) == pytest.approx(true, rel=0.1)


def test_noise_alone_has_no_size() -> None:
    noise = Signal(np.full(4, 0.1), 1.0)
    assert noise.square == 0.0
    assert distance(noise, noise) == 0.0
    assert Signal(np.full(4, 1.0), 1.0).square == pytest.approx(3.0)


def test_cosines_are_of_what_was_released() -> None:
    one = Signal(np.array([1.0, 0.0]), 0.0)
    other = Signal(np.array([-2.0, 0.0]), 0.0)
    nothing = Signal(np.zeros(2), 0.0)
    assert cosine(one, one) == 1.0
    assert cosine(one, other) == -1.0
    assert cosine(one, nothing) == 0.0


@pytest.mark.parametrize("broken", [math.nan, math.inf, -math.inf, 1e200])
def test_what_honest_sums_cannot_be_is_seen(broken: float) -> None:
    assert not Signal(np.array([0.0, broken]), 0.1).is_sound(10.0)
    assert Signal(np.array([6.0, 8.0]), 0.1).is_sound(10.0)
