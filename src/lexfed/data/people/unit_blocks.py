# SPDX-License-Identifier: Apache-2.0
"""Rows grouped by the person they are about: the unit of the guarantee.

All rows of a person weigh as much as one row of somebody else, so that a person's
gradients can be averaged and clipped once as one vector. The block has the same
number of places for everybody, the declared cap, so its shape says nothing about
how often anyone was seen.
"""

from dataclasses import dataclass

import numpy as np

from lexfed.arrays import Bools, Floats, Integers
from lexfed.data.people.contribution_caps import earlier_rows
from lexfed.data.problems import refuse


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
        keys: of the person behind each unit, the same at every site (`key_numbers`);
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


@dataclass(frozen=True)
class PersonRows:
    """Encoded rows with the person of each, before they are grouped.

    Attributes:
        inputs: floats [rows, slots].
        targets: floats [rows].
        persons: code of each row's person.
        members: the classes of each row, [rows, classes]; None without classes.
        keys: of each row's person; None where persons have none.
    """

    inputs: Floats
    targets: Floats
    persons: Integers
    members: Bools | None = None
    keys: Integers | None = None

    def take(self, rows: Integers) -> "PersonRows":
        """Return the rows at these positions, in this order."""
        return PersonRows(
            self.inputs[rows],
            self.targets[rows],
            self.persons[rows],
            None if self.members is None else self.members[rows],
            None if self.keys is None else self.keys[rows],
        )


def group_units(rows: PersonRows, records_per_person: int = 1) -> UnitBlock:
    """Return one unit per person, in the order of each person's first row.

    `records_per_person` is the declared cap, and the number of places.

    Guarantees:
        The weights of a unit sum to 1.
        Unit, place and weight of a row depend on `persons` only.
        A unit belongs to a class exactly if one of its rows does.

    Raises:
        DataError: if a person has more rows than the cap.
    """
    codes, first, inverse, counts = np.unique(
        rows.persons, return_index=True, return_inverse=True, return_counts=True
    )
    if len(counts) and counts.max() > records_per_person:
        raise refuse(
            "person-over-cap",
            f"{int((counts > records_per_person).sum())} person(s) have more rows than "
            f"`records_per_person` = {records_per_person}",
        )
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
