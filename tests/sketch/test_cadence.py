# SPDX-License-Identifier: Apache-2.0
"""Cadence: as many releases as planned, nothing in between, every round refused."""

import pytest

from lexfed.errors import DataError, Refused
from lexfed.privacy.run_ledger import Limits
from lexfed.randomness import SeededSource
from lexfed.sketch.releases.cadence import Cadence, RenewedSketch, planned_releases
from support.sketch import cadence_checks as checks
from support.sketch.paying_checks import ledger_for, zeros

PLAN = checks.PLAN


def test_renewals_are_as_many_as_planned() -> None:
    checks.renewals_are_as_many_as_planned()


def test_between_renewals_nothing_is_drawn() -> None:
    checks.between_renewals_nothing_is_drawn()


def test_undeclared_changes_are_refused() -> None:
    checks.undeclared_changes_are_refused()


def test_every_round_is_refused_with_its_cost() -> None:
    checks.every_round_is_refused_with_its_cost()


def test_the_cost_is_that_of_the_ledgers_relation_and_sites() -> None:
    event, made = PLAN.event(), Cadence(10, 1)
    reached = []
    for limits, sites in (
        (Limits(1.0, 1e-6), 1),
        (Limits(1.0, 1e-6, "replace-one"), 1),
        (Limits(1.0, 1e-6), 3),
    ):
        with pytest.raises(Refused, match=r"of 1\.0") as caught:
            planned_releases(made, event, limits, "gdp", sites)
        reached.append(caught.value.would_reach or 0.0)
    assert 0.0 < reached[0] < reached[1] < reached[2]


def test_one_round_is_not_every_round() -> None:
    assert planned_releases(Cadence(1, 1), PLAN.event(), checks.LIMITS)[1] == 1


@pytest.mark.parametrize(("at", "words"), [(-1, "`at`"), (10, "`at`")])
def test_rounds_outside_the_cadence_are_refused(at: int, words: str) -> None:
    sketch = RenewedSketch(
        Cadence(10, 5), PLAN, ledger_for(PLAN.event()), SeededSource(1)
    )
    with pytest.raises(ValueError, match=words):
        sketch.at(at, "features", lambda: zeros(PLAN))


def test_time_does_not_run_backwards() -> None:
    """Else a period could be renewed again and again."""
    ledger = ledger_for(PLAN.event(), 10)
    sketch = RenewedSketch(Cadence(10, 5), PLAN, ledger, SeededSource(1))
    sketch.at(5, "features", lambda: zeros(PLAN))
    with pytest.raises(ValueError, match="`at`"):
        sketch.at(0, "features", lambda: zeros(PLAN))
    assert len(ledger.events()) == 1


def test_a_sketch_is_as_it_was_after_a_refusal() -> None:
    ledger = ledger_for(PLAN.event(), 1)
    sketch = RenewedSketch(Cadence(10, 5), PLAN, ledger, SeededSource(1))
    with pytest.raises(DataError):
        sketch.at(0, "features", list)
    kept = sketch.at(1, "features", lambda: zeros(PLAN))
    with pytest.raises(Refused, match="`drift` refused"):
        sketch.at(5, "features", lambda: zeros(PLAN))
    assert sketch.at(2, "features", list) is kept
    assert len(ledger.events()) == 1


def test_cadences_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="`rounds`"):
        Cadence(0)
    with pytest.raises(ValueError, match="`every`"):
        Cadence(10, 0)
    with pytest.raises(ValueError, match="`every`"):
        Cadence(10, 11)
    with pytest.raises(ValueError, match="`changes`"):
        Cadence(10, changes=-1)
