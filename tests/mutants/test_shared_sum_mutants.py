# SPDX-License-Identifier: Apache-2.0
"""Ways to get sums of shared sketches wrong, each noticed by a check."""

from dataclasses import replace
from typing import Any

import numpy as np

from lexfed.federation.sharing import sketch_terms
from lexfed.secagg.primitives.ring import Ring
from lexfed.sketch.sharing import sum_plan
from lexfed.sketch.sharing.sum_plan import MaskedPlan, SharedPlan
from lexfed.sketch.tables.shape import SketchShape
from support.mutant import Mutant, Patch, both_tests
from support.secagg import shared_checks as checks
from support.sketch.paying_checks import ledger_for


def _digest_without_seeds(patch: Patch) -> None:
    real: property = vars(SharedPlan)["digest"]

    def broken(self: SharedPlan) -> Any:
        shapes = [replace(shape, seed=0) for shape in self.shapes]
        return real.__get__(SharedPlan(self.masked, tuple(shapes)))

    patch.setattr(SharedPlan, "digest", property(broken))


def _any_shape(patch: Patch) -> None:
    patch.setattr(SketchShape, "check_same", lambda *_: None)


def _bare(patch: Patch) -> None:
    def broken(masked: Any, cells: Any, ledger: Any, source: Any) -> Any:
        del source
        ledger.charge(masked.event())
        return np.concatenate([table.ravel() for table in cells])

    patch.setattr(sum_plan, "noised_share", broken)


def _unpaid(patch: Patch) -> None:
    real = sum_plan.noised_share

    def broken(masked: Any, cells: Any, ledger: Any, source: Any) -> Any:
        del ledger
        return real(masked, cells, ledger_for(masked.event()), source)

    patch.setattr(sum_plan, "noised_share", broken)


def _two_sites_are_enough(patch: Patch) -> None:
    patch.setattr(sketch_terms, "_least", lambda _: 2)


def _whole_ring(patch: Patch) -> None:
    def broken(self: MaskedPlan) -> int:
        del self
        return Ring(16).largest

    patch.setattr(MaskedPlan, "bound", broken)


def _blind(patch: Patch) -> None:
    patch.setattr(sum_plan, "_room", lambda *_: 1e9)


MUTANTS = (
    Mutant(
        "seeds not in the digest",
        _digest_without_seeds,
        checks.another_seed_is_another_digest,
    ),
    Mutant(
        "tables of any seed are added",
        _any_shape,
        checks.another_seed_is_refused_without_a_charge,
    ),
    Mutant("noise forgotten", _bare, checks.a_site_pays_before_it_shares),
    Mutant("unpaid", _unpaid, checks.a_site_pays_before_it_shares),
    Mutant(
        "sums of fewer sites than the noise is for",
        _two_sites_are_enough,
        checks.few_sites_open_no_sum,
    ),
    Mutant(
        "colluders and one other",
        _two_sites_are_enough,
        checks.colluders_cannot_subtract_themselves,
    ),
    Mutant(
        "any sum that the ring holds",
        _whole_ring,
        checks.sums_beyond_their_bound_are_refused,
    ),
    Mutant("no lie is found", _blind, checks.lies_are_implausible),
)

test_the_real_code_passes, test_a_mutant_is_caught = both_tests(
    MUTANTS, [checks.no_site_is_in_a_sum_twice]
)
