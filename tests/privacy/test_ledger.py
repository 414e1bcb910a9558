# SPDX-License-Identifier: Apache-2.0
"""Ledgers: refuse before, remember exactly, stay quick."""

import json
import math
from dataclasses import replace

import pytest

from lexfed.errors import ClaimError, Refused
from lexfed.privacy import accountant
from lexfed.privacy.attributes import Counted, record_epsilon, tier_epsilon
from lexfed.privacy.events import Group, Release
from lexfed.privacy.ledger import Excess, Ledger, Limits
from lexfed.tiers import Tier

DELTA = 1e-6
CAPS = ((Tier.PERSONAL, 1.2), (Tier.SPECIAL, 0.3))
LIMITS = Limits(2.0, DELTA, "add-remove", CAPS)


def tower(tier: Tier | None, sigma: float, rate: float = 1.0) -> Release:
    name = "label" if tier is None else tier.label
    return Release(name, (Group(name, 1.0, sigma),), rate, tier, 10)


FREE, PERSONAL, SPECIAL = (
    tower(Tier.NON_PERSONAL, 12.0),
    tower(Tier.PERSONAL, 50.0),
    tower(Tier.SPECIAL, 150.0),
)
PLAN: tuple[Counted, ...] = ((FREE, 10), (PERSONAL, 10), (SPECIAL, 10))


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
    assert 0 < spent.delta_sampler < 1e-20
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
    monkeypatch.setattr(accountant, "merge", None)  # any pricing would fail
    for _ in range(2000):
        assert ledger.would_exceed(release) is None
        ledger.charge(release)


@pytest.mark.parametrize("sampled", [False, True])
def test_adaptive_ledgers_keep_every_budget(sampled: bool) -> None:
    ledger = Ledger.adaptive(LIMITS, sampled)
    sigma = 400.0
    refused = set()
    for round_number in range(400):
        sigma = max(20.0, sigma * 0.97)
        tier = [None, Tier.NON_PERSONAL, Tier.PERSONAL, Tier.SPECIAL][round_number % 4]
        release = tower(tier, sigma)
        excess = ledger.would_exceed(release)
        if excess is None:
            ledger.charge(release)
        else:
            refused.add(tier)
            with pytest.raises(Refused):
                ledger.charge(release)
    assert refused >= {Tier.PERSONAL, Tier.SPECIAL}
    spent = ledger.spent()
    assert spent.record <= 2.0
    assert spent.tiers[Tier.PERSONAL] <= 1.2
    assert spent.tiers[Tier.SPECIAL] <= 0.3
    # The label has no cap of its own: it runs on when the tiers are used up.
    assert ledger.would_exceed(tower(None, 1e4)) is None


def test_a_budget_below_every_order_is_refused() -> None:
    with pytest.raises(Refused, match="no Rényi order proves"):
        Ledger.adaptive(Limits(1e-4, DELTA), sampled=True)


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
    text = str(Excess("special", 1.02301, 1.0))
    assert text == "`special` would reach ε = 1.024 of 1.0"
    assert "fixed beforehand" in str(Excess("record", 0.5, 1.0))


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
