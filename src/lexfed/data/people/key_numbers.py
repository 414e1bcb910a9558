# SPDX-License-Identifier: Apache-2.0
"""Keys of persons as numbers, the same at every site that knows a person.

A table of keys is counted by hashes of such numbers (`lexfed.sketch`). They are hashes
of the keys that people wrote, and as good to guess from: nothing rests on them being
secret, and they never leave a site.
"""

import hashlib
from collections.abc import Sequence

import numpy as np

from lexfed.arrays import Integers
from lexfed.data.table import Table

KEY_BITS = 62
_PURPOSE = b"lexfed person key\x00"


def person_keys(texts: Sequence[str]) -> Integers:
    """Return a number of 62 bits for every key.

    Guarantees:
        It depends on that key only.
    """
    return np.array([_key(text) for text in texts], dtype=np.int64)


def keys_of_rows(table: Table) -> Integers | None:
    """Return the number of each row's person; None where persons have no key.

    Without a key every row is a person of its own, and its place in a file is nothing
    that another site could know it by.
    """
    if table.schema.person is None:
        return None
    return person_keys(table.person_keys)[table.persons]


def _key(text: str) -> int:
    hashed = hashlib.sha256(_PURPOSE + text.encode()).digest()
    return int.from_bytes(hashed[:8], "big") >> (64 - KEY_BITS)
