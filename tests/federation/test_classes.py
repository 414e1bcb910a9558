# SPDX-License-Identifier: Apache-2.0
"""Theorem K, executed: members move sums less, and nobody learns who they are."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lexfed.budget.noise_plan import Budget
from lexfed.budget.tower_steering import Adaptation
from lexfed.errors import ConfigError
from lexfed.federation.planning import training_programme
from lexfed.privacy.claim.lines import scaled_releases
from lexfed.privacy.scopes import record_epsilon, tier_epsilon
from lexfed.tiers import Tier
from support.federation import checks
from support.federation.class_worlds import (
    Rule,
    check_class_sensitivity,
    classed,
    edited,
    reads_of,
    with_scales,
)
from support.federation.worlds import BUDGET, EngineName, World, play, world

AGE = Rule("age", 1.0)
STRICT = Rule("dose", 0.25)
ENGINES: tuple[EngineName, ...] = ("inprocess", "simulation")
CASES: dict[str, dict[str, Any]] = {
    "rule": {"paid_metrics": True},
    "rule persons": {"places": 3},
    "several outputs": {"loss": "softmax"},
    "numbers": {"loss": "squared", "model": "linear"},
    "mlp": {"model": "mlp:6", "rounds": 2, "default_clip": 0.01},
    "mlp persons": {"model": "mlp:6", "rounds": 2, "places": 2},
    "groups": {
        "mechanism": "grouped",
        "rounds": 2,
        "clip": {Tier.SPECIAL: 0.02, Tier.PERSONAL: 0.05},
    },
    "uniform": {"mechanism": "uniform"},
    "clip bits": {
        "model": "mlp:6",
        "rounds": 2,
        "adapting": Adaptation(clip="quantile"),
    },
    "replace": {"budget": replace(BUDGET, neighbours="replace-one")},
}


@pytest.mark.no_cover
@pytest.mark.parametrize("case", CASES)
def test_a_member_moves_sums_by_its_scale(case: str) -> None:
    of = classed([AGE, STRICT], sizes=(40, 15), **CASES[case])
    first, second = of.programme.class_scales
    assert second < first < 1.0
    check_class_sensitivity(of)


def test_sites_that_weigh_less_leave_room_for_both() -> None:
    of = classed([AGE], sizes=(40, 15), weights=(0.5, 1.0))
    for stage in of.programme.stages:
        f, s, r = stage.factors[0], of.programme.class_scales[0], stage.rounding
        clip, grid = stage.blocks[0].grid.clip, stage.blocks[0].grid
        fixed = clip - grid.clip_to * (1 + 2e-6)
        assert (s * f - (1 - s) * r) * (clip - fixed) + fixed <= 0.5 * s * clip


@pytest.mark.no_cover
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", ["rule", "rule persons", "mlp", "groups"])
def test_a_scale_of_one_is_no_class_at_all(case: str, engine: EngineName) -> None:
    """Metamorphic: bit by bit the same sums; only the programme's name differs."""
    plain = world(sizes=(20, 15), **CASES[case])
    of = classed([Rule("ward", 2.0)], sizes=(20, 15), **CASES[case])
    same = with_scales(replace(of, programme=_with(plain, of)), 1.0)
    before, after = play(plain, engine), play(same, engine)
    assert [t.tobytes() for t in before.totals] == [t.tobytes() for t in after.totals]
    smaller = with_scales(same, 0.5)
    moved = play(smaller, engine)
    assert [t.tobytes() for t in before.totals] != [t.tobytes() for t in moved.totals]


def _with(plain: World, of: World) -> Any:
    return replace(plain.programme, classes=of.programme.classes)


@pytest.mark.no_cover
@pytest.mark.parametrize("case", CASES)
def test_both_engines_release_the_same(case: str) -> None:
    of = classed([AGE, STRICT], sizes=(30, 20, 25), **CASES[case])
    one, other = play(of, "inprocess"), play(of, "simulation")
    for number, (a, b) in enumerate(zip(one.released, other.released, strict=True)):
        stage = of.programme.stages[one.queries[number].stage]
        step = max(block.grid.release_step for block in stage.blocks)
        np.testing.assert_allclose(a, b, rtol=0, atol=1.01 * step)


# Prices


