# SPDX-License-Identifier: Apache-2.0
"""Count-Min, Count-Sketch, exact counts and Bloom filters: integer tables that add up.

    CountMin      S_r[column_r(x)] += 1           (Cormode and Muthukrishnan 2005)
    CountSketch   S_r[column_r(x)] += sign_r(x)   (Charikar, Chen, Farach-Colton 2002)
    ExactCounts   S_1[x] += 1                     for small domains
    BloomFilter   bit[column(x)] = 1              (Bloom 1970, with k = 1 hash)

A table of half the width is the sum of neighbouring columns. Filters have one hash
since more make noised sets less certain (docs/theory/sketches.md#hashes).
"""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from lexfed.arrays import Bools, Integers
from lexfed.errors import DataError, Problem
from lexfed.sketch.tables.shape import HEADER_BYTES, ItemKeys, SketchKind, SketchShape

LARGEST_CELL = 2**53
"""Every integer up to this is exact in float64, in which answers are computed."""

# Keys, products and places of a block stay in the cache of one core.
_BLOCK = 1 << 15
CELL_BYTES = 8


@dataclass(frozen=True, eq=False)
class CountTable:
    """A table of counts, whose `cells` [depth, width] cannot be written to.

    Guarantees:
        The sum of tables is the table of all their items, to the bit.
        Cells never wrap: a cell that would leave +-2^53 is refused.
        Memory to build one depends on its size, not on how many items there are.
    """

    kind: ClassVar[SketchKind]

    shape: SketchShape
    cells: Integers

    def __post_init__(self) -> None:
        if self.shape.kind is not self.kind:
            raise ValueError(f"expected a shape of kind `{self.kind.value}`")
        if self.cells.shape != (self.shape.depth, self.shape.width):
            raise ValueError("expected cells of [depth, width]")
        if self.cells.dtype != np.int64:
            raise ValueError(f"expected cells of int64, got: {self.cells.dtype}")
        _check_size(self.cells, LARGEST_CELL)
        self.cells.flags.writeable = False

    @classmethod
    def build(
        cls, shape: SketchShape, items: ItemKeys, counts: Integers | None = None
    ) -> Self:
        """Count items, each once or as often as `counts` says."""
        if counts is not None:
            _check_counts(items, counts)
        cells = np.zeros((shape.depth, shape.width), dtype=np.int64)
        # A histogram costs its width: blocks of wide tables are as long as they are.
        length = max(_BLOCK, shape.width)
        for start in range(0, len(items), length):
            block = slice(start, start + length)
            weights = None if counts is None else counts[block]
            _count(shape, cells, items[block], weights)
        return cls(shape, cells)

    def add(self, other: "CountTable", where: str = "sketch") -> Self:
        """Return the sum of two tables of one shape; `where` names the second."""
        self.shape.check_same(other.shape, where)
        return type(self)(self.shape, self.cells + other.cells)

    def fold(self) -> Self:
        """Return the table of half the width, in which noise has twice the variance."""
        shape = self.shape.folded()
        return type(self)(shape, self.cells[:, 0::2] + self.cells[:, 1::2])

    def to_bytes(self) -> bytes:
        """Return shape and cells, 8 bytes each, little-endian."""
        return self.shape.to_bytes() + self.cells.astype("<i8").tobytes()

    @classmethod
    def from_bytes(
        cls, data: bytes, expected: SketchShape, largest: int, where: str = "sketch"
    ) -> Self:
        """Read a table of the agreed shape from another party, named `where`.

        No honest cell is beyond `largest` in size; sums with noise have some below
        zero.

        Guarantees:
            Bytes that are read are, written again, the same bytes.
            Nothing is read of a table of another shape, however long it says it is.
        """
        expected.check_same(SketchShape.from_bytes(data[:HEADER_BYTES]), where)
        wanted = HEADER_BYTES + CELL_BYTES * expected.cells
        if len(data) != wanted:
            what = f"expected {wanted} bytes, got {len(data)}"
            raise DataError([Problem(where, what, "send the whole sketch again")])
        raw = np.frombuffer(data, "<i8", offset=HEADER_BYTES).astype(np.int64)
        _check_size(raw, min(largest, LARGEST_CELL), where)
        return cls(expected, raw.reshape(expected.depth, expected.width))


class CountMin(CountTable):
    """Counts of hashed items; every cell is at least the count of each item in it."""

    kind = SketchKind.COUNT_MIN


class CountSketch(CountTable):
    """Counts of hashed items with random signs, so that collisions cancel in mean."""

    kind = SketchKind.COUNT_SKETCH


class ExactCounts(CountTable):
    """Counts of every value of a small domain; keys are its indexes."""

    kind = SketchKind.EXACT


