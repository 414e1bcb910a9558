# SPDX-License-Identifier: Apache-2.0
"""Trees of counts: one table per level, so that a range is a sum of few nodes.

The value x lies in node x // branching^(levels - l) of level l. Levels of up to 4096
nodes are counted exactly, finer ones are sketches; the root has no table. An item
touches one cell of each exact level and `depth` cells of each sketch, and is charged by
these depths (docs/theory/sketches.md#hashes).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from lexfed.arrays import Integers
from lexfed.canonical import digest
from lexfed.checks import in_range
from lexfed.errors import DataError, Problem
from lexfed.sketch.tables.counts import CELL_BYTES, CountSketch, CountTable, ExactCounts
from lexfed.sketch.tables.shape import (
    HEADER_BYTES,
    MOST_COLUMNS,
    HashRows,
    ItemKeys,
    SketchKind,
    SketchShape,
)

LARGEST_EXACT = 4096
"""Levels of more nodes are sketches."""


@dataclass(frozen=True)
class TreeShape:
    """Everything public about a tree; trees of equal shape can be added.

    `bins` is SHA-256 of the declared domain, of `size` values; `rows` hash the levels
    that are sketches. A `branching` of 16 or 4 has the least error in most cases.
    """

    bins: str
    size: int
    branching: int
    rows: HashRows | None = None

    def __post_init__(self) -> None:
        in_range(2, MOST_COLUMNS, size=self.size)
        in_range(2, LARGEST_EXACT, branching=self.branching)
        if self.rows is None and self.nodes(self.height) > LARGEST_EXACT:
            raise ValueError("expected `rows` for levels too large to count exactly")

    @property
    def height(self) -> int:
        """Number of levels, without the root."""
        height = 1
        while self.nodes(height) < self.size:
            height += 1
        return height

    def nodes(self, level: int) -> int:
        """Return the number of nodes of a level; those beyond the domain stay empty."""
        return int(self.branching**level)

    def node(self, values: ItemKeys, level: int) -> ItemKeys:
        """Return the node of every value at a level."""
        return values // np.uint64(self.branching ** (self.height - level))

    @cached_property
    def levels(self) -> tuple[SketchShape, ...]:
        """The shapes of all levels, the coarsest first."""
        return tuple(self._shape(level) for level in range(1, self.height + 1))

    def _shape(self, level: int) -> SketchShape:
        """Return a level's shape; its digest keeps it from being added to another."""
        numbers = {"size": self.size, "branching": self.branching, "level": level}
        bins = digest({"tree": self.bins, **numbers})
        if self.rows is None or self.nodes(level) <= LARGEST_EXACT:
            return SketchShape(SketchKind.EXACT, 1, self.nodes(level), 0, bins)
        depth, width, seed = self.rows.depth, self.rows.width, self.rows.seed
        return SketchShape(SketchKind.COUNT_SKETCH, depth, width, seed, bins)


@dataclass(frozen=True, eq=False)
class RangeTree:
    """Counts of all nodes, in a table for every level, the coarsest first.

    Guarantees:
        The sum of trees is the tree of all their items, to the bit.
        A node of an exact level is the sum of its children where those are exact.
    """

    shape: TreeShape
    levels: tuple[CountTable, ...]

    def __post_init__(self) -> None:
        if tuple(table.shape for table in self.levels) != self.shape.levels:
            raise ValueError("expected a table of the right shape for every level")

    @classmethod
    def build(
        cls, shape: TreeShape, values: ItemKeys, counts: Integers | None = None
    ) -> Self:
        """Count values 0 ... size - 1, each once or as often as `counts` says."""
        if values.size and int(values.max()) >= shape.size:
            what = "a value lies outside the declared domain"
            raise DataError([Problem("tree", what, "declare it, or leave it out")])
        tables = (
            _kind(level).build(level, shape.node(values, at), counts)
            for at, level in enumerate(shape.levels, start=1)
        )
        return cls(shape, tuple(tables))

    def add(self, other: "RangeTree", where: str = "tree") -> Self:
        """Return the sum of two trees of one shape; `where` names the second."""
        if len(other.levels) != self.shape.height:
            what = f"the tree has {len(other.levels)} levels, not {self.shape.height}"
            hint = "declare the same tree at all sites"
            raise DataError([Problem(where, what, hint)])
        both = zip(self.levels, other.levels, strict=True)
        added = tuple(ours.add(theirs, where) for ours, theirs in both)
        return type(self)(self.shape, added)

    def to_bytes(self) -> bytes:
        """Return the tables of all levels, one after the other."""
        return b"".join(table.to_bytes() for table in self.levels)

    @classmethod
    def from_bytes(
        cls, data: bytes, expected: TreeShape, largest: int, where: str = "tree"
    ) -> Self:
        """Read a tree of the agreed shape from another party, named `where`.

        Guarantees:
            Bytes that are read are, written again, the same bytes.
        """
        tables, start = [], 0
        for level in expected.levels:
            end = start + HEADER_BYTES + CELL_BYTES * level.cells
            part = data[start:end]
            tables.append(_kind(level).from_bytes(part, level, largest, where))
            start = end
        if start != len(data):
            what = f"expected {start} bytes, got {len(data)}"
            raise DataError([Problem(where, what, "send the whole tree again")])
        return cls(expected, tuple(tables))


def _kind(level: SketchShape) -> type[CountTable]:
    return ExactCounts if level.kind is SketchKind.EXACT else CountSketch