@pytest.mark.parametrize("accountant", ["gdp", "pld", "rdp"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_a_class_costs_its_budget_and_no_more(accountant: Any, neighbours: Any) -> None:
    budget = replace(BUDGET, neighbours=neighbours)
    of = classed([AGE, STRICT], budget=budget, accountant=accountant)
    for rule, scale in zip((AGE, STRICT), of.programme.class_scales, strict=True):
        paid = scaled_releases(of.programme.charges(), scale)
        cost = record_epsilon(paid, budget.delta, neighbours, accountant)
        assert cost <= rule.epsilon
        assert cost >= 0.999 * rule.epsilon


@pytest.mark.no_cover
def test_a_sampled_class_costs_its_budget_and_no_more() -> None:
    of = classed(
        [AGE], sampling_rate=0.4, rounds=2, model="mlp:5", accountant="rdp", places=2
    )
    (scale,) = of.programme.class_scales
    paid = scaled_releases(of.programme.charges(), scale)
    cost = record_epsilon(paid, BUDGET.delta, "add-remove", "rdp")
    assert 0.99 * AGE.epsilon <= cost <= AGE.epsilon


def test_a_class_that_the_plan_already_satisfies_keeps_its_scale() -> None:
    budget = Budget(8.0, 1e-6, "add-remove", {Tier.PERSONAL: 1.0})
    of = classed([Rule("age", 7.0)], budget=budget)
    assert of.programme.class_scales == (1.0,)


def test_a_class_below_rounding_is_refused() -> None:
    with pytest.raises(ConfigError, match="rounding alone"):
        classed([Rule("age", 1e-4)])


# Isolation


@pytest.mark.no_cover
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", ["rule", "rule persons", "mlp"])
def test_a_rule_on_a_personal_column_keeps_special_values_apart(
    case: str, engine: EngineName
) -> None:
    of = classed([AGE], sizes=(20, 15), **CASES[case])
    changes = ("nan", "random", "huge", "missing")
    checks.check_isolation(of, Tier.SPECIAL, engine, changes)


def test_a_rule_moves_every_release_and_every_release_says_so() -> None:
    """Negative control: who is a member is in every sum, the label's included."""
    plain = reads_of(world(sizes=(40, 15)))
    assert plain["label rate"] is None
    of = classed([AGE], sizes=(40, 15))
    reads = reads_of(of)
    assert set(reads.values()) == {"personal", "special"}
    other = edited(of, [AGE], "age", np.zeros_like)
    before, after = play(of, rounds=1), play(other, rounds=1)
    assert before.queries[0].kind == "labels"
    assert not np.array_equal(before.totals[0], after.totals[0])


def test_a_rule_on_a_special_column_is_paid_by_every_tier() -> None:
    of = classed([Rule("hba1c", 1.0)], sizes=(40, 15))
    assert set(reads_of(of).values()) == {"special"}
    charges = of.programme.charges()
    special = tier_epsilon(charges, Tier.SPECIAL, BUDGET.delta)
    # The cap on special values now binds the whole run.
    assert special == pytest.approx(4.0, rel=1e-3)
    assert tier_epsilon(charges, Tier.NON_PERSONAL, BUDGET.delta) == special


def test_caps_hold_for_a_tier_that_only_a_rule_reads() -> None:
    budget = Budget(8.0, 1e-6, "add-remove", {Tier.SPECIAL: 0.02})
    of = classed([Rule("hba1c", 0.01)], sizes=(40, 15), budget=budget)
    assert tier_epsilon(of.programme.charges(), Tier.SPECIAL, 1e-6) <= 0.02


@pytest.mark.parametrize("mechanism", ["grouped", "uniform"])
def test_mechanisms_without_towers_raise_the_label_rate_too(mechanism: Any) -> None:
    of = classed([AGE], sizes=(40, 15), mechanism=mechanism, rounds=2)
    assert reads_of(of)["label rate"] == "personal"


@pytest.mark.no_cover
def test_coins_do_not_depend_on_membership() -> None:
    options: dict[str, Any] = {"sampling_rate": 0.4, "rounds": 2, "model": "mlp:5"}
    of = classed([AGE], sizes=(20, 15), accountant="rdp", **options)
    other = edited(of, [AGE], "age", np.ones_like)
    before, after = play(of), play(other)
    assert before.words.keys() == after.words.keys()
    for purpose in before.words:
        if purpose.startswith("coins"):
            for a, b in zip(before.words[purpose], after.words[purpose], strict=True):
                assert np.array_equal(a, b)


def test_a_programme_with_other_scales_is_another_programme() -> None:
    of = classed([AGE], sizes=(20, 15))
    assert with_scales(of, 0.5).programme.digest != of.programme.digest


def test_units_without_memberships_do_not_fit_a_programme_with_classes() -> None:
    of = classed([AGE], sizes=(20, 15))
    bare = replace(of, sites=world(sizes=(20, 15)).sites)
    with pytest.raises(ValueError, match="classes"):
        play(bare)


def test_a_plan_without_classes_is_the_same_plan() -> None:
    of = world(sizes=(20, 15))
    again = training_programme.plan_training(of.facts, of.budget, of.choices)
    assert again.digest == of.programme.digest
    assert again.classes == ()
    assert math.isclose(of.programme.stages[0].rounding, 2.7e-4, rel_tol=1.0)
