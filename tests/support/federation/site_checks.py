# SPDX-License-Identifier: Apache-2.0
"""What sites with own budgets are promised, as checks, and ways to break it."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from lexfed.budget import sites as site_budgets
from lexfed.budget.noise_plan import Budget
from lexfed.budget.sites import BudgetProfile, ParticipationFactors
from lexfed.budget.tower_steering import Adaptation
from lexfed.data.people.unit_blocks import SiteData
from lexfed.errors import Refused
from lexfed.federation.planning import site_shares
from lexfed.federation.programme import sequence
from lexfed.federation.programme.messages import (
    Query,
    Refusal,
    Reply,
    answer_from_bytes,
)
from lexfed.federation.programme.sequence import Programme, Stage
from lexfed.federation.site import data_holder as sites
from lexfed.federation.site.contributions import contribute
from lexfed.federation.site.data_holder import Site
from lexfed.federation.site.unit_batch import UnitBatch
from lexfed.privacy.releases import Release
from lexfed.privacy.run_ledger import Ledger, Limits
from lexfed.privacy.scopes import record_epsilon, tier_epsilon
from lexfed.tiers import Tier
from support.federation import checks
from support.federation.worlds import BUDGET, World, play, seeded, world

Patch = pytest.MonkeyPatch

STRICTER = (
    BudgetProfile("eu", ("site1",), replace(BUDGET, caps={Tier.SPECIAL: 0.5})),
    BudgetProfile("small", ("site2",), replace(BUDGET, epsilon=1.5), 0.25, 0.5),
)
SATURATED: dict[str, Any] = {"model": "mlp:8", "rounds": 2, "default_clip": 0.01}


# Checks


def a_site_says_no_more_than_it_is_charged_for() -> None:
    """A person less moves what a site sends by at most the clip in its ledger.

    Weights from full to below the rounding of the grid, where only silence is safe.
    """
    for weight in (1.0, 0.3, 2e-4, 1e-5):
        for adapting in (Adaptation(), Adaptation("convergence", clip="quantile")):
            of = world(weights=(weight, 1.0, 1.0), adapting=adapting, **SATURATED)
            _compare(of, lambda site: replace(site, train=_one_less(site)))


def a_client_says_no_more_than_it_is_charged_for() -> None:
    """A whole client moves the sum by at most the clip in its ledger."""
    of = world(weights=(0.3, 1.0, 1.0), unit="client", learning_rate=5.0, **SATURATED)
    _compare(of, None)


def _one_less(site: SiteData) -> Any:
    block = site.train
    return replace(
        block,
        inputs=block.inputs[1:],
        targets=block.targets[1:],
        weights=block.weights[1:],
        persons=block.persons[1:],
    )


def _compare(of: World, without: Any) -> None:
    queries = play(of, "simulation").queries
    whole, ledger = _answers(of, of.sites[0], queries)
    fewer = None
    if without is not None:
        fewer, _ = _answers(of, without(of.sites[0]), queries)
    for place, (query, total) in enumerate(zip(queries, whole, strict=True)):
        charged = ledger.events()[place]
        blocks = of.programme.stages[query.stage].blocks
        moved = total if fewer is None else total - fewer[place]
        for group, block in zip(charged.groups, blocks, strict=True):
            part = moved[block.start : block.stop] * block.grid.step
            clip = group.clip if charged.sampling_rate > 0.0 else 0.0
            assert float(np.linalg.norm(part)) <= clip


def _answers(
    of: World, data: SiteData, queries: Sequence[Query]
) -> tuple[list[Any], Ledger]:
    ledger = of.ledger(0)
    assert ledger is not None
    site = Site(of.programme, data, ledger, seeded(1))
    totals = []
    for query in queries:
        answer = answer_from_bytes(site.handle(query.to_bytes()))
        assert isinstance(answer, Reply)
        totals.append(answer.total)
    return totals, ledger


def every_site_keeps_its_own_budget() -> None:
    """What each site is charged for costs at most its own epsilon and caps."""
    of = world(profiles=STRICTER, model="mlp:4", rounds=4)
    for place, budget in enumerate((of.budget, *(one.budget for one in STRICTER))):
        charges = of.programme.charges(place)
        record = record_epsilon(charges, 1e-6, "add-remove")
        special = tier_epsilon(charges, Tier.SPECIAL, 1e-6)
        assert record <= budget.epsilon * (1 + 1e-9)
        assert special <= budget.caps[Tier.SPECIAL] * (1 + 1e-9)


def a_profile_speaks_for_all_its_sites() -> None:
    """No site of a profile is charged for more than the profile's claim says."""
    both = BudgetProfile("both", ("site1", "site2"), replace(BUDGET, epsilon=3.0))
    of = world(profiles=(both,), weights=(1.0, 0.05, 1.0))
    claimed = record_epsilon(of.programme.charges(1, 2), 1e-6, "add-remove")
    for place in (1, 2):
        own = record_epsilon(of.programme.charges(place), 1e-6, "add-remove")
        assert own <= claimed * (1 + 1e-12)


