# SPDX-License-Identifier: Apache-2.0
"""What adapting rounds promise, as checks that mutants must fail."""

import math
from dataclasses import replace
from functools import cache

import numpy as np

from lexfed.budget import noise_feedback
from lexfed.budget.noise_feedback import Signal
from lexfed.budget.tower_steering import Adaptation, ObservedRelease
from lexfed.federation.coordinator.learner import Learner
from lexfed.federation.programme.messages import Refusal, Reply, answer_from_bytes
from lexfed.federation.site.data_holder import Site
from lexfed.tiers import Tier
from support.federation import checks
from support.federation.worlds import World, play, seeded, world


@cache
def filtered() -> World:
    """Return a world whose noise follows convergence under a filter."""
    adapting = Adaptation("convergence", "filter")
    return world(sizes=(20, 15), learning_rate=1.0, rounds=6, adapting=adapting)


@cache
def quantile() -> World:
    """Return a world whose clip follows a quantile."""
    adapting = Adaptation(clip="quantile")
    return world(sizes=(20, 15), learning_rate=1.0, rounds=3, adapting=adapting)


def stages_keep_to_their_parts() -> None:
    """Every planned stage is reached, and the ledger never has to refuse."""
    of = filtered()
    assert {query.stage for query in play(of).queries} == {0, 1, 2, 3}


def sites_keep_to_the_range() -> None:
    """A site answers inside the agreed range of noise and nowhere else."""
    of = filtered()
    first, query = play(of, rounds=2).queries
    assert query.release is not None
    [group] = query.release.groups
    low, high = of.programme.stages[1].noise_range
    planned = of.programme.stages[1].releases[0]
    assert planned is not None
    for factor, kind in ((low, Reply), (high, Reply), (1.5 * high, Refusal)):
        sigma = planned.groups[0].sigma * factor
        groups = (replace(group, sigma=sigma),)
        asked = replace(query, release=replace(query.release, groups=groups))
        site = Site(of.programme, of.sites[0], of.ledger(0), seeded(1))
        site.handle(first.to_bytes())
        assert isinstance(answer_from_bytes(site.handle(asked.to_bytes())), kind)


def bits_are_bounded() -> None:
    """One person moves neither gradients nor bits by more than is charged."""
    checks.check_sensitivity(quantile())


def client_bits_are_bounded() -> None:
    """One client moves neither updates nor bits by more than is charged."""
    adapting = Adaptation(clip="quantile")
    of = world(sizes=(20, 15), unit="client", rounds=3, adapting=adapting)
    checks.check_client_sensitivity(of)


def steps_are_in_the_unit_of_the_model() -> None:
    """Contributions are divided by the radius, so the step is multiplied by it."""
    of = quantile()
    seen = play(of)
    learner = Learner(of.programme)
    progress = learner.start()
    for query, released in zip(seen.queries, seen.released, strict=True):
        progress = replace(progress, stage=query.stage, step=query.step)
        before = progress.model.towers[query.tower].parameters
        progress = learner.learn(progress, query.release, released)
        if query.kind == "gradient":
            after = progress.model.towers[query.tower].parameters
            divisor = of.programme.stages[query.stage].divisor_of(query.release)
            step = released[:-1] / divisor * float(query.arrays["radius"][0])
            assert np.allclose(before - after, step, atol=1e-12)


def factors_are_bounded() -> None:
    """Whatever the score is, there is no less noise than was planned."""
    for score in (0.0, 1.0, 5.0, -5.0, math.nan, math.inf):
        assert 0.7 <= noise_feedback.convergence_factor(score, 0.3) <= 1.0
        assert 0.6 <= noise_feedback.linear_factor(score, 0.25) <= 1.0


def broken_releases_freeze() -> None:
    """After what honest sums cannot be, a tower has the most noise for good."""
    adapting = Adaptation("convergence")
    state = adapting.start(Tier.SPECIAL)
    for size in (0.1, 1e30, *[0.1] * 13):
        seen = ObservedRelease(Signal(np.array([size]), 0.0), 1.0, 10.0)
        state = adapting.after(state, seen, Tier.SPECIAL)
    assert state.noise == adapting.noise_range(Tier.SPECIAL)[1]
