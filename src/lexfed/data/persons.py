# SPDX-License-Identifier: Apache-2.0
"""How often, and at how many sites, one person may appear.

The guarantee is about a person, so what one person can contribute must be bounded
before training. Which rows stay is decided by the person key and the order of rows
alone; dropping rows by what they hold would carry a protected value into the
choice of rows (isolation, privacy.md 3.0).
"""

from typing import Literal

import numpy as np

from lexfed.data.problems import Problems
from lexfed.data.table import Ints, Table

Excess = Literal["error", "drop"]


def earlier_rows(persons: Ints) -> Ints:
    """Return for each row how many earlier rows are of the same person."""
    order = np.argsort(persons, kind="stable")
    ordered = persons[order]
    _, starts, lengths = np.unique(ordered, return_index=True, return_counts=True)
    places = np.empty(len(persons), dtype=np.int64)
    places[order] = np.arange(len(persons)) - np.repeat(starts, lengths)
    return places


def cap_records(
    table: Table, records_per_person: int, excess: Excess = "error"
) -> tuple[Table, int]:
    """Return the table with at most that many rows of each person.

    Guarantees:
        The first rows of every person stay, in their order.
        Which rows stay depends on the person key and the order of rows only.

    Args:
        table: the rows.
        records_per_person: the declared cap.
        excess: `drop` the rows beyond the cap, or raise an `error`.

    Returns:
        The capped table and the number of rows dropped.

    Raises:
        DataError: naming the rows beyond the cap, unless they are dropped.
    """
    beyond = earlier_rows(table.persons) >= records_per_person
    if not beyond.any():
        return table, 0
    if excess == "drop":
        return table.take(np.flatnonzero(~beyond)), int(beyond.sum())
    problems = Problems()
    for row in np.flatnonzero(beyond):
        problems.add(
            "person-over-cap",
            f"more than {records_per_person} row(s) of one person",
            file=table.files[table.file_codes[row]],
            column=table.schema.person or "",
            row=int(table.rows[row]),
            hint="raise `records_per_person` (more noise), or set "
            '`excess_records = "drop"` to keep the first rows of each person',
        )
    raise problems.error()


def sites_of_persons(persons: Ints, sites: Ints) -> Ints:
    """Return for each person code present at how many sites it appears."""
    pairs = np.unique(np.stack([persons, sites], axis=1), axis=0)
    return np.unique(pairs[:, 0], return_counts=True)[1].astype(np.int64)


def check_sites_per_person(table: Table, sites: Ints, limit: int = 1) -> int:
    """Return how many persons appear at several sites.

    Args:
        table: the rows.
        sites: code of each row's site.
        limit: at how many sites a person may appear, as declared.

    Raises:
        DataError: if a person appears at more sites than declared; each site clips
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
