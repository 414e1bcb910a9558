# SPDX-License-Identifier: Apache-2.0
"""A priced plan spends its budget and never more, under every relation and cap."""

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexfed.budget.allocation import caps
from lexfed.budget.noise_plan import (
    Budget,
    Draft,
    DraftGroup,
    TowerTiers,
    effective_budget,
    full_batch_releases,
    searched_releases,
    tower_bounds,
)
from lexfed.errors import ConfigError
from lexfed.privacy.accountants.gdp import epsilon_from, mu_from
from lexfed.privacy.noise.gaussian import delta_sampler
from lexfed.privacy.releases import MOST_SAMPLES, Release
from lexfed.privacy.scopes import CountedRelease, record_epsilon, tier_epsilon
from lexfed.terms import Accountant, Guarantee, Neighbours
from lexfed.tiers import MODEL_TIERS, Tier

DELTA = 1e-6
READS = MODEL_TIERS


def draft(
    tower: int,
    rounds: int = 3,
    rate: float = 1.0,
    share: float = 1.0,
    reads: Tier | None = None,
    groups: Sequence[DraftGroup] = (DraftGroup("all", 1.0, 10),),
    profile: Sequence[float] | None = None,
) -> Draft:
    noise = tuple(profile or (1.0,) * rounds)
    return Draft(f"tower {tower}", tower, tuple(groups), rate, noise, reads, share)


def drafts_of(rounds: Sequence[int], rate: float = 1.0) -> list[Draft]:
    label = draft(0, 1, share=0.1)
    towers = [
        draft(tower, count, rate, 0.9 if tower == 0 else 1.0, READS[tower])
        for tower, count in enumerate(rounds)
    ]
    return [label, *towers]


def counted(releases: Sequence[Sequence[Release]]) -> list[CountedRelease]:
    return [(release, 1) for stage in releases for release in stage]


def priced(
    budget: Budget, drafts: Sequence[Draft], accountant: Accountant = "pld"
) -> list[CountedRelease]:
    """Price drafts as `federation.planning` does."""
    reads = READS[: max(one.tower for one in drafts) + 1]
    tiers = TowerTiers(reads, reads)
    left = effective_budget(budget, drafts, "envelope")
    shares = caps([10.0] * len(reads), tower_bounds(left, tiers))
    if accountant != "rdp" and all(one.sampling_rate == 1.0 for one in drafts):
        return counted(full_batch_releases(drafts, shares.squares))
    return counted(searched_releases(drafts, shares, left, tiers, accountant))


RELATIONS: tuple[Neighbours, ...] = ("add-remove", "replace-one")


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("sites", [1, 3])
def test_the_full_batch_spends_exactly_the_record_budget_and_a_binding_cap(
    neighbours: Neighbours, sites: int
) -> None:
    budget = Budget(2.0, DELTA, neighbours, {Tier.SPECIAL: 0.5}, sites)
    plan = priced(budget, drafts_of((4, 3, 2)))
    record = record_epsilon(plan, DELTA, neighbours, sites_per_person=sites)
    special = tier_epsilon(plan, Tier.SPECIAL, DELTA, sites_per_person=sites)
    assert record == pytest.approx(2.0, rel=1e-9)
    assert special == pytest.approx(0.5, rel=1e-9)


def test_a_person_at_more_sites_pays_with_more_noise() -> None:
    one = Budget(2.0, DELTA, "add-remove")
    few = priced(one, drafts_of((4, 3, 2)))
    many = priced(replace(one, sites_per_person=3), drafts_of((4, 3, 2)))
    for (a, _), (b, _) in zip(few, many, strict=True):
        assert b.noise_multiplier == pytest.approx(3.0 * a.noise_multiplier)


def test_a_profile_keeps_the_proportions_of_noise_and_the_price() -> None:
    budget = Budget(1.0, DELTA, "add-remove")
    falling = (2.0, 1.5, 1.0)
    plan = priced(budget, [draft(0, reads=Tier.NON_PERSONAL, profile=falling)])
    noise = [release.noise_multiplier for release, _ in plan]
    assert noise[0] / noise[2] == pytest.approx(2.0)
    assert noise[1] / noise[2] == pytest.approx(1.5)
    assert record_epsilon(plan, DELTA, "add-remove") == pytest.approx(1.0, rel=1e-9)


def test_group_weights_share_the_joint_multiplier() -> None:
    groups = (DraftGroup("a", 2.0, 3, weight=1.0), DraftGroup("b", 0.5, 4, weight=3.0))
    budget = Budget(1.0, DELTA, "replace-one")
    plan = priced(budget, [draft(0, reads=Tier.NON_PERSONAL, groups=groups)])
    release = plan[0][0]
    ratios = [group.clip / group.sigma for group in release.groups]
    assert ratios[1] / ratios[0] == pytest.approx(3.0)
    assert release.samples == 7
    assert record_epsilon(plan, DELTA, "replace-one") == pytest.approx(1.0, rel=1e-9)


