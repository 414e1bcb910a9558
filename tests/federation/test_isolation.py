# SPDX-License-Identifier: Apache-2.0
"""Theorem C, executed: no lower tower sees a more sensitive value, to the bit.

With fixed seeds every value of a tier is replaced; queries, coins, row counts, rounds,
sums before noise and releases of all lower towers must be the same bytes.
"""

from typing import Any

import numpy as np
import pytest

from lexfed.budget.noise_plan import Budget
from lexfed.tiers import Tier
from support.federation import checks
from support.federation.worlds import EngineName, play, with_slots, world

ENGINES: tuple[EngineName, ...] = ("inprocess", "simulation")
CASES: dict[str, dict[str, Any]] = {
    "rule": {},
    "rule persons": {"places": 3},
    "additive": {"model": "additive", "declared": 10**5},
    "additive persons": {"model": "additive", "declared": 10**5, "places": 3},
    "mlp": {"model": "mlp:5", "rounds": 2},
    "mlp persons": {"model": "mlp:5", "rounds": 2, "places": 2},
    "networks by the rule": {
        "model": "mlp:4",
        "rounds": 2,
        "by_rule": True,
        "declared": 10**6,
    },
    "local trust": {"trust": "local", "model": "mlp:5", "rounds": 2},
    "client": {"unit": "client", "rounds": 2, "local_steps": 2, "batch_size": 5},
}
SAMPLED = world(
    sizes=(20, 15),
    sampling_rate=0.4,
    rounds=2,
    model="mlp:5",
    accountant="rdp",
    places=2,
)


@pytest.mark.no_cover
@checks.TIERS_AND_ENGINES
@pytest.mark.parametrize("case", CASES)
def test_lower_towers_do_not_see_a_tier(
    case: str, tier: Tier, engine: EngineName
) -> None:
    of = world(sizes=(20, 15), **CASES[case])
    checks.check_isolation(of, tier, engine, ("nan", "random", "huge", "missing"))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("tier", [Tier.PERSONAL, Tier.SPECIAL])
def test_sampled_towers_flip_the_same_coins(engine: EngineName, tier: Tier) -> None:
    checks.check_isolation(SAMPLED, tier, engine, checks.edits())


def test_factors_of_towers_are_charged_to_the_most_sensitive_tier() -> None:
    """They read every tower, so no release of a lower tower may follow or name less."""
    of = world(sizes=(20, 15), model="additive", declared=10**5)
    stages = of.programme.stages
    places = [n for n, stage in enumerate(stages) if stage.kind == "amplitudes"]
    assert len(places) == 1
    assert stages[places[0]].tower == len(of.programme.shapes) - 1
    assert all(
        r is not None and r.reads == Tier.SPECIAL for r in stages[places[0]].releases
    )
    assert not [
        s for s in stages[places[0] + 1 :] if s.kind in ("moments", "residuals")
    ]


@pytest.mark.parametrize("loss", ["softmax", "squared"])
def test_other_tasks_are_isolated_too(loss: Any) -> None:
    model = "linear" if loss == "squared" else "logistic"
    of = world(sizes=(20, 15), loss=loss, model=model)
    checks.check_isolation(of, Tier.SPECIAL, "inprocess", checks.edits())


def test_a_uniform_model_is_not_isolated() -> None:
    """Negative control: there every release moves, so the comparison has eyes."""
    of = world(sizes=(20, 15), mechanism="uniform")
    slots = [int(place) for place in of.encoding.slots_of(Tier.SPECIAL)]
    changed = with_slots(of, slots, np.zeros_like)
    before, after = play(of), play(changed)
    moved = [
        query.kind
        for query, one, other in zip(
            before.queries, before.totals, after.totals, strict=True
        )
        if not np.array_equal(one, other)
    ]
    assert "residuals" in moved
    assert "labels" not in moved


@pytest.mark.parametrize("engine", ENGINES)
def test_the_own_tower_does_see_its_tier(engine: EngineName) -> None:
    """Negative control: the tower that is charged for a tier really reads it."""
    of = world(sizes=(20, 15))
    slots = [int(place) for place in of.encoding.slots_of(Tier.SPECIAL)]
    changed = with_slots(of, slots, np.zeros_like)
    before, after = play(of, engine), play(changed, engine)
    top = len(of.programme.shapes)
    assert before.below(of.programme, top) != after.below(of.programme, top)


def test_the_label_rate_reads_no_column() -> None:
    of = world(sizes=(20, 15))
    changed = with_slots(of, range(of.encoding.width), np.zeros_like)
    before, after = play(of, rounds=1), play(changed, rounds=1)
    assert before.queries[0].kind == "labels"
    assert before.queries[0].release is not None
    assert before.queries[0].release.reads is None
    assert np.array_equal(before.released[0], after.released[0])


def test_a_tier_that_is_not_worth_training_is_not_read() -> None:
    """A cap that drowns a tower leaves its tier out; its values then move nothing."""
    of = world(
        sizes=(20, 15), budget=Budget(8.0, 1e-6, "add-remove", {Tier.SPECIAL: 1e-3})
    )
    assert Tier.SPECIAL not in [shape.tier for shape in of.programme.shapes]
    checks.check_isolation(of, Tier.SPECIAL, "inprocess", checks.edits())
