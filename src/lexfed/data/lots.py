# SPDX-License-Identifier: Apache-2.0
"""Lots that persons draw: one number each, decided by the key and nothing else.

Dealing people out by shuffling a list would let one person's presence move everybody
else: remove one name and every later place shifts. A keyed hash of the person key
gives each person a lot of their own, so that neighbouring tables stay neighbours
after a split or a simulated partition.
"""

import hashlib
from collections.abc import Sequence

import numpy as np

from lexfed.data.table import Floats


def draw_lots(secret: bytes, keys: Sequence[str]) -> Floats:
    """Return one number in [0, 1) for each key.

    Guarantees:
        A key's number depends on `secret` and that key only.
    """
    return np.array([_lot(secret, key) for key in keys], dtype=np.float64)


def _lot(secret: bytes, key: str) -> float:
    hashed = hashlib.blake2b(
        key.encode(), digest_size=8, key=secret[:64], person=b"lexfed lots"
    )
    return (int.from_bytes(hashed.digest(), "big") >> 11) / 2.0**53