def test_senders_multiply_the_noise_values_drawn() -> None:
    assert replace(draft(0), senders=5).samples == 50


def test_a_cap_on_a_tier_without_columns_binds_nobody() -> None:
    budget = Budget(2.0, DELTA, "add-remove", {Tier.PERSONAL: 0.01})
    reads = (Tier.NON_PERSONAL, Tier.SPECIAL)
    tiers = TowerTiers(reads, reads)
    uncapped = replace(budget, caps={})
    assert tower_bounds(budget, tiers) == tower_bounds(uncapped, tiers)


def test_one_tower_that_reads_everything_obeys_the_smallest_cap() -> None:
    top = TowerTiers((Tier.SPECIAL,), MODEL_TIERS)
    budget = Budget(
        2.0, DELTA, "add-remove", {Tier.SPECIAL: 0.3, Tier.NON_PERSONAL: 0.1}
    )
    lowest = tower_bounds(replace(budget, caps={}), top)
    bound = tower_bounds(budget, top)
    assert bound[0] < lowest[0]
    plan = counted(full_batch_releases([draft(0, reads=Tier.SPECIAL)], bound))
    for tier in MODEL_TIERS:
        assert tier_epsilon(plan, tier, DELTA) == pytest.approx(0.1, rel=1e-9)


def test_bounds_never_grow_towards_the_sensitive_end() -> None:
    budget = Budget(2.0, DELTA, "add-remove", {Tier.PERSONAL: 0.2, Tier.SPECIAL: 9.0})
    bounds = tower_bounds(budget, TowerTiers(READS, READS))
    assert list(bounds) == sorted(bounds, reverse=True)


def test_the_sampler_is_paid_before_the_gaussians() -> None:
    few, many = draft(0, 1), draft(0, 10_000)
    budget = Budget(2.0, 1e-9, "add-remove")
    left = effective_budget(budget, [few], "envelope")
    less = effective_budget(budget, [many], "envelope")
    assert less.delta <= left.delta <= budget.delta
    assert replace(left, delta=budget.delta) == budget


def test_the_sampler_is_paid_at_the_largest_epsilon() -> None:
    few = draft(0, 1)

    def taken(budget: Budget, guarantee: Guarantee = "envelope") -> float:
        return budget.delta - effective_budget(budget, [few], guarantee).delta

    record = Budget(8.0, 1e-15, "add-remove")
    capped = replace(record, caps={Tier.SPECIAL: 12.0, Tier.PERSONAL: 9.0})
    assert taken(record) == pytest.approx(delta_sampler(few.samples, 8.0), rel=1e-2)
    assert taken(capped) == pytest.approx(delta_sampler(few.samples, 12.0), rel=1e-2)
    # A cap that binds nobody costs what a replaced record does.
    loose = replace(record, caps={Tier.SPECIAL: 1e6})
    replaced = epsilon_from(2 * mu_from(8.0, 1e-15), 1e-15)
    most = delta_sampler(few.samples, replaced)
    assert taken(loose) == pytest.approx(most, rel=1e-2)
    whole = replace(record, neighbours="replace-one", caps={Tier.SPECIAL: 1e6})
    assert taken(whole) == taken(record)
    many = delta_sampler(MOST_SAMPLES * few.samples, 8.0)
    assert taken(record, "filter") == pytest.approx(many, rel=1e-2)


def test_an_epsilon_whose_sampler_error_eats_delta_is_refused() -> None:
    with pytest.raises(ConfigError, match="noise sampler"):
        effective_budget(Budget(60.0, DELTA, "add-remove"), [draft(0)], "envelope")


def test_sampling_persons_at_several_sites_is_refused() -> None:
    budget = Budget(2.0, DELTA, "add-remove", {}, sites_per_person=2)
    with pytest.raises(ConfigError, match="coin at each"):
        priced(budget, drafts_of((2, 2, 2), rate=0.1))


@pytest.mark.parametrize("sites", [1, 2])
def test_renyi_plans_without_sampling_are_priced_by_renyi(sites: int) -> None:
    budget = Budget(2.0, DELTA, "add-remove", {Tier.SPECIAL: 0.7}, sites)
    plan = priced(budget, drafts_of((4, 3, 2)), "rdp")
    record = record_epsilon(plan, DELTA, "add-remove", "rdp", sites)
    special = tier_epsilon(plan, Tier.SPECIAL, DELTA, "rdp", sites)
    assert 0.99 * 2.0 <= record <= 2.0
    assert 0.99 * 0.7 <= special <= 0.7