def _count(
    shape: SketchShape, cells: Integers, items: ItemKeys, counts: Integers | None
) -> None:
    """Add items to cells; a hashed row by one histogram over sign and column."""
    width = shape.width
    if shape.kind is SketchKind.EXACT:
        if int(items.max()) >= width:
            what = "an item lies outside the declared domain"
            raise DataError([Problem("sketch", what, "declare it, or leave it out")])
        cells[0] += _histogram(items.astype(np.int64), counts, width)
        return
    sign = -1 if shape.kind is SketchKind.COUNT_SKETCH else 1
    for row, places in zip(cells, shape.rows.places(items), strict=True):
        histogram = _histogram(places, counts, 2 * width)
        row += histogram[:width]
        row += sign * histogram[width:]


def _histogram(places: Integers, counts: Integers | None, size: int) -> Integers:
    """Return the occurrences of each place; float64 is exact for weights up to 2^53."""
    return np.bincount(places, counts, size).astype(np.int64, copy=False)


def _check_counts(items: ItemKeys, counts: Integers) -> None:
    if counts.shape != items.shape:
        raise ValueError("expected one count for every item")
    if counts.dtype != np.int64:
        raise ValueError(f"expected counts of int64, got: {counts.dtype}")
    if counts.size and int(counts.min()) < 0:
        raise ValueError("expected no count below zero")
    # In floating point the sum cannot wrap, and at this size no rounding hides it.
    if counts.sum(dtype=np.float64) > LARGEST_CELL / 2:
        raise DataError([_too_large("sketch")])


def _check_size(cells: Integers, largest: int, where: str = "sketch") -> None:
    if max(int(cells.max()), -int(cells.min())) > largest:
        raise DataError([_too_large(where)])


def _too_large(where: str) -> Problem:
    return Problem(
        where,
        "a count is larger than any honest one",
        "check items and records per person, and how many people a site may have",
    )


@dataclass(frozen=True, eq=False)
class BloomFilter:
    """The places that a set of items meets, as `bits` that cannot be written to.

    Guarantees:
        The union of filters is the filter of all their items.
        Every item that was put in is found; one that was not, by chance.
    """

    shape: SketchShape
    bits: Bools

    def __post_init__(self) -> None:
        if self.shape.kind is not SketchKind.BLOOM:
            raise ValueError("expected a shape of kind `bloom`")
        if self.bits.shape != (self.shape.width,) or self.bits.dtype != np.bool_:
            raise ValueError("expected as many bits as the shape has columns")
        self.bits.flags.writeable = False

    @classmethod
    def build(cls, shape: SketchShape, items: ItemKeys) -> Self:
        """Set the bits of items, which may occur several times."""
        bits = np.zeros(shape.width, dtype=np.bool_)
        for start in range(0, len(items), _BLOCK):
            bits[_columns(shape, items[start : start + _BLOCK])] = True
        return cls(shape, bits)

    def holds(self, items: ItemKeys) -> Bools:
        """Return True for items that may be in the set; the others are not."""
        present: Bools = self.bits[_columns(self.shape, items)]
        return present

    def union(self, other: "BloomFilter", where: str = "sketch") -> Self:
        """Return the filter of both sets; messages name the second `where`."""
        self.shape.check_same(other.shape, where)
        return type(self)(self.shape, self.bits | other.bits)

    def fold(self) -> Self:
        """Return the filter of half the width; not for flipped bits."""
        return type(self)(self.shape.folded(), self.bits[0::2] | self.bits[1::2])

    def to_bytes(self) -> bytes:
        """Return shape and bits, eight in a byte."""
        packed = np.packbits(self.bits, bitorder="little")
        return self.shape.to_bytes() + packed.tobytes()

    @classmethod
    def from_bytes(
        cls, data: bytes, expected: SketchShape, where: str = "sketch"
    ) -> Self:
        """Read a filter of the agreed shape from another party, named `where`.

        Guarantees:
            Bytes that are read are, written again, the same bytes.
        """
        expected.check_same(SketchShape.from_bytes(data[:HEADER_BYTES]), where)
        packed = np.frombuffer(data, np.uint8, offset=HEADER_BYTES)
        if len(packed) != -(-expected.width // 8):
            what = f"expected {expected.width} bits, got {len(packed)} bytes"
            raise DataError([Problem(where, what, "send the whole filter again")])
        bits = np.unpackbits(packed, bitorder="little").astype(np.bool_)
        if bits[expected.width :].any():
            what = "there are bits beyond the last column"
            raise DataError([Problem(where, what, "send the filter as it was written")])
        return cls(expected, bits[: expected.width])


def _columns(shape: SketchShape, items: ItemKeys) -> Integers:
    columns: Integers = shape.rows.columns(items)[0]
    return columns
