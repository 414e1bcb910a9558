# SPDX-License-Identifier: Apache-2.0
"""A stricter budget is kept, and used up, whatever the plan of the others."""

from collections.abc import Sequence
from typing import Any

import dp_accounting
import pytest
from dp_accounting.pld import PLDAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

from lexfed.budget.noise_plan import Budget, TowerTiers
from lexfed.budget.sites import (
    LEAST_PARTICIPATION,
    BudgetProfile,
    ParticipationFactors,
    loosest_budget,
    participation_of,
    weakened_step,
)
from lexfed.privacy.accountants.gdp import Step
from lexfed.terms import Accountant, Neighbours, Realisation
from lexfed.tiers import MODEL_TIERS, Tier

DELTA = 1e-6
RELATIONS: tuple[Neighbours, ...] = ("add-remove", "replace-one")

Towers = Sequence[Sequence[Step]]


def independent(steps: Sequence[Step], neighbours: Neighbours) -> float:
    """Price by the accountant of dp-accounting, one event per step."""
    relation = {
        "add-remove": dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE,
        "replace-one": dp_accounting.NeighboringRelation.REPLACE_ONE,
    }[neighbours]
    accountant = PLDAccountant(relation)
    for step in steps:
        event: Any = dp_accounting.GaussianDpEvent(step.noise_multiplier)
        if step.sampling_rate < 1.0:
            event = dp_accounting.PoissonSampledDpEvent(step.sampling_rate, event)
        accountant.compose(event, step.count)
    return float(accountant.get_epsilon(DELTA))


def charged(towers: Towers, part: ParticipationFactors) -> list[list[Step]]:
    """Return the steps as a site of the profile is charged for them."""
    return [
        [
            Step(step.noise_multiplier / weight, step.sampling_rate * rate, step.count)
            for step in steps
            if weight > 0.0 and rate > 0.0
        ]
        for steps, weight, rate in zip(towers, part.weights, part.rates, strict=True)
    ]


def used(
    towers: Towers, part: ParticipationFactors, budget: Budget
) -> dict[str, float]:
    """Return which part of each budget the profile's sites use up."""
    own = charged(towers, part)
    flat = [step for steps in own for step in steps]
    found = {"record": independent(flat, budget.neighbours) / budget.epsilon}
    for tier, cap in budget.caps.items():
        if tier not in MODEL_TIERS[: len(towers)]:
            continue
        first = MODEL_TIERS.index(tier)
        above = [step for steps in own[first:] for step in steps]
        found[tier.label] = independent(above, "replace-one") / cap
    return found


budgets = st.builds(
    Budget,
    epsilon=st.floats(0.05, 6.0),
    delta=st.just(DELTA),
    neighbours=st.sampled_from(RELATIONS),
    caps=st.dictionaries(st.sampled_from(MODEL_TIERS), st.floats(0.02, 6.0)),
)


def plans(rates: st.SearchStrategy[float]) -> st.SearchStrategy[list[list[Step]]]:
    step = st.builds(Step, st.floats(0.8, 60.0), rates, st.integers(1, 5))
    return st.lists(st.lists(step, min_size=1, max_size=2), min_size=1, max_size=3)


def part(
    towers: Towers,
    budget: Budget,
    accountant: Accountant = "pld",
    realise: Realisation = "clip",
) -> ParticipationFactors:
    reads = MODEL_TIERS[: len(towers)]
    tiers = TowerTiers(reads, reads)
    return participation_of(towers, budget, tiers, accountant, realise)


def assert_honoured(
    towers: Towers,
    found: ParticipationFactors,
    budget: Budget,
    least: float,
    most: float,
) -> None:
    """Raise unless all budgets hold and one is used up for every weakened tower."""
    spent = used(towers, found, budget)
    assert all(0.0 <= factor <= 1.0 for factor in (*found.weights, *found.rates))
    assert max(spent.values()) <= most
    for tower, factors in enumerate(zip(found.weights, found.rates, strict=True)):
        if factors == (1.0, 1.0):
            continue
        concerned = [
            spent[name]
            for name in spent
            if name == "record" or MODEL_TIERS.index(Tier.parse(name)) <= tower
        ]
        assert min(factors) <= LEAST_PARTICIPATION or max(concerned) >= least


@pytest.mark.no_cover
@settings(max_examples=25, deadline=None)
@given(plans(st.just(1.0)), budgets)
def test_full_batches_keep_a_stricter_budget_and_use_it_up(
    towers: list[list[Step]], budget: Budget
) -> None:
    # The other accountant rounds up what has a formula here, by less than 0.1 %.
    assert_honoured(towers, part(towers, budget), budget, 0.999, 1.001)


