# SPDX-License-Identifier: Apache-2.0
"""Shamir's shares [Sha79] of 32-byte secrets: t of n open one, fewer tell nothing.

A secret is 16 uniform elements of GF(65521), 255.99 bits; 65521 is the largest prime
below 2^16. Each is the constant term of its own random polynomial of degree t - 1; the
share of point x, from 1 to n, is the value there. Nobody may hold point 0.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from lexfed.arrays import Floats, Integers
from lexfed.checks import in_range
from lexfed.errors import SecAggError
from lexfed.randomness import RandomSource

PRIME = 65521
# 2^20 products of two elements below 2^16 sum to less than 2^52, and float64 holds
# every integer up to 2^53.
MAX_TERMS = 2**20
MAX_POINT = PRIME - 1
LIMBS = 16
SECRET_BYTES = 2 * LIMBS

Elements = NDArray[np.uint16]


def random_secret(source: RandomSource, count: int = 1) -> Elements:
    """Draw secrets, one row of 16 elements each."""
    return uniform(source, count * LIMBS).reshape(count, LIMBS)


def secret_bytes(secret: Elements) -> bytes:
    """Return a secret's 32 bytes, from which keys are derived."""
    return secret.astype("<u2").tobytes()


def share(secrets: Elements, t: int, n: int, source: RandomSource) -> Elements:
    """Share every secret, a row of 16 elements, among n points; t of them open it.

    Returns `[n, k, 16]`; row i belongs to point i + 1.

    Guarantees:
        Any t - 1 rows are uniform, whatever the secrets are.
    """
    in_range(1, MAX_POINT, n=n)
    in_range(1, n, t=t)
    if secrets.ndim != 2 or secrets.shape[1] != LIMBS or np.any(secrets >= PRIME):
        raise ValueError(f"expected rows of {LIMBS} field elements")
    columns = secrets.size
    coefficients = np.empty((t, columns), dtype=np.float64)
    coefficients[0] = secrets.reshape(-1)
    coefficients[1:] = uniform(source, (t - 1) * columns).reshape(t - 1, columns)
    return matmul(_powers(n, t), coefficients).reshape(n, *secrets.shape)


def points(n: int) -> Integers:
    """Return the points that n shares belong to: 1 to n."""
    return np.arange(1, n + 1, dtype=np.int64)


@lru_cache(maxsize=8)
def _powers(n: int, t: int) -> Floats:
    """Return x^j for every point x and j = 0 .. t - 1."""
    table = np.ones((n, t), dtype=np.int64)
    for j in range(1, t):
        table[:, j] = table[:, j - 1] * points(n) % PRIME
    return _frozen(table)


def reconstruct(indices: Sequence[int], shares: Elements) -> Elements:
    """Open secrets by interpolation at 0, from shares `[m, k, 16]`, one row per point.

    Too few shares, or a wrong one, give another secret and no error: the caller counts
    them first and checks the result against what was committed to. Points and numbers
    that do not exist are refused, in words that reveal no share.
    """
    points_held = tuple(indices)
    if not points_held or len(set(points_held)) != len(points_held):
        raise SecAggError("shares of one secret need points, each only once")
    if not all(1 <= index <= MAX_POINT for index in points_held):
        raise SecAggError(f"a share's point is not between 1 and {MAX_POINT}")
    if shares.ndim != 3 or shares.shape[::2] != (len(points_held), LIMBS):
        raise SecAggError(
            f"expected {len(points_held)} shares of {LIMBS} numbers per secret"
        )
    if np.any(shares >= PRIME):
        raise SecAggError(f"a share holds a number that is not below {PRIME}")
    flat = shares.reshape(len(points_held), -1).astype(np.float64)
    return matmul(_weights(points_held)[None, :], flat).reshape(shares.shape[1:])


@lru_cache(maxsize=64)
def _weights(held: tuple[int, ...]) -> Floats:
    """Return the Lagrange weights at 0: product over j of x_j / (x_j - x_i)."""
    x = np.array(held, dtype=np.int64)
    above = np.broadcast_to(x, (len(x), len(x))).copy()
    below = (x[None, :] - x[:, None]) % PRIME
    np.fill_diagonal(above, 1)
    np.fill_diagonal(below, 1)
    return _frozen(product(above) * inverse(product(below)) % PRIME)


def _frozen(table: Integers) -> Floats:
    """Return a table as float64 that nobody can change while it is remembered."""
    result = table.astype(np.float64)
    result.flags.writeable = False
    return result


def uniform(source: RandomSource, count: int) -> Elements:
    """Draw independent elements, each uniform on 0..65520.

    Words of 16 bits above that are thrown away: modulo the prime, 0..14 would be twice
    as likely as the rest.
    """
    elements = np.empty(0, dtype=np.uint16)
    while len(elements) < count:
        lacking = count - len(elements)
        words = source.words(lacking // 4 + 2).view(np.uint16)
        elements = np.concatenate((elements, words[words < PRIME]))
    return elements[:count]


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
