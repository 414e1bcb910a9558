# SPDX-License-Identifier: Apache-2.0
"""Ledgers: refuse before, remember exactly, stay quick."""

import json
import math
from dataclasses import replace

import pytest

from lexfed.errors import ClaimError, Refused
from lexfed.privacy.accountants import composition
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.privacy.run_ledger import BudgetExcess, Ledger, Limits
from lexfed.privacy.scopes import CountedRelease, record_epsilon, tier_epsilon
from lexfed.terms import Accountant
from lexfed.tiers import Tier

DELTA = 1e-6
CAPS = ((Tier.PERSONAL, 1.2), (Tier.SPECIAL, 0.3))
LIMITS = Limits(2.0, DELTA, "add-remove", CAPS)


def tower(tier: Tier | None, sigma: float, rate: float = 1.0) -> Release:
    name = "label" if tier is None else tier.label
    return Release(name, (ReleaseGroup(name, 1.0, sigma),), rate, tier, 10)


FREE, PERSONAL, SPECIAL = (
    tower(Tier.NON_PERSONAL, 12.0),
    tower(Tier.PERSONAL, 50.0),
    tower(Tier.SPECIAL, 150.0),
)
PLAN: tuple[CountedRelease, ...] = ((FREE, 10), (PERSONAL, 10), (SPECIAL, 10))


def planned() -> Ledger:
    return Ledger.planned(LIMITS, PLAN)


def run(ledger: Ledger) -> None:
    for release, count in PLAN:
        for _ in range(count):
            assert ledger.would_exceed(release) is None
            ledger.charge(release)


def test_the_plan_runs_to_its_end_and_not_further() -> None:
    ledger = planned()
    run(ledger)
    spent = ledger.spent()
    assert spent.record == record_epsilon(PLAN, DELTA, "add-remove")
    assert spent.tiers == {
        tier: tier_epsilon(PLAN, tier, DELTA)
        for tier in (Tier.NON_PERSONAL, Tier.PERSONAL, Tier.SPECIAL)
    }
    assert spent.delta == DELTA
    with pytest.raises(Refused, match="release `special` refused"):
        ledger.charge(SPECIAL)
    assert len(ledger.events()) == 30
    assert ledger.spent() == spent


def test_a_plan_over_budget_is_refused_before_anything_runs() -> None:
    for limits in (
        replace(LIMITS, epsilon=0.5),
        replace(LIMITS, caps=((Tier.SPECIAL, 0.01),)),
    ):
        with pytest.raises(Refused, match=r"the plan is refused: `(record|special)`"):
            Ledger.planned(limits, PLAN)


def test_a_release_outside_the_plan_is_refused_by_name() -> None:
    ledger = planned()
    quiet = ledger.would_exceed(tower(Tier.SPECIAL, 149.0))
    assert quiet is not None
    loud = ledger.would_exceed(tower(Tier.SPECIAL, 1.0))
    assert loud is not None
    assert loud.scope == "special"
    assert loud.would_reach > loud.of == 0.3
    assert ledger.events() == ()


def test_following_a_plan_prices_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    release = tower(Tier.SPECIAL, 3.0, 0.01)
    ledger = Ledger.planned(Limits(8.0, DELTA), [(release, 2000)])
    monkeypatch.setattr(composition, "merged_steps", None)  # any pricing would fail
    for _ in range(2000):
        assert ledger.would_exceed(release) is None
        ledger.charge(release)


FILTERED: dict[str, tuple[CountedRelease, ...]] = {
    "gdp": PLAN,
    "pld": PLAN,
    "rdp": tuple((replace(release, sampling_rate=0.5), n) for release, n in PLAN),
}


