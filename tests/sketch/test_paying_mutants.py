# SPDX-License-Identifier: Apache-2.0
"""Mutants of what sketches pay: what somebody might get wrong, and what notices.

Every check passes on the real code and fails on its mutants.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from lexfed.privacy.noise.gaussian import rounded_gaussian
from lexfed.privacy.noise.grids import Grid
from lexfed.privacy.noise.shares import NoiseCohort, draw_share, half_variance
from lexfed.privacy.releases import Release
from lexfed.privacy.run_ledger import Ledger
from lexfed.randomness import RandomSource
from lexfed.sketch.releases import noised_sketch
from lexfed.sketch.releases.noised_sketch import Contribution, GaussianColumn, NoisePlan
from lexfed.sketch.sharing import sum_plan
from lexfed.sketch.sharing.sum_plan import MaskedPlan
from lexfed.tiers import Tier
from support.mutant import Mutant, Patch, both_tests
from support.sketch import paying_checks as checks

Integers = NDArray[np.int64]


def _depth_unpaid(patch: Patch) -> None:
    patch.setattr(
        GaussianColumn, "clip", property(lambda self: self.person.occurrences)
    )


def _distinct_cells_assumed(patch: Patch) -> None:
    def clip(column: GaussianColumn) -> float:
        return math.sqrt(column.person.occurrences * column.person.depth)

    patch.setattr(GaussianColumn, "clip", property(clip))


def _one_record_assumed(patch: Patch) -> None:
    patch.setattr(Contribution, "occurrences", property(lambda self: self.items))


def _noise_too_quiet(patch: Patch) -> None:
    def noise(grid: Grid, source: RandomSource) -> Integers:
        return rounded_gaussian(source, 0.7 * grid.scale, grid.dimension)

    patch.setattr(Grid, "noise", noise)


def _noise_shared_by_cells(patch: Patch) -> None:
    def noise(grid: Grid, source: RandomSource) -> Integers:
        return np.repeat(rounded_gaussian(source, grid.scale, 1), grid.dimension)

    patch.setattr(Grid, "noise", noise)


def _noise_shared_by_rows(patch: Patch) -> None:
    def noise(grid: Grid, source: RandomSource) -> Integers:
        return np.tile(rounded_gaussian(source, grid.scale, grid.dimension // 3), 3)

    patch.setattr(Grid, "noise", noise)


def _drawn_before_charged(patch: Patch) -> None:
    def broken(
        plan: NoisePlan, tables: list[Integers], ledger: Ledger, source: RandomSource
    ) -> noised_sketch.NoisedSketch:
        drawn = noised_sketch.add_noise(plan, tables, source)
        ledger.charge(plan.event())
        return noised_sketch.NoisedSketch(drawn, plan.event(), source.private)

    patch.setattr(noised_sketch, "release_sketch", broken)


def _never_charged(patch: Patch) -> None:
    patch.setattr(Ledger, "charge", lambda *_: None)


def _first_tier_read(patch: Patch) -> None:
    real = NoisePlan.event
    patch.setattr(
        NoisePlan, "event", lambda plan: replace(real(plan), reads=Tier.NON_PERSONAL)
    )


def _one_group_charged(patch: Patch) -> None:
    real = NoisePlan.event

    def broken(plan: NoisePlan) -> Release:
        event = real(plan)
        return replace(event, groups=event.groups[:1])

    patch.setattr(NoisePlan, "event", broken)


def _shares_for_everybody(patch: Patch) -> None:
    def broken(sigma: float, step: float, cohort: NoiseCohort) -> int:
        return half_variance(sigma, step, NoiseCohort(cohort.sites))

    patch.setattr(sum_plan, "half_variance", broken)


def _share_forgotten(patch: Patch) -> None:
    real = draw_share
    asked = []

    def broken(
        source: RandomSource, halves: list[int], dimensions: list[int]
    ) -> Integers:
        asked.append(source)
        drawn = real(source, halves, dimensions)
        # Every second site sends its bare tables.
        return drawn if len(asked) % 2 else np.zeros_like(drawn)

    patch.setattr(sum_plan, "draw_share", broken)


def _values_of_one_site_counted(patch: Patch) -> None:
    real = MaskedPlan.event

    def broken(masked: MaskedPlan) -> Release:
        event = real(masked)
        return replace(event, samples=event.samples // masked.cohort.sites)

    patch.setattr(MaskedPlan, "event", broken)


def _any_sum_opened(patch: Patch) -> None:
    patch.setattr(NoiseCohort, "least", property(lambda _: 0))


def _shares_too_quiet(patch: Patch) -> None:
    real = MaskedPlan.halves
    patch.setattr(MaskedPlan, "halves", lambda self: [h // 2 for h in real(self)])


def _signs_forgotten(patch: Patch) -> None:
    patch.setattr(noised_sketch, "_squares", lambda _, replaced: 2 if replaced else 1)


def _roots_rounded_down(patch: Patch) -> None:
    patch.setattr(noised_sketch, "root_above", math.sqrt)


MUTANTS = (
    Mutant(
        "the root of two where items have signs",
        _signs_forgotten,
        checks.replacing_signs_moves_twice_and_roots_are_not_rounded_down,
    ),
    Mutant(
        "roots rounded down",
        _roots_rounded_down,
        checks.replacing_signs_moves_twice_and_roots_are_not_rounded_down,
    ),
    Mutant(
        "depth not paid for",
        _depth_unpaid,
        checks.a_release_tells_no_more_than_its_event,
    ),
    Mutant(
        "items thought to be in different cells",
        _distinct_cells_assumed,
        checks.a_release_tells_no_more_than_its_event,
    ),
    Mutant(
        "records of a person forgotten",
        _one_record_assumed,
        checks.a_release_tells_no_more_than_its_event,
    ),
    Mutant(
        "less noise drawn than charged",
        _noise_too_quiet,
        checks.a_release_tells_no_more_than_its_event,
    ),
    Mutant(
        "less noise drawn than stated",
        _noise_too_quiet,
        checks.stated_variances_are_those_of_the_noise,
    ),
    Mutant(
        "one noise for all cells",
        _noise_shared_by_cells,
        checks.stated_variances_are_those_of_the_noise,
    ),
    Mutant(
        "one noise for all rows",
        _noise_shared_by_rows,
        checks.cells_have_noise_of_their_own,
    ),
    Mutant(
        "drawn, then charged",
        _drawn_before_charged,
        checks.nothing_is_drawn_before_it_is_paid,
    ),
    Mutant("never charged", _never_charged, checks.nothing_is_drawn_before_it_is_paid),
    Mutant(
        "a sketch that reads nothing",
        _first_tier_read,
        checks.an_event_reads_its_most_sensitive_column,
    ),
    Mutant(
        "one column paid for all",
        _one_group_charged,
        checks.an_event_reads_its_most_sensitive_column,
    ),
    Mutant(
        "shares sized for everybody",
        _shares_for_everybody,
        checks.a_masked_sum_tells_no_more_than_its_event,
    ),
    Mutant(
        "noise forgotten at one site",
        _share_forgotten,
        checks.a_masked_sum_tells_no_more_than_its_event,
    ),
    Mutant(
        "noise forgotten at one site, by its variance",
        _share_forgotten,
        checks.stated_variances_are_those_of_the_noise,
    ),
    Mutant(
        "half of the shares' variance",
        _shares_too_quiet,
        checks.stated_variances_are_those_of_the_noise,
    ),
    Mutant(
        "values of one site counted",
        _values_of_one_site_counted,
        checks.an_event_reads_its_most_sensitive_column,
    ),
    Mutant(
        "sums of any number of sites opened",
        _any_sum_opened,
        checks.few_sites_open_nothing,
        pytest.fail.Exception,
    ),
)

test_the_real_code_passes, test_a_mutant_is_caught = both_tests(MUTANTS)
