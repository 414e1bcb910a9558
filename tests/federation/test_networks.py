# SPDX-License-Identifier: Apache-2.0
"""Networks by rule: what they cost, where they are left out, what they release."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lexfed.budget.noise_plan import Budget
from lexfed.budget.noise_schedule import NoiseSchedule
from lexfed.federation.coordinator.learner import Learner, Progress
from lexfed.federation.engines.clear_sums import Simulation
from lexfed.federation.planning.draft_releases import (
    METRICS_SHARE,
    DraftTower,
    tower_drafts,
)
from lexfed.federation.programme import integer_sums
from lexfed.federation.programme.messages import Reply
from lexfed.models import towers
from lexfed.models.rule import network_worth
from lexfed.privacy.scopes import record_epsilon, tier_epsilon
from lexfed.tiers import Tier
from support.federation import checks
from support.federation.worlds import BUDGET, World, play, seeded, world

PLENTY = 10**5
"""Declared persons: networks pay, while the worlds stay small."""

CASES: dict[str, dict[str, Any]] = {
    "uniform": {"mechanism": "uniform"},
    "deep": {"model": "mlp:4,3"},
    "cnn": {"model": "cnn"},
    "a user's": {"model": "support.factories:smooth"},
    "a user's without closed form": {"model": "support.factories:gated"},
    "softmax": {"loss": "softmax"},
    "squared": {"loss": "squared"},
    "local trust": {"trust": "local"},
    "persons": {"places": 3},
    "weights": {"weights": (1.0, 0.5, 0.25)},
    "paid metrics": {"paid_metrics": True},
    "geometric": {"schedule": NoiseSchedule("geometric")},
    "sampled": {
        "sampling_rate": 0.3,
        "accountant": "rdp",
        "budget": Budget(8.0, 1e-7, "add-remove"),
    },
}


def networks(**options: Any) -> World:
    given = {"model": "mlp:4", "rounds": 3, "declared": PLENTY, **options}
    of = world(by_rule=True, **given)
    assert of.programme.networks
    return of


@pytest.mark.parametrize("case", CASES)
def test_shares_of_a_tower_sum_to_one(case: str) -> None:
    of = networks(**CASES[case])
    last = len(of.programme.shapes) - 1
    for tower in range(last + 1):
        draft = DraftTower(of.facts, of.choices, of.programme.shapes, tower)
        wanted = tower_drafts(draft, 2.0)
        assert sum(item.draft.share for item in wanted) == pytest.approx(1.0)
        paid = METRICS_SHARE if of.choices.paid_metrics and tower == last else 0.0
        (deep,) = (item for item in wanted if item.kind == "gradient")
        assert deep.draft.share == pytest.approx(network_worth.SHARE * (1 - paid))
        assert deep.draft.groups[0].clip == 1.0


@pytest.mark.no_cover
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("case", CASES)
def test_no_plan_exceeds_a_budget(case: str, neighbours: Any) -> None:
    caps = {Tier.SPECIAL: 2.0, Tier.PERSONAL: 5.0}
    budget = Budget(6.0, 1e-7, neighbours, caps)
    of = networks(**{**CASES[case], "budget": budget})
    plan, by = of.programme.charges(), of.choices.accountant
    assert record_epsilon(plan, 1e-7, neighbours, by) <= 6.0 * (1 + 1e-9)
    for tier, cap in caps.items():
        assert tier_epsilon(plan, tier, 1e-7, by) <= cap * (1 + 1e-9)
    assert of.ledger() is not None


@pytest.mark.no_cover
@pytest.mark.parametrize("case", CASES)
def test_engines_agree_within_one_release_step(case: str) -> None:
    of = networks(**CASES[case])
    seen = play(of, "inprocess")
    other = Simulation(of.programme, of.sites, seeded(1))
    for place, query in enumerate(seen.queries):
        stage = of.programme.stages[query.stage]
        (answer,) = other.ask(query, seen.participants[place])
        assert isinstance(answer, Reply)
        total = answer.total
        if of.programme.trust == "central":
            source = seeded(1)(f"noise/{query.round}")
            total = integer_sums.add_noise(total, stage, query.release, source)
        gap = np.abs(integer_sums.descale(total, stage) - seen.released[place])
        assert gap.max() <= stage.blocks[0].grid.release_step


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("case", "tier"),
    [
        ("softmax", Tier.PERSONAL),
        ("sampled", Tier.SPECIAL),
        *(
            pytest.param(case, tier, marks=pytest.mark.slow)
            for case, tier in (
                ("softmax", Tier.SPECIAL),
                ("squared", Tier.PERSONAL),
                ("squared", Tier.SPECIAL),
                ("local trust", Tier.PERSONAL),
                ("local trust", Tier.SPECIAL),
                ("sampled", Tier.PERSONAL),
            )
        ),
    ],
)
def test_lower_towers_do_not_see_a_tier(case: str, tier: Tier) -> None:
    of = networks(sizes=(20, 15), **CASES[case])
    checks.check_isolation(of, tier, "inprocess", ("nan", "random", "huge"))


@pytest.mark.no_cover
@pytest.mark.parametrize("case", ["uniform", "a user's", "a user's without closed form",
                                  "cnn", "softmax", "squared"])  # fmt: skip
def test_a_person_moves_a_sum_by_one_clip(case: str) -> None:
    checks.check_sensitivity(networks(sizes=(20, 15), **CASES[case]))


def test_networks_are_left_out_where_they_would_add_noise() -> None:
    deep = world(model="mlp:4", by_rule=True, rounds=3)
    assert not deep.programme.networks
    flat = world(model="linear")
    # Rounds are the network's: what is left is the linear rule, whole.
    assert deep.programme == flat.programme


def test_all_towers_have_networks_or_none() -> None:
    """A cap that drowns one network leaves out all of them."""
    tight = Budget(8.0, 1e-6, "add-remove", {Tier.SPECIAL: 0.01})
    of = world(model="mlp:4", by_rule=True, declared=20_000, budget=tight)
    assert Tier.SPECIAL in [shape.tier for shape in of.programme.shapes]
    assert not of.programme.networks
    networks(declared=20_000, budget=BUDGET)


def test_noise_of_every_site_counts_against_a_network() -> None:
    for trust, declared, pays in (
        ("central", 200, True),
        ("local", 200, False),
        ("local", 600, True),
    ):
        of = world(
            sizes=(5,) * 9,
            model="mlp:2",
            mechanism="uniform",
            by_rule=True,
            trust=trust,
            declared=declared,
            budget=Budget(8.0, 1e-6, "add-remove"),
        )
        assert of.programme.networks == pays


def test_rounds_are_the_networks_own() -> None:
    def rounds(of: World, kind: str) -> list[int]:
        return [len(s.releases) for s in of.programme.stages if s.kind == kind]

    by_rule, given = networks(rounds=None), networks(rounds=5)
    assert rounds(by_rule, "gradient") == [network_worth.ROUNDS] * 3
    assert rounds(given, "gradient") == [5] * 3
    assert rounds(given, "residuals") == rounds(by_rule, "residuals") == [8] * 3


def test_a_step_of_ones_own_means_plain_descent() -> None:
    of = world(model="mlp:4", learning_rate=0.5, by_rule=True, declared=PLENTY)
    assert not of.programme.follows_rule
    assert {stage.kind for stage in of.programme.stages} == {"labels", "gradient"}


def test_the_model_averages_the_weights_of_the_last_half() -> None:
    of = networks(rounds=6)
    seen = play(of)
    assert seen.progress is not None
    for tower, served in enumerate(seen.progress.model.towers):
        asked = [
            query.model.towers[tower].parameters
            for query in seen.queries
            if query.kind == "gradient" and query.tower == tower
        ]
        last = seen.progress.memory[f"{tower}.network"]
        # A query holds the weights before its round.
        path = np.array([*asked[-2:], last])
        np.testing.assert_allclose(served.parameters, path.mean(axis=0), atol=1e-12)
        assert served.skip.any()
        assert served.scale.all()


@pytest.mark.parametrize("case", ["softmax", "a user's"])
def test_learning_goes_on_from_what_was_written(case: str) -> None:
    """Model and memory are all there is: bytes in between change nothing."""
    of = networks(**CASES[case])
    seen = play(of)
    assert seen.progress is not None
    learner = Learner(of.programme)
    progress = learner.start()
    for query, released in zip(seen.queries, seen.released, strict=True):
        progress = replace(progress, stage=query.stage, step=query.step)
        model, arrays = learner.question(progress)
        assert replace(query, model=model, arrays=arrays).to_bytes() == query.to_bytes()
        progress = learner.learn(progress, query.release, released)
        content = towers.to_bytes(progress.model, {}, progress.memory)
        model, _, memory = towers.from_bytes(content)
        progress = Progress(progress.done, model, memory)
    final = towers.to_bytes(seen.progress.model, {}, seen.progress.memory)
    assert towers.to_bytes(progress.model, {}, progress.memory) == final


def test_lost_rounds_leave_a_model_that_can_be_served() -> None:
    """A round may be paid for and lost; the next question does without it."""
    of = networks()
    seen = play(of)
    learner = Learner(of.programme)
    progress = learner.start()
    for query, released in zip(seen.queries, seen.released, strict=True):
        if query.kind in ("residuals", "moments") or query.round % 3 == 0:
            progress = progress.after_round(query.stage, query.step)
            continue
        progress = replace(progress, stage=query.stage, step=query.step)
        progress = learner.learn(progress, query.release, released)
    assert progress.done == of.programme.rounds
    for tower in progress.model.towers:
        assert np.isfinite(tower.parameters).all()
        assert not tower.skip.any()
