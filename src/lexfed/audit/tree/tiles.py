# SPDX-License-Identifier: Apache-2.0
"""The tree on disk: tiles of hashes and bundles of entries [tlog-tiles].

    tile/<L>/<N>[.p/<W>]        hash i of tile N at level L is the root of the complete
                                subtree over the entries (N*256 + i) * 256^L to
                                (N*256 + i + 1) * 256^L - 1; 32 bytes each
    tile/entries/<N>[.p/<W>]    entries N*256 to N*256 + 255, each as
                                u16 length (big-endian) || entry

    L   0 to 63
    N   groups of three digits, all but the last with an `x` before them:
        1234067 -> x001/x234/067
    W   1 to 255, only for a tile that is not full yet; never for a full one

The partial tile of level L in a tree of n entries has floor(n / 256^L) mod 256 hashes.
An empty tile is never written, and a partial tile is never hashed into the level above.

>>> tile_path(0, 273, 112)
'tile/0/273.p/112'
>>> bundle_path(1234067)
'tile/entries/x001/x234/067'
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lexfed.audit.tree.merkle import HASH_SIZE, MAX_SIZE, Tree
from lexfed.errors import AuditError

TILE_WIDTH = 256
TILE_HEIGHT = 8
MAX_ENTRY = 65535
"""The longest entry that a length of 16 bits can announce."""

_MAX_LEVEL = 63
_PATH = re.compile(
    r"tile/(entries|0|[1-9][0-9]?)/((?:x[0-9]{3}/){0,6}[0-9]{3})"
    r"(?:\.p/([1-9][0-9]{0,2}))?"
)


@dataclass(frozen=True)
class TileName:
    """The tile or bundle that a path stands for; `level` is None for a bundle."""

    level: int | None
    index: int
    width: int = TILE_WIDTH

    @property
    def path(self) -> str:
        """The path below the log's folder."""
        if self.level is None:
            return bundle_path(self.index, self.width)
        return tile_path(self.level, self.index, self.width)


def tile_path(level: int, index: int, width: int = TILE_WIDTH) -> str:
    """Return the path of a tile of hashes."""
    if not 0 <= level <= _MAX_LEVEL:
        raise AuditError(f"expected a tile level from 0 to {_MAX_LEVEL}, got: {level}")
    return f"tile/{level}/{_number(index, width)}"


def bundle_path(index: int, width: int = TILE_WIDTH) -> str:
    """Return the path of a bundle of entries."""
    return f"tile/entries/{_number(index, width)}"


def parse_path(path: str) -> TileName:
    """Return the tile or bundle that a path stands for.

    Guarantees:
        Accepts exactly the paths that `tile_path` and `bundle_path` give.

    Raises:
        AuditError: for every other text.
    """
    match = _PATH.fullmatch(path)
    if match is None:
        raise AuditError(f"not the path of a tile: `{path[:100]!a}`")
    kind, digits, width = match.groups()
    level = None if kind == "entries" else int(kind)
    index = int(digits.replace("x", "").replace("/", ""))
    name = TileName(level, index, TILE_WIDTH if width is None else int(width))
    # One spelling per tile: `x000/001`, `.p/256` and the like are refused here.
    if name.path != path:
        raise AuditError(f"not the path of a tile: `{path[:100]!a}`")
    return name


