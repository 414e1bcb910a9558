# SPDX-License-Identifier: Apache-2.0
"""Who prices noise in shares: Rényi accounting does, everything else refuses."""

from dataclasses import replace

import pytest

from lexfed.errors import ClaimError
from lexfed.privacy.filters import PlanEnvelope, PlanFilter, dominates
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.privacy.run_ledger import Ledger, Limits, RunningTotal
from lexfed.privacy.scopes import (
    CountedRelease,
    label_epsilon,
    record_epsilon,
    tier_epsilon,
)
from lexfed.privacy.selection import Repetitions, dominating_releases, selection_cost
from lexfed.terms import Accountant
from lexfed.tiers import Tier

DELTA = 1e-6
GAUSSIAN = Release("tower", (ReleaseGroup("all", 1.0, 20.0),), 1.0, Tier.SPECIAL, 400)
SHARES = replace(GAUSSIAN, noise="skellam")
PLAN: list[CountedRelease] = [(SHARES, 10)]
OTHERS: tuple[Accountant, ...] = ("pld", "gdp")


@pytest.mark.parametrize("sites", [1, 2])
def test_the_price_is_the_gaussians_in_renyi_accounting(sites: int) -> None:
    plain: list[CountedRelease] = [(GAUSSIAN, 10)]
    assert record_epsilon(PLAN, DELTA, "add-remove", "rdp", sites) == record_epsilon(
        plain, DELTA, "add-remove", "rdp", sites
    )
    tier = tier_epsilon(PLAN, Tier.SPECIAL, DELTA, "rdp", sites)
    assert tier == label_epsilon(plain, DELTA, "rdp", sites) > 0


@pytest.mark.parametrize("accountant", OTHERS)
def test_other_accountants_refuse(accountant: Accountant) -> None:
    mixed: list[CountedRelease] = [(GAUSSIAN, 1), *PLAN]
    limits = Limits(10.0, DELTA)
    for price in (
        lambda: record_epsilon(mixed, DELTA, "add-remove", accountant),
        lambda: tier_epsilon(mixed, Tier.SPECIAL, DELTA, accountant),
        lambda: label_epsilon(mixed, DELTA, accountant),
        lambda: Ledger.planned(limits, mixed, accountant),
        lambda: Ledger.filtered(limits, mixed, accountant),
        lambda: PlanFilter.of(mixed, DELTA, "add-remove", accountant),
    ):
        with pytest.raises(ClaimError, match="Rényi accounting only") as caught:
            price()
        assert f"not by `{accountant}`" in caught.value.message
        assert '"rdp"' in caught.value.hint


def test_ledgers_in_renyi_accounting_hold_a_run_to_its_shares() -> None:
    limits = Limits(10.0, DELTA, caps=((Tier.SPECIAL, 9.0),))
    for ledger in (
        Ledger.planned(limits, PLAN, "rdp"),
        Ledger.filtered(limits, PLAN, "rdp"),
    ):
        ledger.charge(SHARES)
        assert ledger.would_exceed(GAUSSIAN) is not None
        again = ledger.rebuild([SHARES.to_json()])
        assert again.events() == ledger.events() == (SHARES,)
        assert ledger.spent().record == record_epsilon(
            [(SHARES, 1)], DELTA, "add-remove", "rdp"
        )


def test_noise_of_another_law_is_never_dominated() -> None:
    assert dominates(SHARES, SHARES)
    assert not dominates(SHARES, GAUSSIAN)
    assert not dominates(GAUSSIAN, SHARES)
    filtered = PlanFilter.of(PLAN, DELTA, "add-remove", "rdp")
    assert filtered.refusal(GAUSSIAN) == "shape"
    assert filtered.refusal(SHARES) is None


def test_an_envelope_knows_its_price() -> None:
    assert PlanEnvelope(tuple(PLAN)).epsilon(DELTA) == record_epsilon(
        PLAN, DELTA, "add-remove", "rdp"
    )


def test_running_totals_are_renyis_from_the_first_share_on() -> None:
    total = RunningTotal(DELTA, "add-remove").after(GAUSSIAN)
    assert total.accountant == "gdp"
    total = total.after(SHARES)
    assert total.accountant == "rdp"
    both = [(GAUSSIAN, 1), (SHARES, 1)]
    exact = record_epsilon(both, DELTA, "add-remove", "rdp")
    assert exact <= total.record <= exact * (1 + 1e-6)
    exact = tier_epsilon(both, Tier.SPECIAL, DELTA, "rdp")
    assert exact <= total.tiers[Tier.SPECIAL] <= exact * (1 + 1e-6)
    # A person at two sites: never sampled, so it has a price.
    twice = RunningTotal(DELTA, "add-remove", 2).after(SHARES)
    assert twice.record > total.record


def test_running_totals_beside_sampled_releases() -> None:
    sampled = replace(GAUSSIAN, sampling_rate=0.1)
    total = RunningTotal(DELTA, "add-remove").after(sampled).after(SHARES)
    both = [(sampled, 1), (SHARES, 1)]
    exact = record_epsilon(both, DELTA, "add-remove", "rdp")
    assert exact * (1 - 1e-9) <= total.record <= exact * 1.01
    assert total.accountant == "rdp"


def test_searches_are_priced_by_renyi_and_not_as_a_gaussian() -> None:
    law = Repetitions("geometric", 4.0)
    plain, shares = (
        selection_cost(
            [[(release, 10)]],
            law,
            delta=DELTA,
            neighbours="add-remove",
            tiers=[Tier.SPECIAL],
        )
        for release in (GAUSSIAN, SHARES)
    )
    assert plain == shares
    with pytest.raises(ClaimError, match="Rényi accounting only"):
        dominating_releases([[(GAUSSIAN, 10)], PLAN], law)
