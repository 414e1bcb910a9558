# SPDX-License-Identifier: Apache-2.0
"""Checks of repeated sketches; each passes on the real code, not on its mutants."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from lexfed.errors import Refused
from lexfed.privacy.run_ledger import Limits
from lexfed.privacy.scopes import record_epsilon
from lexfed.randomness import RandomSource, SeededSource
from lexfed.sketch.releases import running_sums
from lexfed.sketch.releases.cadence import Cadence, RenewedSketch, planned_releases
from lexfed.sketch.releases.noised_sketch import (
    Contribution,
    GaussianColumn,
    NoisedTable,
    NoisePlan,
    add_noise,
)
from lexfed.sketch.releases.running_sums import RunningSums, TreePlan
from lexfed.tiers import Tier
from support.sketch.paying_checks import Watched, ledger_for, zeros

Integers = NDArray[np.int64]

PLAN = NoisePlan(
    "drift",
    (
        GaussianColumn("age", Tier.PERSONAL, Contribution(depth=2, items=3), 4, 50.0),
        GaussianColumn("town", Tier.NON_PERSONAL, Contribution(), 3, 20.0),
    ),
    people=1000,
)
LIMITS = Limits(1000.0, 1e-6)


def renewals_are_as_many_as_planned() -> None:
    """Ask in every round, with as many public changes as the cadence allows."""
    for rounds, every, changes in ((12, 5, 0), (12, 4, 2), (9, None, 1), (1, 1, 0)):
        made = Cadence(rounds, every, changes)
        event, count = planned_releases(made, PLAN.event(), LIMITS)
        ledger = ledger_for(event, count)
        sketch = RenewedSketch(made, PLAN, ledger, SeededSource(1))
        for at in range(rounds):
            # The first changes come right away, in rounds that renew nothing anyhow.
            sketch.at(at, f"features {min(at, changes)}", lambda: zeros(PLAN))
        assert len(ledger.events()) == count == made.releases


def between_renewals_nothing_is_drawn() -> None:
    made = Cadence(rounds=10, every=5)
    ledger, source = ledger_for(PLAN.event(), 10), Watched()
    sketch = RenewedSketch(made, PLAN, ledger, source)
    first = sketch.at(0, "features", lambda: zeros(PLAN))
    asked = source.asked
    for at in range(5):
        assert sketch.at(at, "features", _unread) is first
    assert source.asked == asked
    assert sketch.at(5, "features", lambda: zeros(PLAN)) is not first
    assert len(ledger.events()) == 2


def undeclared_changes_are_refused() -> None:
    ledger, source = ledger_for(PLAN.event(), 10), Watched()
    sketch = RenewedSketch(Cadence(10, 5, changes=1), PLAN, ledger, source)
    sketch.at(0, "a", lambda: zeros(PLAN))
    kept = sketch.at(1, "b", lambda: zeros(PLAN))
    asked = source.asked
    with pytest.raises(Refused, match="more often than the 1 times"):
        sketch.at(2, "a", _unread)
    assert sketch.at(2, "b", _unread) is kept
    assert source.asked == asked
    # A planned renewal may be of anything.
    assert sketch.at(5, "c", lambda: zeros(PLAN)) is not kept
    assert len(ledger.events()) == 3


def every_round_is_refused_with_its_cost() -> None:
    event = PLAN.event()
    for made in (Cadence(100, 1), Cadence(100, 2, changes=50), Cadence(2, None, 1)):
        with pytest.raises(Refused) as caught:
            planned_releases(made, event, LIMITS)
        cost = record_epsilon([(event, made.rounds)], LIMITS.delta, "add-remove", "rdp")
        assert caught.value.would_reach == cost
        assert f"each of {made.rounds} rounds" in caught.value.message
    assert planned_releases(Cadence(100, 2, changes=49), event, LIMITS) == (event, 99)


def nobody_moves_a_tree_further_than_its_event() -> None:
    """Compare all nodes that are noised, with a person and without, exactly."""
    for rounds in (1, 2, 3, 4, 7, 8, 11, 16):
        for first in range(rounds):
            for appearances in (1, min(3, rounds - first)):
                tree = TreePlan(PLAN, rounds, appearances)
                rounds_there = range(first, first + appearances)
                moved = _nodes(tree, rounds_there) - _nodes(tree, range(0))
                square = float(np.sum(moved.astype(np.float64) ** 2))
                assert square <= (1 + 1e-12) * sum(
                    group.clip**2 for group in tree.event().groups
                )
    once = TreePlan(PLAN, 16)
    reached = np.sum((_nodes(once, range(1)) - _nodes(once, range(0))) ** 2)
    assert math.isclose(
        float(reached), sum(group.clip**2 for group in once.event().groups)
    )
    assert once.event().samples == 16 * PLAN.event().samples


def a_tree_is_paid_once_and_first() -> None:
    tree = TreePlan(PLAN, 4)
    ledger, source = ledger_for(tree.event()), Watched()
    sums = RunningSums(tree, ledger, source)
    assert source.asked == 0
    assert ledger.events() == (tree.event(),)
    with pytest.raises(Refused):
        RunningSums(tree, ledger, source)
    for _ in range(4):
        assert sums.add(zeros(PLAN)).event == tree.event()
    # One node of two tables in each round.
    assert source.asked == 4 * 2
    with pytest.raises(Refused, match="all 4 rounds are over"):
        sums.add(zeros(PLAN))
    assert source.asked == 4 * 2
    assert len(ledger.events()) == 1


def running_sums_have_the_stated_noise() -> None:
    """20,000 cells: a sample variance has a deviation of 1 %; 6 fail below 1e-8.

    Rounds 2 and 3 share a node, so their difference has the noise of one node.
    """
    column = GaussianColumn("age", Tier.PERSONAL, Contribution(), 20_000, 5.0)
    plan = NoisePlan("drift", (column,), 1000)
    tree = TreePlan(plan, 7)
    sums = RunningSums(tree, ledger_for(tree.event()), SeededSource(5))
    noises = []
    for at in range(1, 8):
        (table,) = sums.add([np.full((1, 20_000), at)]).tables
        noise = table.cells - at * (at + 1) // 2
        assert abs(np.mean(noise**2) / table.variance - 1.0) < 0.06
        assert math.isclose(table.variance, at.bit_count() * 25.0, rel_tol=1e-6)
        noises.append(noise)
    apart = float(np.mean((noises[2] - noises[1]) ** 2))
    assert abs(apart / 25.0 - 1.0) < 0.06


def _unread() -> list[Integers]:
    raise AssertionError("the data were looked at")


def _nodes(tree: TreePlan, there: range) -> Integers:
    """Return all exact nodes that get noise, if the worst person is there then."""
    seen: list[Integers] = []

    def noting(
        plan: NoisePlan, tables: list[Integers], source: RandomSource
    ) -> tuple[NoisedTable, ...]:
        seen.extend(table.ravel().copy() for table in tables)
        return add_noise(plan, tables, source)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running_sums, "add_noise", noting)
        sums = RunningSums(tree, ledger_for(tree.event()), SeededSource(1))
        for at in range(tree.rounds):
            tables = zeros(tree.plan)
            if at in there:
                tables[0][:, 1] = 3
                tables[1][:, 0] = 1
            sums.add(tables)
    return np.concatenate(seen)
