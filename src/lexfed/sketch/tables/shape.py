# SPDX-License-Identifier: Apache-2.0
"""Shapes: the hash functions and other facts that sketches must share to be added.

Cells mean the same only if kind, size, seed, version and domain are the same. Any
difference is named in a refusal, before a cell is touched.

An item, a 64-bit key x, is hashed for row r to the leading bits of a_r mix(x XOR s) mod
2^64: one for the sign, then log2(w) for the column, which in a table of half the width
is column // 2 (docs/theory/sketches.md#hashes). s and all odd a_r come from one public
seed by SHA-256: privacy never rests on it.
"""

import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from hashlib import sha256
from typing import Self

import numpy as np
from numpy.typing import NDArray

from lexfed.arrays import Integers
from lexfed.checks import in_range
from lexfed.errors import DataError, Problem
from lexfed.terms import DIGEST

VERSION = 1
"""Of hashing and bytes; any change that moves an item to another cell raises it."""

_HEADER = struct.Struct("<8sHBBIQ32s")
_MAGIC = b"lexfedsk"
HEADER_BYTES = _HEADER.size


_DIFFERENCES = {
    "kind": ("the kind", "build both as the same kind"),
    "depth": ("the depth", "build both with as many rows"),
    "width": ("the width", "fold the wider one, or build both with as many columns"),
    "seed": ("the seed of the hashes", "give all sites the same seed"),
    "bins": ("the declared domain", "declare the same bins and values at all sites"),
}

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

    z starts as the mixed length, so that the padding of the last word does not matter.
    Like the seed, keys carry no privacy: an adversary can find strings that share one.
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


class SketchKind(Enum):
    """The content of cells."""

    COUNT_MIN = "count-min"
    COUNT_SKETCH = "count-sketch"
    EXACT = "exact"
    BLOOM = "bloom"


_KINDS = tuple(SketchKind)
_ONE_ROW = (SketchKind.EXACT, SketchKind.BLOOM)


@dataclass(frozen=True)
class SketchShape:
    """Everything public about a sketch; sketches of equal shape can be added.

    Attributes:
        depth: rows; 1 for exact counts and for Bloom filters.
        width: columns; a power of two, except for exact counts, which have one for
            every value of the domain.
        seed: of the hash functions; 0 for exact counts, which have none.
        bins: SHA-256 of the declared domain, in hexadecimal (`domains.*.digest`).
    """

    kind: SketchKind
    depth: int
    width: int
    seed: int
    bins: str
    version: int = VERSION

    def __post_init__(self) -> None:
        if self.version != VERSION:
            raise ValueError(f"expected `version` {VERSION}, got: {self.version}")
        if self.kind in _ONE_ROW and self.depth != 1:
            raise ValueError(f"expected `depth` 1 for `{self.kind.value}`")
        if not re.fullmatch(DIGEST, self.bins):
            raise ValueError("expected `bins` to be 64 hexadecimal digits")
        if self.kind is SketchKind.EXACT:
            in_range(1, MOST_COLUMNS, width=self.width)
            in_range(0, 0, seed=self.seed)
        else:
            HashRows(self.seed, self.depth, self.width)

    @property
    def rows(self) -> HashRows:
        """The hash functions; exact counts have none."""
        if self.kind is SketchKind.EXACT:
            raise ValueError("exact counts are not hashed")
        return HashRows(self.seed, self.depth, self.width)

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.depth * self.width

    def folded(self) -> Self:
        """Return the shape of half the width; exact counts cannot be folded."""
        if self.kind is SketchKind.EXACT:
            raise ValueError("exact counts cannot be folded: bins would be mixed")
        if self.width == 1:
            raise ValueError("a table of one column cannot be folded")
        return replace(self, width=self.width // 2)

    def check_same(self, other: "SketchShape", where: str = "sketch") -> None:
        """Refuse a sketch, named `where`, of another shape; name each difference."""
        problems = [
            Problem(where, f"{noun} differs: {_word(theirs)}, not {_word(ours)}", hint)
            for name, (noun, hint) in _DIFFERENCES.items()
            if (theirs := getattr(other, name)) != (ours := getattr(self, name))
        ]
        if problems:
            raise DataError(problems)

    def to_bytes(self) -> bytes:
        """Return the shape as a header of fixed length."""
        kind, bins = _KINDS.index(self.kind), bytes.fromhex(self.bins)
        return _HEADER.pack(
            _MAGIC, self.version, kind, self.depth, self.width, self.seed, bins
        )

    @classmethod
    def from_bytes(cls, header: bytes) -> Self:
        """Read a header, if it is one that this version writes.

        Guarantees:
            A header that is read is, written again, the same bytes.
        """
        if len(header) != HEADER_BYTES or not header.startswith(_MAGIC):
            raise _unreadable("these bytes are not a sketch")
        _, version, kind, depth, width, seed, bins = _HEADER.unpack(header)
        if version != VERSION:
            raise _unreadable(f"version {version} is not known, only {VERSION}")
        if kind >= len(_KINDS):
            raise _unreadable("its kind is not known")
        try:
            return cls(_KINDS[kind], depth, width, seed, bins.hex())
        except ValueError as error:
            raise _unreadable(str(error)) from error


def _word(value: object) -> str:
    if isinstance(value, SketchKind):
        return f"`{value.value}`"
    return f"`{value[:12]}…`" if isinstance(value, str) else str(value)


def _unreadable(what: str) -> DataError:
    hint = "take the bytes again from who built it, with this version of lexfed"
    return DataError([Problem("sketch", what, hint)])
