# SPDX-License-Identifier: Apache-2.0
"""Hashes: the column and the sign of an item in each row of a table.

An item is a 64-bit key x. It is mixed once, then multiplied for each row r:

    z = mix(x XOR s)                the finaliser of splitmix64
    p = a_r z mod 2^64              multiply-shift, a_r odd (Dietzfelbinger et al. 1997)
    sign = first bit of p           0 is +1, 1 is -1
    column = the log2(w) bits of p after it

The mixer is a bijection: it brings no collision, and takes the order out of structured
keys, for which multiply-shift alone is only within a factor 2 of uniform. Columns are
leading bits, so the column in a table of half the width is column // 2, and signs stay.

s and all a_r come from one seed by SHA-256. The seed is public: privacy never rests on
it. Everybody whose tables are added must use the same.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from lexfed.arrays import Integers
from lexfed.checks import in_range

ItemKeys = NDArray[np.uint64]

LARGEST_SEED = 2**64 - 1
MOST_ROWS = 64
MOST_COLUMNS = 2**30

_KEY_BYTES = 8
_BLOCK = 1 << 14
# Splitmix64's own increment: 0 is a fixed point of the mixer, so no state starts there.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class HashRows:
    """The hash functions of all rows of a table, from one seed; width a power of two.

    Guarantees:
        The same seed gives the same rows on every machine.
        The first rows do not depend on how many follow.
        A column in a table of half the width is half the column.
    """

    seed: int
    depth: int
    width: int

    def __post_init__(self) -> None:
        in_range(0, LARGEST_SEED, seed=self.seed)
        in_range(1, MOST_ROWS, depth=self.depth)
        check_power_of_two(self.width)

    def columns(self, items: ItemKeys) -> Integers:
        """Return the column of every item in every row, [depth, n]."""
        return np.stack(list(self.places(items))) & (self.width - 1)

    def signs(self, items: ItemKeys) -> Integers:
        """Return the sign of every item in every row, -1 or +1, [depth, n]."""
        places = np.stack(list(self.places(items)))
        return 1 - 2 * (places >= self.width).astype(np.int64)

    def places(self, items: ItemKeys) -> Iterator[Integers]:
        """Yield, row by row, column + width [sign is -1] of every item."""
        offset, multipliers = _constants(self.seed, self.depth)
        mixed = _mix(items ^ offset)
        shift = np.uint64(64 - self.width.bit_length())
        for multiplier in multipliers:
            product = mixed * multiplier
            product >>= shift
            yield product.view(np.int64)


def check_power_of_two(width: int) -> None:
    """Raise unless a width is a power of two that a table may have."""
    in_range(1, MOST_COLUMNS, width=width)
    if width & (width - 1):
        raise ValueError(f"expected `width` to be a power of two, got: {width}")


def string_keys(values: Sequence[str]) -> ItemKeys:
    """Return 64-bit keys of strings: z = mix(z XOR word), two characters to a word.

    z starts as the mixed length, so that what fills up the last word does not matter.
    Two of n different strings share a key with probability about n^2 / 2^65: one in
    33,000 for 2^25 strings. Whoever looks for such strings will find some; like the
    seed, keys are nothing that privacy rests on.
    """
    keys = np.empty(len(values), dtype=np.uint64)
    for start in range(0, len(values), _BLOCK):
        block = slice(start, start + _BLOCK)
        keys[block] = _block_keys(values[block])
    return keys


def _block_keys(values: Sequence[str]) -> ItemKeys:
    lengths = np.fromiter(map(len, values), np.int64, len(values))
    words, shortest = (int(lengths.max()) + 1) // 2, int(lengths.min())
    keys = _mix(lengths.astype(np.uint64) + _GOLDEN)
    # Characters are 32 bits in numpy, so a word of 64 bits is two of them.
    texts = np.array(values, dtype=f"<U{max(2 * words, 2)}").view("<u8")
    for at, word in enumerate(texts.reshape(len(values), -1).T[:words]):
        longer = lengths > 2 * at if 2 * at >= shortest else slice(None)
        keys[longer] = _mix(keys[longer] ^ word[longer])
    return keys


@lru_cache
def _constants(seed: int, depth: int) -> tuple[np.uint64, tuple[np.uint64, ...]]:
    """Return s and a_1 ... a_depth."""

    def derived(purpose: str) -> int:
        text = f"lexfed sketch {purpose}".encode()
        hashed = sha256(text + seed.to_bytes(_KEY_BYTES, "little")).digest()
        return int.from_bytes(hashed[:_KEY_BYTES], "little")

    rows = (np.uint64(derived(f"row {row}") | 1) for row in range(depth))
    return np.uint64(derived("keys")), tuple(rows)


def _mix(words: ItemKeys) -> ItemKeys:
    """Apply the finaliser of splitmix64, in place."""
    for shift, multiplier in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        words ^= words >> np.uint64(shift)
        words *= np.uint64(multiplier)
    words ^= words >> np.uint64(31)
    return words
