# SPDX-License-Identifier: Apache-2.0
"""A durable log of byte strings: what is acknowledged survives every crash.

A store is the only writer of its folder (`WriteSession`) and appends by the steps of
`write_protocol`. An append that raised may still be in the log: the crash, or the full
disk, can have come after the checkpoint was published. Callers who must not log twice
look for their entry after reopening.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from lexfed.audit.storage import write_protocol
from lexfed.audit.storage.held_folder import LOCK, PART, Folder, WriterLock, make_folder
from lexfed.audit.storage.reader import LogView, read_held
from lexfed.audit.storage.write_protocol import (
    BLOBS,
    CHECKPOINT,
    SIGNED,
    STAGE,
    StagedAppend,
    list_log,
)
from lexfed.audit.tree.checkpoint import Checkpoint, open_checkpoint, sign
from lexfed.audit.tree.merkle import EMPTY_ROOT, Tree
from lexfed.audit.tree.tiles import (
    TILE_WIDTH,
    bundle_files,
    outgrown,
    partial_tiles,
    repeated,
    tile_files,
)
from lexfed.errors import AuditError, RunFolderError
from lexfed.signing.keys import Signer
from lexfed.signing.notes import NoteSignature, VerifierKey, parse_note


class WriteSession:
    """The right to write a log: a folder held open and locked, until the first error.

    After a failed fsync nobody can say any more what is on disk; one rule for all
    errors is easier to trust than several.

    Guarantees:
        Ends, and gives folder and lock back, with the first exception in `writing`.
        Once it has ended, `check` and `writing` refuse.
    """

    def __init__(self, path: Path) -> None:
        self.folder = Folder(path)
        self._ended = ""
        try:
            self._lock = WriterLock(self.folder)
        except BaseException:
            self.folder.close()
            raise

    def check(self) -> None:
        """Raise `RunFolderError` if the session has ended."""
        if self._ended:
            raise RunFolderError(
                f"the log in `{self.folder.path}` {self._ended}", "open it again"
            )

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the lock for a change; any exception inside ends the session."""
        self.check()
        try:
            self._lock.check()
            yield
        except BaseException as error:
            self.end(f"was closed by an error ({type(error).__name__})")
            raise

    def end(self, how: str = "was closed") -> None:
        """Give folder and lock back; does nothing the second time."""
        if not self._ended:
            self._ended = how
            self.folder.close()
            self._lock.close()


