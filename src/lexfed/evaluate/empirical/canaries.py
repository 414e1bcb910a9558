# SPDX-License-Identifier: Apache-2.0
"""Canaries: persons who might exist; a coin decides the rows a site holds of each.

Their values are the ends of the declared ranges and single levels of categories, drawn
at random, so nobody's contribution is longer and few lie in the same direction. They
are made from public declarations alone: an audit reads no row.

    in or out     heads: the person is there; tails: nobody is (add/remove)
    replaced      heads: the person; tails: the one with the opposite values
    a tier        as replaced, in the columns of one tier; all others are at the middle
                  of their range, or missing, so that a value that leaks into the tower
                  of another tier stands alone there

The label is the same on both sides: turning it over would turn the gradient back.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lexfed.arrays import Bools, Floats, Indices
from lexfed.data.encoding import Encoding, scaled_values
from lexfed.data.people.unit_blocks import UnitBlock
from lexfed.tiers import Tier

LABEL = 1.0
"""Yes, the second class, or the top of a range: far from every first guess."""


@dataclass(frozen=True)
class Canaries:
    """Persons on two sides of a coin, as encoded rows [persons, slots].

    Attributes:
        heads: their rows if the coin shows heads.
        tails: their rows else; None for nobody.
    """

    heads: Floats
    tails: Floats | None

    def __len__(self) -> int:
        return len(self.heads)

    def chosen(self, coins: Bools) -> Floats:
        """Return the rows that a site holds, from one coin for every person."""
        if self.tails is None:
            return self.heads[coins]
        return np.where(coins[:, None], self.heads, self.tails)


@dataclass(frozen=True)
class CanaryStock:
    """The public declarations that canaries are made from.

    Attributes:
        encoding: columns, their ranges, levels and tiers.
        places: rows that a person may have; canaries have one.
        classes: number of classes of records; canaries are in none.
    """

    encoding: Encoding
    places: int = 1
    classes: int = 0

    def in_or_out(self, count: int, generator: np.random.Generator) -> Canaries:
        """Return persons who are there or not."""
        rows, others = self._ends(self.encoding.columns, count, generator)
        # A third of the numbers is at the middle of the range: squares differ too.
        between = self._numbers & (generator.random(rows.shape) < 1.0 / 3.0)
        return Canaries(np.where(between, (rows + others) / 2.0, rows), None)

    def replaced(
        self, count: int, generator: np.random.Generator, tier: Tier | None = None
    ) -> Canaries:
        """Return persons with one of two sets of values, in one tier or in all."""
        code = self.encoding
        columns = code.columns if tier is None else code.columns_of(tier)
        return Canaries(*self._ends(columns, count, generator))

    def units(self, rows: Floats) -> UnitBlock:
        """Return persons with one row each, as a site holds them."""
        count = len(rows)
        inputs = np.zeros((count, self.places, self.encoding.width))
        inputs[:, 0] = rows
        weights = np.zeros((count, self.places))
        weights[:, 0] = 1.0
        return UnitBlock(
            inputs=inputs,
            targets=LABEL * weights,
            weights=weights,
            persons=np.arange(count, dtype=np.int64),
            members=np.zeros((count, self.classes), dtype=np.bool_),
            keys=np.arange(count, dtype=np.int64),
        )

    @cached_property
    def _slots(self) -> dict[str, Indices]:
        code = self.encoding
        return {name: code.slots_of_column(name) for name in code.columns}

    @cached_property
    def _numbers(self) -> Bools:
        return np.array([slot.kind == "number" for slot in self.encoding.slots])

    def _ends(
        self, columns: Collection[str], count: int, generator: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """Return rows at random ends in some columns, and those at the other ends."""
        rows = np.zeros((count, self.encoding.width))
        others = np.zeros_like(rows)
        everyone = np.arange(count)
        for name in columns:
            slots = self._slots[name]
            column = self.encoding.schema.by_name(name)
            if column.values is not None:
                levels = len(column.values)
                first = generator.integers(levels, size=count)
                rows[everyone, slots[first]] = 1.0
                others[everyone, slots[(first + 1) % levels]] = 1.0
                continue
            ends = scaled_values(column, np.array(column.range or (0.0, 1.0)))
            side = generator.integers(2, size=count)
            rows[:, slots[0]], others[:, slots[0]] = ends[side], ends[1 - side]
        return rows, others
