# SPDX-License-Identifier: Apache-2.0
"""The evidence in a run folder: a verified log, read as typed entries.

    <run>/log/            the tiled log, see `storage.reader`
    <run>/log/blobs/      what entries cite by digest, see `storage.blobs`
    <run>/*               files whose digests are in entries
    <run>/sealed/         receipts under a commitment, opened under confidentiality

Reading starts from keys. Whoever has a trust file or remembers the log's key brings
it; otherwise entry 0 names the key, which shows only that the log agrees with itself,
and `Evidence.trusted` is False. New keys are learned from rotation entries: the file
is first searched for them without believing anything, then every byte is verified with
what was found, then the chain from the first key to the last is checked.
"""

import binascii
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Generic, TypeVar

from lexfed.audit.entries import Entry, Genesis, KeyRotation, Party
from lexfed.audit.entries.envelopes import RecordedEntry, unseal
from lexfed.audit.entries.roster import parties_of
from lexfed.audit.log.custody import Custody, custody_of
from lexfed.audit.storage.blobs import Blobs
from lexfed.audit.storage.held_folder import Folder
from lexfed.audit.storage.layout import BLOBS, CHECKPOINT, STAGE
from lexfed.audit.storage.reader import LogView, read_log
from lexfed.audit.storage.staged_append import MAX_STAGE
from lexfed.audit.tree.checkpoint import Checkpoint
from lexfed.audit.tree.tiles import MAX_ENTRY, TILE_WIDTH, bundle_names, decode_bundle
from lexfed.errors import AuditError, RunFolderError
from lexfed.signing.notes import ED25519, VerifierKey, parse_note, verify

_MAX_NOTE = 1 << 20
_MAX_BUNDLE = TILE_WIDTH * (MAX_ENTRY + 2)
_MAX_KEYS = 100
_KEY_KINDS = (b"/genesis/v", b"/key-rotation/v")

_Kind = TypeVar("_Kind", bound=Entry)


@dataclass(frozen=True)
class IndexedEntry(Generic[_Kind]):
    """An entry of a known kind, and where it is."""

    index: int
    entry: _Kind


@dataclass(frozen=True)
class Evidence:
    """A log whose tree and checkpoint were verified, and what lies beside it.

    Signatures of entries and what entries say are not checked yet: see `verify`.

    Attributes:
        folder: the run folder.
        view: the verified log.
        records: its entries, oldest first.
        custody: whose keys sign.
        trusted: whether the log's key came from the reader, not from the log.
        blobs: what entries cite by digest.
    """

    folder: Path
    view: LogView
    records: tuple[RecordedEntry, ...]
    custody: Custody
    trusted: bool
    blobs: Blobs

    @property
    def origin(self) -> str:
        """Name of the log."""
        return self.view.signed.checkpoint.origin

    @property
    def run(self) -> str:
        """Run id: the last part of the log's name."""
        return self.origin.rsplit("/", 1)[-1]

    @property
    def genesis(self) -> Genesis:
        """Entry 0."""
        return self.of(Genesis)[0].entry

    @cached_property
    def parties(self) -> tuple[Party, ...]:
        """The parties of the run.

        Raises:
            AuditError: if the roster that entry 0 cites is missing or not sound.
        """
        return parties_of(self.genesis, self.blobs)

    def of(self, kind: type[_Kind]) -> tuple[IndexedEntry[_Kind], ...]:
        """Return the entries of a kind with their indices, oldest first."""
        return tuple(
            IndexedEntry(index, record.entry)
            for index, record in enumerate(self.records)
            if isinstance(record.entry, kind)
        )

    def last(self, kind: type[_Kind], before: int | None = None) -> _Kind | None:
        """Return the last entry of a kind, of those before an index; None if none."""
        found = [
            each.entry
            for each in self.of(kind)
            if before is None or each.index < before
        ]
        return found[-1] if found else None