class Store:
    """The writer of a log; for one thread.

    Guarantees:
        On return from `append` the entries are on disk under a signed checkpoint.
        A crash at any moment loses nothing that was acknowledged.
        No size is ever signed with two roots.
        One store at a time has a folder.
        After an error while writing the store refuses everything; a new one, opened
        on the same folder, goes on.
        Nothing is signed while the log is shorter than `floor`.
    """

    def __init__(self, session: WriteSession, signer: Signer) -> None:
        """Use `create` or `open`."""
        self.folder = session.folder.path
        self.origin = signer.name
        self._session = session
        self._files = session.folder
        self._signer = signer
        self._log_keys: tuple[VerifierKey, ...] = (signer.verifier,)
        self._entries: list[bytes] = []
        self._tree = Tree()
        self._checkpoint = b""

    @classmethod
    def create(cls, folder: Path, signer: Signer, origin: str) -> Self:
        """Start an empty log in a folder that has none."""
        checkpoint = sign(Checkpoint(origin, 0, EMPTY_ROOT), signer)
        make_folder(folder)
        store = cls(WriteSession(folder), signer)
        with store._session.writing():
            # A first attempt may have died on the way.
            others = set(store._files.listing("")) - {LOCK, PART, BLOBS, SIGNED}
            if others or list_log(store._files).signed not in ((), (0,)):
                raise RunFolderError(
                    f"`{folder}` is not empty", "open the log that is there"
                )
            write_protocol.publish(store._files, checkpoint)
        store._checkpoint = checkpoint
        return store

    @classmethod
    def open(
        cls,
        folder: Path,
        signer: Signer,
        floor: int = 0,
        former: Sequence[VerifierKey] = (),
    ) -> Self:
        """Open a log, check all of it, and finish what a crash interrupted.

        A log smaller than `floor`, a size that a pin or a witness has seen, is refused.
        Checkpoints of before may be signed with `former` keys.
        """
        store = cls(WriteSession(folder), signer)
        store._log_keys += tuple(former)
        with store._session.writing():
            view = read_held(store._files, store._log_keys)
            if view.size < floor:
                raise AuditError(
                    f"`{folder}` has {view.size} entries, but {floor} were published",
                    "was it restored from a backup? continue from the newest copy: "
                    "signing again would make two histories",
                )
            store._resume(view)
        return store

    def _resume(self, view: LogView) -> None:
        self._entries = list(view.entries)
        self._tree = view.tree
        self._checkpoint = view.signed.note.to_bytes()
        if view.stage is not None:
            if view.stage.new_size < view.size:
                self._files.remove(STAGE)
            else:
                # Also if it was published: that may not have reached the disk.
                self._commit(view.stage, view.stage.to_bytes(self._signer))
        tiles = list_log(self._files).tiles
        for name in tiles.values():
            if name.is_partial and name.full_form.path in tiles:
                self._files.remove_folder(name.partial_folder)
        for name in repeated(tiles.values(), self._tree.size):
            if name.full_form.path not in tiles:
                self._files.remove(name.path)

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.tree.size

    @property
    def root(self) -> bytes:
        """The root of the tree."""
        return self.tree.root()

    @property
    def tree(self) -> Tree:
        """The tree, for proofs; only the store appends to it."""
        self._session.check()
        return self._tree

    @property
    def entries(self) -> Sequence[bytes]:
        """All entries, oldest first."""
        self._session.check()
        return self._entries

    @property
    def checkpoint(self) -> bytes:
        """The signed checkpoint, with the cosignatures that were added."""
        self._session.check()
        return self._checkpoint

    def append(self, entries: Sequence[bytes]) -> range:
        """Append entries in one step and return their indices.

        After a `RunFolderError` they may or may not be in the log when it is opened
        again; after an `AuditError`, for a long entry, nothing has changed.
        """
        size = self.size
        if entries:
            stage = StagedAppend(self.origin, size, self.root, tuple(entries))
            self._commit(stage, stage.to_bytes(self._signer))
        return range(size, self.size)

    def add_signatures(self, signatures: Sequence[NoteSignature]) -> None:
        """Add cosignatures to the checkpoint; one of the same key is replaced.

        The caller has checked that they cosign this checkpoint.
        """
        note = parse_note(self.checkpoint).with_signatures(signatures)
        checkpoint = note.to_bytes()
        open_checkpoint(checkpoint, *self._log_keys)
        with self._changing():
            write_protocol.replace(self._files, checkpoint)
            self._checkpoint = checkpoint

    def close(self) -> None:
        """Give the folder back; everything acknowledged is on disk already."""
        self._session.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _commit(self, stage: StagedAppend, data: bytes) -> None:
        published = self._tree.size == stage.new_size

        def checkpoint() -> bytes:
            if published:  # it may carry cosignatures by now
                return self._checkpoint
            latest = Checkpoint(stage.origin, stage.new_size, self._tree.root())
            return sign(latest, self._signer)

        with self._changing():
            for entry in () if published else stage.entries:
                self._entries.append(entry)
                self._tree.append(entry)
            sizes = stage.old_size, stage.new_size
            files = bundle_files(self._entries, *sizes) + tile_files(self._tree, *sizes)
            commit = write_protocol.commit
            self._checkpoint = commit(self._files, data, files, checkpoint)
            for folder in outgrown(*sizes):
                self._files.remove_folder(folder)
            for name in repeated(partial_tiles(stage.old_size), stage.new_size):
                if name.index == stage.new_size // TILE_WIDTH:
                    self._files.remove(name.path)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        with self._session.writing():
            stored = self._files.read(CHECKPOINT, write_protocol.MAX_NOTE)
            if stored != self._checkpoint:
                raise RunFolderError(
                    f"`{self.folder / CHECKPOINT}` was changed by somebody else",
                    "one program at a time may write a log",
                )
            yield
