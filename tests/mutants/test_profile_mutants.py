# SPDX-License-Identifier: Apache-2.0
"""Mutants of profiles.

Every check passes on the real code and fails on its mutants.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from lexfed.data.people.lots import Split
from lexfed.data.reading.conversion import raw_places
from lexfed.federation.planning import purchase_programmes
from lexfed.federation.programme.sequence import Programme
from lexfed.run import earlier_runs
from lexfed.run.intake.population import placed_persons
from lexfed.run.pricing import priced_run
from lexfed.run.purchases import profile_population
from lexfed.tiers import Tier
from support.mutant import Mutant, Patch, both_tests
from support.run import profile_checks as checks


def _charged_to_less(patch: Patch) -> None:
    real = purchase_programmes._profile_draft

    def lower(step: Any, *others: Any) -> Any:
        return real(replace(step, reads=Tier.NON_PERSONAL), *others)

    patch.setattr(purchase_programmes, "_profile_draft", lower)


def _charged_as_label(patch: Patch) -> None:
    real = purchase_programmes._profile_draft
    patch.setattr(
        purchase_programmes,
        "_profile_draft",
        lambda step, *o: real(replace(step, reads=None), *o),
    )


def _reads_the_slots_of_others(patch: Patch) -> None:
    """One column is given the slots of a more sensitive one."""

    def places(columns: Any) -> dict[str, tuple[int, ...]]:
        own = raw_places(columns)
        return {**own, "dose": own["hba1c"]}

    patch.setattr(purchase_programmes, "raw_places", places)


def _free_of_charge(patch: Patch) -> None:
    patch.setattr(priced_run, "remaining_budget", lambda budget, *_: budget)


def _not_asked_what_it_cost(patch: Patch) -> None:
    patch.setattr(earlier_runs, "earlier_releases", lambda *_: ())


def _counts_test_rows(patch: Patch) -> None:
    def everybody(*arguments: Any) -> Any:
        capped, partition, _ = placed_persons(*arguments)
        rows = np.arange(len(capped.table), dtype=np.int64)
        return capped, partition, Split(rows, rows[:0])

    patch.setattr(profile_population, "placed_persons", everybody)


def _hears_one_site(patch: Patch) -> None:
    patch.setattr(Programme, "loudness", lambda *_: 1.0)


MUTANTS = (
    Mutant(
        "a table charged to a lower tier",
        _charged_to_less,
        checks.a_table_moves_with_no_tier_above_its_own,
    ),
    Mutant(
        "a table charged as the label",
        _charged_as_label,
        checks.a_table_moves_with_no_tier_above_its_own,
    ),
    Mutant(
        "a table of a special column's slots",
        _reads_the_slots_of_others,
        checks.a_table_moves_with_no_tier_above_its_own,
    ),
    Mutant(
        "a profile free of charge",
        _free_of_charge,
        checks.a_profile_and_its_run_cost_the_budget_together,
    ),
    Mutant(
        "a profile that nobody asked the price of",
        _not_asked_what_it_cost,
        checks.a_profile_and_its_run_cost_the_budget_together,
    ),
    Mutant(
        "persons of the test counted",
        _counts_test_rows,
        checks.a_profile_counts_the_persons_of_training,
    ),
    Mutant(
        "noise of one site heard where all add it",
        _hears_one_site,
        checks.noise_of_every_site_hides_more,
    ),
)

test_the_real_code_passes, test_a_mutant_is_caught = both_tests(MUTANTS)
