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

>>> TileName(0, 273, 112).path, TileName(None, 1234067).path
('tile/0/273.p/112', 'tile/entries/x001/x234/067')
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lexfed.audit.tree.merkle import MAX_SIZE, Tree
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
        level, index, width = self.level, self.index, self.width
        if level is not None and not 0 <= level <= _MAX_LEVEL:
            raise AuditError(
                f"expected a tile level from 0 to {_MAX_LEVEL}, got: {level}"
            )
        if not 0 <= index <= MAX_SIZE:
            raise AuditError("expected a tile index from 0 to 2^63-1")
        if not 1 <= width <= TILE_WIDTH:
            raise AuditError(
                f"expected a tile width from 1 to {TILE_WIDTH}, got: {width}"
            )
        digits = str(index)
        digits = digits.zfill(-(-len(digits) // 3) * 3)
        groups = [f"x{digits[at : at + 3]}" for at in range(0, len(digits) - 3, 3)]
        kind = "entries" if level is None else str(level)
        path = "/".join(["tile", kind, *groups, digits[-3:]])
        return f"{path}.p/{width}" if self.is_partial else path

    @property
    def start(self) -> int:
        """The number of its first hash in the level, or of its first entry."""
        return self.index * TILE_WIDTH

    @property
    def is_partial(self) -> bool:
        """True if it is not full yet."""
        return self.width < TILE_WIDTH

    @property
    def full_form(self) -> "TileName":
        """The full tile that a partial one becomes."""
        return TileName(self.level, self.index)

    @property
    def partial_folder(self) -> str:
        """The folder that holds the partial forms of the tile."""
        return f"{self.full_form.path}.p"

    def is_inside(self, size: int) -> bool:
        """Return True if a tree of `size` entries has every hash or entry of it."""
        return self.start + self.width <= size >> TILE_HEIGHT * (self.level or 0)

    def hashes(self, tree: Tree) -> bytes:
        """Return the content that a tile of hashes must have."""
        level = TILE_HEIGHT * (self.level or 0)
        return b"".join(tree.nodes(level, self.start, self.start + self.width))

    def bundle(self, entries: Sequence[bytes]) -> bytes:
        """Return the content that a bundle must have, of all entries of the log."""
        return encode_bundle(entries[self.start : self.start + self.width])


def parse_path(path: str) -> TileName:
    """Return the tile or bundle that a path stands for.

    Guarantees:
        Accepts exactly the paths that names give.
    """
    if match := _PATH.fullmatch(path):
        kind, digits, width = match.groups()
        level = None if kind == "entries" else int(kind)
        index = int(digits.replace("x", "").replace("/", ""))
        name = TileName(level, index, int(width or TILE_WIDTH))
        if name.path == path:  # one spelling per tile: no `x000/001`, no `.p/256`
            return name
    raise AuditError(f"not the path of a tile: `{path[:100]!a}`")


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
    """Return the entries of a bundle that holds exactly `count` and nothing else."""
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


def tile_names(old_size: int, new_size: int) -> Iterator[TileName]:
    """Yield the tiles that change when a tree grows, lowest level first.

    They come one by one: a checkpoint may claim 2^63 entries, and a reader must fail
    at the first missing tile, not run out of memory.
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


def partial_tiles(size: int) -> Iterator[TileName]:
    """Yield the bundle and the tiles at the right edge of a log that are not full."""
    if size % TILE_WIDTH:
        yield TileName(None, size // TILE_WIDTH, size % TILE_WIDTH)
    count, level = size, 0
    while count:
        if count % TILE_WIDTH:
            yield TileName(level, count // TILE_WIDTH, count % TILE_WIDTH)
        count, level = count >> TILE_HEIGHT, level + 1


def outgrown(old_size: int, new_size: int) -> Iterator[str]:
    """Yield the folders of partial tiles that a growth has made superfluous.

    A log may remove partial tiles once the full one is there; readers of an older
    checkpoint then take the full one [tlog-tiles].
    """
    changed = {*bundle_names(old_size, new_size), *tile_names(old_size, new_size)}
    for name in partial_tiles(old_size):
        if name.full_form in changed:
            yield name.partial_folder


def repeated(tiles: Iterable[TileName], size: int) -> Iterator[TileName]:
    """Yield the partial bundles whose entries the bundle of the newest size repeats.

    Unlike partial tiles of hashes, which a log must keep until the full one is there
    [tlog-tiles], 255 of them would be most of a long log.
    """
    for name in tiles:
        is_older = (name.index, name.width) < divmod(size, TILE_WIDTH)
        if name.level is None and name.is_partial and is_older:
            yield name


def tile_files(tree: Tree, old_size: int, new_size: int) -> list[tuple[str, bytes]]:
    """Return path and content of the tiles that a growth writes, lowest level first."""
    return [(name.path, name.hashes(tree)) for name in tile_names(old_size, new_size)]


def bundle_files(
    entries: Sequence[bytes], old_size: int, new_size: int
) -> list[tuple[str, bytes]]:
    """Return path and content of the bundles that a growth of the log writes."""
    if len(entries) < new_size:
        raise AuditError(f"expected {new_size} entries, got: {len(entries)}")
    names = bundle_names(old_size, new_size)
    return [(name.path, name.bundle(entries)) for name in names]


def _pieces(old: int, new: int) -> Iterator[tuple[int, int]]:
    # Index and width of the tiles that hold items `old` to `new` - 1 of a level; the
    # first is written whole, since its partial form on disk was shorter.
    if old < new:
        for index in range(old // TILE_WIDTH, -(-new // TILE_WIDTH)):
            yield index, min(TILE_WIDTH, new - index * TILE_WIDTH)


def _check_growth(old: int, new: int) -> None:
    if not 0 <= old <= new <= MAX_SIZE:
        raise AuditError(f"a tree cannot grow from {old} to {new} entries")
