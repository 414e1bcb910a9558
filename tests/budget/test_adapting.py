# SPDX-License-Identifier: Apache-2.0
"""Whatever is released, steering stays in its bounds, and freezes at the safe value."""

import itertools
import math
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.budget import tower_steering
from lexfed.budget.noise_feedback import Signal
from lexfed.budget.tower_steering import (
    LEVELS,
    Adaptation,
    ClipRule,
    NoiseRule,
    ObservedRelease,
    Steering,
)
from lexfed.terms import Guarantee
from lexfed.tiers import MODEL_TIERS, Tier

RULES = tuple(
    itertools.product(get_args(NoiseRule), get_args(ClipRule), get_args(Guarantee))
)
WEIRD = (math.nan, math.inf, -math.inf, 1e300, 0.0, -0.0, 5e-324)


@st.composite
def vectors(draw: st.DrawFn) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Draw what an attacker could make of a release."""
    ordinary = st.floats(-3.0, 3.0)
    numbers = st.one_of(ordinary, ordinary, st.sampled_from(WEIRD), st.floats())
    return np.array(draw(st.lists(numbers, min_size=3, max_size=3)))


@pytest.mark.no_cover
@pytest.mark.parametrize(("noise", "clip", "guarantee"), RULES)
@given(
    released=st.lists(vectors(), max_size=25),
    bits=st.lists(st.floats(), min_size=25, max_size=25),
    tier=st.sampled_from(MODEL_TIERS),
    beta=st.floats(0.01, 0.9),
)
def test_steering_stays_in_its_bounds(
    noise: NoiseRule,
    clip: ClipRule,
    guarantee: Guarantee,
    released: list[Any],
    bits: list[float],
    tier: Tier,
    beta: float,
) -> None:
    adapting = Adaptation(
        noise, guarantee, beta, clip=clip, learning_rate="feedback", patience=4
    )
    low, high = adapting.noise_range(tier)
    assert low <= 1.0 <= high
    assert guarantee == "filter" or low == 1.0
    state = adapting.start(tier)
    assert state.noise == high
    for vector, bit in zip(released, bits, strict=False):
        frozen = state.frozen
        seen = ObservedRelease(Signal(vector, 0.5), state.radius, 8.0, bit)
        after = adapting.after(state, seen, tier)
        assert low <= after.noise <= high
        assert (
            tower_steering.SMALLEST_RADIUS / 2
            <= after.radius
            <= tower_steering.LARGEST_RADIUS * 2
        )
        assert 0.1 < after.rate < 10.0
        assert 0.0 <= after.score <= 1.0
        honest = math.hypot(*vector) <= 8.0
        if frozen or not honest:
            assert after.frozen
            assert after.noise == high
            assert (after.radius, after.rate) == (state.radius, state.rate)
        assert isinstance(adapting.is_over(after), bool)
        state = after


def steered(adapting: Adaptation, sizes: list[float], tier: Tier) -> Steering:
    state = adapting.start(tier)
    for size in sizes:
        signal = Signal(np.array([size, 0.0]), 0.0)
        state = adapting.after(state, ObservedRelease(signal, 1.0, 100.0), tier)
    return state


def test_an_envelope_plans_the_floor() -> None:
    """The plan is (1 - beta) sigma; actual noise is floor / (1 - beta) (1 - beta s)."""
    adapting = Adaptation("convergence", beta=0.3)
    assert adapting.noise_range(Tier.SPECIAL) == pytest.approx((1.0, 1 / 0.7))
    converged = steered(adapting, [1.0] * 4, Tier.SPECIAL)
    assert converged.score == 1.0
    assert converged.noise == 1.0
    moving = steered(adapting, [0.0, 0.5], Tier.SPECIAL)
    exact = (1 - 0.3 * math.exp(-0.1 * 0.5 * 10)) / 0.7
    assert exact <= moving.noise <= exact + 0.3 / 0.7 / LEVELS


def test_a_filter_plans_the_middle() -> None:
    adapting = Adaptation("convergence", "filter", beta=0.3)
    low, high = adapting.noise_range(Tier.PERSONAL)
    assert (low, high) == pytest.approx((0.7 / 0.85, 1 / 0.85))
    assert adapting.most_rounds(7) == 14
    assert replace(adapting, rounds_at_most=9).most_rounds(7) == 9
    assert replace(adapting, rounds_at_most=10**9).most_rounds(7) == 7000
    assert Adaptation("convergence").most_rounds(7) == 7


def test_the_linear_form_depends_on_the_tier() -> None:
    adapting = Adaptation("linear")
    ranges = [adapting.noise_range(tier)[1] for tier in MODEL_TIERS]
    assert ranges == pytest.approx([1.0 / 0.6, 1.5 / 1.1, 2.5 / 2.1])
    for tier, least in zip(MODEL_TIERS, (1.0, 1.0, 1.0), strict=True):
        assert steered(adapting, [1.0] * 4, tier).noise == pytest.approx(least)


def test_what_no_honest_site_could_have_sent_freezes_at_the_most_noise() -> None:
    adapting = Adaptation("convergence", beta=0.3)
    high = adapting.noise_range(Tier.SPECIAL)[1]
    before = steered(adapting, [1.0] * 4, Tier.SPECIAL)
    assert not before.frozen
    for size in (math.nan, math.inf, 101.0):
        frozen = steered(adapting, [*[1.0] * 4, size], Tier.SPECIAL)
        assert (frozen.frozen, frozen.noise) == (True, high)
        after = adapting.after(
            frozen, ObservedRelease(Signal(np.ones(2), 0.0), 1.0, 9.0), Tier.SPECIAL
        )
        assert after is frozen


def test_a_quantile_clip_follows_the_bits_it_hears() -> None:
    adapting = Adaptation(clip="quantile")
    state = adapting.start(Tier.SPECIAL)
    signal = Signal(np.array([1.0, 0.0]), 0.0)
    for bits, grows in ((-0.5, True), (0.5, False)):
        seen = ObservedRelease(signal, 1.0, 100.0, bits)
        wanted = adapting.after(state, seen, Tier.SPECIAL).wanted_radius
        assert (wanted > state.wanted_radius, wanted < state.wanted_radius) == (
            grows,
            not grows,
        )


def test_nothing_adapts_unless_it_is_asked_for() -> None:
    assert not Adaptation().active
    assert Adaptation(patience=3).active
    assert Adaptation(learning_rate="feedback").active
    state = steered(Adaptation(patience=3), [1.0, 2.0, 3.0], Tier.SPECIAL)
    assert (state.noise, state.radius, state.rate) == (1.0, 1.0, 1.0)
    assert not Adaptation().is_over(steered(Adaptation(), [1.0] * 9, Tier.SPECIAL))


def test_levels_round_to_more_noise() -> None:
    adapting = Adaptation("convergence", beta=0.3)
    low, high = adapting.noise_range(Tier.SPECIAL)
    levels = [low + (high - low) * k / LEVELS for k in range(LEVELS + 1)]
    for size in np.linspace(0.0, 2.0, 50):
        state = steered(adapting, [0.0, float(size)], Tier.SPECIAL)
        assert min(abs(state.noise - level) for level in levels) < 1e-12
        assert state.noise >= (1 - 0.3 * state.score) / 0.7 * (1 - 1e-12)


@pytest.mark.parametrize("sizes", [[], [1.0], [1.0, 0.5, math.nan]])
def test_the_state_survives_its_memory(sizes: list[float]) -> None:
    adapting = Adaptation("feedback", clip="feedback", learning_rate="feedback")
    state = steered(adapting, sizes, Tier.SPECIAL)
    memory = state.to_memory(1)
    back = Steering.from_memory(1, memory)
    assert back is not None
    assert {k: v.tolist() for k, v in back.to_memory(1).items()} == {
        k: v.tolist() for k, v in memory.items()
    }
    assert Steering.from_memory(0, memory) is None
