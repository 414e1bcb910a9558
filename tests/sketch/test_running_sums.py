# SPDX-License-Identifier: Apache-2.0
"""Running sums: one price for all rounds, reached and never exceeded."""

import math

import numpy as np
import pytest

from lexfed.errors import DataError
from lexfed.privacy.noise.gaussian import rounded_gaussian
from lexfed.privacy.scopes import record_epsilon
from lexfed.randomness import SeededSource
from lexfed.sketch.releases.running_sums import RunningSums, TreePlan
from support.sketch import cadence_checks as checks
from support.sketch.paying_checks import ledger_for, zeros

PLAN = checks.PLAN


def test_nobody_moves_a_tree_further_than_its_event() -> None:
    checks.nobody_moves_a_tree_further_than_its_event()


def test_a_tree_is_paid_once_and_first() -> None:
    checks.a_tree_is_paid_once_and_first()


def test_running_sums_have_the_stated_noise() -> None:
    checks.running_sums_have_the_stated_noise()


def test_fresh_noise_on_every_sum_would_be_noticed() -> None:
    """Negative control: sums of rounds 2 and 3 with noise of their own are further
    apart than one node's noise."""
    second, third = (rounded_gaussian(SeededSource(s), 5.0, 20_000) for s in (1, 2))
    apart = float(np.mean((third - second).astype(float) ** 2))
    assert abs(apart / 25.0 - 1.0) > 0.06


def test_a_tree_costs_less_than_every_round() -> None:
    tree = TreePlan(PLAN, 100)
    assert tree.levels == 7
    once, always = (
        record_epsilon(counted, 1e-6, "add-remove", "rdp")
        for counted in ([(tree.event(), 1)], [(PLAN.event(), 100)])
    )
    as_seven = record_epsilon([(PLAN.event(), 7)], 1e-6, "add-remove", "rdp")
    assert once < always
    assert math.isclose(once, as_seven)


def test_tables_that_do_not_fit_end_no_round() -> None:
    tree = TreePlan(PLAN, 2)
    sums = RunningSums(tree, ledger_for(tree.event()), SeededSource(1))
    with pytest.raises(DataError):
        sums.add([])
    for _ in range(2):
        sums.add(zeros(PLAN))


def test_tables_that_are_given_stay_what_they_are() -> None:
    tree = TreePlan(PLAN, 2)
    sums = RunningSums(tree, ledger_for(tree.event()), SeededSource(1))
    tables = [np.ones(column.shape, dtype=np.int64) for column in PLAN.columns]
    for _ in range(2):
        sketch = sums.add(tables)
    assert all((table == 1).all() for table in tables)
    assert not sketch.private


def test_trees_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="`rounds`"):
        TreePlan(PLAN, 0)
    with pytest.raises(ValueError, match="`appearances`"):
        TreePlan(PLAN, 4, 5)
    with pytest.raises(ValueError, match="`appearances`"):
        TreePlan(PLAN, 4, 0)
