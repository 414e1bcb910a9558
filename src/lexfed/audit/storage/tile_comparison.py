# SPDX-License-Identifier: Apache-2.0
"""Comparing the tiles on disk with the tree that the entries make.

A tile can be computed from the entries, so a wrong one could simply be ignored. It is
refused all the same: other programs read the tiles and not the entries, and a tile
that someone changed is a trace.
"""

from collections.abc import Sequence

from lexfed.audit.storage.held_folder import Folder
from lexfed.audit.storage.layout import (
    CHECKPOINT,
    LogFiles,
    full_form,
    is_inside,
    partial_tiles,
)
from lexfed.audit.tree.merkle import HASH_SIZE, Tree
from lexfed.audit.tree.tiles import (
    MAX_ENTRY,
    TILE_HEIGHT,
    TILE_WIDTH,
    TileName,
    encode_bundle,
    tile_names,
)
from lexfed.errors import AuditError

MAX_TILE = TILE_WIDTH * (MAX_ENTRY + 2)
"""Bytes of the largest bundle."""


def read_tile(folder: Folder, name: TileName) -> bytes:
    """Return the content of a tile or bundle.

    Raises:
        AuditError: if it is missing.
    """
    content = folder.read(name.path, MAX_TILE)
    if content is None:
        start = name.index * TILE_WIDTH << TILE_HEIGHT * (name.level or 0)
        raise AuditError(
            f"`{folder.path / name.path}` is missing: the log is not whole from entry "
            f"{start} on",
            "get the log anew from where it was made",
        )
    return content


def check_tiles(
    folder: Folder, found: LogFiles, size: int, tree: Tree, entries: Sequence[bytes]
) -> None:
    """Check that every tile is there, is right, and has a reason to be there.

    Args:
        folder: the log.
        found: its files.
        size: what the checkpoint covers.
        tree: of all entries, those that a writer has staged among them.
        entries: all of them; the bundles of `size` were read to make them.

    Raises:
        AuditError: names the first tile that is not as it must be.
    """
    reasons = set(partial_tiles(tree.size))
    needed = set(tile_names(0, size))
    for signed in found.signed:
        for name in partial_tiles(signed):
            reasons.add(name)
            # Partial tiles stay until the full one is there [tlog-tiles]; bundles
            # of older sizes repeat what the newest one begins with.
            is_hashes = name.level is not None
            if is_hashes and signed <= size and full_form(name).path not in found.tiles:
                needed.add(name)
    present = set(found.tiles.values())
    for name in sorted({*needed, *present}, key=_reading_order):
        where = f"`{folder.path / name.path}`"
        if not is_inside(name, tree.size):
            raise AuditError(
                f"{where} is beyond the {size} entries that the checkpoint covers",
                "was an old checkpoint restored? continue from the newest copy",
            )
        if name.width < TILE_WIDTH and name not in reasons:
            raise AuditError(f"{where} belongs to no checkpoint that was signed")
        is_spare = name.level is None and name.width < TILE_WIDTH
        if is_spare and folder.read(name.path, MAX_TILE) is None:
            continue  # a writer at work removed it; what it held was read
        _compare(folder, name, read_tile(folder, name), tree, entries)


def _reading_order(name: TileName) -> tuple[int, int, int]:
    return -1 if name.level is None else name.level, name.index, name.width


def _compare(
    folder: Folder, name: TileName, content: bytes, tree: Tree, entries: Sequence[bytes]
) -> None:
    start = name.index * TILE_WIDTH
    if name.level is None:
        if content != encode_bundle(entries[start : start + name.width]):
            raise AuditError(
                f"`{folder.path / name.path}` has other entries from {start} on than "
                "the log",
            )
        return
    at = first_difference(content, tile_content(tree, name))
    if at is not None:
        raise AuditError(
            f"`{folder.path / name.path}`: hash {at} of {name.width} is not that of "
            f"the entries from {start + at << TILE_HEIGHT * name.level} on",
            "the entries match the checkpoint; only the tile was changed",
        )


def tile_content(tree: Tree, name: TileName) -> bytes:
    """Return the content that a tile of hashes must have."""
    start = name.index * TILE_WIDTH
    level = TILE_HEIGHT * (name.level or 0)
    return b"".join(tree.nodes(level, start, start + name.width))


def first_difference(stored: bytes, expected: bytes) -> int | None:
    """Return the number of the first hash that differs, None if none does."""
    if stored == expected:
        return None
    for at in range(0, len(expected), HASH_SIZE):
        if stored[at : at + HASH_SIZE] != expected[at : at + HASH_SIZE]:
            return at // HASH_SIZE
    return len(expected) // HASH_SIZE  # the stored tile is longer


def wrong_root(folder: Folder, tree: Tree) -> AuditError:
    """Return the error for entries whose root is not the one that was signed."""
    for name in tile_names(0, tree.size):
        stored = read_tile(folder, name)
        at = first_difference(stored, tile_content(tree, name))
        if at is not None and name.level == 0:
            index = name.index * TILE_WIDTH + at
            bundle = TileName(None, name.index, name.width).path
            return AuditError(
                f"entry {index} in `{folder.path / bundle}` does not match its hash in "
                f"`{name.path}`, and the checkpoint does not cover it",
                f"the entries before {index} match; compare with another copy",
            )
    return AuditError(
        f"the {tree.size} entries have root {tree.root().hex()}, which is not the root "
        f"in `{folder.path / CHECKPOINT}`",
        "entries and hashes were replaced together, or the checkpoint is another one",
    )
