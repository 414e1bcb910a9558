# SPDX-License-Identifier: Apache-2.0
"""Reading a log: every byte is checked against the checkpoint before it is returned.

    1. list the files             what is no part of a log is refused, see `layout`
    2. stage, checkpoint          signatures
    3. bundles                    hashed again from the stored bytes: root of the tree
                                  = root in the checkpoint
    4. signed/<size>              signatures; each is a prefix of the tree
    5. every bundle and tile      also of older sizes, compared byte by byte

Reading takes no lock and writes nothing, so it works on a copy on a read-only disk and
beside a writer. What it cannot see: a whole folder that was put back to an older state,
or that has a twin elsewhere. Pins and witnesses are for that.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lexfed.audit.storage.held_folder import Folder
from lexfed.audit.storage.layout import CHECKPOINT, COSIGNED, SIGNED, STAGE, list_log
from lexfed.audit.storage.staged_append import MAX_STAGE, StagedAppend, open_stage
from lexfed.audit.storage.tile_comparison import check_tiles, read_tile, wrong_root
from lexfed.audit.storage.write_protocol import MAX_NOTE
from lexfed.audit.storage.writer_lock import LOCK
from lexfed.audit.tree.checkpoint import SignedCheckpoint, open_checkpoint
from lexfed.audit.tree.merkle import Tree
from lexfed.audit.tree.tiles import TILE_WIDTH, bundle_names, decode_bundle
from lexfed.errors import AuditError
from lexfed.signing.notes import VerifierKey

_ATTEMPTS = 5


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

    @property
    def leaves(self) -> tuple[bytes, ...]:
        """The hash of every entry."""
        return self.tree.leaves


def read_log(folder: Path, log_keys: Sequence[VerifierKey]) -> LogView:
    """Read a log and check all of it.

    Guarantees:
        Returns only if every stored byte belongs to the tree the checkpoint signs.
        Every `signed/<size>` and `cosigned/<size>` is signed, and is a prefix of that
        tree.
        Files that are no part of a log, links among them, are refused.
        Needs no right to write.

    Args:
        folder: the log.
        log_keys: the keys the log may sign with; one signature is enough.

    Raises:
        AuditError: names the first entry or file that is not sound.
        RunFolderError: if a file may not be read.
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
    found = list_log(folder)
    folder.read(LOCK, 0)
    staged = folder.read(STAGE, MAX_STAGE)
    stage = None if staged is None else open_stage(staged, log_keys)
    signed = _open(folder, CHECKPOINT, log_keys)
    latest = signed.checkpoint
    # Before entries are read: those of an older checkpoint are in a newer bundle.
    known = latest.size if stage is None else max(latest.size, stage.new_size)
    for size in found.signed:
        if size > known:
            raise _older(folder, f"{SIGNED}/{size}", size, known)
    entries = list(_entries(folder, latest.size))
    tree = _tree(entries)
    if tree.root() != latest.root:
        raise wrong_root(folder, tree)
    grown, every = tree, entries
    if stage is not None:
        if stage.origin != latest.origin:
            raise AuditError(f"`stage` is of another log, `{stage.origin}`")
        stage.check(tree, entries)
        if stage.new_size > tree.size:
            every = [*entries, *stage.entries]
            grown = _tree(every)
    for size in sorted({*found.signed, latest.size}):
        _signed(folder, f"{SIGNED}/{size}", size, latest.origin, grown, log_keys)
    cosigned = tuple(
        _signed(folder, f"{COSIGNED}/{size}", size, latest.origin, grown, log_keys)
        for size in found.cosigned
    )
    check_tiles(folder, found, latest.size, grown, every)
    return LogView(entries, tree, signed, cosigned, stage)


def _tree(entries: Sequence[bytes]) -> Tree:
    tree = Tree()
    for entry in entries:
        tree.append(entry)
    return tree


def _open(
    folder: Folder, name: str, log_keys: Sequence[VerifierKey]
) -> SignedCheckpoint:
    where = f"`{folder.path / name}`"
    content = folder.read(name, MAX_NOTE)
    if content is None:
        raise AuditError(
            f"{where} is missing", "without it nothing says what the log must hold"
        )
    try:
        return open_checkpoint(content, *log_keys)
    except AuditError as error:
        raise AuditError(f"{where}: {error.message}", error.hint) from error


def _entries(folder: Folder, size: int) -> Iterator[bytes]:
    # Bundle by bundle: a checkpoint may claim 2^63 entries.
    for name in bundle_names(0, size):
        content = read_tile(folder, name)
        try:
            yield from decode_bundle(content, name.width)
        except AuditError as error:
            raise AuditError(
                f"`{folder.path / name.path}`, entries from {name.index * TILE_WIDTH} "
                f"on: {error.message}",
                error.hint,
            ) from error


def _older(folder: Folder, name: str, signed: int, here: int) -> AuditError:
    return AuditError(
        f"`{folder.path / name}`: {signed} entries were signed, but only {here} are "
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