def _number(index: int, width: int) -> str:
    if not 0 <= index <= MAX_SIZE:
        raise AuditError("expected a tile index from 0 to 2^63-1")
    if not 1 <= width <= TILE_WIDTH:
        raise AuditError(f"expected a tile width from 1 to {TILE_WIDTH}, got: {width}")
    digits = str(index)
    digits = digits.zfill(-(-len(digits) // 3) * 3)
    groups = [digits[at : at + 3] for at in range(0, len(digits), 3)]
    text = "/".join([*(f"x{group}" for group in groups[:-1]), groups[-1]])
    return text if width == TILE_WIDTH else f"{text}.p/{width}"


def encode_bundle(entries: Sequence[bytes]) -> bytes:
    """Return the bytes of a bundle of 1 to 256 entries."""
    if not 1 <= len(entries) <= TILE_WIDTH:
        raise AuditError(
            f"expected 1 to {TILE_WIDTH} entries in a bundle, got: {len(entries)}"
        )
    parts = []
    for number, entry in enumerate(entries):
        if len(entry) > MAX_ENTRY:
            raise AuditError(
                f"entry {number} of the bundle has {len(entry)} bytes, more than "
                f"{MAX_ENTRY}",
                "put large content into a blob and log its digest",
            )
        parts.append(len(entry).to_bytes(2, "big") + entry)
    return b"".join(parts)


def decode_bundle(data: bytes, count: int) -> list[bytes]:
    """Return the `count` entries of a bundle.

    Raises:
        AuditError: unless the bytes hold exactly that many entries and nothing else.
    """
    entries = []
    at = 0
    for number in range(count):
        start = at + 2
        end = start + int.from_bytes(data[at:start], "big")
        if end > len(data):
            raise AuditError(
                f"bundle ends within entry {number} of {count}, at byte {len(data)}"
            )
        entries.append(data[start:end])
        at = end
    if at != len(data):
        raise AuditError(f"bundle has {len(data) - at} bytes after its {count} entries")
    return entries


def decode_tile(data: bytes, width: int) -> list[bytes]:
    """Return the `width` hashes of a tile.

    Raises:
        AuditError: unless the bytes hold exactly that many hashes.
    """
    if len(data) != width * HASH_SIZE:
        raise AuditError(
            f"expected {width * HASH_SIZE} bytes for a tile of {width} hashes, "
            f"got: {len(data)}"
        )
    return [data[at : at + HASH_SIZE] for at in range(0, len(data), HASH_SIZE)]


def tile_names(old_size: int, new_size: int) -> Iterator[TileName]:
    """Yield the tiles that change when a tree grows, lowest level first.

    From an old size of 0 these are all tiles of the tree. They come one by one: a
    checkpoint may claim 2^63 entries, and a reader must fail at the first missing
    tile, not run out of memory.
    """
    _check_growth(old_size, new_size)
    for level in range(_MAX_LEVEL + 1):
        old, new = old_size >> TILE_HEIGHT * level, new_size >> TILE_HEIGHT * level
        for index, width in _pieces(old, new):
            yield TileName(level, index, width)


def bundle_names(old_size: int, new_size: int) -> Iterator[TileName]:
    """Yield the bundles that change when a tree grows, oldest first."""
    _check_growth(old_size, new_size)
    for index, width in _pieces(old_size, new_size):
        yield TileName(None, index, width)


def tile_files(tree: Tree, old_size: int, new_size: int) -> list[tuple[str, bytes]]:
    """Return path and content of the tiles that a growth writes, lowest level first."""
    files = []
    for name in tile_names(old_size, new_size):
        level, start = name.level or 0, name.index * TILE_WIDTH
        hashes = tree.nodes(level * TILE_HEIGHT, start, start + name.width)
        files.append((name.path, b"".join(hashes)))
    return files


def bundle_files(
    entries: Sequence[bytes], old_size: int, new_size: int
) -> list[tuple[str, bytes]]:
    """Return path and content of the bundles that a growth writes.

    Args:
        entries: every entry of the tree, from number 0.
        old_size: the size before.
        new_size: the size after; `entries` must be at least that long.
    """
    if len(entries) < new_size:
        raise AuditError(f"expected {new_size} entries, got: {len(entries)}")
    return [
        (name.path, encode_bundle(entries[start : start + name.width]))
        for name in bundle_names(old_size, new_size)
        for start in [name.index * TILE_WIDTH]
    ]


def _pieces(old: int, new: int) -> Iterator[tuple[int, int]]:
    # Index and width of the tiles that hold items `old` to `new` - 1 of a level; the
    # first is written whole, since its partial form on disk was shorter.
    if old < new:
        for index in range(old // TILE_WIDTH, -(-new // TILE_WIDTH)):
            yield index, min(TILE_WIDTH, new - index * TILE_WIDTH)


def _check_growth(old: int, new: int) -> None:
    if not 0 <= old <= new <= MAX_SIZE:
        raise AuditError(f"a tree cannot grow from {old} to {new} entries")
