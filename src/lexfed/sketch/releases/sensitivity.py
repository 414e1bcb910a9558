# SPDX-License-Identifier: Apache-2.0
"""The sensitivity of sketches: the largest move by one person, which noise must hide.

A table has `depth` rows, and every occurrence of an item adds +1, or its sign, to one
cell of every row. A person with `records` records of at most `items` items has
n = items records occurrences. Whatever the hash does,

    in one row      |v|_1 <= n,           |v|_2 <= n
    in one table    |v|_1 <= n depth,     |v|_2 <= n sqrt(depth)
    in all tables   the sum,              the root of the sum of squares.

The bounds are reached: n times the same item, or n items that one cell takes. Seeds
are public and anybody may look for such items, so the square root of n that different
cells would give is never used. Privacy does not rest on the hash.

**Replacing a person** moves a sketch by v' - v. In L1 that is at most 2 |v|_1. In L2 it
depends on the signs. Where all cells count upwards, <v, v'> >= 0 and |v' - v|_2 is at
most sqrt(2) times the bound of one person. Where items have signs, two items may share
a cell in every row with opposite signs, v' = -v, and the factor is 2, not sqrt(2).

An event holds the sensitivity under add/remove, and ledgers charge twice that for a
replacement: enough for both kinds of tables.

>>> person_moves([Contribution(depth=4, items=3)], "add-remove")
Sensitivity(l1=12, l2=6.0)
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import get_args

from lexfed import checks
from lexfed.terms import Neighbours

MOST = 2**20
"""Bound on depth, items and records: products stay far below 2^63."""


@dataclass(frozen=True)
class Contribution:
    """A person's share in one table; whoever fills the table holds to it.

    Attributes:
        depth: rows of the table; 1 for exact counts.
        items: items of one record, 1 unless the column is multi-valued.
        records: records of one person.
        signed: whether items have signs, as in a Count-Sketch.
    """

    depth: int = 1
    items: int = 1
    records: int = 1
    signed: bool = False

    def __post_init__(self) -> None:
        checks.in_range(
            1, MOST, depth=self.depth, items=self.items, records=self.records
        )

    @property
    def occurrences(self) -> int:
        """Bound on what one person adds to one cell, and to one row in sum."""
        return self.items * self.records


@dataclass(frozen=True)
class Sensitivity:
    """The distance between all tables of neighbouring data, together.

    Attributes:
        l1: bound on the sum of absolute changes.
        l2: bound on the Euclidean norm of the change, never below the exact one.
    """

    l1: int
    l2: float


def person_moves(tables: Iterable[Contribution], neighbours: Neighbours) -> Sensitivity:
    """Return the sensitivity to one person of tables that are released together.

    Guarantees:
        No person who keeps to the contributions moves them further, whatever the hash.
        Some person and some hash reach both bounds, but for the rounding of a root.
        No rounding leaves `l2` below the exact root.

    Raises:
        ValueError: for no tables, or an unknown relation.
    """
    known = tuple(tables)
    if not known:
        raise ValueError("expected at least one table")
    if neighbours not in get_args(Neighbours):
        raise ValueError(f"unknown `neighbours`, got: {neighbours!r}")
    replaced = neighbours == "replace-one"
    length = sum(table.occurrences * table.depth for table in known)
    square = sum(
        _squares(table.signed, replaced) * table.occurrences**2 * table.depth
        for table in known
    )
    return Sensitivity(2 * length if replaced else length, root_above(square))


def root_above(square: int) -> float:
    """Return a float that is not below the root, and at most one step above."""
    root = math.sqrt(square)
    # Fractions: the comparison must not round.
    if Fraction(root) ** 2 < square:
        return math.nextafter(root, math.inf)
    return root


def _squares(signed: bool, replaced: bool) -> int:
    """Return the square of how many persons' norms one table moves by."""
    if not replaced:
        return 1
    return 4 if signed else 2
