# SPDX-License-Identifier: Apache-2.0
"""Arithmetic in GF(p), p = 2^61 - 1: vectors of integers in exact 64-bit words.

2^61 = 1 modulo p, so what stands above bit 61 is added to what stands below. Elements
are kept below p. Nothing here overflows a word of 64 bits:

    `evaluate`  x * point + c <= 7 (p - 1) + (p - 1) = 8 (p - 1) < 2^64
    `reduce`    (v mod 2^61) + (v >> 61) <= p + 7 < 2 p for every v < 2^64
    `times`     four terms below 2^61, 2^32, 2^61 and 2^62, together below 2^64
    sums        two elements are below 2 p < 2^62

The field is large: sums of 65,536 vectors of 44-bit integers stay below p / 2.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lexfed.arrays import Integers
from lexfed.randomness import RandomSource

PRIME = 2**61 - 1
LARGEST = PRIME // 2
"""Signed integers up to this size have their own element."""
MOST_POINTS = 7
"""Points are 1 to 7: larger ones could overflow `evaluate`."""

Residues = NDArray[np.uint64]


def reduce(words: Residues) -> Residues:
    """Return any words of 64 bits modulo p."""
    folded = (words & PRIME) + (words >> 61)
    # Below p the subtraction wraps round to more than p, and the minimum is `folded`.
    reduced: Residues = np.minimum(folded, folded - PRIME)
    return reduced


def uniform(source: RandomSource, count: int) -> Residues:
    """Draw independent elements, each uniform; the 61-bit word p is thrown away."""
    found = np.empty(0, dtype=np.uint64)
    while len(found) < count:
        words = source.words(count - len(found)) & PRIME
        found = np.concatenate((found, words[words < PRIME]))
    return found


def evaluate(coefficients: Residues, point: int) -> Residues:
    """Return the values of polynomials at a point, by Horner's rule.

    Args:
        coefficients: `[t, d]`, the constant terms first.
        point: 1 to 7.
    """
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
