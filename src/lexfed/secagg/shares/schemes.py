# SPDX-License-Identifier: Apache-2.0
"""Two ways to share a vector of integers among R aggregators.

`AdditiveSharing`: R - 1 aggregators get a seed of 32 bytes, the last gets the vector
minus the masks of all seeds, in Z/2^b. All R sums together give the sum.

`PolynomialSharing`: each value is the constant term of its own random polynomial of
degree t - 1 over GF(p), p = 2^61 - 1 [Sha79]; aggregator i gets the values at point i.
Any t sums give the sum, so R - t aggregators may be lost.

Both are linear: sums of shares are shares of the sum, and reveal nothing else. Seats
are 0 to R - 1; `needed` sums open the sum, and one fewer reveal nothing
(docs/theory/secure-aggregation.md#several-aggregators-instead-of-masks).

**The field.** 2^61 = 1 modulo p, so the bits above the 61st are added to those below.
Elements are kept below p. Nothing here overflows a word of 64 bits:

    `evaluate`  x * point + c <= 7 (p - 1) + (p - 1) = 8 (p - 1) < 2^64
    `reduce`    (v mod 2^61) + (v >> 61) <= p + 7 < 2 p for every v < 2^64
    `times`     four terms below 2^61, 2^32, 2^61 and 2^62, together below 2^64
    sums        two elements are below 2 p < 2^62
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lexfed.arrays import Integers
from lexfed.checks import in_range
from lexfed.errors import SecAggError
from lexfed.randomness import RandomSource
from lexfed.secagg.envelopes.key_agreement import derived_key
from lexfed.secagg.primitives.keystreams import KEY_BYTES, add_mask
from lexfed.secagg.primitives.ring import Ring

SEED = 32
_MOST_VALUES = 2**27
"""A share of 8-byte elements stays below the 2^31 - 1 bytes that AES-GCM takes."""
_ELEMENT = 8

Bytes = bytes | memoryview

PRIME = 2**61 - 1
LARGEST = PRIME // 2
"""Signed integers up to this size have their own element."""
MOST_POINTS = 7
"""Points are 1 to 7: larger ones could overflow `evaluate`."""

Residues = NDArray[np.uint64]


def _check_values(values: Integers, length: int, largest: int) -> None:
    if values.shape != (length,) or values.dtype != np.int64:
        raise SecAggError(f"expected a vector of {length} 64-bit integers")
    if int(values.min()) < -largest or int(values.max()) > largest:
        raise SecAggError(
            "a value does not fit what sums are computed in",
            "choose a smaller scale or a wider ring",
        )


@dataclass(frozen=True)
class AdditiveSharing:
    """Shares that add up to the vector; all aggregators are needed.

    Guarantees:
        The sum of all aggregators' sums is exact if its size is at most the bound.
        Any R - 1 aggregators' shares are uniform, to whoever cannot break AES.
    """

    operators: int
    ring: Ring
    length: int

    def __post_init__(self) -> None:
        in_range(2, MOST_POINTS, operators=self.operators)
        in_range(1, _MOST_VALUES, length=self.length)

    @property
    def needed(self) -> int:
        """All of them."""
        return self.operators

    @property
    def largest(self) -> int:
        """2^(bits-1) - 1."""
        return self.ring.largest

    @property
    def sum_bytes(self) -> int:
        """2, 3 or 4 for each value."""
        return self.length * self.ring.bits // 8

    def packed(self) -> bytes:
        """Return the bytes that are hashed into the agreement."""
        numbers = (self.operators, self.ring.bits, self.length)
        return b"additive" + b"".join(number.to_bytes(4, "big") for number in numbers)

    def share_bytes(self, seat: int) -> int:
        """Return 32 for all but the last aggregator."""
        return SEED if seat < self.operators - 1 else self.sum_bytes

    def split(
        self, values: Integers, context: bytes, source: RandomSource
    ) -> list[bytes]:
        """Return R - 1 seeds, and the vector minus their masks."""
        _check_values(values, self.length, self.largest)
        drawn = source.words((self.operators - 1) * SEED // 8).tobytes()
        seeds = [drawn[at : at + SEED] for at in range(0, len(drawn), SEED)]
        rest = self.ring.encode(values)
        for seed in seeds:
            add_mask(rest, _mask_key(seed, context), -1)
        return [*seeds, self.ring.pack(rest)]

    def check(self, share: bytes) -> None:
        """Every seed, and every word of the ring, is one."""

    def add(self, seat: int, shares: Iterable[bytes], context: bytes) -> bytes:
        """Return the sum of one aggregator's shares."""
        total = self.ring.zeros(self.length)
        for share in shares:
            if seat < self.operators - 1:
                add_mask(total, _mask_key(share, context), 1)
            else:
                self.ring.add(total, self.ring.unpack(share, self.length))
        return self.ring.pack(total)

    def open(self, sums: Mapping[int, Bytes], bound: int) -> Integers:
        """Return the sum of the vectors; one that left its bound is refused."""
        total = self.ring.zeros(self.length)
        for each in sums.values():
            self.ring.add(total, self.ring.unpack(each, self.length))
        return self.ring.decode(total, bound)


def _mask_key(seed: bytes, context: bytes) -> bytes:
    return derived_key(seed, context, "share for an aggregator", KEY_BYTES)


