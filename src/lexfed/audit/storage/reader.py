# SPDX-License-Identifier: Apache-2.0
"""Reading a log: every byte is checked against the checkpoint before it is returned.

    1. list the files             what is no part of a log is refused
    2. stage, checkpoint          signatures
    3. bundles                    hashed again from the stored bytes: root of the tree
                                  = root in the checkpoint
    4. signed/<size>              signatures; each is a prefix of the tree
    5. every bundle and tile      also of older sizes, compared byte by byte

Reading takes no lock and writes nothing, so it works on a copy on a read-only disk and
beside a writer. It cannot see a folder that was put back to an older state, or that has
a twin elsewhere: pins and witnesses are for that. A wrong tile is refused although it
follows from the entries: other programs read the tiles.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lexfed.audit.storage.held_folder import LOCK, Folder
from lexfed.audit.storage.write_protocol import (
    CHECKPOINT,
    COSIGNED,
    MAX_NOTE,
    MAX_STAGE,
    SIGNED,
    STAGE,
    LogFiles,
    StagedAppend,
    list_log,
    open_stage,
)
from lexfed.audit.tree.checkpoint import SignedCheckpoint, open_checkpoint
from lexfed.audit.tree.merkle import HASH_SIZE, Tree
from lexfed.audit.tree.tiles import (
    MAX_ENTRY,
    TILE_HEIGHT,
    TILE_WIDTH,
    TileName,
    bundle_names,
    decode_bundle,
    partial_tiles,
    tile_names,
)
from lexfed.errors import AuditError
from lexfed.signing.notes import VerifierKey
from lexfed.signing.strict_text import naming

_ATTEMPTS = 5
_MAX_TILE = TILE_WIDTH * (MAX_ENTRY + 2)
"""Bytes of the largest bundle."""


@dataclass(frozen=True)
class LogView:
    """A log whose every byte was checked.

    Guarantees:
        `tree` is the tree of `entries`, and its root is the one in `signed`.
    """

    entries: Sequence[bytes]
    tree: Tree
    signed: SignedCheckpoint
    cosigned: tuple[SignedCheckpoint, ...]
    """Checkpoints of this log that witnesses cosigned, smallest first; whose
    cosignatures they carry, and whether these are sound, a policy must say."""
    stage: StagedAppend | None
    """An append that a writer has not finished; no part of the log yet."""

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.tree.size


def read_log(folder: Path, log_keys: Sequence[VerifierKey]) -> LogView:
    """Read a log and check all of it; one signature of its possible keys is enough.

    Guarantees:
        Returns only if every stored byte belongs to the tree the checkpoint signs.
        Every `signed/<size>` and `cosigned/<size>` is signed, and is a prefix of that
        tree.
        Files that are no part of a log, links among them, are refused.
        Needs no right to write.
    """
    with Folder(folder) as held:
        return read_held(held, log_keys)


def read_held(folder: Folder, log_keys: Sequence[VerifierKey]) -> LogView:
    """Read a log in a folder that is open already; see `read_log`."""
    for _ in range(_ATTEMPTS - 1):
        before = _outline(folder)
        try:
            return _read(folder, log_keys)
        except AuditError:
            # Unless a writer published, or removed partial tiles, while we read.
            if _outline(folder) == before:
                raise
    return _read(folder, log_keys)


def _outline(folder: Folder) -> tuple[bytes | None, frozenset[str]]:
    """Return the parts that change while a writer is at work: checkpoint and tiles."""
    return folder.read(CHECKPOINT, MAX_NOTE), frozenset(list_log(folder).tiles)


def _read(folder: Folder, log_keys: Sequence[VerifierKey]) -> LogView:
    # In this order a writer at work does no harm: whatever was listed is covered by
    # the stage or the checkpoint that is read afterwards.
    files = list_log(folder)
    folder.read(LOCK, 0)
    staged = folder.read(STAGE, MAX_STAGE)
    stage = None if staged is None else open_stage(staged, log_keys)
    signed = _open(folder, CHECKPOINT, log_keys)
    latest = signed.checkpoint
    # Before entries are read: those of an older checkpoint are in a newer bundle.
    known = latest.size if stage is None else max(latest.size, stage.new_size)
    for size in files.signed:
        if size > known:
            raise _older(folder, f"{SIGNED}/{size}", size, known)
    entries = list(_entries(folder, latest.size))
    tree = Tree(entries)
    if tree.root() != latest.root:
        raise wrong_root(folder, tree)
    grown, every = tree, entries
    if stage is not None:
        if stage.origin != latest.origin:
            raise AuditError(f"`stage` is of another log, `{stage.origin}`")
        stage.check(tree, entries)
        if stage.new_size > tree.size:
            every = [*entries, *stage.entries]
            grown = Tree(every)
    for size in sorted({*files.signed, latest.size}):
        _signed(folder, f"{SIGNED}/{size}", size, latest.origin, grown, log_keys)
    cosigned = tuple(
        _signed(folder, f"{COSIGNED}/{size}", size, latest.origin, grown, log_keys)
        for size in files.cosigned
    )
    check_tiles(folder, files, latest.size, grown, every)
    return LogView(entries, tree, signed, cosigned, stage)


def _open(
    folder: Folder, name: str, log_keys: Sequence[VerifierKey]
) -> SignedCheckpoint:
    where = f"`{folder.path / name}`"
    content = folder.read(name, MAX_NOTE)
    if content is None:
        raise AuditError(
            f"{where} is missing", "without it nothing says what the log must hold"
        )
    with naming(where):
        return open_checkpoint(content, *log_keys)


def _entries(folder: Folder, size: int) -> Iterator[bytes]:
    # Bundle by bundle: a checkpoint may claim 2^63 entries.
    for name in bundle_names(0, size):
        content = read_tile(folder, name)
        with naming(f"`{folder.path / name.path}`, entries from {name.start} on"):
            entries = decode_bundle(content, name.width)
        yield from entries


def _older(folder: Folder, name: str, signed: int, known: int) -> AuditError:
    return AuditError(
        f"`{folder.path / name}`: {signed} entries were signed, but only {known} are "
        "here",
        "was an old copy of the log restored? continue from the newest one",
    )


def _signed(
    folder: Folder,
    name: str,
    size: int,
    origin: str,
    tree: Tree,
    log_keys: Sequence[VerifierKey],
) -> SignedCheckpoint:
    """Return a checkpoint of the past, which the log must begin with."""
    where = f"`{folder.path / name}`"
    if size > tree.size:
        raise _older(folder, name, size, tree.size)
    note = _open(folder, name, log_keys)
    signed = note.checkpoint
    if signed.size != size or signed.origin != origin:
        raise AuditError(
            f"{where} is the checkpoint of {signed.size} entries of `{signed.origin}`"
        )
    if signed.root != tree.root(size):
        raise AuditError(
            f"{where}: the log does not begin with the {size} entries that were signed"
        )
    return note


def read_tile(folder: Folder, name: TileName) -> bytes:
    """Return the content of a tile or bundle, which must be there."""
    content = folder.read(name.path, _MAX_TILE)
    if content is None:
        start = name.start << TILE_HEIGHT * (name.level or 0)
        raise AuditError(
            f"`{folder.path / name.path}` is missing: the log is not whole from entry "
            f"{start} on",
            "get the log anew from where it was made",
        )
    return content


def check_tiles(
    folder: Folder, files: LogFiles, size: int, tree: Tree, entries: Sequence[bytes]
) -> None:
    """Check that every tile is there, is right, and has a reason to be there.

    The checkpoint covers `size` entries; tree and entries also have those that a writer
    has staged. The bundles of `size` were read to make them.
    """
    reasons = set(partial_tiles(tree.size))
    needed = set(tile_names(0, size))
    for signed in files.signed:
        for name in partial_tiles(signed):
            reasons.add(name)
            # Partial tiles stay until the full one is there [tlog-tiles]; bundles
            # of older sizes repeat what the newest one begins with.
            is_hashes = name.level is not None
            if is_hashes and signed <= size and name.full_form.path not in files.tiles:
                needed.add(name)
    for name in sorted({*needed, *files.tiles.values()}, key=_reading_order):
        where = f"`{folder.path / name.path}`"
        if not name.is_inside(tree.size):
            raise AuditError(
                f"{where} is beyond the {size} entries that the checkpoint covers",
                "was an old checkpoint restored? continue from the newest copy",
            )
        if name.is_partial and name not in reasons:
            raise AuditError(f"{where} belongs to no checkpoint that was signed")
        is_spare = name.level is None and name.is_partial
        if is_spare and folder.read(name.path, _MAX_TILE) is None:
            continue  # a writer at work removed it; what it held was read
        _compare(where, name, read_tile(folder, name), tree, entries)


def _reading_order(name: TileName) -> tuple[int, int, int]:
    return -1 if name.level is None else name.level, name.index, name.width


def _compare(
    where: str, name: TileName, content: bytes, tree: Tree, entries: Sequence[bytes]
) -> None:
    if name.level is None:
        if content != name.bundle(entries):
            raise AuditError(
                f"{where} has other entries from {name.start} on than the log"
            )
        return
    at = first_difference(content, name.hashes(tree))
    if at is not None:
        raise AuditError(
            f"{where}: hash {at} of {name.width} is not that of "
            f"the entries from {name.start + at << TILE_HEIGHT * name.level} on",
            "the entries match the checkpoint; only the tile was changed",
        )


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
        at = first_difference(stored, name.hashes(tree))
        if at is not None and name.level == 0:
            index = name.start + at
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
