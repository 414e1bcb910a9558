# SPDX-License-Identifier: Apache-2.0
"""Mutants of sketches in training."""

from dataclasses import replace
from typing import Any

import numpy as np

from lexfed.federation.coordinator import sketch_learner
from lexfed.federation.coordinator.sketch_learner import SketchLearner
from lexfed.federation.planning import tower_sketches
from lexfed.federation.planning.programme_draft import DraftRelease
from lexfed.federation.programme.sequence import Programme
from lexfed.federation.site import contributions, data_holder
from lexfed.sketch.queries.duplicates import DuplicateShare, duplicate_shares
from support.federation import sketching_checks as checks
from support.mutant import Mutant, Patch, both_tests


def _any_column(patch: Patch) -> None:
    patch.setattr(data_holder, "_may_be_chosen", lambda *_: True)


def _any_weights(patch: Patch) -> None:
    patch.setattr(data_holder, "are_weights", lambda *_: True)


def _weights_enlarge(patch: Patch) -> None:
    patch.setattr(
        contributions,
        "sum_weights",
        lambda query, factors, _: factors * (2.0 if query.kind == "moments" else 1.0),
    )


def _a_column_of_a_tower_above(patch: Patch) -> None:
    patch.setattr(sketch_learner, "leading_columns", lambda *_: (6,))


def _looks_that_read_nothing(patch: Patch) -> None:
    real = tower_sketches._wanted

    def broken(*given: Any) -> DraftRelease:
        item = real(*given)
        return replace(item, draft=replace(item.draft, reads=None))

    patch.setattr(tower_sketches, "_wanted", broken)


def _free_sketches(patch: Patch) -> None:
    patch.setattr(tower_sketches, "training_part", lambda *_: 1.0)


def _values_for_bounds(patch: Patch) -> None:
    def broken(told: Any) -> tuple[DuplicateShare, ...]:
        return tuple(
            DuplicateShare(one.part, one.part) for one in duplicate_shares(told)
        )

    patch.setattr(sketch_learner, "duplicate_shares", broken)


def _weights_unused(patch: Patch) -> None:
    patch.setattr(sketch_learner, "site_weights", lambda factors: np.ones_like(factors))


def _one_divisor(patch: Patch) -> None:
    patch.setattr(Programme, "weighted", lambda _, stage, *__: stage)


def _asked_again(patch: Patch) -> None:
    real = vars(sketch_learner)["tables_before"]
    patch.setattr(
        sketch_learner,
        "tables_before",
        lambda *given: [t for t in real(*given) if t.table.domain != "chosen"],
    )


def _drift_ignored(patch: Patch) -> None:
    patch.setattr(SketchLearner, "is_cautious", lambda *_: False)


def _always_cautious(patch: Patch) -> None:
    patch.setattr(SketchLearner, "is_cautious", lambda *_: True)


MUTANTS = (
    Mutant(
        "sites take any column", _any_column, checks.check_columns_above_are_refused
    ),
    Mutant(
        "sites take any weight",
        _any_weights,
        checks.check_weights_above_one_are_refused,
    ),
    Mutant("weights that enlarge", _weights_enlarge, checks.check_moves),
    Mutant(
        "a column of a tower above is asked",
        _a_column_of_a_tower_above,
        checks.check_isolated,
    ),
    Mutant("looks that read nothing", _looks_that_read_nothing, checks.check_paid),
    Mutant("sketches free of charge", _free_sketches, checks.check_paid),
    Mutant(
        "values for bounds", _values_for_bounds, checks.check_no_overlap_moves_nothing
    ),
    Mutant("weights unused", _weights_unused, checks.check_overlap_moves_weights),
    Mutant("one divisor for all weights", _one_divisor, checks.check_means_stay_means),
    Mutant(
        "the same columns again",
        _asked_again,
        checks.check_the_same_columns_are_not_asked_again,
    ),
    Mutant("drift ignored", _drift_ignored, checks.check_caution_after_a_drift),
    Mutant(
        "caution without drift", _always_cautious, checks.check_caution_after_a_drift
    ),
)

test_the_real_code_passes, test_a_mutant_is_caught = both_tests(MUTANTS)
