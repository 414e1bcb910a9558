# SPDX-License-Identifier: Apache-2.0
"""Mutants of sketches in training; written like `test_mutants.py`."""

from dataclasses import replace
from typing import Any

import numpy as np

from lexfed.federation import contribute, looking, sketch_planning, well_formed
from lexfed.federation.looking import Looking
from lexfed.federation.wanted import Wanted
from lexfed.sketch.duplicates import Duplicated, duplicated
from support import sketching_checks as checks
from support.mutant import Mutant, Patch, both_tests


def _any_column(patch: Patch) -> None:
    patch.setattr(well_formed, "_may_be_chosen", lambda *_: True)


def _any_weights(patch: Patch) -> None:
    patch.setattr(well_formed, "are_weights", lambda *_: True)


def _weights_enlarge(patch: Patch) -> None:
    patch.setattr(
        contribute,
        "weighed",
        lambda query, factors, _: factors * (2.0 if query.kind == "moments" else 1.0),
    )


def _a_column_of_a_tower_above(patch: Patch) -> None:
    patch.setattr(looking, "leaned_on", lambda *_: (6,))


def _looks_that_read_nothing(patch: Patch) -> None:
    real = sketch_planning._wanted

    def broken(*given: Any) -> Wanted:
        item = real(*given)
        return replace(item, draft=replace(item.draft, reads=None))

    patch.setattr(sketch_planning, "_wanted", broken)


def _free_sketches(patch: Patch) -> None:
    patch.setattr(sketch_planning, "training_part", lambda *_: 1.0)


def _values_for_bounds(patch: Patch) -> None:
    def broken(told: Any) -> tuple[Duplicated, ...]:
        return tuple(Duplicated(one.part, one.part) for one in duplicated(told))

    patch.setattr(looking, "duplicated", broken)


def _weights_unused(patch: Patch) -> None:
    patch.setattr(looking, "site_weights", lambda factors: np.ones_like(factors))


def _one_divisor(patch: Patch) -> None:
    patch.setattr(looking, "counted_less", lambda _, stage, *__: stage)


def _asked_again(patch: Patch) -> None:
    real = vars(looking)["told_before"]
    patch.setattr(
        looking,
        "told_before",
        lambda *given: [t for t in real(*given) if t.table.domain != "chosen"],
    )


def _drift_ignored(patch: Patch) -> None:
    patch.setattr(Looking, "is_cautious", lambda *_: False)


def _always_cautious(patch: Patch) -> None:
    patch.setattr(Looking, "is_cautious", lambda *_: True)


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
