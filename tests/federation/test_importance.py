# SPDX-License-Identifier: Apache-2.0
"""Paid importances: isolated, clipped, priced, and roughly right."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lexfed.budget.column_importance import importance_by_column
from lexfed.budget.noise_plan import Budget
from lexfed.data.people.unit_blocks import UnitBlock
from lexfed.federation.planning.purchase_programmes import plan_importance
from lexfed.privacy.scopes import record_epsilon, tier_epsilon
from lexfed.tiers import Tier
from support.federation import checks
from support.federation.worlds import EngineName, Played, World, play, with_slots, world

BUDGET = Budget(1.0, 1e-6, "add-remove", {Tier.SPECIAL: 0.5})
CASES: dict[str, dict[str, Any]] = {
    "yes or no": {},
    "persons": {"places": 3},
    "classes": {"loss": "softmax"},
    "numbers": {"loss": "squared", "model": "linear"},
    "local trust": {"trust": "local"},
    "replace": {"budget": replace(BUDGET, neighbours="replace-one")},
    "rdp": {"accountant": "rdp"},
    "for a network": {"model": "mlp:5"},
    "for sampled rounds": {"sampling_rate": 0.5, "accountant": "rdp", "rounds": 2,
                           "model": "mlp:5"},
}  # fmt: skip


def bought(**options: Any) -> World:
    base = world(**{"sizes": (20, 15), "budget": BUDGET, **options})
    programme = plan_importance(base.facts, base.budget, base.choices)
    choices = replace(base.choices, mechanism="cascade")
    return replace(base, programme=programme, choices=choices)


@pytest.mark.parametrize("case", CASES)
def test_one_release_per_tier_inside_budget_and_caps(case: str) -> None:
    of = bought(**CASES[case])
    charges, budget, how = of.programme.charges(), of.budget, of.choices.accountant
    assert [(r.name, r.reads) for r, _ in charges] == [
        ("label rate", None),
        ("importance non_personal", Tier.NON_PERSONAL),
        ("importance personal", Tier.PERSONAL),
        ("importance special", Tier.SPECIAL),
    ]
    assert all(release.sampling_rate == 1.0 for release, _ in charges)
    cost = record_epsilon(charges, budget.delta, budget.neighbours, how)
    assert 0.9 * budget.epsilon <= cost <= budget.epsilon
    assert tier_epsilon(charges, Tier.SPECIAL, budget.delta, how) <= 0.5


@pytest.mark.parametrize("case", CASES)
def test_nobody_moves_a_sum_further_than_the_clip(case: str) -> None:
    checks.check_sensitivity(bought(**CASES[case]))


@checks.TIERS_AND_ENGINES
def test_lower_tiers_are_isolated(tier: Tier, engine: EngineName) -> None:
    of = bought(places=2)
    checks.check_isolation(of, tier, engine, ("nan", "random", "missing"))


def test_the_release_of_a_tier_reads_it() -> None:
    """Negative control for isolation."""
    of = bought()
    slots = [int(place) for place in of.encoding.slots_of(Tier.SPECIAL)]
    before, after = play(of), play(with_slots(of, slots, np.zeros_like))
    assert not np.array_equal(before.totals[-1], after.totals[-1])


@pytest.mark.parametrize("case", ["yes or no", "persons", "classes", "numbers"])
def test_both_engines_release_the_same(case: str) -> None:
    of = bought(**CASES[case])
    one, other = play(of, "inprocess"), play(of, "simulation")
    for number, (a, b) in enumerate(zip(one.released, other.released, strict=True)):
        step = of.programme.stages[number].blocks[0].grid.release_step
        np.testing.assert_allclose(a, b, rtol=0, atol=1.01 * step)


def _found(of: World, played: Played) -> dict[str, float]:
    assert played.progress is not None
    values = np.zeros((of.encoding.width, of.facts.outputs))
    noise = np.zeros(of.encoding.width)
    for tower, shape in enumerate(of.programme.shapes):
        values[list(shape.slots)] = played.progress.memory[f"{tower}.importance"]
        noise[list(shape.slots)] = played.progress.memory[f"{tower}.importance.noise"]
    return importance_by_column(of.encoding, values, noise)


def test_useful_columns_are_found_and_useless_ones_are_not() -> None:
    """At a large budget what is released follows the truth: one column decides.

    The noise is seeded, so nothing here is left to chance.
    """
    budget = Budget(20.0, 1e-6, "add-remove", {})
    of = bought(sizes=(1500, 1500), budget=budget)
    place = int(of.encoding.slots_of_column("gene")[0])

    def decided(block: UnitBlock) -> UnitBlock:
        return replace(block, targets=np.where(block.inputs[..., place] > 0, 1.0, 0.0))

    sites = tuple(replace(site, train=decided(site.train)) for site in of.sites)
    found = _found(of, play(replace(of, sites=sites)))
    best = found.pop("gene")
    assert best > 5 * max(found.values())
