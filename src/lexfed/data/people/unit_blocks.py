# SPDX-License-Identifier: Apache-2.0
"""Rows capped and grouped by person, the unit of the guarantee.

The guarantee is about a person, so what one person can contribute is bounded before
training. Which rows stay is decided by the person key and the order of rows alone;
dropping rows by what they hold would break the isolation of tiers.

All rows of a person weigh as much as one row of another person, so that a person's
gradients can be averaged and clipped once as one vector. The block has the same
number of places for everybody, the declared cap, so its shape says nothing about
how often anyone was seen.

Tables of keys are counted by hashes of numbers that stand for keys, the same at every
site (`lexfed.sketch`). These numbers are as good to guess from as the keys: nothing
rests on their being secret, and they never leave a site.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lexfed.arrays import Bools, Floats, Integers
from lexfed.counted_words import counted
from lexfed.data.problems import Problems, refuse
from lexfed.data.table import Table
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
    """The rows of a table that stay, each with the code of its site.

    `dropped` rows were beyond the cap, `elsewhere` rows at no declared site.
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

    Rows of no site, -1 among the codes in `sites`, are left out. `DataError` names the
    rows beyond the cap, unless they are dropped.

    Guarantees:
        The first rows of every person at a site stay, in their order; so every
        person with rows at a site is there, whatever the other rows are.
        Which rows stay depends on person, site and the order of rows only.
    """
    placed = np.flatnonzero(sites >= 0)
    pairs = np.stack([table.persons[placed], sites[placed]], axis=1)
    units = np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)
    beyond = placed[earlier_rows(units) >= records_per_person]
    kept = np.setdiff1d(placed, beyond)
    if excess != "drop":
        what = f"more than {counted(records_per_person, 'row')} of one person"
        hint = (
            "raise `records_per_person` (more noise), or set "
            '`excess_records = "drop"` to keep the first rows of each person'
        )
        _refuse_rows(table, beyond, "person-over-cap", what, hint)
    away = len(table) - len(placed)
    if len(kept) == len(table):
        return CappedTable(table, sites, 0, 0)
    return CappedTable(table.take(kept), sites[kept], len(beyond), away)


def _refuse_rows(table: Table, rows: Integers, kind: str, what: str, hint: str) -> None:
    """Raise the same problem of the person key at several rows, if there are any."""
    problems = Problems()
    for row in rows:
        file, line = table.files[table.file_codes[row]], int(table.rows[row])
        column = table.schema.person or ""
        problems.add(kind, what, file=file, column=column, row=line, hint=hint)
    problems.raise_if_any()


def sites_of_persons(persons: Integers, sites: Integers) -> Integers:
    """Return the number of sites of each person code that is present."""
    pairs = np.unique(np.stack([persons, sites], axis=1), axis=0)
    return np.unique(pairs[:, 0], return_counts=True)[1].astype(np.int64)


def check_sites_per_person(table: Table, sites: Integers, limit: int = 1) -> int:
    """Return the number of persons who appear at several sites.

    A person at more than `limit` sites raises `DataError`: each site clips on its own,
    so the guarantee would not hold for that person.
    """
    pairs, first = np.unique(
        np.stack([table.persons, sites], axis=1), axis=0, return_index=True
    )
    beyond = first[earlier_rows(pairs[:, 0]) >= limit]
    what = f"a person appears at more than {counted(limit, 'site')}"
    hint = (
        "if keys are counted anew at every site, put the site's name before "
        "them; if people do move, raise `sites_per_person` (more noise)"
    )
    _refuse_rows(table, np.sort(beyond), "person-at-sites", what, hint)
    return int((sites_of_persons(table.persons, sites) > 1).sum())


KEY_BITS = 62
_PURPOSE = b"lexfed person key\x00"


def person_keys(texts: Sequence[str]) -> Integers:
    """Return a number of 62 bits for every key.

    Guarantees:
        A number depends on its own key only.
    """
    return np.array([_key(text) for text in texts], dtype=np.int64)


def keys_of_rows(table: Table) -> Integers | None:
    """Return the number of each row's person; None where persons have no key.

    Without a key every row is a person of its own, and its place in a file is nothing
    that another site could know it by.
    """
    if table.schema.person is None:
        return None
    return person_keys(table.person_keys)[table.persons]


def _key(text: str) -> int:
    hashed = hashlib.sha256(_PURPOSE + text.encode()).digest()
    return int.from_bytes(hashed[:8], "big") >> (64 - KEY_BITS)


@dataclass(frozen=True)
class UnitBlock:
    """Persons with their rows, padded to the cap.

    Attributes:
        inputs: floats [units, places, slots]; zero where padded.
        targets: floats [units, places]; zero where padded.
        weights: floats [units, places]; 1 / rows of the person, zero where padded.
        persons: code of the person behind each unit.
        members: the classes of records of each unit, [units, classes]; None without
            classes. Never leaves the site, not even as a count.
        keys: of the person behind each unit, the same at every site (`person_keys`);
            None where persons have no key. Never leaves the site.
    """

    inputs: Floats
    targets: Floats
    weights: Floats
    persons: Integers
    members: Bools | None = None
    keys: Integers | None = None

    def __len__(self) -> int:
        return len(self.persons)

    def where(self, chosen: Bools) -> "UnitBlock":
        """Return some of the units, in the same order."""
        return UnitBlock(*(_at(values, chosen) for values in vars(self).values()))


@dataclass(frozen=True)
class SiteData:
    """One site's units: those it trains on and those it tests on."""

    name: str
    train: UnitBlock
    test: UnitBlock


