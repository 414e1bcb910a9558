# SPDX-License-Identifier: Apache-2.0
"""Arithmetic in GF(65521), the largest prime field whose elements fit 16 bits.

Matrix products run in float64, where BLAS is fast, and are exact: every sum stays
below 2^53 (see `matmul`).
"""

import numpy as np
from numpy.typing import NDArray

from lexfed.arrays import Floats, Integers
from lexfed.randomness import RandomSource

PRIME = 65521
# 2^20 products of two elements below 2^16 sum to less than 2^52, and float64 holds
# every integer up to 2^53.
MAX_TERMS = 2**20

Elements = NDArray[np.uint16]


def uniform(source: RandomSource, count: int) -> Elements:
    """Draw independent elements, each uniform on 0..65520.

    Words of 16 bits above 65520 are thrown away, 15 in 65,536: to take them modulo
    the prime would make 0..14 twice as likely as the rest.
    """
    found = np.empty(0, dtype=np.uint16)
    while len(found) < count:
        lacking = count - len(found)
        words = source.words(lacking // 4 + 2).view(np.uint16)
        found = np.concatenate((found, words[words < PRIME]))
    return found[:count]


def matmul(left: Floats, right: Floats) -> Elements:
    """Multiply matrices of elements, held as float64.

    Guarantees:
        The result is exact; more than 2^20 terms per sum are refused.
    """
    if left.shape[-1] > MAX_TERMS:
        raise ValueError(f"expected at most {MAX_TERMS} terms, got: {left.shape[-1]}")
    product = (left @ right).astype(np.int64)
    return (product % PRIME).astype(np.uint16)


def product(factors: Integers) -> Integers:
    """Multiply along the last axis, in pairs, so that numpy does log2 of the steps."""
    while factors.shape[-1] > 1:
        if factors.shape[-1] % 2:
            ones = np.ones((*factors.shape[:-1], 1), dtype=np.int64)
            factors = np.concatenate((factors, ones), axis=-1)
        factors = factors[..., ::2] * factors[..., 1::2] % PRIME
    return factors[..., 0]


def inverse(values: Integers) -> Integers:
    """Return x^(p-2), the inverse of every x that is not 0 (Fermat)."""
    result = np.ones_like(values)
    power = values % PRIME
    exponent = PRIME - 2
    while exponent:
        if exponent & 1:
            result = result * power % PRIME
        power = power * power % PRIME
        exponent >>= 1
    return result
