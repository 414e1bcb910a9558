# SPDX-License-Identifier: Apache-2.0
"""The feedback controller moves within its limits and does not swing."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.budget.noise_feedback import (
    CLIP,
    LEARNING_RATE,
    SLOWEST,
    Feedback,
    Knob,
    KnobLimits,
    Signal,
    noise_limits,
    turned_knob,
)

LIMITS = KnobLimits(0.5, 2.0, change=0.1, band=0.2)
NOISE = noise_limits(0.7, 1.0)
ERRORS = st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=60)


@given(errors=ERRORS)
def test_a_knob_keeps_its_bounds_and_its_pace(errors: list[float]) -> None:
    knob = Knob(1.0)
    for error in errors:
        after = turned_knob(knob, error, LIMITS)
        assert LIMITS.low <= after.value <= LIMITS.high
        assert abs(after.value / knob.value - 1.0) <= LIMITS.change * (1 + 1e-12)
        assert SLOWEST <= after.pace <= 1.0
        knob = after


@pytest.mark.parametrize("error", [0.0, 0.2, -0.2, math.nan, math.inf])
def test_a_small_or_senseless_error_moves_nothing(error: float) -> None:
    assert turned_knob(Knob(1.3, 1.0, 0.5), error, LIMITS) == Knob(1.3, 1.0, 0.5)


def test_contradictions_damp_the_knob() -> None:
    """Errors of alternating sign: moves shrink by half each, down to the slowest."""
    knob, moves = Knob(1.0), []
    for place in range(12):
        after = turned_knob(knob, 5.0 * (-1) ** place, LIMITS)
        moves.append(abs(math.log(after.value / knob.value)))
        knob = after
    assert moves[1] == pytest.approx(moves[0] / 2)
    assert moves[2] == pytest.approx(moves[0] / 4)
    assert moves[-1] == pytest.approx(moves[0] * SLOWEST)
    # Going on in one direction gets it back to its pace.
    for _ in range(40):
        knob = turned_knob(knob, -5.0, LIMITS)
    assert knob.pace == 1.0
    assert knob.value == LIMITS.low


def start() -> Feedback:
    return Feedback(Knob(1.0), Knob(1.0), Knob(1.0))


def after(signals: list[Signal], clip: float = 1.0) -> Feedback:
    state, before = start(), None
    for signal in signals:
        state = state.after(signal, before, clip, NOISE)
        before = signal
    return state


def test_noise_falls_where_the_signal_drowns_and_rises_where_it_stands_out() -> None:
    drowned = Signal(np.full(4, 0.1), 1.0)
    assert after([drowned] * 20).noise.value == NOISE.low
    loud = Signal(np.full(4, 5.0), 0.01)
    lowered = after([drowned] * 4)
    assert lowered.noise.value < 1.0
    again = lowered
    for _ in range(20):
        again = again.after(loud, loud, 1.0, NOISE)
    assert again.noise.value == NOISE.high


def test_the_step_follows_agreement() -> None:
    ahead = Signal(np.array([1.0, 0.0]), 0.0)
    back = Signal(np.array([-1.0, 0.0]), 0.0)
    assert after([ahead] * 8).rate.value > 1.5
    assert after([ahead, back] * 4).rate.value < 0.8
    assert after([ahead]).rate.value == 1.0


def test_the_clip_follows_the_size_of_the_mean() -> None:
    assert after([Signal(np.array([1.0, 0.0]), 0.0)] * 8).clip.value > 1.5
    assert after([Signal(np.array([0.01, 0.0]), 0.0)] * 8).clip.value < 0.7
    assert after([Signal(np.array([0.3, 0.0]), 0.0)] * 8).clip.value == 1.0


def test_nothing_at_all_is_far_below_every_target() -> None:
    nothing = Signal(np.zeros(2), 0.0)
    state = after([nothing] * 3)
    assert state.noise.value == 1.0  # no noise either: at its bound already
    assert state.clip.value < 1.0


@given(
    sizes=st.lists(st.floats(0.0, 1e150), min_size=1, max_size=30),
    power=st.floats(0.0, 1e150),
    clip=st.floats(1e-9, 1e9),
)
def test_knobs_stay_in_bounds_whatever_is_released(
    sizes: list[float], power: float, clip: float
) -> None:
    state, before = start(), None
    for place, size in enumerate(sizes):
        signal = Signal(np.array([size, -size]) * (-1) ** place, power)
        state = state.after(signal, before, clip, NOISE)
        before = signal
        assert NOISE.low <= state.noise.value <= NOISE.high
        assert CLIP.low <= state.clip.value <= CLIP.high
        assert LEARNING_RATE.low <= state.rate.value <= LEARNING_RATE.high


def test_the_state_survives_its_vector() -> None:
    state = after([Signal(np.array([0.4, 0.1]), 0.02), Signal(np.ones(2), 0.5)])
    assert Feedback.from_array(state.to_array()) == state