@dataclass(frozen=True)
class PolynomialSharing:
    """Shares of which t open the vector: R - t aggregators may be lost.

    Guarantees:
        Any t of R sums give the exact sum if its size is at most the bound.
        Any t - 1 shares are uniform, whatever the vector is.
    """

    operators: int
    needed: int
    length: int

    def __post_init__(self) -> None:
        in_range(2, MOST_POINTS, operators=self.operators)
        # One share that opens a vector would be the vector.
        in_range(2, self.operators, needed=self.needed)
        in_range(1, _MOST_VALUES, length=self.length)

    @property
    def largest(self) -> int:
        """2^60 - 1."""
        return LARGEST

    @property
    def sum_bytes(self) -> int:
        """8 for each value."""
        return _ELEMENT * self.length

    def packed(self) -> bytes:
        """Return the bytes that are hashed into the agreement."""
        numbers = (self.operators, self.needed, self.length)
        return b"polynomial" + b"".join(each.to_bytes(4, "big") for each in numbers)

    def share_bytes(self, seat: int) -> int:
        """Return the same for all aggregators."""
        del seat
        return self.sum_bytes

    def split(
        self, values: Integers, context: bytes, source: RandomSource
    ) -> list[bytes]:
        """Return the values of the polynomials at the points 1 to R."""
        del context  # the coefficients are fresh, no key is stretched
        _check_values(values, self.length, self.largest)
        rows = self.needed - 1
        drawn = uniform(source, rows * self.length)
        secret = from_signed(values)[None, :]
        coefficients = np.concatenate((secret, drawn.reshape(rows, self.length)))
        points = range(1, self.operators + 1)
        return [_pack(evaluate(coefficients, point)) for point in points]

    def check(self, share: bytes) -> None:
        """Refuse a share with a number that is not in the field."""
        _unpack(share)

    def add(self, seat: int, shares: Iterable[bytes], context: bytes) -> bytes:
        """Return the sum of one aggregator's shares."""
        del seat, context
        total = np.zeros(self.length, dtype=np.uint64)
        for share in shares:
            total = reduce(total + _unpack(share))
        return _pack(total)

    def open(self, sums: Mapping[int, Bytes], bound: int) -> Integers:
        """Return the sum of the vectors; one that left its bound is refused.

        Guarantees:
            If there are more than t sums, all must lie on the same polynomials.
        """
        points = [seat + 1 for seat in sums]
        rows = [_unpack(each) for each in sums.values()]
        first, shares = points[: self.needed], rows[: self.needed]
        for point, row in zip(points[self.needed :], rows[self.needed :], strict=True):
            if np.any(interpolate(first, shares, point) != row):
                raise SecAggError(
                    "the aggregators' sums contradict each other",
                    "an aggregator added wrongly, or a site dealt shares that do not "
                    "belong together: leave this round out",
                )
        values = to_signed(interpolate(first, shares, 0))
        if max(int(values.max()), -int(values.min())) > bound:
            raise SecAggError("a sum left its bound: it may have wrapped around")
        return values


SharingScheme = AdditiveSharing | PolynomialSharing


def _pack(elements: Residues) -> bytes:
    return elements.astype("<u8", copy=False).tobytes()


def _unpack(data: Bytes) -> Residues:
    elements = np.frombuffer(data, dtype="<u8").astype(np.uint64, copy=False)
    if np.any(elements >= PRIME):
        raise SecAggError("a share holds a number that is not in the field")
    return elements


def reduce(words: Residues) -> Residues:
    """Return any words of 64 bits modulo p."""
    folded = (words & PRIME) + (words >> 61)
    # Below p the subtraction wraps round to more than p, and the minimum is `folded`.
    reduced: Residues = np.minimum(folded, folded - PRIME)
    return reduced


def uniform(source: RandomSource, count: int) -> Residues:
    """Draw independent elements, each uniform; the 61-bit word p is thrown away."""
    elements = np.empty(0, dtype=np.uint64)
    while len(elements) < count:
        words = source.words(count - len(elements)) & PRIME
        elements = np.concatenate((elements, words[words < PRIME]))
    return elements


def evaluate(coefficients: Residues, point: int) -> Residues:
    """Return polynomials `[t, d]`, constant terms first, at a point (Horner's rule)."""
    if not 1 <= point <= MOST_POINTS:
        raise ValueError(f"expected a point from 1 to {MOST_POINTS}, got: {point}")
    value: Residues = coefficients[-1]
    for row in coefficients[-2::-1]:
        value = reduce(value * point + row)
    return value


def times(values: Residues, factor: int) -> Residues:
    """Return elements times one number below p, in halves of 31 bits.

    With a = a1 2^31 + a0 and b likewise, a b = 2 a1 b1 + 2^31 m + a0 b0 modulo p,
    where m = a1 b0 + a0 b1 < 2^62; of m, the bits from the 30th on pass 2^61.
    """
    high, low = values >> 31, values & (2**31 - 1)
    factor_high, factor_low = divmod(factor, 2**31)
    middle = high * factor_low + low * factor_high
    crossed = (middle >> 30) + ((middle & (2**30 - 1)) << 31)
    return reduce(high * factor_high * 2 + crossed + low * factor_low)


def interpolate(points: Sequence[int], rows: Sequence[Residues], at: int) -> Residues:
    """Return the values at `at` of polynomials through some points (Lagrange)."""
    total = np.zeros_like(rows[0])
    for point, row in zip(points, rows, strict=True):
        above, below = 1, 1
        for other in points:
            if other != point:
                above = above * (at - other) % PRIME
                below = below * (point - other) % PRIME
        total = reduce(total + times(row, above * pow(below, -1, PRIME) % PRIME))
    return total


def from_signed(values: Integers) -> Residues:
    """Return signed integers of size up to p / 2 as elements."""
    return np.where(values < 0, values + PRIME, values).astype(np.uint64)


def to_signed(elements: Residues) -> Integers:
    """Return the signed integers of smallest size that elements stand for."""
    values = elements.astype(np.int64)
    return np.where(values > LARGEST, values - PRIME, values)
