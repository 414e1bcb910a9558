# SPDX-License-Identifier: Apache-2.0
"""Informed observers of rounds learn all without noise, and the bound with it."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import chi2

from lexfed.arrays import Floats
from lexfed.evaluate.attacks.auc_intervals import AttackResult
from lexfed.evaluate.attacks.informed_observer import (
    observer_result,
    plant_values,
    play_games,
)
from lexfed.evaluate.attacks.product_runs import Observer, noise_of, observe_run
from lexfed.evaluate.attacks.target_value import TargetValue, find_target_value
from lexfed.federation.programme.sequence import Stage
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.run.pricing.priced_run import PricedRun, price
from support.evaluation.attacked_worlds import hospital
from support.evaluation.broken_mechanisms import a_third_of_the_noise


@cache
def small(mechanism: str = "cascade", epsilon: float = 1.9) -> PricedRun:
    config, population = hospital(mechanism, epsilon, patients=120)
    return price(config, population)


def attack_rounds(
    priced: PricedRun, column: TargetValue, observer: Observer, **game: int
) -> AttackResult:
    return observer_result([play_games(priced, column, observer, **game)], observer)


def about(priced: PricedRun, column: str) -> TargetValue:
    sites = priced.population.sites
    inputs = np.concatenate([site.train.inputs[:, 0] for site in sites])
    return find_target_value(priced.population.encoding, column, inputs)


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


def quieter(priced: PricedRun, by: float) -> PricedRun:
    """Return the run with less noise in every release than was planned."""

    def quiet(release: Release | None) -> Release | None:
        assert release is not None
        groups = [ReleaseGroup(g.name, g.clip, g.sigma / by) for g in release.groups]
        return replace(release, groups=tuple(groups))

    def hushed(stage: Stage) -> Stage:
        return replace(stage, releases=tuple(map(quiet, stage.releases)))

    stages = tuple(map(hushed, priced.programme.stages))
    loud = replace(priced.budget, epsilon=1e6, caps={})
    return replace(
        priced, programme=replace(priced.programme, stages=stages), budget=loud
    )


@pytest.mark.parametrize("mechanism", ["cascade", "uniform"])
@pytest.mark.parametrize("column", ["hba1c", "sex"])
def test_nobody_is_told_apart_beyond_the_bound_whatever_the_noise(
    mechanism: str, column: str
) -> None:
    # No chance: distances of contributions, in deviations, are what the proof bounds.
    priced = small(mechanism)
    played = play_games(priced, about(priced, column), "round", people=8, runs=3)
    assert 0.5 < played.surest <= played.bound


def test_a_fifth_of_the_planned_noise_tells_people_apart_beyond_the_bound() -> None:
    # Negative control of the test above.
    priced = small()
    column = about(priced, "hba1c")
    claimed = play_games(priced, column, "round", people=8, runs=3)
    broken = play_games(quieter(priced, 5.0), column, "round", people=8, runs=3)
    assert broken.surest > claimed.bound


def _alpha(noise: Floats) -> float:
    """The chance of squares that are as small or as large, both sides together."""
    below = float(chi2.cdf(noise @ noise, len(noise)))
    return 2.0 * min(below, 1.0 - below)


def test_the_noise_of_a_watched_run_is_what_was_planned() -> None:
    # Fails with probability 1e-6 if it is.
    priced = small()
    runs = [observe_run(priced) for _ in range(5)]
    noise = np.concatenate([noise_of(priced.programme, run) for run in runs])
    assert _alpha(noise) > 1e-6
    # And it is another one each time.
    first, second = (noise_of(priced.programme, run) for run in runs[:2])
    assert abs(float(np.corrcoef(first, second)[0, 1])) < 6.0 / len(first) ** 0.5


def test_noise_that_is_drawn_too_small_is_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Negative control: the plan is as it was, and a third is drawn.
    priced = small()
    a_third_of_the_noise(monkeypatch)
    assert _alpha(noise_of(priced.programme, observe_run(priced))) < 1e-6
    played = play_games(priced, about(priced, "hba1c"), "round", people=3, runs=3)
    assert played.noise == pytest.approx(1 / 3, abs=0.1)


def test_games_of_several_runs_are_judged_together() -> None:
    priced = small()
    column = about(priced, "sex")
    played = [
        play_games(priced, column, "round", people=3, runs=6, seed=s) for s in (1, 2)
    ]
    found = observer_result(played, "round")
    strict = observer_result(played, "round", 0.9975)
    assert found.n == 36
    assert strict.low < found.low < found.auc == strict.auc
    assert found.bound == played[0].bound


def test_noise_that_is_not_drawn_is_caught() -> None:
    # Negative control: rounds that are charged as planned, with noise of a thousandth.
    priced = small()
    broken = quieter(priced, 1000.0)
    found = attack_rounds(broken, about(priced, "hba1c"), "round", people=3, runs=4)
    claimed = attack_rounds(priced, about(priced, "hba1c"), "round", people=3, runs=4)
    assert found.low > claimed.bound


def test_rounds_of_lower_towers_say_nothing_about_a_higher_tier() -> None:
    priced = small()
    column = about(priced, "hba1c")
    sites = priced.population.sites
    count = sum(len(site.train) for site in sites)
    high, low = (plant_values(sites, column, np.full(count, v)) for v in (True, False))
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
        observe_run(sampled)


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
    kinds = [seen.query.kind for seen in observe_run(priced)]
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
