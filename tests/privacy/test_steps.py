# SPDX-License-Identifier: Apache-2.0
"""Merging steps, rounding levels and rounding numbers, all on the safe side."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.privacy.accountants.gdp import (
    Step,
    gaussian_mu,
    merged_steps,
    sensitivity,
)
from lexfed.privacy.accountants.rdp import round_down
from lexfed.privacy.scopes import down, up

STEPS = st.lists(
    st.builds(Step, st.floats(0.3, 30), st.floats(0.001, 1), st.integers(0, 5)),
    min_size=1,
    max_size=60,
)


def test_merge_counts_equal_steps_and_drops_free_ones() -> None:
    steps = [Step(2), Step(2.0, 1.0, 3), Step(math.inf), Step(1.0, 0.0), Step(5, 1, 0)]
    assert merged_steps(steps) == (Step(2.0, 1.0, 4),)
    assert isinstance(merged_steps(steps)[0].noise_multiplier, float)


@given(STEPS, st.randoms())
def test_merge_ignores_the_order(steps: list[Step], random: object) -> None:
    shuffled = list(steps)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert merged_steps(shuffled) == merged_steps(steps)


@pytest.mark.parametrize(
    "step", [(0.0, 1.0, 1), (1.0, 1.1, 1), (1.0, 0.5, -1), (math.nan, 1.0, 1)]
)
def test_impossible_steps_are_refused(step: tuple[float, float, int]) -> None:
    with pytest.raises(ValueError, match="expected"):
        Step(*step)


def test_unknown_neighbours_are_refused() -> None:
    with pytest.raises(ValueError, match="neighbours"):
        sensitivity("zero-out")  # type: ignore[arg-type]


def test_mu_doubles_under_replace_one_and_needs_full_participation() -> None:
    steps = [Step(4.0, 1.0, 16)]
    assert gaussian_mu(steps, "add-remove") == 1.0
    assert gaussian_mu(steps, "replace-one") == 2.0
    with pytest.raises(ValueError, match="sampling_rate"):
        gaussian_mu([Step(1.0, 0.5)], "add-remove")


@given(STEPS, st.integers(1, 20))
def test_rounded_levels_are_few_and_at_least_as_costly(
    steps: list[Step], limit: int
) -> None:
    rounded = round_down(steps, limit)
    merged = merged_steps(steps)
    assert len(rounded) <= max(limit, 1)
    assert sum(s.count for s in rounded) == sum(s.count for s in merged)
    if len(merged) <= limit:
        assert rounded == merged
    # Domination: for every threshold no more steps are quieter or rarer than before.
    for probe in merged:
        before = sum(
            s.count
            for s in merged
            if s.noise_multiplier <= probe.noise_multiplier
            and s.sampling_rate >= probe.sampling_rate
        )
        after = sum(
            s.count
            for s in rounded
            if s.noise_multiplier <= probe.noise_multiplier
            and s.sampling_rate >= probe.sampling_rate
        )
        assert after >= before


@given(st.floats(1e-300, 1e300), st.integers(2, 12))
def test_numbers_are_rounded_up_and_not_far(value: float, digits: int) -> None:
    rounded = up(value, digits)
    assert value <= rounded <= value * (1 + 10.0 ** (1 - digits)) * (1 + 1e-15)


def test_rounding_keeps_what_is_already_round() -> None:
    assert up(2.0) == 2.0
    assert up(0.1) == 0.1 or up(0.1) == pytest.approx(0.1, rel=1e-7)
    assert up(0.0) == 0.0
    assert up(math.inf) == math.inf


@given(st.floats(1e-300, 1e300))
def test_what_is_rounded_down_is_a_budget_that_no_stated_number_exceeds(
    value: float,
) -> None:
    budget = down(value)
    assert value * (1 - 1.1e-7) <= budget <= value
    assert down(budget) == budget
    # What costs less than the budget, by more than the rounding of a double, is not
    # stated as more than it. Without `down` it would be.
    for cost in (budget * (1 - 1e-12), budget * (1 - 1e-9)):
        assert up(cost) <= budget * (1 + 1e-12)


def test_budgets_of_few_digits_stay() -> None:
    assert [down(value) for value in (0.48, 2.0, 1e-6)] == [0.48, 2.0, 1e-6]


@pytest.mark.parametrize("limit", [1, 3, 7, 11])
def test_steps_that_no_cut_tells_apart_are_cut_all_the_same(limit: int) -> None:
    # So little noise that every cut saves nothing, or less by rounding.
    steps = [Step(0.01 * i, 1.0, 37 * i + 1) for i in range(1, 13)]
    levels = round_down(steps, limit)
    assert len(levels) == limit
    assert sum(level.count for level in levels) == sum(step.count for step in steps)
