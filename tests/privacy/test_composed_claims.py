# SPDX-License-Identifier: Apache-2.0
"""Several claims together: exact where that is known, never below, or refused."""

import itertools
from typing import Any

import pytest

from lexfed.errors import ClaimError
from lexfed.privacy.accountants.gdp import epsilon_from
from lexfed.privacy.claim.composition import (
    ComposedGuarantee,
    composed_guarantee,
    composition_obstacles,
)
from lexfed.privacy.claim.schema import Claim
from lexfed.privacy.noise.gaussian import delta_sampler
from lexfed.privacy.noise.shares import NoiseCohort
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.tiers import Tier
from support.privacy.claims import claim_of


def claim(sigma: float = 20.0, rate: float = 1.0, **given: Any) -> Claim:
    group = ReleaseGroup("sum", 1.0, sigma)
    noise = given.pop("noise", "gaussian")
    release = Release("sum", (group,), rate, Tier.SPECIAL, 100, noise)
    settings = {
        "accountant": "pld",
        "rounds": 10,
        "columns": {Tier.SPECIAL: ["diagnosis"]},
        "mechanism": "uniform",
    }
    return claim_of([(release, 10)], **settings | given)


def cohort(colluders: int) -> dict[str, Any]:
    return {
        "noise": "skellam",
        "accountant": "rdp",
        "trust": "distributed",
        "cohort": NoiseCohort(6, colluders, 0),
    }


def test_the_price_is_the_exact_one_of_all_releases() -> None:
    found = composed_guarantee([claim(20.0), claim(30.0)])
    mu = (10 / 20**2 + 10 / 30**2) ** 0.5
    for stated, exact in (
        (found.epsilon, epsilon_from(mu, 1e-6)),
        (found.replace_one, epsilon_from(2 * mu, 1e-6)),
    ):
        assert exact <= stated <= exact * (1 + 1e-6)
    assert (found.neighbours, found.accountant) == ("add-remove", "pld")
    least = delta_sampler(2000, found.epsilon)
    assert least <= found.delta_sampler <= least * (1 + 1e-6)


def test_one_claim_alone_costs_what_it_states() -> None:
    one = claim()
    found = composed_guarantee([one])
    assert (found.epsilon, found.delta) == (one.epsilon, one.delta)
    assert found.delta_sampler == one.delta_sampler
    assert found.replace_one == one.label.epsilon


def test_the_order_does_not_matter_and_more_runs_cost_more() -> None:
    claims = [claim(20.0), claim(30.0, delta=1e-7), claim(25.0, rate=0.5)]
    prices = {
        composed_guarantee(order).epsilon for order in itertools.permutations(claims)
    }
    assert len(prices) == 1
    assert prices.pop() > composed_guarantee(claims[:2]).epsilon


def test_together_costs_no_more_than_the_sum() -> None:
    claims = [claim(20.0), claim(30.0), claim(25.0, rate=0.5)]
    found = composed_guarantee(claims)
    assert found.epsilon <= sum(each.epsilon for each in claims)
    assert found.epsilon >= max(each.epsilon for each in claims)


def test_delta_is_the_smallest_that_any_claim_states() -> None:
    found = composed_guarantee([claim(delta=1e-5), claim(delta=1e-8)])
    assert found.delta == 1e-8
    assert found.epsilon > composed_guarantee([claim(), claim()]).epsilon


def test_with_a_run_under_replace_one_all_are_priced_under_it() -> None:
    found = composed_guarantee([claim(), claim(neighbours="replace-one")])
    assert found.neighbours == "replace-one"
    assert found.epsilon == found.replace_one
    assert found.epsilon == composed_guarantee([claim(), claim()]).replace_one


def test_a_person_at_several_sites_of_one_run_pays_there_for_each() -> None:
    found = composed_guarantee([claim(20.0, sites_per_person=2), claim(30.0)])
    mu = (10 * 4 / 20**2 + 10 / 30**2) ** 0.5
    exact = epsilon_from(mu, 1e-6)
    assert exact <= found.epsilon <= exact * (1 + 1e-6)


