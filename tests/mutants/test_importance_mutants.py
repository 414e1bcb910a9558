# SPDX-License-Identifier: Apache-2.0
"""Mutants of importances: mistakes, and the check that notices each.

Every check passes on the real code and fails on its mutants.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from lexfed.budget import column_importance
from lexfed.data.encoding import Encoding
from lexfed.federation.planning import purchase_programmes as buying
from lexfed.federation.planning.programme_draft import tower_shapes
from lexfed.models.tower_shapes import TowerShape
from lexfed.run.pricing import priced_run
from support.mutant import Mutant, Patch, both_tests
from support.privacy import importance_checks as checks


def _every_tower_reads_everything(patch: Patch) -> None:
    def broken(encoding: Encoding, *others: Any) -> tuple[TowerShape, ...]:
        (whole,) = tower_shapes(encoding, "uniform", *others[1:])
        return tuple(replace(whole, tier=tier) for tier in encoding.model_tiers)

    patch.setattr(buying, "tower_shapes", broken)


def _free_of_charge(patch: Patch) -> None:
    patch.setattr(priced_run, "remaining_budget", lambda budget, *_: budget)


def _noise_counts(patch: Patch) -> None:
    real = column_importance.importance_by_column
    patch.setattr(
        column_importance,
        "importance_by_column",
        lambda e, v, n: real(e, v, np.zeros_like(n)),
    )


def _shares_priced_by_anybody(patch: Patch) -> None:
    patch.setattr(column_importance, "require_renyi", lambda *_: None)


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
