# SPDX-License-Identifier: Apache-2.0
"""Caps on the rows of one person, and on the sites where a person may appear.

The guarantee is about a person, so what one person can contribute must be bounded
before training. Which rows stay is decided by the person key and the order of rows
alone; dropping rows by what they hold would carry a protected value into the
choice of rows, and so break the isolation of tiers.
"""

from dataclasses import dataclass

import numpy as np

from lexfed.arrays import Integers
from lexfed.data.problems import Problems
from lexfed.data.table import Table
from lexfed.errors import DataError
from lexfed.terms import ExcessHandling


def earlier_rows(persons: Integers) -> Integers:
    """Return for each row the number of earlier rows of the same person."""
    order = np.argsort(persons, kind="stable")
    ordered = persons[order]
    _, starts, lengths = np.unique(ordered, return_index=True, return_counts=True)
    places = np.empty(len(persons), dtype=np.int64)
    places[order] = np.arange(len(persons)) - np.repeat(starts, lengths)
    return places


@dataclass(frozen=True)
class CappedTable:
    """The rows of a table that stay, and the numbers of those that do not.

    Attributes:
        sites: code of each staying row's site.
        dropped: number of rows beyond the cap.
        elsewhere: number of rows of no declared site.
    """

    table: Table
    sites: Integers
    dropped: int
    elsewhere: int


def cap_records(
    table: Table,
    sites: Integers,
    records_per_person: int,
    excess: ExcessHandling = "error",
) -> CappedTable:
    """Return the table with at most that many rows of each person at each site.

    Guarantees:
        The first rows of every person at a site stay, in their order; so whoever has
        rows at a site is there, whatever else there is.
        Which rows stay depends on person, site and the order of rows only.

    Rows of no site, -1 among the codes in `sites`, are left out.

    Raises:
        DataError: naming the rows beyond the cap, unless they are dropped.
    """
    placed = np.flatnonzero(sites >= 0)
    pairs = np.stack([table.persons[placed], sites[placed]], axis=1)
    units = np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)
    beyond = placed[earlier_rows(units) >= records_per_person]
    kept = np.setdiff1d(placed, beyond)
    if len(beyond) and excess != "drop":
        raise _beyond_cap(table, beyond, records_per_person)
    away = len(table) - len(placed)
    if len(kept) == len(table):
        return CappedTable(table, sites, 0, 0)
    return CappedTable(table.take(kept), sites[kept], len(beyond), away)


def _beyond_cap(table: Table, rows: Integers, records_per_person: int) -> DataError:
    problems = Problems()
    for row in rows:
        problems.add(
            "person-over-cap",
            f"more than {records_per_person} row(s) of one person",
            file=table.files[table.file_codes[row]],
            column=table.schema.person or "",
            row=int(table.rows[row]),
            hint="raise `records_per_person` (more noise), or set "
            '`excess_records = "drop"` to keep the first rows of each person',
        )
    return problems.error()


def sites_of_persons(persons: Integers, sites: Integers) -> Integers:
    """Return the number of sites of each person code that is present."""
    pairs = np.unique(np.stack([persons, sites], axis=1), axis=0)
    return np.unique(pairs[:, 0], return_counts=True)[1].astype(np.int64)


def check_sites_per_person(table: Table, sites: Integers, limit: int = 1) -> int:
    """Return the number of persons who appear at several sites.

    Raises:
        DataError: if a person appears at more than `limit` sites; each site clips
            on its own, so the guarantee would not hold for that person.
    """
    pairs, first = np.unique(
        np.stack([table.persons, sites], axis=1), axis=0, return_index=True
    )
    beyond = first[earlier_rows(pairs[:, 0]) >= limit]
    problems = Problems()
    for row in np.sort(beyond):
        problems.add(
            "person-at-sites",
            f"a person appears at more than {limit} site(s)",
            file=table.files[table.file_codes[row]],
            column=table.schema.person or "",
            row=int(table.rows[row]),
            hint="if keys are counted anew at every site, put the site's name before "
            "them; if people do move, raise `sites_per_person` (more noise)",
        )
    problems.raise_if_any()
    return int((sites_of_persons(table.persons, sites) > 1).sum())
