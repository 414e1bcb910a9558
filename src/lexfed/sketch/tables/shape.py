# SPDX-License-Identifier: Apache-2.0
"""Shapes: the facts that two sketches must share before they are added.

Cells mean the same only if kind, size, seed, version and domain are the same. Anything
else is refused in words, before a cell is touched.
"""

import re
import struct
from dataclasses import dataclass, replace
from enum import Enum
from typing import Self

from lexfed.checks import in_range
from lexfed.errors import DataError, Problem
from lexfed.sketch.tables.hashing import MOST_COLUMNS, HashRows
from lexfed.terms import DIGEST

VERSION = 1
"""Of hashing and bytes; whatever moves an item to another cell raises it."""

_HEADER = struct.Struct("<8sHBBIQ32s")
_MAGIC = b"lexfedsk"
HEADER_BYTES = _HEADER.size


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
        kind: what cells hold.
        depth: rows; 1 for exact counts and for Bloom filters.
        width: columns; a power of two, except for exact counts, which have one for
            every value of the domain.
        seed: of the hash functions; 0 for exact counts, which have none.
        bins: SHA-256 of the declared domain, in hexadecimal (`domains.*.digest`).
        version: of hashing and bytes.
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
        """The hash functions.

        Raises:
            ValueError: for exact counts, which have none.
        """
        if self.kind is SketchKind.EXACT:
            raise ValueError("exact counts are not hashed")
        return HashRows(self.seed, self.depth, self.width)

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.depth * self.width

    def folded(self) -> Self:
        """Return the shape of half the width.

        Raises:
            ValueError: for exact counts, and for a table of one column.
        """
        if self.kind is SketchKind.EXACT:
            raise ValueError("exact counts cannot be folded: bins would be mixed")
        if self.width == 1:
            raise ValueError("a table of one column cannot be folded")
        return replace(self, width=self.width // 2)

    def check_same(self, other: "SketchShape", where: str = "sketch") -> None:
        """Refuse a sketch, named `where`, that cannot be added to one of this shape.

        Raises:
            DataError: naming every difference.
        """
        problems = [
            Problem(where, f"{said} differs: {_word(theirs)}, not {_word(ours)}", hint)
            for name, (said, hint) in _DIFFERENCES.items()
            if (theirs := getattr(other, name)) != (ours := getattr(self, name))
        ]
        if problems:
            raise DataError(problems)

    def to_bytes(self) -> bytes:
        """Return the shape as a header of fixed length."""
        return _HEADER.pack(
            _MAGIC,
            self.version,
            _KINDS.index(self.kind),
            self.depth,
            self.width,
            self.seed,
            bytes.fromhex(self.bins),
        )

    @classmethod
    def from_bytes(cls, header: bytes) -> Self:
        """Read a header.

        Guarantees:
            A header that is read is, written again, the same bytes.

        Raises:
            DataError: if it is not one that this version writes.
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


_DIFFERENCES = {
    "kind": ("the kind", "build both as the same kind"),
    "depth": ("the depth", "build both with as many rows"),
    "width": ("the width", "fold the wider one, or build both with as many columns"),
    "seed": ("the seed of the hashes", "give all sites the same seed"),
    "bins": ("the declared domain", "declare the same bins and values at all sites"),
}


def _word(value: object) -> str:
    if isinstance(value, SketchKind):
        return f"`{value.value}`"
    return f"`{value[:12]}…`" if isinstance(value, str) else str(value)


def _unreadable(what: str) -> DataError:
    hint = "take the bytes again from who built it, with this version of lexfed"
    return DataError([Problem("sketch", what, hint)])