@pytest.mark.parametrize("accountant", ["gdp", "pld", "rdp"])
def test_filtered_ledgers_keep_every_budget_of_the_plan(accountant: Accountant) -> None:
    plan = FILTERED[accountant]
    ledger = Ledger.filtered(LIMITS, plan, accountant)
    refused = set()
    for number in range(100):
        planned = plan[number % 3][0]
        (group,) = planned.groups
        other = replace(group, sigma=group.sigma * max(0.9, 2 - number / 40))
        asked = replace(planned, groups=(other,))
        if asked.reads in refused:
            continue
        if ledger.would_exceed(asked) is None:
            ledger.charge(asked)
            continue
        refused.add(asked.reads)
        with pytest.raises(Refused, match="fixed beforehand"):
            ledger.charge(asked)
    assert refused == {Tier.NON_PERSONAL, Tier.PERSONAL, Tier.SPECIAL}
    spent = ledger.spent()
    room = 1 + 1e-9
    assert spent.record <= record_epsilon(plan, DELTA, "add-remove", accountant) * room
    for tier, value in spent.tiers.items():
        assert value <= tier_epsilon(plan, tier, DELTA, accountant) * room
    assert ledger.costs(FREE)[0] > ledger.costs(SPECIAL)[0] > 0
    again = Ledger.filtered(LIMITS, plan, accountant).rebuild(
        [event.to_json() for event in ledger.events()]
    )
    assert again.events() == ledger.events()
    assert again.would_exceed(plan[2][0]) == ledger.would_exceed(plan[2][0])


def test_more_rounds_than_planned_fit_if_they_are_quieter() -> None:
    ledger = Ledger.filtered(LIMITS, PLAN)
    quiet = tower(Tier.SPECIAL, 300.0)
    for _ in range(40):  # a quarter of the cost each, ten planned
        ledger.charge(quiet)
    assert ledger.would_exceed(quiet) is not None
    assert ledger.would_exceed(FREE) is None


def test_sampling_chosen_along_the_way_needs_renyi() -> None:
    others: tuple[Accountant, ...] = ("gdp", "pld")
    for by in others:
        with pytest.raises(Refused, match="is sampled") as caught:
            Ledger.filtered(LIMITS, FILTERED["rdp"], by)
        assert "rdp" in caught.value.hint


def test_a_filtered_plan_over_budget_is_refused() -> None:
    with pytest.raises(Refused, match="the plan is refused: `record`"):
        Ledger.filtered(replace(LIMITS, epsilon=0.1), PLAN)


def test_a_person_at_two_sites_pays_double_in_sums() -> None:
    ledger = Ledger.filtered(Limits(10.0, DELTA), [(FREE, 10)], sites_per_person=2)
    single = Ledger.filtered(Limits(10.0, DELTA), [(FREE, 10)])
    assert ledger.costs(FREE)[0] == pytest.approx(4 * single.costs(FREE)[0])
    for _ in range(10):
        ledger.charge(FREE)
    assert ledger.would_exceed(FREE) is not None


def test_a_ledger_is_rebuilt_from_its_events() -> None:
    ledger = planned()
    for _ in range(7):
        ledger.charge(FREE)
    rows = [json.loads(json.dumps(event.to_json())) for event in ledger.events()]
    again = planned().rebuild(rows)
    assert again.events() == ledger.events()
    assert again.spent() == ledger.spent()
    for _ in range(3):
        again.charge(FREE)
    assert again.would_exceed(FREE) is not None
    assert ledger.would_exceed(FREE) is None
    with pytest.raises(Refused):
        planned().rebuild([FREE.to_json()] * 11)
    with pytest.raises(ValueError, match="version"):
        planned().rebuild([{}])


def test_a_person_at_two_sites_pays_double() -> None:
    ledger = Ledger.planned(Limits(10.0, DELTA), [(FREE, 10)], sites_per_person=2)
    for _ in range(10):
        ledger.charge(FREE)
    single = Ledger.planned(Limits(10.0, DELTA), [(FREE, 40)])
    for _ in range(40):
        single.charge(FREE)
    assert ledger.spent().record == pytest.approx(single.spent().record)
    with pytest.raises(ClaimError):
        Ledger.planned(LIMITS, [(tower(Tier.SPECIAL, 9.0, 0.5), 1)], sites_per_person=2)


def test_refusals_say_which_budget_and_how_far() -> None:
    text = str(BudgetExcess("special", 1.02301, 1.0))
    assert text == "`special` would reach ε = 1.024 of 1.0"
    assert "fixed beforehand" in str(BudgetExcess("record", 0.5, 1.0))


@pytest.mark.parametrize(
    ("epsilon", "delta", "cap"),
    [
        (0.0, 1e-6, 1.0),
        (1.0, 0.0, 1.0),
        (1.0, 1.5, 1.0),
        (math.inf, 1e-6, 1.0),
        (1.0, 1e-6, 0.0),
    ],
)
def test_impossible_limits_are_refused(
    epsilon: float, delta: float, cap: float
) -> None:
    with pytest.raises(ValueError, match="expected"):
        Limits(epsilon, delta, caps=((Tier.SPECIAL, cap),))
