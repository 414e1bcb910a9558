# SPDX-License-Identifier: Apache-2.0
"""Mutants of who is where.

Every check passes on the real code and fails on its mutants.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lexfed.data.people import lots, site_partition
from lexfed.data.people.lots import LotKeys
from lexfed.data.people.unit_blocks import cap_records
from lexfed.federation.programme.sequence import Stage
from lexfed.run.intake import population
from support.mutant import Mutant, Patch, both_tests
from support.run import neighbour_checks as checks
from support.run import neighbour_runs


def _places_decide(patch: Patch) -> None:
    """Coins that everybody knows go with places, so that rows move up to others'."""
    real = neighbour_runs._REAL_LOTS

    def by_place(secret: bytes, keys: Sequence[str]) -> Any:
        return real(b"everybody knows", [str(place) for place in range(len(keys))])

    patch.setattr(neighbour_runs, "_REAL_LOTS", by_place)


def _holds_back_half(patch: Patch) -> None:
    """As many as asked for are held back, so that somebody takes a free place."""

    def exactly(table: Any, test_size: float, coins: LotKeys) -> lots.Split:
        drawn = lots.draw_lots(coins.split, table.person_keys)
        least = np.argsort(drawn)[: round(test_size * len(drawn))]
        held = np.isin(table.persons, least)
        return lots.Split(np.flatnonzero(~held), np.flatnonzero(held))

    patch.setattr(population, "split_by_person", exactly)


def _fills_empty_sites(patch: Patch) -> None:
    """A site that would be empty takes somebody from the largest."""
    real = site_partition._dealt

    def filled(table: Any, site_of: Any, count: int) -> Any:
        for site in range(count):
            sizes = np.bincount(site_of, minlength=count)
            if sizes[site] == 0:
                site_of[np.flatnonzero(site_of == sizes.argmax())[0]] = site
        return real(table, site_of, count)

    patch.setattr(site_partition, "_dealt", filled)


def _reads_the_sites(patch: Patch) -> None:
    """Sites are those that occur in the data."""
    real = site_partition.partition_by_column
    patch.setattr(
        population,
        "partition_by_column",
        lambda table, _names: real(table, table.site_names),
    )


def _caps_over_all_sites(patch: Patch) -> None:
    """Rows at one site use up the cap of another."""

    def over_all(table: Any, sites: Any, cap: int, excess: Any) -> Any:
        found = cap_records(table, np.zeros_like(sites), cap, excess)
        kept = np.isin(table.rows, found.table.rows)
        # Rows are numbered in each file: these checks have a person's in two of them.
        place = np.flatnonzero(kept)[: len(found.table)]
        return type(found)(found.table, sites[place], found.dropped, 0)

    patch.setattr(population, "cap_records", over_all)


def _wide_clip(patch: Patch) -> None:
    """Contributions are clipped to twice what is charged."""
    real = vars(Stage)["limits"].func
    wide = property(lambda stage: tuple(2.0 * limit for limit in real(stage)))
    patch.setattr(Stage, "limits", wide)


def _known_coins(patch: Patch) -> None:
    patch.setattr(
        population, "new_coins", lambda config: LotKeys.seeded(config.run.seed)
    )


MUTANTS = (
    Mutant(
        "coins that go with the places of rows",
        _places_decide,
        checks.a_row_less_moves_nobody_else,
    ),
    Mutant(
        "an exact number held back",
        _holds_back_half,
        checks.a_row_less_moves_nobody_else,
    ),
    Mutant("a clip that is too wide", _wide_clip, checks.a_row_less_moves_nobody_else),
    Mutant(
        "somebody moved to an empty site",
        _fills_empty_sites,
        checks.a_row_less_leaves_simulated_sites,
    ),
    Mutant(
        "sites read from the data",
        _reads_the_sites,
        checks.a_row_of_a_new_site_is_no_site_more,
    ),
    Mutant(
        "a cap over all sites",
        _caps_over_all_sites,
        checks.a_person_is_at_a_site_with_any_row_there,
    ),
    Mutant("coins from the seed", _known_coins, checks.coins_are_of_one_run_alone),
)

test_the_real_code_passes, test_a_mutant_is_caught = both_tests(MUTANTS)
