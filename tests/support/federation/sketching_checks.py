# SPDX-License-Identifier: Apache-2.0
"""Checks of sketches in training. Each raises if a promise is broken."""

from dataclasses import replace

import numpy as np
import pytest

from lexfed.budget.tower_steering import Adaptation
from lexfed.federation.coordinator.learner import Learner
from lexfed.federation.programme.messages import Query, Refusal
from lexfed.federation.site.data_holder import Site
from lexfed.privacy.scopes import record_epsilon, tier_epsilon
from lexfed.sketch.queries.drift import watched_columns
from lexfed.terms import Accountant
from lexfed.tiers import Tier
from support.federation import checks
from support.federation.sketched_worlds import sketched, sketching
from support.federation.worlds import World, play, seeded, world


def answer(of: World, query: Query, **arrays: list[float]) -> bool:
    """Say whether the first site answers a query with some arrays changed."""
    changed = {name: np.array(numbers) for name, numbers in arrays.items()}
    ledger = of.ledger(0)
    site = Site(of.programme, of.sites[0], ledger, seeded(1), every_answer=True)
    asked = replace(query, arrays={**query.arrays, **changed})
    refused = isinstance(site.answer(asked.to_bytes()), Refusal)
    assert ledger is not None
    assert refused == (not ledger.events())
    return not refused


def check_paid() -> None:
    """All releases together keep to the budget, and a look is charged to its tier."""
    of = sketched()
    charges, budget = of.programme.charges(), of.budget
    how: Accountant = "gdp"
    assert record_epsilon(charges, budget.delta, "add-remove", how) <= budget.epsilon
    look = [charge for charge in charges if charge[0].name == "columns up to personal"]
    assert tier_epsilon(look, Tier.PERSONAL, budget.delta, how) > 1.0
    assert tier_epsilon(look, Tier.SPECIAL, budget.delta, how) == 0.0
    keys = [charge for charge in charges if charge[0].name == "persons at sites"]
    assert record_epsilon(keys, budget.delta, "add-remove", how) > 1.0


def check_moves() -> None:
    """Nobody moves a sum further than the clip, at the weights that follow too."""
    checks.check_sensitivity(sketched())


def check_isolated() -> None:
    """Nothing that is asked below a tier depends on it."""
    for tier in (Tier.PERSONAL, Tier.SPECIAL):
        checks.check_isolation(sketched(), tier, "simulation", ["random"])


def check_columns_above_are_refused() -> None:
    """The first look reads the lowest tier: dose and ward, the columns 0 and 1."""
    of = sketched()
    query = next(q for q in play(of).queries if "chosen.0" in q.arrays)
    assert answer(of, query)
    for chosen in (2.0, 6.0, 0.5, -1.0, 7.0):
        assert not answer(of, query, **{"chosen.0": [chosen]})


def check_weights_above_one_are_refused() -> None:
    """A contribution at a weight of two would be twice as long as it is charged for."""
    of = sketched()
    query = play(of, rounds=2).queries[-1]
    assert answer(of, query)
    for weights in ([2.0, 1.0, 1.0], [1.0, 1.0, 1.0 + 1e-9], [-1.0, 1.0, 1.0]):
        assert not answer(of, query, site_weights=weights)


def check_no_overlap_moves_nothing() -> None:
    """Without common persons some weight moves in 5 % of seeds; these are fixed."""
    of = sketched(common=0)
    for seed in range(6):
        query = play(of, "simulation", seed=seed, rounds=2).queries[-1]
        np.testing.assert_array_equal(query.arrays["site_weights"], np.ones(3))


def check_overlap_moves_weights() -> None:
    """Two sites with nearly the same persons count less, down to a half."""
    query = play(sketched(), "simulation", rounds=2).queries[-1]
    weights = query.arrays["site_weights"]
    assert (weights >= 0.5).all()
    assert weights[0] < 0.97
    assert weights[1] < 0.97
    assert weights[2] == 1.0


def check_means_stay_means() -> None:
    """The sum of one number of all is divided by what the sites count."""
    of = sketched()
    learner = Learner(of.programme)
    progress = play(of, rounds=1).progress
    assert progress is not None
    progress = replace(progress, stage=1, step=0)
    _, arrays = learner.question(progress)
    units = np.array(of.programme.site_units)
    weights = arrays["site_weights"]
    assert weights.min() < 1.0
    found = []
    for factor in (weights, np.ones(3)):
        held = replace(progress, memory={**progress.memory, "site_weights": factor})
        total = np.full(of.programme.stages[1].dimension, factor @ units)
        release = of.programme.stages[1].releases[0]
        found.append(learner.learn(held, release, total).memory["base.rate"])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-3)


def check_the_same_columns_are_not_asked_again() -> None:
    """One column only, so the second look would be the first."""
    of = sketched(sketching=sketching(watched=watched_columns(world().encoding)[:1]))
    asked = [q.tower for q in play(of, "simulation").queries if "chosen.0" in q.arrays]
    assert asked == [0]


def drifted(amount: float) -> World:
    """Return a world of which other cells of the first columns were expected."""
    watched = [
        replace(column, expected=(1e4 * amount, *[1e4] * (column.cells - 2), 0.0))
        if column.name in ("dose", "ward")
        else column
        for column in watched_columns(world().encoding)
    ]
    return sketched(
        sketching=sketching(watched=tuple(watched)),
        learning_rate=0.5,
        rounds=4,
        adapting=Adaptation(noise="convergence"),
    )


def check_caution_after_a_drift() -> None:
    """Later towers keep the most noise after a drift, and only then."""
    for amount, warned in ((1e3, True), (1.0, False)):
        of = drifted(amount)
        factors: dict[int, list[float]] = {0: [], 1: [], 2: []}
        for query in play(of, "simulation").queries:
            planned = of.programme.stages[query.stage].releases[query.step]
            assert query.release is not None
            assert planned is not None
            if query.kind == "gradient":
                factor = query.release.groups[0].sigma / planned.groups[0].sigma
                factors[query.tower].append(factor)
        highest = of.programme.stages[-1].noise_range[1]
        assert min(factors[0]) < highest
        for tower in (1, 2):
            assert (min(factors[tower]) == pytest.approx(highest)) == warned
