# SPDX-License-Identifier: Apache-2.0
"""Shamir's shares [Sha79] of 32-byte secrets: t of n open one, fewer tell nothing.

A secret is 16 uniform elements of GF(65521), 255.99 bits. Each is the constant term
of its own random polynomial of degree t - 1; the share of point x is the value there.
Points are 1 to n. The value at 0 is the secret, so nobody may hold point 0.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from lexfed.arrays import Floats, Integers
from lexfed.checks import in_range
from lexfed.errors import SecAggError
from lexfed.randomness import RandomSource
from lexfed.secagg.primitives.small_field import (
    PRIME,
    Elements,
    inverse,
    matmul,
    product,
    uniform,
)

LIMBS = 16
SECRET_BYTES = 2 * LIMBS
MAX_POINT = PRIME - 1


def random_secret(source: RandomSource, count: int = 1) -> Elements:
    """Draw secrets, one row of 16 elements each."""
    return uniform(source, count * LIMBS).reshape(count, LIMBS)


def secret_bytes(secret: Elements) -> bytes:
    """Return a secret's 32 bytes, from which keys are derived."""
    return secret.astype("<u2").tobytes()


def share(secrets: Elements, t: int, n: int, source: RandomSource) -> Elements:
    """Share every secret among n points so that t of them open it.

    Args:
        secrets: one row of 16 elements per secret.
        t: how many shares open a secret.
        n: how many shares there are.
        source: where the coefficients come from.

    Returns:
        `[n, k, 16]`; row i belongs to point i + 1.

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
    """Open secrets from shares by interpolation at 0.

    Too few shares, or a wrong one, give another secret and no error: whoever calls
    counts them first and checks the result against what was committed to.

    Args:
        indices: the point of each share, t or more of them.
        shares: `[m, k, 16]`, one row per point.

    Raises:
        SecAggError: if a point is 0, is there twice or does not exist, or a number is
            not in the field. The message tells no share.
    """
    held = tuple(indices)
    if not held or len(set(held)) != len(held):
        raise SecAggError("shares of one secret need points, each only once")
    if not all(1 <= index <= MAX_POINT for index in held):
        raise SecAggError(f"a share's point is not between 1 and {MAX_POINT}")
    if shares.ndim != 3 or shares.shape[::2] != (len(held), LIMBS):
        raise SecAggError(f"expected {len(held)} shares of {LIMBS} numbers per secret")
    if np.any(shares >= PRIME):
        raise SecAggError(f"a share holds a number that is not below {PRIME}")
    flat = shares.reshape(len(held), -1).astype(np.float64)
    return matmul(_weights(held)[None, :], flat).reshape(shares.shape[1:])


@lru_cache(maxsize=64)
def _weights(held: tuple[int, ...]) -> Floats:
    """Return the Lagrange weights at 0: product over j of x_j / (x_j - x_i).

    They depend on who answered only, and one set answers for many secrets.
    """
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
