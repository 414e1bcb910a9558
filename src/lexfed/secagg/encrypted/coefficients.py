# SPDX-License-Identifier: Apache-2.0
"""Ciphertexts as plain numbers, for which nobody needs TenSEAL.

A ciphertext is two polynomials with N coefficients modulo q. They travel as unsigned
integers of fixed width. So lengths are known before a message comes, everything that
is not below q is refused, and adding is adding modulo q. What reaches the parser of
SEAL is written by ourselves around numbers that have been checked.
"""

import numpy as np
from numpy.typing import NDArray

from lexfed.errors import SecAggError
from lexfed.secagg.encrypted.terms import DEGREE, Moduli

Coefficients = NDArray[np.uint64]
"""One row of 2N for each ciphertext."""


def zeros(blocks: int) -> Coefficients:
    """Return an empty sum."""
    return np.zeros((blocks, 2 * DEGREE), dtype=np.uint64)


def pack(rows: Coefficients, moduli: Moduli) -> bytes:
    """Return coefficients as little-endian bytes, 5 to 8 each."""
    raw = rows.astype("<u8", copy=False).view(np.uint8).reshape(-1, 8)
    return raw[:, : moduli.width].tobytes()


def unpack(data: bytes | memoryview, moduli: Moduli, whose: str) -> Coefficients:
    """Read coefficients whose number of bytes has been checked.

    Guarantees:
        Every coefficient is below q.

    Raises:
        SecAggError: if one is not.
    """
    raw = np.frombuffer(data, dtype=np.uint8).reshape(-1, moduli.width)
    wide = np.zeros((len(raw), 8), dtype=np.uint8)
    wide[:, : moduli.width] = raw
    rows = wide.view("<u8").astype(np.uint64, copy=False).reshape(-1, 2 * DEGREE)
    if int(rows.max()) >= moduli.cipher:
        raise SecAggError(f"{whose} holds a number that is not below the modulus")
    return rows


def add(total: Coefficients, rows: Coefficients, moduli: Moduli) -> None:
    """Add ciphertexts to a sum, in place."""
    np.add(total, rows, out=total)  # below 2^61
    # Where the sum is below q, taking q off goes round to something larger.
    np.minimum(total, total - np.uint64(moduli.cipher), out=total)