@settings(max_examples=4, deadline=None)
@given(plans(st.floats(0.05, 0.6)), budgets, st.sampled_from(["clip", "sampling"]))
def test_sampled_rounds_keep_a_stricter_budget_and_use_it_up(
    towers: list[list[Step]], budget: Budget, realise: Realisation
) -> None:
    found = part(towers, budget, "pld", realise)
    assert_honoured(towers, found, budget, 0.97, 1.0 + 1e-6)


@pytest.mark.no_cover
@settings(max_examples=5, deadline=None)
@given(plans(st.floats(0.05, 1.0)), budgets, st.sampled_from(["clip", "sampling"]))
def test_renyi_accounting_keeps_a_stricter_budget(
    towers: list[list[Step]], budget: Budget, realise: Realisation
) -> None:
    found = part(towers, budget, "rdp", realise)
    assert max(used(towers, found, budget).values()) <= 1.0 + 1e-6


PLAN = [[Step(8.0, 1.0, 3)], [Step(12.0, 1.0, 4)], [Step(16.0, 1.0, 5)]]


def test_a_budget_that_the_plan_keeps_anyway_weakens_nothing() -> None:
    found = part(PLAN, Budget(50.0, DELTA, "add-remove", {Tier.SPECIAL: 50.0}))
    assert found == ParticipationFactors((1.0,) * 3, (1.0,) * 3)


def test_a_smaller_epsilon_weakens_all_towers_alike() -> None:
    weights = part(PLAN, Budget(0.5, DELTA, "add-remove")).weights
    assert 0.0 < weights[0] < 1.0
    assert weights == pytest.approx((weights[0],) * 3)


def test_a_smaller_cap_weakens_its_own_tower_and_leaves_the_others() -> None:
    budget = Budget(50.0, DELTA, "add-remove", {Tier.SPECIAL: 0.2})
    weights = part(PLAN, budget).weights
    assert weights[:2] == (1.0, 1.0)
    assert weights[2] < 1.0


def test_what_a_capped_tower_leaves_goes_to_the_lower_ones() -> None:
    alone = part(PLAN, Budget(1.0, DELTA, "add-remove")).weights
    capped = part(PLAN, Budget(1.0, DELTA, "add-remove", {Tier.SPECIAL: 0.2})).weights
    assert capped[2] < alone[2]
    assert capped[0] == capped[1] > alone[0]


def test_sampling_is_weakened_where_asked_for() -> None:
    towers = [[Step(3.0, 0.3, 4)], [Step(4.0, 0.3, 4)]]
    budget = Budget(0.5, DELTA, "add-remove")
    rarer, smaller = (part(towers, budget, "pld", r) for r in ("sampling", "clip"))
    assert rarer.weights == smaller.rates == (1.0, 1.0)
    assert rarer.rates[0] < 1.0
    assert smaller.weights[0] < 1.0
    ample = Budget(50.0, DELTA, "add-remove")
    assert part(towers, ample, "pld", "sampling").rates == (1.0, 1.0)


def test_a_weakened_step_is_quieter_or_rarer() -> None:
    step = Step(3.0, 0.4, 4)
    assert weakened_step(step, 0.5, "clip") == Step(6.0, 0.4, 4)
    assert weakened_step(step, 0.5, "sampling") == Step(3.0, 0.2, 4)


def test_a_profile_that_saves_takes_part_less_at_first() -> None:
    budget = Budget(1.0, DELTA, "add-remove")
    saving = BudgetProfile("clinics", ("a",), budget, save=0.5, save_until=0.5)
    early = saving.early(4)
    assert early[0] == early[1] < early[2] == early[3] == 1.0
    assert BudgetProfile("clinics", ("a",), budget).early(3) == (1.0,) * 3


def test_what_no_factor_can_meet_is_left_out() -> None:
    # No Rényi order proves so small an epsilon, whatever the noise.
    tiny = Budget(1.0, DELTA, "add-remove", {Tier.SPECIAL: 1e-4})
    assert part(PLAN, tiny, "rdp").weights[2] == 0.0
    towers = [[Step(3.0, 0.3, 4)], [Step(3.0, 0.3, 4)], [Step(0.1, 0.3, 4)]]
    rates = part(towers, tiny, "rdp", "sampling").rates
    assert rates[2] == 0.0
    assert rates[0] > 0.0


def test_the_loosest_budget_is_looser_than_all() -> None:
    one = Budget(1.0, DELTA, "add-remove", {Tier.SPECIAL: 0.1, Tier.PERSONAL: 0.9})
    two = Budget(2.0, DELTA, "add-remove", {Tier.SPECIAL: 0.3})
    assert loosest_budget([one, two]) == Budget(
        2.0, DELTA, "add-remove", {Tier.SPECIAL: 0.3}
    )
    assert loosest_budget([one]) == one
