# SPDX-License-Identifier: Apache-2.0
"""A site's charge is the one it states: its weight and its rate, no more."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexfed.budget.noise_schedule import NoiseSchedule
from lexfed.budget.sites import BudgetProfile
from lexfed.errors import Refused
from lexfed.federation.coordinator.learner import Learner
from lexfed.federation.coordinator.rounds import Coordinator
from lexfed.federation.engines.clear_sums import InProcess
from lexfed.federation.programme.messages import Refusal
from lexfed.federation.programme.sequence import Stage
from lexfed.federation.site.data_holder import Site
from lexfed.privacy.run_ledger import Ledger, Limits
from lexfed.privacy.scopes import record_epsilon
from lexfed.tiers import Tier
from support.federation import checks, site_checks
from support.federation.worlds import BUDGET, play, seeded, world

STRICTER = (
    BudgetProfile("eu", ("site1",), replace(BUDGET, caps={Tier.SPECIAL: 0.5})),
    BudgetProfile("small", ("site2",), replace(BUDGET, epsilon=1.5)),
)


def stage_with(weights: tuple[float, ...], rates: tuple[float, ...]) -> Stage:
    stage = world(weights=(1.0, 0.5, 0.25)).programme.stages[-1]
    return replace(stage, weights=weights, rates=rates)


def test_a_site_of_weight_and_rate_one_is_charged_for_the_round_itself() -> None:
    stage = stage_with((1.0,) * 3, (1.0,) * 3)
    release = stage.releases[0]
    assert all(stage.release_for(release, site) is release for site in range(3))
    assert stage.factors == (1.0, 1.0, 1.0)


def test_a_site_is_charged_for_its_own_clip_and_rate() -> None:
    stage = stage_with((1.0, 0.5, 0.25), (1.0, 1.0, 0.1))
    release = stage.releases[0]
    own = stage.release_for(release, 2)
    assert release is not None
    assert own is not None
    assert [g.clip for g in own.groups] == [0.25 * g.clip for g in release.groups]
    assert [g.sigma for g in own.groups] == [g.sigma for g in release.groups]
    assert own.sampling_rate == stage.rate_for(release, 2) == 0.1
    most = stage.release_for(release, 1, 2)
    assert most == stage.release_for(release, 1)


def test_a_site_of_no_weight_says_nothing_and_is_charged_nothing() -> None:
    stage = stage_with((1.0, 0.0, 1e-9), (1.0,) * 3)
    for site in (1, 2):
        own = stage.release_for(stage.releases[0], site)
        assert own is not None
        assert stage.factors[site] == 0.0
        assert stage.rate_for(stage.releases[0], site) == 0.0
        assert record_epsilon([(own, 50)], 1e-6, "replace-one") == 0.0


def test_without_privacy_weights_are_used_as_they_are() -> None:
    of = world(mechanism="none", weights=(1.0, 0.5, 0.25), rounds=2)
    stage = of.programme.stages[0]
    assert stage.factors == (1.0, 0.5, 0.25)
    assert stage.release_for(None, 1) is None
    assert stage.rate_for(None, 1) == 1.0


@settings(max_examples=40, deadline=None)
@given(st.floats(1e-6, 1.0), st.integers(0, 1000))
def test_neighbours_move_a_weighted_sum_on_the_grid_by_less_than_is_charged(
    weight: float, seed: int
) -> None:
    # The worst case: everybody saturated, in directions that rounding treats badly.
    stage = stage_with((weight,) * 3, (1.0,) * 3)
    grid = stage.blocks[0].grid
    vectors = np.random.default_rng(seed).normal(size=(40, stage.dimension))
    vectors *= grid.clip_to / np.linalg.norm(vectors, axis=1, keepdims=True)
    factor = stage.factors[0]
    more = grid.encode(factor * vectors.sum(axis=0))
    less = grid.encode(factor * vectors[1:].sum(axis=0))
    own = stage.release_for(stage.releases[0], 0)
    assert own is not None
    moved = float(np.linalg.norm((more - less) * grid.step))
    if own.sampling_rate == 0.0:
        assert moved == 0.0
    else:
        assert moved <= own.groups[0].clip


def test_saving_rounds_ask_fewer_units() -> None:
    of = world(
        sizes=(900, 600),
        schedule=NoiseSchedule("time-adaptive", save=0.25),
        rounds=4,
        sampling_rate=0.4,
        accountant="rdp",
        model="mlp:4",
    )
    log: list[Any] = []
    with checks.watched_coins(log):
        play(of, "simulation")
    rates = [0.1, 0.1, 0.4, 0.4] * 3
    # Six standard deviations of 1500 coins: wrong once in 1e9 for all twelve rounds.
    for coins, rate in zip(log, rates, strict=True):
        assert abs(coins.mean() - rate) <= 6.5 * (rate * (1 - rate) / 1500) ** 0.5


def test_a_site_of_lower_rate_sends_fewer_units() -> None:
    site_checks.sites_flip_coins_of_their_own_rate()


def test_a_site_refuses_what_its_own_budget_does_not_pay_for() -> None:
    of = world(profiles=STRICTER)
    # A programme in which the strict site was given the weight of the others.
    greedy = replace(
        of.programme,
        stages=tuple(
            replace(stage, weights=(1.0,) * 3) for stage in of.programme.stages
        ),
    )
    learner, sources = Learner(greedy), seeded(1)
    ledger = Ledger.planned(
        Limits(8.0, 1e-6, "add-remove", ((Tier.SPECIAL, 4.0),)), greedy.charges()
    )
    coordinator = Coordinator(greedy, learner, ledger, sources, learner.start())
    # The site's own ledger knows its own budget, whatever the programme says.
    honest = of.ledger(2)
    engine = InProcess([Site(greedy, of.sites[2], honest, sources)])
    asked = coordinator.next()
    assert asked is not None
    (answer,) = engine.ask(asked.query, ["site2"])
    assert isinstance(answer, Refusal)
    assert honest is not None
    assert honest.events() == ()


def test_a_plan_above_a_sites_budget_opens_no_ledger() -> None:
    of = world(profiles=STRICTER)
    limits = Limits(1.5, 1e-6, "add-remove")
    with pytest.raises(Refused, match="the plan is refused"):
        Ledger.planned(limits, of.programme.charges(0))


def test_a_sites_ledger_holds_its_own_releases() -> None:
    of = world(profiles=STRICTER)
    ledgers = [of.ledger(place) for place in range(3)]
    sources = seeded(3)
    engine = InProcess(
        [
            Site(of.programme, data, ledger, sources)
            for data, ledger in zip(of.sites, ledgers, strict=True)
        ]
    )
    learner = Learner(of.programme)
    coordinator = Coordinator(
        of.programme, learner, of.ledger(), sources, learner.start()
    )
    while (asked := coordinator.next()) is not None:
        coordinator.receive(asked.query, engine.ask(asked.query, asked.participants))
    for place, ledger in enumerate(ledgers):
        assert ledger is not None
        planned = [
            release
            for release, count in of.programme.charges(place)
            for _ in range(count)
        ]
        assert list(ledger.events()) == planned