def sites_flip_coins_of_their_own_rate() -> None:
    """Six and a half standard deviations of 900 coins: wrong once in 1e9."""
    of = world(
        sizes=(900, 900, 900),
        profiles=STRICTER,
        rounds=2,
        sampling_rate=0.5,
        accountant="rdp",
        realise="sampling",
        mechanism="uniform",
    )
    log: list[Any] = []
    with checks.watched_coins(log):
        play(of, "simulation")
    planned = of.programme.stages[-1]
    for step, coins in enumerate(log[-2:]):
        for place in range(3):
            rate = 0.5 * planned.at(step).rates[place]
            mean = coins[900 * place : 900 * (place + 1)].mean()
            assert abs(mean - rate) <= 6.5 * math.sqrt(rate * (1 - rate) / 900) + 1e-9


def a_strict_site_refuses_the_others_plan() -> None:
    """A ledger of the site's own budget does not open for what the others spend."""
    of = world(profiles=STRICTER)
    budget = site_shares.budget_of("site2", STRICTER, of.budget)
    limits = Limits(budget.epsilon, 1e-6, "add-remove")
    with pytest.raises(Refused, match="the plan is refused"):
        Ledger.planned(limits, of.programme.charges())


def a_total_is_never_exceeded() -> None:
    """Sites together get at most what they agreed on."""
    found = site_budgets.best_budgets([1.0, 2.0, 5.0], [0.1] * 3, [4.0] * 3, 3.0)
    assert math.fsum(found) <= 3.0


# Mutants


def a_refusal_says_nothing_about_data() -> None:
    """With one class less in the query, data of that class could not be computed."""
    of = world(loss="softmax", sizes=(12, 9, 11))
    query = play(of, rounds=1).queries[0]
    short = replace(query, model=replace(query.model, intercept=np.zeros(2)))
    reasons = set()
    for most in (1.0, 2.0):
        data = of.sites[0]
        targets = np.minimum(data.train.targets, most)
        data = replace(data, train=replace(data.train, targets=targets))
        site = Site(of.programme, data, of.ledger(0), seeded(1))
        answer = site.answer(short.to_bytes())
        assert isinstance(answer, Refusal)
        reasons.add(answer.reason)
    assert reasons == {"the release is not the one that was agreed on"}


def numbers_not_counted(patch: Patch) -> None:
    """Break: a site takes arrays of any length."""
    patch.setattr(sites, "is_well_formed", lambda *_: True)


def weight_charged_but_not_applied(patch: Patch) -> None:
    """Everybody contributes fully, whatever they are charged for."""
    patch.setattr(Stage, "factors", property(lambda self: (1.0,) * len(self.weights)))


def weight_applied_before_the_clip(patch: Patch) -> None:
    """A contribution that is clipped anyway is not made smaller."""
    real = contribute

    def broken(
        query: Query,
        programme: Programme,
        cohort: UnitBatch,
        weights: torch.Tensor,
        places: Sequence[int],
    ) -> torch.Tensor:
        lighter = replace(cohort, weights=cohort.weights * weights[0])
        return real(query, programme, lighter, torch.ones_like(weights), places)

    patch.setattr(sites, "contribute", broken)


def weighted_rounding_unpaid(patch: Patch) -> None:
    """The grid is as coarse for a light site as for a heavy one."""
    patch.setattr(sequence, "_inside", lambda _, weight: weight)


def clients_not_weighted(patch: Patch) -> None:
    """The weight is charged, but the update is added as it is."""
    real = contribute

    def broken(
        query: Query,
        programme: Programme,
        cohort: UnitBatch,
        weights: torch.Tensor,
        places: Sequence[int],
    ) -> torch.Tensor:
        return real(query, programme, cohort, torch.ones_like(weights), places)

    patch.setattr(sites, "contribute", broken)


def profiles_ignored(patch: Patch) -> None:
    """Every site takes full part."""

    def broken(towers: Sequence[Any], *_: Any) -> ParticipationFactors:
        return ParticipationFactors((1.0,) * len(towers), (1.0,) * len(towers))

    patch.setattr(site_shares, "participation_of", broken)


def saving_forgotten(patch: Patch) -> None:
    """Rounds that were to save are run, and charged, like the later ones."""
    patch.setattr(Stage, "at", lambda self, _: self)


def rates_of_sites_ignored(patch: Patch) -> None:
    """All sites sample as the plan does."""

    def broken(_: Stage, release: Release, __: int) -> float:
        return release.sampling_rate

    patch.setattr(Stage, "rate_for", broken)


def claimed_by_the_lightest_site(patch: Patch) -> None:
    """The claim of a profile is that of its smallest weight."""
    real = Stage.release_for

    def broken(self: Stage, release: Release, *places: int) -> Any:
        lightest = min(places, key=lambda place: self.weights[place])
        return real(self, release, lightest)

    patch.setattr(Stage, "release_for", broken)


def one_budget_for_all_sites(patch: Patch) -> None:
    """A site's ledger is opened with everybody's budget."""

    def broken(_: str, __: Sequence[BudgetProfile], otherwise: Budget) -> Budget:
        return otherwise

    patch.setattr(site_shares, "budget_of", broken)


def projection_on_the_box_only(patch: Patch) -> None:
    """The total is forgotten."""
    patch.setattr(
        site_budgets, "project", lambda point, low, high, _: np.clip(point, low, high)
    )