def read_evidence(
    folder: Path, log_keys: Sequence[VerifierKey] | None = None
) -> Evidence:
    """Read and verify the log of a run folder.

    Args:
        folder: the run folder, or an unpacked evidence bundle.
        log_keys: keys of logs that the reader trusts; None to believe entry 0.

    Guarantees:
        Every byte of the log belongs to the tree that its checkpoint signs.
        The checkpoint is signed with the key in force at its size.
        The chain of rotations contains a trusted key, if any were given.
        Nothing is written, and nothing beside the log is read.

    Raises:
        AuditError: naming the first entry or file that is not sound.
        RunFolderError: if there is no log, or a file may not be read.
    """
    log = folder / "log"
    if not os.path.isdir(log):  # unlike Path.is_dir, it never raises
        raise RunFolderError(
            f"`{folder}` holds no log that can be opened",
            "give the folder of a run, or of an unpacked evidence bundle",
        )
    given = tuple(log_keys or ())
    keys = dict.fromkeys([*given, *_named_keys(log, needed=not given)])
    view = read_log(log, list(keys)[:_MAX_KEYS])
    records = tuple(unseal(data, index) for index, data in enumerate(view.entries))
    custody = custody_of(records)
    _check_chain(view, custody, given)
    return Evidence(
        folder=folder,
        view=view,
        records=records,
        custody=custody,
        trusted=bool(given),
        blobs=Blobs(log / BLOBS / "sha256"),
    )


def _check_chain(view: LogView, custody: Custody, given: Sequence[VerifierKey]) -> None:
    origin = view.signed.checkpoint.origin
    if given and not set(given) & set(custody.log_keys):
        raise AuditError(
            f"log `{origin}` was never signed with a key that you trust",
            "is this the log your policy is about?",
        )
    try:
        verify(view.signed.note, [custody.log_key])
    except AuditError as error:
        raise AuditError(
            f"the checkpoint is not signed with the log's key in force "
            f"({custody.log_key.key_id.hex()}): {error.message}",
            "a retired key must not sign; see the `key-rotation` entries",
        ) from error


def _named_keys(log: Path, *, needed: bool) -> list[VerifierKey]:
    """Return keys that entries name; nothing about them is verified.

    Whatever cannot be read here is left to `read_log`, whose messages say where;
    unless no key is known at all, and nothing could be verified.
    """
    keys: list[VerifierKey] = []
    problem = AuditError(
        "entry 0 is not a genesis that can be read: nothing says whose log it is",
        "name the log's key in a policy (`--policy`) to learn more",
    )
    try:
        for data in _entries(log):
            payload = _payload(data)
            if not any(kind in payload for kind in _KEY_KINDS):
                continue
            entry = unseal(data, 0).entry
            if isinstance(entry, Genesis):
                keys.append(VerifierKey.parse(entry.log))
            if isinstance(entry, KeyRotation) and entry.vkey is not None:
                keys.append(VerifierKey.parse(entry.vkey))
    except AuditError as error:
        problem = error
    keys = [key for key in keys if key.algorithm == ED25519]
    if needed and not keys:
        raise problem
    return keys


def _entries(log: Path) -> Iterator[bytes]:
    with Folder(log) as folder:
        # A writer that is interrupted while it rotates the log's key leaves a stage
        # that is signed with the new one.
        yield from _staged(folder.read(STAGE, MAX_STAGE) or b"")
        note = folder.read(CHECKPOINT, _MAX_NOTE)
        if note is None:
            raise AuditError(f"`{log / CHECKPOINT}` is missing")
        try:
            size = Checkpoint.parse(parse_note(note).body).size
        except AuditError as error:
            raise AuditError(f"`{log / CHECKPOINT}`: {error.message}") from error
        for name in bundle_names(0, size):
            content = folder.read(name.path, _MAX_BUNDLE)
            where = f"`{log / name.path}`"
            if content is None:
                raise AuditError(f"{where} is missing")
            try:
                yield from decode_bundle(content, name.width)
            except AuditError as error:
                raise AuditError(f"{where}: {error.message}") from error


def _staged(data: bytes) -> Iterator[bytes]:
    at = data.find(b"\n", data.find(b"\n\n") + 2) + 1
    while at < len(data):
        start = at + 2
        at = start + int.from_bytes(data[at:start], "big")
        yield data[start:at]


def _payload(data: bytes) -> bytes:
    # A look into the envelope, a hundred times cheaper than reading all of it.
    try:
        return binascii.a2b_base64(data[data.find(b':"') + 2 :].partition(b'"')[0])
    except ValueError:
        return b""
