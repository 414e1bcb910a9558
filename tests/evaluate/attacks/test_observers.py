# SPDX-License-Identifier: Apache-2.0
"""What informed observers of rounds learn: all without noise, the bound with it."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from lexfed.evaluate.attacks.observers import (
    Observer,
    attack_rounds,
    plant,
    watched_run,
)
from lexfed.evaluate.attacks.sensitive import Sensitive, sensitive
from lexfed.federation.stage import Stage
from lexfed.privacy.events import Group, Release
from lexfed.run.planning import Priced, price
from support.attacked_worlds import hospital


@cache
def small(mechanism: str = "cascade", epsilon: float = 1.9) -> Priced:
    config, population = hospital(mechanism, epsilon, patients=120)
    return price(config, population)


def about(priced: Priced, column: str) -> Sensitive:
    sites = priced.population.sites
    inputs = np.concatenate([site.train.inputs[:, 0] for site in sites])
    return sensitive(priced.population.encoding, column, inputs)


@pytest.mark.parametrize("column", ["hba1c", "sex"])
def test_a_round_observer_stays_within_the_bound_of_the_tier(column: str) -> None:
    priced = small()
    found = attack_rounds(priced, about(priced, column), "round", people=3, runs=15)
    assert not found.contradicts_proof
    assert 0.5 < found.bound < 0.65
    assert found.n == 45


def test_a_coordinator_that_is_trusted_with_noise_sees_everything() -> None:
    priced = small()
    found = attack_rounds(priced, about(priced, "hba1c"), "central", people=3, runs=4)
    assert (found.low, found.bound) == (1.0, 1.0)


def test_noise_that_is_not_drawn_is_caught() -> None:
    # Negative control: rounds that are charged as planned, with noise of a thousandth.
    priced = small()

    def quiet(release: Release | None) -> Release | None:
        assert release is not None
        groups = [Group(g.name, g.clip, g.sigma / 1000) for g in release.groups]
        return replace(release, groups=tuple(groups))

    def hushed(stage: Stage) -> Stage:
        return replace(stage, releases=tuple(map(quiet, stage.releases)))

    stages = tuple(map(hushed, priced.programme.stages))
    loud = replace(priced.budget, epsilon=1e6, caps={})
    broken = replace(
        priced, programme=replace(priced.programme, stages=stages), budget=loud
    )
    found = attack_rounds(broken, about(priced, "hba1c"), "round", people=3, runs=4)
    claimed = attack_rounds(priced, about(priced, "hba1c"), "round", people=3, runs=4)
    assert found.low > claimed.bound


def test_rounds_of_lower_towers_say_nothing_about_a_higher_tier() -> None:
    priced = small()
    column = about(priced, "hba1c")
    sites = priced.population.sites
    count = sum(len(site.train) for site in sites)
    high, low = (plant(sites, column, np.full(count, v)) for v in (True, False))
    tier = priced.population.encoding.tiers["hba1c"]
    for planted in (high, low):
        for site, before in zip(planted, sites, strict=True):
            others = np.setdiff1d(
                np.arange(before.train.inputs.shape[-1]), column.slots
            )
            kept = site.train.inputs[..., others] == before.train.inputs[..., others]
            assert kept.all()
            assert (site.train.inputs[site.train.weights == 0] == 0).all()
    below = [s for s in priced.programme.stages if (s.releases[0].reads or 0) < tier]  # type: ignore[union-attr]
    assert below
    sight: Observer = "central"
    # The first tower alone: a central observer, who sees exact sums, learns nothing.
    cut = replace(priced, programme=replace(priced.programme, stages=tuple(below)))
    found = attack_rounds(cut, column, sight, people=3, runs=4)
    assert found.auc == 0.5


def test_sampled_rounds_are_refused() -> None:
    priced = small()
    stage = replace(priced.programme.stages[0], sampling_rate=0.5)
    sampled = replace(priced, programme=replace(priced.programme, stages=(stage,)))
    with pytest.raises(ValueError, match="no sampling"):
        watched_run(sampled)


def test_runs_without_noise_are_told_by_both_observers() -> None:
    priced = small("none")
    stages = priced.programme.stages
    few = tuple(replace(stage, releases=stage.releases[:3]) for stage in stages)
    short = replace(priced, programme=replace(priced.programme, stages=few))
    found = attack_rounds(short, about(priced, "hba1c"), "round", people=3, runs=4)
    assert (found.low, found.bound) == (1.0, 1.0)


def test_rounds_that_only_look_at_test_rows_say_nothing_about_training() -> None:
    config, population = hospital(
        "cascade", patients=120, evaluation={"metrics": "paid"}
    )
    priced = price(config, population)
    kinds = [seen.query.kind for seen in watched_run(priced)]
    assert "metrics" in kinds
    found = attack_rounds(priced, about(priced, "sex"), "central", people=2, runs=4)
    assert found.low == 1.0


def test_the_same_seed_finds_the_same() -> None:
    priced = small()
    column = about(priced, "sex")
    first, again, other = (
        attack_rounds(priced, column, "round", people=2, runs=4, seed=seed)
        for seed in (1, 1, 2)
    )
    assert (first.auc, first.low) == (again.auc, again.low)
    assert (first.auc, first.low) != (other.auc, other.low)
