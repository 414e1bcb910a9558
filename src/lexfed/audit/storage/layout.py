# SPDX-License-Identifier: Apache-2.0
"""The files that the folder of a log may hold, and nothing else.

    checkpoint                    signed note: origin, size, root
    tile/entries/<N>[.p/<W>]      the entries, see `tiles`; partial, the newest only
    tile/<L>/<N>[.p/<W>]          the hashes over them
    signed/<size>                 every checkpoint that was signed, without cosignatures
    cosigned/<size>               those that witnesses cosigned, with their signatures
    stage, part                   what a writer has not finished, see `write_protocol`
    lock                          for the writer; empty
    blobs/, timestamps/           see `blobs` and `witness.time_stamps`

Whoever skips files it does not know can be shown two logs in one folder, so anything
else is refused. Folders without files are not: a writer may die after making one.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lexfed.audit.storage.held_folder import PART, Folder
from lexfed.audit.storage.writer_lock import LOCK
from lexfed.audit.tree.tiles import (
    TILE_HEIGHT,
    TILE_WIDTH,
    TileName,
    bundle_names,
    parse_path,
    tile_names,
)
from lexfed.errors import AuditError
from lexfed.signing.base64_text import parse_decimal

CHECKPOINT = "checkpoint"
SIGNED = "signed"
COSIGNED = "cosigned"
STAGE = "stage"
TILE = "tile"
BLOBS = "blobs"
TIMESTAMPS = "timestamps"

_FILES = frozenset({CHECKPOINT, LOCK, PART, STAGE})
_FOLDERS = frozenset({TILE, SIGNED, COSIGNED, BLOBS, TIMESTAMPS})
_MAX_DEPTH = 10
"""Folders below `tile` on the longest path: the level, seven groups, `.p`, and one."""


@dataclass(frozen=True)
class LogFiles:
    """The files of a log by name; nothing is said about what they hold."""

    tiles: dict[str, TileName]
    signed: tuple[int, ...]
    cosigned: tuple[int, ...]


def list_log(folder: Folder) -> LogFiles:
    """Return the files of a log that are there.

    Raises:
        AuditError: for a link, a special file, or a name no log has.
    """
    for name, is_folder in folder.listing("").items():
        if name not in (_FOLDERS if is_folder else _FILES):
            raise _unexpected(folder, name)
    for name, is_folder in folder.listing(BLOBS).items():
        if name != "sha256" or not is_folder:
            raise _unexpected(folder, f"{BLOBS}/{name}")
    tiles = {}
    for path in _files(folder, TILE, 0):
        try:
            tiles[path] = parse_path(path)
        except AuditError as error:
            raise _unexpected(folder, path) from error
    return LogFiles(tiles, _sizes(folder, SIGNED), _sizes(folder, COSIGNED))


def _sizes(folder: Folder, within: str) -> tuple[int, ...]:
    sizes = []
    for name, is_folder in folder.listing(within).items():
        if is_folder:
            raise _unexpected(folder, f"{within}/{name}")
        sizes.append(parse_decimal(name, f"`{folder.path / within}`"))
    return tuple(sorted(sizes))


def _files(folder: Folder, within: str, depth: int) -> Iterator[str]:
    if depth > _MAX_DEPTH:
        raise _unexpected(folder, within)
    for name, is_folder in folder.listing(within).items():
        path = f"{within}/{name}"
        if is_folder:
            yield from _files(folder, path, depth + 1)
        else:
            yield path


def _unexpected(folder: Folder, name: str) -> AuditError:
    return AuditError(
        f"`{folder.path}` holds {name[-100:]!a}, which is no part of a log",
        "keep other files elsewhere",
    )


def changed_tiles(old_size: int, new_size: int) -> Iterator[TileName]:
    """Yield the bundles and tiles that change when a log grows."""
    yield from bundle_names(old_size, new_size)
    yield from tile_names(old_size, new_size)


def partial_tiles(size: int) -> Iterator[TileName]:
    """Yield the bundle and the tiles at the right edge of a log that are not full."""
    if size % TILE_WIDTH:
        yield TileName(None, size // TILE_WIDTH, size % TILE_WIDTH)
    count, level = size, 0
    while count:
        if count % TILE_WIDTH:
            yield TileName(level, count // TILE_WIDTH, count % TILE_WIDTH)
        count, level = count >> TILE_HEIGHT, level + 1


def full_form(name: TileName) -> TileName:
    """Return the full tile that a partial one becomes."""
    return TileName(name.level, name.index)


def partial_folder(name: TileName) -> str:
    """Return the folder that holds the partial forms of a tile."""
    return f"{full_form(name).path}.p"


def outgrown(old_size: int, new_size: int) -> Iterator[str]:
    """Yield the folders of partial tiles that a growth has made superfluous.

    A log may remove partial tiles once the full one is there; readers of an older
    checkpoint then take the full one [tlog-tiles].
    """
    changed = set(changed_tiles(old_size, new_size))
    for name in partial_tiles(old_size):
        if full_form(name) in changed:
            yield partial_folder(name)


def repeated(tiles: Iterable[TileName], size: int) -> Iterator[TileName]:
    """Yield the partial bundles whose entries the bundle of the newest size repeats.

    A log must keep partial tiles of hashes for every size that it signed, until the
    full one is there [tlog-tiles]; they are small. Partial bundles hold the same
    entries over and over: 255 of them would be most of a long log. Whoever holds an
    older checkpoint finds its entries at the beginning of the newest bundle.
    """
    for name in tiles:
        if name.level is None and name.width < TILE_WIDTH:
            newest = size // TILE_WIDTH, size % TILE_WIDTH
            if (name.index, name.width) < newest:
                yield name


def is_inside(name: TileName, size: int) -> bool:
    """Return True if a tree of `size` entries has every hash or entry of a tile."""
    count = size >> TILE_HEIGHT * (name.level or 0)
    return name.index * TILE_WIDTH + name.width <= count
