# SPDX-License-Identifier: Apache-2.0
"""Two ways to share a vector of integers among R aggregators.

`AdditiveSharing`: R - 1 aggregators get a seed of 32 bytes, the last gets the vector
minus the masks of all seeds, in Z/2^b. All R sums together give the sum.

    Any R - 1 learn nothing. Without the last, they hold seeds that are drawn without
    a look at the vector. With the last but without one seed, the missing mask is, as
    far as anybody can compute, uniform (AES-128 as a PRG, HKDF-SHA256 as a PRF); so
    is the last share. A simulator that draws everything uniformly is not told apart.

`PolynomialSharing`: each value is the constant term of its own random polynomial of
degree t - 1 over GF(2^61 - 1) [Sha79]; aggregator i gets the values at point i. Any t
sums give the sum, so R - t aggregators may be lost.

    Any t - 1 learn nothing: for every vector there is exactly one choice of
    coefficients that gives them the shares they hold. A simulator draws uniform
    shares; it is exact up to the generator that the coefficients come from.

Both are linear: sums of shares are shares of the sum, and tell nothing but it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from lexfed.arrays import Integers
from lexfed.checks import in_range
from lexfed.errors import SecAggError
from lexfed.randomness import RandomSource
from lexfed.secagg.envelopes.key_agreement import derived_key
from lexfed.secagg.primitives.keystreams import KEY_BYTES, add_mask
from lexfed.secagg.primitives.ring import Ring
from lexfed.secagg.shares import mersenne_field
from lexfed.secagg.shares.mersenne_field import MOST_POINTS, PRIME

SEED = 32
_MOST_VALUES = 2**27
"""A share of 8-byte elements stays below the 2^31 - 1 bytes that AES-GCM takes."""
_ELEMENT = 8

Bytes = bytes | memoryview


class SharingScheme(Protocol):
    """A way to share vectors. Seats of aggregators are 0 to R - 1."""

    @property
    def operators(self) -> int:
        """Number of aggregators, R."""
        ...

    @property
    def length(self) -> int:
        """Number of values in a vector."""
        ...

    @property
    def needed(self) -> int:
        """Number of aggregators' sums that open the sum; one fewer learn nothing."""
        ...

    @property
    def largest(self) -> int:
        """The largest size of a sum that is decoded exactly."""
        ...

    @property
    def sum_bytes(self) -> int:
        """The length of an aggregator's sum."""
        ...

    def packed(self) -> bytes:
        """Return the bytes that are hashed into what all agree on."""
        ...

    def share_bytes(self, seat: int) -> int:
        """Return the length of an aggregator's share."""
        ...

    def split(
        self, values: Integers, context: bytes, source: RandomSource
    ) -> list[bytes]:
        """Return one share for each aggregator."""
        ...

    def check(self, share: bytes) -> None:
        """Refuse a share that is no vector of elements."""
        ...

    def add(self, seat: int, shares: Iterable[bytes], context: bytes) -> bytes:
        """Return the sum of one aggregator's shares."""
        ...

    def open(self, sums: Mapping[int, Bytes], bound: int) -> Integers:
        """Return the sum of the vectors, from enough aggregators' sums by seat."""
        ...


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
        """Return the bytes that are hashed into what all agree on."""
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
        """Return the sum of the vectors.

        Raises:
            SecAggError: if it left its bound.
        """
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
        return mersenne_field.LARGEST

    @property
    def sum_bytes(self) -> int:
        """8 for each value."""
        return _ELEMENT * self.length

    def packed(self) -> bytes:
        """Return the bytes that are hashed into what all agree on."""
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
        drawn = mersenne_field.uniform(source, rows * self.length)
        secret = mersenne_field.from_signed(values)[None, :]
        coefficients = np.concatenate((secret, drawn.reshape(rows, self.length)))
        points = range(1, self.operators + 1)
        return [_pack(mersenne_field.evaluate(coefficients, point)) for point in points]

    def check(self, share: bytes) -> None:
        """Refuse a share with a number that is not in the field."""
        _unpack(share)

    def add(self, seat: int, shares: Iterable[bytes], context: bytes) -> bytes:
        """Return the sum of one aggregator's shares."""
        del seat, context
        total = np.zeros(self.length, dtype=np.uint64)
        for share in shares:
            total = mersenne_field.reduce(total + _unpack(share))
        return _pack(total)

    def open(self, sums: Mapping[int, Bytes], bound: int) -> Integers:
        """Return the sum of the vectors.

        Guarantees:
            If there are more than t sums, all must lie on the same polynomials.

        Raises:
            SecAggError: if they do not, or the sum left its bound.
        """
        points = [seat + 1 for seat in sums]
        rows = [_unpack(each) for each in sums.values()]
        first, shares = points[: self.needed], rows[: self.needed]
        for point, row in zip(points[self.needed :], rows[self.needed :], strict=True):
            if np.any(mersenne_field.interpolate(first, shares, point) != row):
                raise SecAggError(
                    "the aggregators' sums contradict each other",
                    "an aggregator added wrongly, or a site dealt shares that do not "
                    "belong together: leave this round out",
                )
        values = mersenne_field.to_signed(mersenne_field.interpolate(first, shares, 0))
        if max(int(values.max()), -int(values.min())) > bound:
            raise SecAggError("a sum left its bound: it may have wrapped around")
        return values


def _pack(elements: mersenne_field.Residues) -> bytes:
    return elements.astype("<u8", copy=False).tobytes()


def _unpack(data: Bytes) -> mersenne_field.Residues:
    elements = np.frombuffer(data, dtype="<u8").astype(np.uint64, copy=False)
    if np.any(elements >= PRIME):
        raise SecAggError("a share holds a number that is not in the field")
    return elements
