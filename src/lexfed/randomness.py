# SPDX-License-Identifier: Apache-2.0
"""Random bits as an argument: secure for real runs, seeded for tests.

Both sources are AES-256 in counter mode. The secure one takes a fresh key from the
operating system for every request, so no state is left behind that could reveal or
repeat earlier noise. The seeded one says of itself that it is not private, and whatever
was produced with it is stamped so.
"""

import hashlib
import os
from typing import Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from lexfed.arrays import Bools


class RandomSource(Protocol):
    """The source of bits for noise and sampling coins."""

    @property
    def private(self) -> bool:
        """True if the bits can be neither predicted nor repeated."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return that many fresh, independent, uniform 64-bit words."""


def _keystream(key: bytes, nonce: bytes, count: int) -> NDArray[np.uint64]:
    cipher = Cipher(algorithms.AES(key), modes.CTR(nonce))
    stream = cipher.encryptor().update(bytes(8 * count))
    return np.frombuffer(stream, dtype="<u8").astype(np.uint64, copy=False)


class SecureSource:
    """Bits from the operating system's generator, stretched by AES-256-CTR."""

    private = True

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return fresh words under a key that is used once and forgotten."""
        return _keystream(os.urandom(32), bytes(16), count)


class SeededSource:
    """Repeatable bits for tests: NOT PRIVATE.

    Two sources with the same seed and the same name give the same words in the same
    order of requests; different names give independent streams.
    """

    private = False

    def __init__(self, seed: int, name: str = "") -> None:
        self._key = hashlib.sha256(f"lexfed test noise {seed} {name}".encode()).digest()
        self._requests = 0

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return the words of the next request."""
        nonce = self._requests.to_bytes(8, "big") + bytes(8)
        self._requests += 1
        return _keystream(self._key, nonce, count)


def bernoulli(source: RandomSource, rate: float, count: int) -> Bools:
    """Flip independent coins that show heads with probability `rate`.

    The rate is rounded down to a multiple of 2^-64, so the sampling rate that is
    charged is never below the one that is used; `rate = 1` needs no coins.

    A coin is a 64-bit number that is compared with the rate. Its first 16 bits decide
    unless they equal the rate's, so the other 48 are only drawn for one in 65,536.
    """
    if rate >= 1.0:
        return np.ones(count, dtype=bool)
    limit = int(rate * 2.0**64)
    first = source.words(-(-count // 4)).view(np.uint16)[:count]
    coins = first < limit >> 48
    tied = np.flatnonzero(first == limit >> 48)
    if len(tied):
        rest = source.words(len(tied)) >> np.uint64(16)
        coins[tied] = rest < np.uint64(limit & (2**48 - 1))
    return coins
