# SPDX-License-Identifier: Apache-2.0
"""Every programme fits its budget, whatever people choose; metrics are read right."""

from collections.abc import Mapping
from typing import Any, get_args

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lexfed.budget.noise_plan import Budget
from lexfed.budget.noise_schedule import NoiseSchedule, ScheduleName
from lexfed.errors import ConfigError
from lexfed.models.losses import (
    BINS,
    LossName,
    histogram_cells,
    metrics,
    metrics_of_histogram,
    score_histogram,
)
from lexfed.privacy.scopes import record_epsilon, tier_epsilon
from lexfed.tiers import MODEL_TIERS, Tier
from support.federation.worlds import World, play, world

choices = st.fixed_dictionaries(
    {
        "mechanism": st.sampled_from(["cascade", "uniform", "grouped"]),
        "trust": st.sampled_from(["central", "local"]),
        "unit": st.sampled_from(["record", "client"]),
        "model": st.sampled_from(["logistic", "mlp:3"]),
        "allocation": st.sampled_from(["caps", "inverse", "multiplier", "noise-scale"]),
        "schedule": st.builds(NoiseSchedule, st.sampled_from(get_args(ScheduleName))),
        "rounds": st.sampled_from([None, 1, 3]),
        "paid_metrics": st.booleans(),
        "places": st.sampled_from([1, 2]),
        "loss": st.sampled_from(["logistic", "softmax"]),
        "accountant": st.sampled_from(["pld", "gdp", "pld", "gdp", "rdp"]),
        "clip": st.dictionaries(st.sampled_from(MODEL_TIERS), st.floats(0.01, 3.0)),
        "importance": st.just({"dose": 3.0}),
    }
)
budgets = st.builds(
    Budget,
    epsilon=st.floats(0.05, 12.0),
    delta=st.sampled_from([1e-8, 1e-5]),
    neighbours=st.sampled_from(["add-remove", "replace-one"]),
    caps=st.dictionaries(st.sampled_from(MODEL_TIERS), st.floats(0.05, 20.0)),
    sites_per_person=st.sampled_from([1, 1, 2]),
)


@settings(max_examples=150, deadline=None)
@given(budgets, choices)
def test_no_programme_exceeds_a_budget(budget: Budget, options: dict[str, Any]) -> None:
    said = ""
    try:
        of = world(sizes=(9, 8), budget=budget, **options)
    except ConfigError as error:
        said = str(error)
    if said:
        # The fixed proportions of the other rules may not fit a cap.
        assert options["allocation"] != "caps"
        assert "than its cap allows" in said
        return
    assert_fits(of)
    assert of.ledger() is not None


def assert_fits(of: World) -> None:
    plan, budget = of.programme.charges(), of.budget
    by, sites = of.choices.accountant, budget.sites_per_person
    record = record_epsilon(plan, budget.delta, budget.neighbours, by, sites)
    assert record <= budget.epsilon * (1 + 1e-9)
    for tier, cap in budget.caps.items():
        assert tier_epsilon(plan, tier, budget.delta, by, sites) <= cap * (1 + 1e-9)


@pytest.mark.parametrize("allocation", ["inverse", "multiplier", "noise-scale"])
def test_fixed_proportions_use_up_the_record_budget(allocation: str) -> None:
    budget = Budget(2.0, 1e-6, "add-remove")
    of = world(sizes=(400, 300), budget=budget, allocation=allocation)
    found = record_epsilon(of.programme.charges(), 1e-6, "add-remove")
    assert found == pytest.approx(2.0, rel=1e-6)
    tiers = [tier_epsilon(of.programme.charges(), t, 1e-6) for t in MODEL_TIERS]
    assert tiers == sorted(tiers, reverse=True)


@pytest.mark.parametrize("allocation", ["inverse", "multiplier", "noise-scale"])
@pytest.mark.parametrize("mechanism", ["cascade", "grouped"])
def test_sensitive_groups_get_more_noise(allocation: str, mechanism: str) -> None:
    of = world(
        sizes=(400, 300),
        mechanism=mechanism,
        allocation=allocation,
        model="mlp:3",
        rounds=2,
        budget=Budget(2.0, 1e-6, "add-remove"),
    )
    noise: dict[str, float] = {}
    for release, _ in of.programme.charges():
        for group in release.groups:
            noise[group.name.removeprefix("tower ")] = group.sigma / group.clip
    assert noise["special"] > noise["personal"] > noise["non_personal"]


def test_important_columns_get_less_noise_in_groups_at_the_same_price() -> None:
    def groups(important: Mapping[Tier, float]) -> tuple[dict[str, float], float]:
        encoding = world(sizes=(40, 30)).encoding
        of = world(
            sizes=(400, 300),
            mechanism="grouped",
            allocation="multiplier",
            rounds=2,
            budget=Budget(2.0, 1e-6, "add-remove"),
            importance={
                column: weight
                for tier, weight in important.items()
                for column in encoding.columns_of(tier)
            },
        )
        [release] = {r for r, _ in of.programme.charges() if r.name != "label rate"}
        price = record_epsilon(of.programme.charges(), 1e-6, "add-remove")
        return {g.name: g.sigma / g.clip for g in release.groups}, price

    plain, price = groups({})
    noise, same = groups({Tier.SPECIAL: 50.0})
    assert noise["special"] < plain["special"]
    assert noise["personal"] > plain["personal"]
    # Noise is proportional to one over multiplier times importance.
    before, after = (n["special"] / n["personal"] for n in (plain, noise))
    assert before / after == pytest.approx(50.0)
    assert same == pytest.approx(price, rel=1e-6)


