# SPDX-License-Identifier: Apache-2.0
"""Signed integers in Z/2^b: encoded, added and decoded; a wrapped sum is refused.

Sums are taken modulo 2^b, b = 16, 24 or 32. The caller states a bound that every honest
sum keeps; a decoded value beyond it fails the round. So a sum S that left the bound is
noticed as long as |S| < 2^b - bound; one that went round further could come back
inside.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from lexfed.arrays import Integers
from lexfed.checks import in_range
from lexfed.errors import SecAggError

WIDTHS = (16, 24, 32)

RingWords = NDArray[np.unsignedinteger]


@dataclass(frozen=True)
class Ring:
    """The integers modulo 2^bits."""

    bits: int

    def __post_init__(self) -> None:
        if self.bits not in WIDTHS:
            raise ValueError(f"expected `bits` 16, 24 or 32, got: {self.bits}")

    @classmethod
    def for_bound(cls, bound: int) -> Self:
        """Return the smallest ring in which sums up to `bound` in size do not wrap."""
        for bits in WIDTHS:
            if cls(bits).fits(bound):
                return cls(bits)
        raise SecAggError(
            f"no ring of up to {WIDTHS[-1]} bits holds sums up to the stated bound",
            "choose a smaller scale, or a smaller clip",
        )

    @property
    def largest(self) -> int:
        """The largest size that is decoded exactly, 2^(bits-1) - 1."""
        return (1 << self.bits - 1) - 1

    @property
    def dtype(self) -> np.dtype[np.unsignedinteger]:
        """The words that hold elements: 32 bits for a ring of 24."""
        return np.dtype(np.uint16 if self.bits == 16 else np.uint32)

    def fits(self, bound: int) -> bool:
        """Return True if sums up to `bound` in size do not wrap."""
        return 0 <= bound <= self.largest

    def zeros(self, length: int) -> RingWords:
        """Return an empty sum."""
        return np.zeros(length, dtype=self.dtype)

    def encode(self, values: Integers) -> RingWords:
        """Return signed integers as ring elements; one that does not fit is refused."""
        if values.size and max(int(values.max()), -int(values.min())) > self.largest:
            raise SecAggError(
                f"a value does not fit a ring of {self.bits} bits",
                "choose a smaller scale or a wider ring",
            )
        return self.reduce(values.astype(self.dtype))  # two's complement

    def reduce(self, words: RingWords) -> RingWords:
        """Drop bits above the ring's, in place, and return the same vector."""
        if self.bits == 24:
            words &= 0xFFFFFF
        return words

    def add(self, total: RingWords, words: RingWords) -> None:
        """Add elements to a sum, in place."""
        np.add(total, words, out=total)
        self.reduce(total)

    def decode(self, words: RingWords, bound: int) -> Integers:
        """Return the signed integers that elements stand for.

        Guarantees:
            Exact if the true sizes are at most `bound`.
            A true size S with bound < S < 2^bits - bound is refused, never clipped.
        """
        in_range(0, self.largest, bound=bound)
        # Shift the sign bit to the top, read it as signed, shift it back.
        wide = self.dtype.itemsize * 8
        lift = wide - self.bits
        signed = (words << lift).view(np.dtype(f"i{wide // 8}")) >> lift
        values = signed.astype(np.int64)
        if values.size and max(int(values.max()), -int(values.min())) > bound:
            raise SecAggError(
                "a sum left its bound: it may have wrapped around",
                "leave this round out; check scale, clip and noise against the ring",
            )
        return values

    def pack(self, words: RingWords) -> bytes:
        """Return elements as little-endian bytes, 2, 3 or 4 each."""
        reduced = self.reduce(words.copy()).astype(self.dtype.newbyteorder("<"))
        if self.bits != 24:
            return reduced.tobytes()
        return reduced.view(np.uint8).reshape(-1, 4)[:, :3].tobytes()

    def unpack(self, data: bytes | memoryview, length: int) -> RingWords:
        """Read elements; data of another length is refused."""
        if len(data) != length * self.bits // 8:
            raise SecAggError(
                f"expected {length} elements of {self.bits} bits, got {len(data)} bytes"
            )
        raw = np.frombuffer(data, dtype=np.uint8)
        if self.bits != 24:
            return raw.view(self.dtype.newbyteorder("<")).astype(self.dtype)
        wide = np.zeros((length, 4), dtype=np.uint8)
        wide[:, :3] = raw.reshape(-1, 3)
        return wide.view("<u4").reshape(-1).astype(self.dtype)
