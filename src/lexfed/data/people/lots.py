# SPDX-License-Identifier: Apache-2.0
"""Lots: one random number per person, and the choice of test persons by them.

Who is held back for testing, and who is at which simulated site, must not depend on who
else is there. So every person draws a lot of their own, by a keyed hash under a key
that is drawn for the run and stays secret. Without the key, lots of different persons
are independent coins, whatever the persons' keys are, be they only the places of rows
in a file: the coins of all others have the same law with and without a person, which is
what the proof needs (docs/theory/guarantees.md, Lemma 4).

A lot looks at no feature and no label, so the split respects the tiers. The price is
that the size of the test set is `test_size` on average, not exactly.
"""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from lexfed.arrays import Floats, Integers
from lexfed.checks import in_range
from lexfed.data.table import Table

_KEY = 32


@dataclass(frozen=True)
class LotKeys:
    """The keys under which persons draw lots; secret, and for one run only.

    `split` decides who is held back for testing, `sites` who is at which simulated
    site; `private` is true if they can be neither known nor repeated.
    """

    split: bytes = field(repr=False)
    sites: bytes = field(repr=False)
    private: bool = False

    @classmethod
    def fresh(cls) -> "LotKeys":
        """Return fresh secret keys."""
        return cls(secrets.token_bytes(_KEY), secrets.token_bytes(_KEY), private=True)

    @classmethod
    def seeded(cls, seed: int) -> "LotKeys":
        """Return the same keys for the same seed: NOT PRIVATE, for experiments."""
        return cls(
            f"split {seed}".encode(), np.random.default_rng([seed, 0x517E5]).bytes(_KEY)
        )

    def to_bytes(self) -> bytes:
        """Return fresh keys as bytes, for the holder of the rows to keep."""
        return self.split + self.sites

    @classmethod
    def from_bytes(cls, kept: bytes) -> "LotKeys":
        """Return the keys of bytes that `to_bytes` made; `ValueError` for others."""
        if len(kept) != 2 * _KEY:
            raise ValueError("not two keys")
        return cls(kept[:_KEY], kept[_KEY:], private=True)


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


@dataclass(frozen=True)
class Split:
    """Positions of the training rows and of the test rows, in ascending order.

    A side may be empty: that it is would tell something about who is there.
    """

    train: Integers
    test: Integers


def split_by_person(table: Table, test_size: float, coins: LotKeys) -> Split:
    """Return a split in which all rows of a person are on one side.

    Guarantees:
        A person's side depends on the person's key, `test_size` and `coins` only.
        Growing `test_size` moves persons from training to test, never back.
    """
    in_range(0.0, 1.0, test_size=test_size)
    drawn = draw_lots(coins.split, table.person_keys)
    held_back = (drawn < test_size)[table.persons]
    return Split(np.flatnonzero(~held_back), np.flatnonzero(held_back))