def assert_fits(
    plan: Sequence[CountedRelease], budget: Budget, accountant: Accountant, least: float
) -> None:
    """Raise unless the plan keeps every budget and uses one of them up."""
    used = [
        record_epsilon(
            plan, budget.delta, budget.neighbours, accountant, budget.sites_per_person
        )
        / budget.epsilon
    ]
    for tier, cap in budget.caps.items():
        value = tier_epsilon(
            plan, tier, budget.delta, accountant, budget.sites_per_person
        )
        used.append(value / cap)
    assert max(used) <= 1.0 + 1e-9
    assert max(used) >= least


budgets = st.builds(
    Budget,
    epsilon=st.floats(0.05, 10.0),
    delta=st.sampled_from([1e-9, 1e-6, 1e-5]),
    neighbours=st.sampled_from(RELATIONS),
    caps=st.dictionaries(st.sampled_from(MODEL_TIERS), st.floats(0.02, 12.0)),
    sites_per_person=st.sampled_from([1, 1, 2]),
)
rounds_of = st.lists(st.integers(1, 30), min_size=1, max_size=3)


@settings(max_examples=150, deadline=None)
@given(budgets, rounds_of)
def test_no_full_batch_plan_exceeds_a_budget(budget: Budget, rounds: list[int]) -> None:
    # A cap on the first tower's tier also pays for the label there, so that tier may
    # stay below it; then the record or another cap is what is used up, or the label
    # makes the difference.
    plan = priced(budget, drafts_of(rounds))
    assert_fits(plan, budget, "pld", 0.9)


@pytest.mark.slow
@pytest.mark.timeout(300)
@settings(max_examples=8, deadline=None)
@given(
    st.builds(
        Budget,
        epsilon=st.floats(0.3, 8.0),
        delta=st.just(1e-6),
        neighbours=st.sampled_from(RELATIONS),
        caps=st.dictionaries(st.sampled_from(MODEL_TIERS), st.floats(0.1, 10.0)),
    ),
    st.lists(st.integers(1, 9), min_size=1, max_size=3),
    st.floats(0.005, 0.9),
)
def test_no_sampled_plan_exceeds_a_budget_by_renyi(
    budget: Budget, rounds: list[int], rate: float
) -> None:
    assert_fits(priced(budget, drafts_of(rounds, rate), "rdp"), budget, "rdp", 0.85)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("cap", [0.5, 2.2])
@pytest.mark.parametrize("rate", [0.01, 0.3])
def test_a_sampled_plan_keeps_caps_and_uses_the_record_budget(
    neighbours: Neighbours, cap: float, rate: float
) -> None:
    budget = Budget(2.0, DELTA, neighbours, {Tier.SPECIAL: cap})
    plan = priced(budget, drafts_of((5, 5, 5), rate))
    record = record_epsilon(plan, DELTA, neighbours)
    assert 0.99 * 2.0 <= record <= 2.0
    assert tier_epsilon(plan, Tier.SPECIAL, DELTA) <= cap


@pytest.mark.parametrize(
    ("cap", "rate", "used"),
    [
        (0.5, 0.1, 0.99),  # tight and far below the record: used up
        (1.0, 0.5, 0.99),
        (2.1, 0.01, 0.5),  # tight, but using it up would leave the others nothing
        (2.3, 0.5, 0.5),  # not tight by the Gaussian estimate
        (50.0, 0.1, 0.0),  # no limit at all
    ],
)
def test_a_sampled_plan_uses_the_record_budget(
    cap: float, rate: float, used: float
) -> None:
    budget = Budget(2.0, DELTA, "add-remove", {Tier.SPECIAL: cap})
    plan = priced(budget, drafts_of((5, 4, 3), rate), "rdp")
    assert 0.99 * 2.0 <= record_epsilon(plan, DELTA, "add-remove", "rdp") <= 2.0
    special = tier_epsilon(plan, Tier.SPECIAL, DELTA, "rdp")
    assert used * cap <= special <= cap
    lower = [r.noise_multiplier for r, _ in plan if r.reads == Tier.NON_PERSONAL]
    assert max(lower) < 1000.0


def test_a_lower_tier_with_a_smaller_cap_leaves_room_for_itself() -> None:
    caps_of = {Tier.NON_PERSONAL: 1.0, Tier.PERSONAL: 2.0}
    budget = Budget(2.0, DELTA, "add-remove", caps_of)
    plan = priced(budget, drafts_of((1, 1), 0.5), "rdp")
    assert_fits(plan, budget, "rdp", 0.85)
    assert max(release.noise_multiplier for release, _ in plan) < 1000.0


def test_the_squares_of_a_plan_add_up_to_its_budget() -> None:
    squares = (0.5, 0.3, 0.2)
    plan = counted(full_batch_releases(drafts_of((4, 3, 2)), squares))
    total = math.fsum(1.0 / release.noise_multiplier**2 for release, _ in plan)
    assert total == pytest.approx(1.0, rel=1e-12)