@pytest.mark.parametrize(
    ("accountants", "by"),
    [
        (("pld", "pld"), "pld"),
        (("rdp", "rdp"), "rdp"),
        (("gdp", "gdp"), "gdp"),
        (("gdp", "rdp"), "pld"),
    ],
)
def test_the_accountant_is_the_common_one_or_the_sharpest(
    accountants: tuple[str, str], by: str
) -> None:
    found = composed_guarantee([claim(accountant=name) for name in accountants])
    assert found.accountant == by


def test_noise_in_shares_is_priced_by_divergences_only() -> None:
    two = [claim(200.0, **cohort(1)), claim(200.0, **cohort(1))]
    found = composed_guarantee(two)
    assert (found.accountant, found.trust) == ("rdp", "distributed")
    assert found.epsilon > two[0].epsilon


def test_a_plan_that_a_filter_of_squares_held_composes_as_the_plan() -> None:
    held = claim(guarantee="filter")
    assert held.accountant.filter == "F2"
    found = composed_guarantee([held, claim()])
    assert found.epsilon == composed_guarantee([claim(), claim()]).epsilon
    # Its noise values may be more than planned.
    assert found.delta_sampler > composed_guarantee([claim(), claim()]).delta_sampler


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_divergences_at_one_order_only_add_up(relation: str) -> None:
    held = claim(guarantee="filter", accountant="rdp", neighbours=relation)
    assert held.accountant.filter == "F1"
    other = claim()
    found = composed_guarantee([held, other])
    mine = other.epsilon if relation == "add-remove" else other.label.epsilon
    assert found.accountant is None
    assert found.neighbours == relation
    assert found.epsilon == pytest.approx(held.epsilon + mine, rel=1e-7)
    assert found.epsilon >= held.epsilon + mine
    assert found.delta >= held.delta + other.delta
    assert found.delta == pytest.approx(2e-6)
    assert 0 < found.delta_sampler < 1e-15


def test_claims_of_the_first_version_state_no_sampler_of_the_label() -> None:
    held = claim(guarantee="filter", accountant="rdp", neighbours="replace-one")
    label = held.label.model_copy(update={"delta_sampler": None})
    old = held.model_copy(update={"version": 1, "label": label})
    found = composed_guarantee([old, held])
    assert found.delta_sampler >= 1e-3 * old.delta


OBSTACLES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "seeded": ({"private": False}, {}),
    "a whole site": ({"unit": "client"}, {}),
    "different adversaries": ({"trust": "local"}, {}),
    "colluding": (cohort(1), cohort(2)),
}


@pytest.mark.parametrize("why", OBSTACLES)
def test_claims_about_different_things_have_no_price_together(why: str) -> None:
    first, second = OBSTACLES[why]
    claims = [claim(200.0, **first), claim(200.0, **second)]
    [named] = composition_obstacles(claims)
    assert why in named
    with pytest.raises(ClaimError, match="do not compose"):
        composed_guarantee(claims)


def test_nothing_has_no_price() -> None:
    with pytest.raises(ClaimError, match="no claim"):
        composed_guarantee([])


def test_so_much_that_the_sampler_errs_by_more_than_delta_is_no_guarantee() -> None:
    with pytest.raises(ClaimError, match="the noise sampler"):
        composed_guarantee([claim(0.75, delta=1e-9) for _ in range(4)])


def test_dropping_a_release_would_be_seen() -> None:
    """The negative control: a price without one of the runs is below the exact one."""
    exact = epsilon_from((20 / 20**2) ** 0.5, 1e-6)
    one: ComposedGuarantee = composed_guarantee([claim(20.0)])
    assert one.epsilon < exact <= composed_guarantee([claim(20.0)] * 2).epsilon