def test_fixed_proportions_over_a_cap_are_refused() -> None:
    budget = Budget(2.0, 1e-6, "add-remove", {Tier.SPECIAL: 0.01})
    with pytest.raises(ConfigError, match="`inverse` would spend more on tier"):
        world(sizes=(400, 300), budget=budget, allocation="inverse")


def test_a_drowned_tier_is_left_out_and_costs_nothing() -> None:
    budget = Budget(2.0, 1e-6, "add-remove", {Tier.SPECIAL: 1e-3})
    of = world(sizes=(20, 15), budget=budget)
    assert [shape.tier for shape in of.programme.shapes] == list(MODEL_TIERS[:2])
    plan = of.programme.charges()
    assert tier_epsilon(plan, Tier.SPECIAL, 1e-6) == 0.0
    assert record_epsilon(plan, 1e-6, "add-remove") == pytest.approx(2.0, rel=1e-6)
    assert all(release.reads != Tier.SPECIAL for release, _ in plan)
    play(of)


def test_without_privacy_nothing_is_charged() -> None:
    of = world(mechanism="none", rounds=2)
    assert of.programme.charges() == ()
    assert of.ledger() is None
    assert play(of).queries[0].release is None


def test_a_geometric_schedule_halves_the_noise() -> None:
    of = world(
        mechanism="uniform",
        model="mlp:3",
        rounds=5,
        schedule=NoiseSchedule("geometric"),
    )
    sigmas = [
        release.groups[0].sigma
        for release, _ in of.programme.charges()
        if release.name.startswith("tower")
    ]
    assert sigmas[0] / sigmas[-1] == pytest.approx(2.0)
    assert_fits(of)


# Metrics


def histogram_of(loss: LossName, logits: Any, targets: Any) -> Any:
    rows = score_histogram(loss, torch.as_tensor(logits), torch.as_tensor(targets))
    assert rows.shape[-1] == histogram_cells(loss)
    # Every row is one cell, whatever its score: its norm is 1.
    assert (rows.sum(dim=-1) == 1).all()
    return rows.sum(dim=0).numpy()


def test_an_exact_histogram_gives_the_metrics() -> None:
    generator = np.random.default_rng(0)
    targets = (generator.random(4000) < 0.4).astype(np.float64)
    logits = (targets - 0.5 + generator.normal(size=4000))[:, None]
    plain = metrics("logistic", torch.from_numpy(logits), torch.from_numpy(targets))
    paid = metrics_of_histogram("logistic", histogram_of("logistic", logits, targets))
    assert paid["auc"] == pytest.approx(plain["auc"], abs=0.005)
    assert paid["accuracy"] == pytest.approx(plain["accuracy"], abs=1e-12)


def test_histograms_of_the_other_tasks() -> None:
    generator = np.random.default_rng(1)
    codes = generator.integers(0, 3, 500)
    scores = np.eye(3)[codes] + generator.normal(size=(500, 3))
    plain = metrics("softmax", torch.from_numpy(scores), torch.from_numpy(codes))
    paid = metrics_of_histogram("softmax", histogram_of("softmax", scores, codes))
    assert paid["accuracy"] == pytest.approx(plain["accuracy"])
    truth = generator.uniform(-1, 1, 500)
    guess = (truth + 0.4 * generator.normal(size=500))[:, None]
    error = metrics("squared", torch.from_numpy(guess), torch.from_numpy(truth))
    paid = metrics_of_histogram("squared", histogram_of("squared", guess, truth))
    assert paid["rmse_on_scale"] == pytest.approx(error["rmse"], abs=0.03)
    assert paid["mae_on_scale"] == pytest.approx(error["mae"], abs=0.03)
    assert 0 < error["r2"] < 1


def test_metrics_at_the_edges() -> None:
    one = torch.ones(3)
    assert metrics("logistic", torch.zeros(3, 1), one)["auc"] == 0.5
    assert metrics("squared", torch.zeros(3, 1), one)["r2"] == 0.0
    assert metrics_of_histogram("logistic", np.full(2 * BINS, -1.0)) == {}
    only = np.zeros(2 * BINS)
    only[BINS + 3] = 5.0
    assert metrics_of_histogram("logistic", only)["auc"] == 0.5
    odd = torch.tensor([[float("nan")], [float("inf")], [-float("inf")]])
    for loss in ("logistic", "squared"):
        histogram_of(loss, odd, one)


def test_paid_metrics_are_the_last_release_and_come_from_the_test_rows() -> None:
    of = world(paid_metrics=True, budget=Budget(30.0, 1e-3, "add-remove"))
    seen = play(of)
    assert seen.queries[-1].kind == "metrics"
    assert seen.progress is not None
    histogram = seen.progress.memory["histogram"]
    tested = sum(len(site.test) for site in of.sites)
    stage = of.programme.stages[-1]
    counts = seen.totals[-1] * stage.blocks[0].grid.step
    assert counts.sum() == pytest.approx(tested, rel=1e-2)
    assert np.array_equal(histogram, seen.released[-1])
