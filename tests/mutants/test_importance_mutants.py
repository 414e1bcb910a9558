# SPDX-License-Identifier: Apache-2.0
"""Mutants of importances: what somebody might get wrong, and the check that notices.

Written like `test_mutants.py`: every check passes on the real code and fails on its
mutants.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from lexfed.budget import importance
from lexfed.data.encode import Encoding
from lexfed.federation import importance as buying
from lexfed.federation.shapes import tower_shapes
from lexfed.models.shape import TowerShape
from lexfed.run import planning
from support import importance_checks as checks
from support.mutant import Mutant, Patch, both_tests


def _every_tower_reads_everything(patch: Patch) -> None:
    def broken(encoding: Encoding, *others: Any) -> tuple[TowerShape, ...]:
        (whole,) = tower_shapes(encoding, "uniform", *others[1:])
        return tuple(replace(whole, tier=tier) for tier in encoding.model_tiers)

    patch.setattr(buying, "tower_shapes", broken)


def _free_of_charge(patch: Patch) -> None:
    patch.setattr(planning, "left_of", lambda budget, *_: budget)


def _noise_counts(patch: Patch) -> None:
    real = importance.by_column
    patch.setattr(importance, "by_column", lambda e, v, n: real(e, v, np.zeros_like(n)))


def _shares_priced_by_anybody(patch: Patch) -> None:
    patch.setattr(importance, "require_renyi", lambda *_: None)


MUTANTS = (
    Mutant(
        "a release that reads more than its tier",
        _every_tower_reads_everything,
        checks.check_importance_reads,
    ),
    Mutant(
        "importances free of charge", _free_of_charge, checks.check_importance_is_paid
    ),
    Mutant(
        "noise in shares priced by any accountant",
        _shares_priced_by_anybody,
        checks.check_noise_in_shares_needs_renyi,
    ),
    Mutant(
        "noise counted as importance",
        _noise_counts,
        checks.check_noise_is_not_importance,
    ),
)

test_the_real_code_passes, test_a_mutant_is_caught = both_tests(MUTANTS)
