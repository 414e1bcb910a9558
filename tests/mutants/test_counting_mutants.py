# SPDX-License-Identifier: Apache-2.0
"""Mutants of tables that sites count in, and the checks that notice them.

Every check passes on the real code and fails on its mutants.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import torch

from lexfed.arrays import Floats, Indices, Integers
from lexfed.federation.coordinator import progress
from lexfed.federation.programme import sketch_schedule
from lexfed.federation.programme.sequence import Programme, Stage
from lexfed.federation.site import data_holder, table_counts
from lexfed.federation.site.unit_batch import UnitBatch
from lexfed.sketch.queries.requested_tables import RequestedTable
from support.federation import counting_checks as checks
from support.mutant import Mutant, Patch, both_tests


def _every_row_counts_one(patch: Patch) -> None:
    def broken(units: UnitBatch) -> Floats:
        return (units.weights > 0).to(torch.float64).numpy()

    patch.setattr(table_counts, "_weights", broken)


def _no_fence(patch: Patch) -> None:
    patch.setattr(table_counts, "_weights", lambda units: units.weights.numpy())


def _no_room(patch: Patch) -> None:
    def broken(stage: Stage) -> tuple[float, ...]:
        return (1.0,) * len(stage.blocks)

    whole = cached_property(broken)
    whole.__set_name__(Stage, "shrinking")
    patch.setattr(Stage, "shrinking", whole)


def _one_table_for_all(patch: Patch) -> None:
    real = table_counts.table_sums

    def broken(stage: Stage, arrays: Any, site: UnitBatch, _: int, *more: Any) -> Any:
        return real(stage, arrays, site, 0, *more)

    patch.setattr(table_counts, "table_sums", broken)
    patch.setattr(checks, "table_sums", broken)


def _no_signs(patch: Patch) -> None:
    real = table_counts._places

    def broken(table: RequestedTable, keys: Any) -> Any:
        return (places & (table.width - 1) for places in real(table, keys))

    patch.setattr(table_counts, "_places", broken)


def _other_rows(patch: Patch) -> None:
    real = table_counts._places

    def broken(table: RequestedTable, keys: Any) -> Any:
        return real(replace(table, seed=table.seed + 1), keys)

    patch.setattr(table_counts, "_places", broken)


def _summed_before_rounding(patch: Patch) -> None:
    def broken(total: torch.Tensor, stage: Stage, factor: float) -> torch.Tensor:
        scales = [
            torch.full((block.stop - block.start,), factor * scale, dtype=torch.float64)
            for block, scale in zip(stage.blocks, stage.shrinking, strict=True)
        ]
        return total * torch.cat(scales)

    patch.setattr(table_counts, "on_grid", broken)


def _weights_as_they_are(patch: Patch) -> None:
    patch.setattr(table_counts, "FINEST", 2.0**-70)


def _nothing_is_checked(patch: Patch) -> None:
    patch.setattr(data_holder, "are_follow_ups", lambda *_: True)


def _ends_are_trusted(patch: Patch) -> None:
    def broken(values: Floats, low: float, high: float, width: int) -> Integers:
        with np.errstate(all="ignore"):
            part = (values - low) / (high - low)
            return 1 + np.asarray(part * (width - 3)).astype(np.int64)

    patch.setattr(table_counts, "bin_cells", broken)


def _always_asked(patch: Patch) -> None:
    def broken(table: RequestedTable, _: Sequence[Any]) -> Floats:
        return (
            np.array(sketch_schedule.ANY_ENDS)
            if table.domain == "bins"
            else np.zeros(0)
        )

    patch.setattr(sketch_schedule, "_finding", broken)


def _counts_as_released(patch: Patch) -> None:
    real = progress.table_memory

    def broken(stage: Stage, *others: Any) -> Any:
        memory = real(stage, *others)
        for place, scale in enumerate(stage.shrinking):
            memory[f"sketch.0.{place}"] *= scale
        return memory

    patch.setattr(checks, "table_memory", broken)


def _noise_of_one(patch: Patch) -> None:
    patch.setattr(Programme, "loudness", lambda *_: 1.0)


def _padding_counts(patch: Patch) -> None:
    def broken(units: UnitBatch) -> Floats:
        return np.full(tuple(units.weights.shape), 1.0 / units.weights.shape[1])

    patch.setattr(table_counts, "_weights", broken)


def _the_slot_beside(patch: Patch) -> None:
    real = table_counts.cells_of

    def broken(table: RequestedTable, inputs: torch.Tensor, asked: Floats) -> Integers:
        beside = tuple(slot + 1 for slot in table.slots)
        return real(replace(table, slots=beside), inputs, asked)

    patch.setattr(table_counts, "cells_of", broken)


def _keys_of_the_first(patch: Patch) -> None:
    real = UnitBatch._at

    def broken(batch: UnitBatch, units: Indices, sites: Sequence[int]) -> UnitBatch:
        taken = real(batch, units, sites)
        assert batch.keys is not None
        return replace(taken, keys=batch.keys[: len(units)])

    patch.setattr(UnitBatch, "_at", broken)


MUTANTS = (
    Mutant("every row counts one", _every_row_counts_one, checks.sums_are_exact),
    Mutant(
        "a person of four rows counts four",
        _every_row_counts_one,
        checks.nobody_exceeds_the_clip,
    ),
    Mutant("weights are believed", _no_fence, checks.weights_of_a_unit_are_one_at_most),
    Mutant("no room for rounding", _no_room, checks.room_is_left_for_rounding),
    Mutant("one table for all sites", _one_table_for_all, checks.sums_are_exact),
    Mutant("no signs", _no_signs, checks.sums_are_exact),
    Mutant("hashes of another seed", _other_rows, checks.sums_are_exact),
    Mutant(
        "sites summed before rounding",
        _summed_before_rounding,
        checks.engines_agree_to_the_bit,
    ),
    Mutant(
        "weights with all their bits",
        _weights_as_they_are,
        checks.order_does_not_matter,
    ),
    Mutant(
        "ends are not looked at",
        _nothing_is_checked,
        checks.lies_are_refused_before_anything_is_charged,
    ),
    Mutant("ends are trusted", _ends_are_trusted, checks.no_ends_lead_outside_a_table),
    Mutant(
        "a second look at nothing", _always_asked, checks.nothing_found_is_nothing_spent
    ),
    Mutant(
        "counts with room for rounding",
        _counts_as_released,
        checks.a_person_is_told_as_one,
    ),
    Mutant(
        "the noise of one site",
        _noise_of_one,
        checks.noise_of_every_site_is_in_the_variance,
    ),
    Mutant("padding counts", _padding_counts, checks.a_table_reads_its_own_slots_alone),
    Mutant(
        "the slot beside", _the_slot_beside, checks.a_table_reads_its_own_slots_alone
    ),
    Mutant("keys of others", _keys_of_the_first, checks.keys_stay_with_their_units),
)

test_the_real_code_passes, test_a_mutant_is_caught = both_tests(MUTANTS)