@dataclass(frozen=True)
class PersonRows:
    """Encoded rows, [rows, slots], before they are grouped.

    Person, classes and key of each row are as those of a unit in `UnitBlock`.
    """

    inputs: Floats
    targets: Floats
    persons: Integers
    members: Bools | None = None
    keys: Integers | None = None

    def take(self, rows: Integers) -> "PersonRows":
        """Return the rows at these positions, in this order."""
        return PersonRows(*(_at(values, rows) for values in vars(self).values()))


def _at(values: Any, places: Bools | Integers) -> Any:
    return None if values is None else values[places]


def group_units(rows: PersonRows, records_per_person: int = 1) -> UnitBlock:
    """Return one unit per person, in the order of each person's first row.

    `records_per_person` is the declared cap, and the number of places; a person with
    more rows raises `DataError`.

    Guarantees:
        The weights of a unit sum to 1.
        Unit, place and weight of a row depend on `persons` only.
        A unit belongs to a class exactly if one of its rows does.
    """
    codes, first, inverse, counts = np.unique(
        rows.persons, return_index=True, return_inverse=True, return_counts=True
    )
    if over := int((counts > records_per_person).sum()):
        people = counted(over, "person", "people")
        more = f"with more rows than `records_per_person` = {records_per_person}"
        raise refuse("person-over-cap", f"{people} {more}")
    by_first = np.argsort(first, kind="stable")
    unit_of_code = np.empty(len(codes), dtype=np.int64)
    unit_of_code[by_first] = np.arange(len(codes))
    unit = unit_of_code[inverse]
    place = earlier_rows(rows.persons)
    shape = (len(codes), records_per_person)
    block = np.zeros((*shape, rows.inputs.shape[1]), dtype=np.float64)
    block[unit, place] = rows.inputs
    goals = np.zeros(shape, dtype=np.float64)
    goals[unit, place] = rows.targets
    weights = np.zeros(shape, dtype=np.float64)
    weights[unit, place] = 1.0 / counts[inverse]
    codes = codes[by_first].astype(np.int64)
    classes = _of_units(rows.members, unit, len(codes))
    own = None if rows.keys is None else rows.keys[first[by_first]]
    return UnitBlock(block, goals, weights, codes, classes, own)


def _of_units(rows: Bools | None, unit: Integers, units: int) -> Bools | None:
    if rows is None:
        return None
    members = np.zeros((units, rows.shape[1]), dtype=np.bool_)
    np.logical_or.at(members, unit, rows)
    return members
