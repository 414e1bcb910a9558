# SPDX-License-Identifier: Apache-2.0
"""Randomised response: the stated epsilon, by exact ratios and by counted coins."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.errors import ConfigError, Refused
from lexfed.privacy.pure_epsilon import gaussian_of
from lexfed.randomness import SecureSource, SeededSource
from lexfed.sketch.releases.noised_sketch import Contribution
from lexfed.sketch.releases.randomised_response import (
    MOST_FLIPPED,
    FlipPlan,
    flip_bits,
    release_bits,
)
from lexfed.terms import Neighbours
from lexfed.tiers import Tier
from support.sketch import response_checks as checks
from support.sketch.paying_checks import Watched, ledger_for


def test_every_bit_is_flipped_as_often_as_stated() -> None:
    checks.every_bit_is_flipped_as_often_as_stated()


def test_coins_are_independent() -> None:
    checks.coins_are_independent()


def test_no_outcome_is_likelier_than_stated() -> None:
    checks.no_outcome_is_likelier_than_stated()


@given(
    st.integers(1, 1000),
    st.floats(0.0401, 25.0),
    st.sampled_from(checks.RELATIONS),
)
def test_the_stated_epsilon_is_that_of_the_coins_and_within_the_budget(
    items: int, each: float, relation: Neighbours
) -> None:
    person = Contribution(items=items)
    changed = items * (1 if relation == "add-remove" else 2)
    plan = FlipPlan(person, each * changed * (1 - 1e-15), relation)
    assert plan.changed == changed
    # The coins compare 64 bits with this; a remainder would lower the rate.
    assert (Fraction(plan.flip) * 2**64).denominator == 1
    with mpmath.workdps(50):
        flip = mpmath.mpf(plan.flip)
        exact = changed * mpmath.log((1 - flip) / flip)
        assert exact <= plan.epsilon <= plan.budget
        assert plan.epsilon >= plan.budget * (1 - 0.1)


def test_budgets_that_say_nothing_are_refused_with_the_least_that_does() -> None:
    person = Contribution(items=10)
    with pytest.raises(ConfigError, match="10 bits of a person") as caught:
        FlipPlan(person, 0.3)
    assert "ε = 0.4 or more" in caught.value.problems[0].hint
    assert FlipPlan(person, 0.401).flip <= MOST_FLIPPED


def test_a_flipped_filter_says_what_it_cost() -> None:
    plan = FlipPlan(Contribution(), 1.0, "replace-one")
    bits = np.arange(64) % 3 == 0
    kept = bits.copy()
    flipped = flip_bits(plan, bits, SeededSource(1))
    assert (bits == kept).all()
    assert (flipped.flip, flipped.epsilon) == (plan.flip, plan.epsilon)
    assert flipped.neighbours == "replace-one"
    assert not flipped.private
    assert flipped.bits.shape == bits.shape
    assert flip_bits(plan, bits, SecureSource()).private


def test_a_coin_for_every_second_bit_would_be_noticed() -> None:
    """Negative control of the counted coins: p/2 is outside of what is allowed."""
    plan = FlipPlan(Contribution(), 6.0)
    half = np.zeros(checks.BITS, dtype=np.bool_)
    half[::2] = flip_bits(plan, half[::2], SeededSource(2)).bits
    slack = 6.0 * math.sqrt(plan.flip * (1 - plan.flip) / checks.BITS)
    assert abs(float(np.mean(half)) - plan.flip) > slack


@pytest.mark.parametrize("budget", [0.0, -1.0, math.inf, math.nan, 25.1])
def test_budgets_out_of_range_are_refused(budget: float) -> None:
    with pytest.raises(ValueError, match="`budget`"):
        FlipPlan(Contribution(), budget)


def test_what_is_not_one_row_of_bits_is_refused() -> None:
    plan = FlipPlan(Contribution(), 1.0)
    with pytest.raises(ValueError, match="one row of bits"):
        flip_bits(plan, np.zeros((2, 2), dtype=np.bool_), SeededSource(1))
    with pytest.raises(ValueError, match="one row of bits"):
        flip_bits(plan, np.zeros(2), SeededSource(1))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="`depth`"):
        FlipPlan(Contribution(depth=2), 1.0)


def test_flipped_bits_are_charged_before_a_coin_is_flipped() -> None:
    bits = np.zeros(8, dtype=np.bool_)
    for relation in checks.RELATIONS:
        plan = FlipPlan(Contribution(items=2), 1.0, relation)
        event = plan.event("codes", Tier.SPECIAL)
        joined = plan.epsilon / (1 if relation == "add-remove" else 2)
        assert math.isclose(1 / event.noise_multiplier, gaussian_of(joined))
        assert 1 / event.noise_multiplier >= gaussian_of(joined)
        assert (event.reads, event.samples) == (Tier.SPECIAL, 0)
        ledger = ledger_for(event)
        assert len(release_bits(plan, event, bits, ledger, SeededSource(1)).bits) == 8
        assert ledger.events() == (event,)
        source = Watched()
        with pytest.raises(Refused):
            release_bits(plan, event, bits, ledger, source)
        assert source.asked == 0


def test_nothing_is_charged_for_what_is_not_of_the_plan() -> None:
    plan = FlipPlan(Contribution(), 1.0)
    event = plan.event("codes", None)
    ledger = ledger_for(event)
    with pytest.raises(ValueError, match="one row of bits"):
        release_bits(
            plan, event, np.zeros((2, 2), dtype=np.bool_), ledger, SeededSource(1)
        )
    cheaper = FlipPlan(Contribution(), 0.5).event("codes", None)
    with pytest.raises(ValueError, match="event of this plan"):
        release_bits(
            plan, cheaper, np.zeros(2, dtype=np.bool_), ledger, SeededSource(1)
        )
    assert ledger.events() == ()
