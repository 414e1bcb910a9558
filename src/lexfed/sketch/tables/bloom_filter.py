# SPDX-License-Identifier: Apache-2.0
"""Bloom filters with one hash: which of w places a set of items meets.

    bit[column(x)] = 1 for every item x        (Bloom 1970, with k = 1)

Without noise more hashes mean fewer false answers. Under randomised response each of k
bits of an item gets only epsilon / k, and sizes of sets are far less certain for every
k > 1: at w = 65,536, sets of 10,000 that share 3,000 and epsilon 2, an intersection has
a standard deviation of 95 with k = 1 and of 676 with k = 4. So there is one hash.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from lexfed.arrays import Bools, Integers
from lexfed.errors import DataError, Problem
from lexfed.sketch.tables.hashing import ItemKeys
from lexfed.sketch.tables.shape import HEADER_BYTES, SketchKind, SketchShape

_BLOCK = 1 << 15


@dataclass(frozen=True, eq=False)
class BloomFilter:
    """The places that a set of items meets.

    Attributes:
        shape: everything public about it.
        bits: [width]; they cannot be written to.

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
        found: Bools = self.bits[_columns(self.shape, items)]
        return found

    def union(self, other: "BloomFilter", where: str = "sketch") -> Self:
        """Return the filter of both sets; `where` names the second in messages.

        Raises:
            DataError: if it has another shape.
        """
        self.shape.check_same(other.shape, where)
        return type(self)(self.shape, self.bits | other.bits)

    def fold(self) -> Self:
        """Return the filter of half the width, as if it had been built so.

        Not after randomised response: a bit of two flipped ones is set too often.
        """
        return type(self)(self.shape.folded(), self.bits[0::2] | self.bits[1::2])

    def to_bytes(self) -> bytes:
        """Return shape and bits, eight in a byte."""
        packed = np.packbits(self.bits, bitorder="little")
        return self.shape.to_bytes() + packed.tobytes()

    @classmethod
    def from_bytes(
        cls, data: bytes, expected: SketchShape, where: str = "sketch"
    ) -> Self:
        """Read a filter of the agreed shape from somebody else, named `where`.

        Guarantees:
            Bytes that are read are, written again, the same bytes.

        Raises:
            DataError: if bytes or shape are not as agreed.
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
