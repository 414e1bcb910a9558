# SPDX-License-Identifier: Apache-2.0
"""Mutants of repeated sketches; written like `test_paying_mutants`."""

from dataclasses import replace
from typing import Any

import pytest

from lexfed.errors import Refused
from lexfed.privacy.releases import Release
from lexfed.privacy.run_ledger import Ledger
from lexfed.privacy.scopes import record_epsilon
from lexfed.sketch.releases import cadence, running_sums
from lexfed.sketch.releases.cadence import Cadence, RenewedSketch
from lexfed.sketch.releases.noised_sketch import add_noise
from lexfed.sketch.releases.running_sums import RunningSums, TreePlan
from support.mutant import Mutant, Patch, both_tests
from support.sketch import cadence_checks as checks


def _changes_unplanned(patch: Patch) -> None:
    def releases(made: Cadence) -> int:
        return -(-made.rounds // (made.every or made.rounds))

    patch.setattr(Cadence, "releases", property(releases))


def _renewed_whenever_asked(patch: Patch) -> None:
    real = RenewedSketch.at

    def broken(self: RenewedSketch, *asked: Any) -> Any:
        self._kept = None
        return real(self, *asked)

    patch.setattr(RenewedSketch, "at", broken)


def _never_renewed(patch: Patch) -> None:
    patch.setattr(Cadence, "period", lambda *_: 0)


def _changes_uncounted(patch: Patch) -> None:
    real = RenewedSketch.at

    def broken(self: RenewedSketch, *asked: Any) -> Any:
        self._changes = 0
        return real(self, *asked)

    patch.setattr(RenewedSketch, "at", broken)


def _cost_of_one_round(patch: Patch) -> None:
    real = record_epsilon
    patch.setattr(
        cadence, "record_epsilon", lambda counted, *a: real([(counted[0][0], 1)], *a)
    )


def _one_level_unpaid(patch: Patch) -> None:
    levels = property(lambda self: max(1, self.rounds.bit_length() - 1))
    patch.setattr(TreePlan, "levels", levels)


def _too_many_levels(patch: Patch) -> None:
    levels = property(lambda self: self.rounds.bit_length() + 1)
    patch.setattr(TreePlan, "levels", levels)


def _root_of_appearances(patch: Patch) -> None:
    real = TreePlan.event

    def broken(tree: TreePlan) -> Release:
        event = real(tree)
        groups = (
            replace(group, clip=group.clip / tree.appearances**0.5)
            for group in event.groups
        )
        return replace(event, groups=tuple(groups))

    patch.setattr(TreePlan, "event", broken)


def _one_round_of_values(patch: Patch) -> None:
    real = TreePlan.event
    patch.setattr(
        TreePlan,
        "event",
        lambda tree: replace(real(tree), samples=tree.plan.event().samples),
    )


def _tree_unpaid(patch: Patch) -> None:
    patch.setattr(Ledger, "charge", lambda *_: None)


def _rounds_without_end(patch: Patch) -> None:
    real = RunningSums.add

    def broken(self: RunningSums, tables: Any) -> Any:
        self._tree = replace(self._tree, rounds=1000)
        return real(self, tables)

    patch.setattr(RunningSums, "add", broken)


def _variance_of_one_node(patch: Patch) -> None:
    real = running_sums._sum
    patch.setattr(
        running_sums,
        "_sum",
        lambda parts: replace(real(parts), variance=parts[0].variance),
    )


def _nodes_noised_again(patch: Patch) -> None:
    real = RunningSums.add

    def broken(self: RunningSums, tables: Any) -> Any:
        for level, node in self._exact.items():
            self._noised[level] = add_noise(self._tree.plan, node, self._source)
        return real(self, tables)

    patch.setattr(RunningSums, "add", broken)


NOT_RAISED = pytest.fail.Exception

MUTANTS = (
    Mutant(
        "changes not planned",
        _changes_unplanned,
        checks.renewals_are_as_many_as_planned,
        Refused,
    ),
    Mutant(
        "renewed whenever asked",
        _renewed_whenever_asked,
        checks.between_renewals_nothing_is_drawn,
    ),
    Mutant("never renewed", _never_renewed, checks.between_renewals_nothing_is_drawn),
    Mutant(
        "changes not counted", _changes_uncounted, checks.undeclared_changes_are_refused
    ),
    Mutant(
        "the cost of one round",
        _cost_of_one_round,
        checks.every_round_is_refused_with_its_cost,
    ),
    Mutant(
        "every round admitted",
        _changes_unplanned,
        checks.every_round_is_refused_with_its_cost,
        NOT_RAISED,
    ),
    Mutant(
        "one level not paid for",
        _one_level_unpaid,
        checks.nobody_moves_a_tree_further_than_its_event,
    ),
    Mutant(
        "one level paid for nothing",
        _too_many_levels,
        checks.nobody_moves_a_tree_further_than_its_event,
    ),
    Mutant(
        "the root of appearances",
        _root_of_appearances,
        checks.nobody_moves_a_tree_further_than_its_event,
    ),
    Mutant(
        "values of one round counted",
        _one_round_of_values,
        checks.nobody_moves_a_tree_further_than_its_event,
    ),
    Mutant("a tree not paid for", _tree_unpaid, checks.a_tree_is_paid_once_and_first),
    Mutant(
        "rounds without end",
        _rounds_without_end,
        checks.a_tree_is_paid_once_and_first,
        NOT_RAISED,
    ),
    Mutant(
        "nodes noised again and again",
        _nodes_noised_again,
        checks.a_tree_is_paid_once_and_first,
    ),
    Mutant(
        "nodes noised again, by the variance between rounds",
        _nodes_noised_again,
        checks.running_sums_have_the_stated_noise,
    ),
    Mutant(
        "the variance of one node stated",
        _variance_of_one_node,
        checks.running_sums_have_the_stated_noise,
    ),
)

test_the_real_code_passes, test_a_mutant_is_caught = both_tests(MUTANTS)
