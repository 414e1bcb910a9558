# SPDX-License-Identifier: Apache-2.0
"""The evidence in a run folder: a verified log, read as typed entries.

Without a key that the reader brings, entry 0 names it, which shows only that the log
agrees with itself. New keys are learned from rotation entries: the file is first
searched for them without believing anything, then every byte is verified with these
keys, then the chain from the first key to the last is checked.

A `key-rotation` entry hands the job of the coordinator's key (entries) or of the log's
(checkpoints) to a new key and is signed by the coordinator in force, by the old key and
by the new one. A coordinator's key signs from the entry after it on, a log's key every
checkpoint that covers the entry.
"""

import binascii
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Generic, TypeVar

from lexfed.audit.entries import Entry, Genesis, KeyRotation, Party, PublicKeyRecord
from lexfed.audit.entries.envelopes import RecordedEntry, unseal
from lexfed.audit.entries.opening import parties_of
from lexfed.audit.storage.blobs import Blobs
from lexfed.audit.storage.held_folder import Folder
from lexfed.audit.storage.reader import LogView, read_log
from lexfed.audit.storage.write_protocol import (
    BLOBS,
    CHECKPOINT,
    MAX_NOTE,
    MAX_STAGE,
    STAGE,
    end_of_stage_head,
)
from lexfed.audit.tree.checkpoint import Checkpoint
from lexfed.audit.tree.tiles import MAX_ENTRY, TILE_WIDTH, bundle_names, decode_bundle
from lexfed.errors import AuditError, RunFolderError
from lexfed.signing.keys import fingerprint
from lexfed.signing.notes import ED25519, VerifierKey, parse_note, verify
from lexfed.signing.strict_text import decode_base64, naming

_MAX_BUNDLE = TILE_WIDTH * (MAX_ENTRY + 2)
_MAX_KEYS = 100
_KEY_KINDS = (b"/genesis/v", b"/key-rotation/v")

_Kind = TypeVar("_Kind", bound=Entry)


@dataclass(frozen=True)
class Custody:
    """The keys of a log over its life, oldest first."""

    coordinators: tuple[tuple[int, bytes], ...]
    """Raw keys that sign entries, each with the index of the first one it signs."""
    log_keys: tuple[VerifierKey, ...]
    extra: dict[int, tuple[bytes, ...]] = field(default_factory=dict)
    """Raw keys that sign an entry beside the coordinator."""

    @property
    def log_key(self) -> VerifierKey:
        """The key that signs checkpoints now."""
        return self.log_keys[-1]

    def signers(self, index: int) -> dict[str, bytes]:
        """Return the only keys that must have signed an entry: raw keys by key id."""
        [*_, current] = [key for first, key in self.coordinators if first <= index]
        keys = (current, *self.extra.get(index, ()))
        return {fingerprint(key): key for key in keys}


def custody_of(records: Sequence[RecordedEntry]) -> Custody:
    """Follow the keys of a log through its entries.

    Guarantees:
        A rotation takes over only from the key in force.
        A key's id is that of its bytes; the key of a log has the log's name.
        No signature is checked here: `signers` says which ones an entry needs.
    """
    if not records or not isinstance(records[0].entry, Genesis):
        raise AuditError("entry 0 is not a genesis: nothing says whose keys sign")
    genesis, origin = records[0].entry, records[0].origin
    coordinators = [(0, raw_key(genesis.coordinator, "entry 0, `coordinator`"))]
    log_keys = [_log_key(genesis.log, origin, "entry 0, `log`")]
    extra: dict[int, tuple[bytes, ...]] = {}
    for index, record in enumerate(records):
        entry = record.entry
        if not isinstance(entry, KeyRotation):
            continue
        where = f"entry {index}"
        new = raw_key(entry.new, f"{where}, `new`")
        signs_entries = entry.role == "coordinator"
        old = coordinators[-1][1] if signs_entries else log_keys[-1].public
        if entry.old != fingerprint(old):
            raise AuditError(f"{where}: `old` is not the {entry.role} key in force")
        if signs_entries:
            if entry.vkey is not None:
                raise AuditError(f"{where}: `vkey` is for the key of a log")
            coordinators.append((index + 1, new))
            extra[index] = (new,)
        else:
            key = _log_key(entry.vkey or "", origin, f"{where}, `vkey`")
            if key.public != new:
                raise AuditError(f"{where}: `vkey` and `new` are different keys")
            log_keys.append(key)
            extra[index] = (old, new)
    return Custody(tuple(coordinators), tuple(log_keys), extra)


def raw_key(key: PublicKeyRecord, where: str) -> bytes:
    """Return the 32 bytes of a key as entries list it."""
    raw = decode_base64(key.public, where)
    if len(raw) != 32 or fingerprint(raw) != key.keyid:
        raise AuditError(f"{where}: not an Ed25519 key, or not the one its id names")
    return raw


def _log_key(vkey: str, origin: str, where: str) -> VerifierKey:
    with naming(where):
        key = VerifierKey.parse(vkey)
    if key.name != origin or key.algorithm != ED25519:
        raise AuditError(f"{where}: not an Ed25519 key named `{origin}`")
    return key


@dataclass(frozen=True)
class IndexedEntry(Generic[_Kind]):
    """An entry of a known kind, and where it is."""

    index: int
    entry: _Kind


@dataclass(frozen=True)
class Evidence:
    """A log whose tree and checkpoint were verified, and what lies beside it.

    Signatures of entries and what entries say are not checked yet: see `verify`.
    `trusted` says whether the log's key came from the reader, not from the log.
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
        """The parties of the run; `AuditError` if the roster is missing or unsound."""
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
        entries = [e.entry for e in self.of(kind) if before is None or e.index < before]
        return entries[-1] if entries else None


def read_evidence(
    folder: Path, log_keys: Sequence[VerifierKey] | None = None
) -> Evidence:
    """Read and verify the log of a run folder, or of an unpacked evidence bundle.

    Without `log_keys`, keys of logs that the reader trusts, entry 0 is believed.

    Guarantees:
        Every byte of the log belongs to the tree that its checkpoint signs.
        The checkpoint is signed with the key in force at its size.
        The chain of rotations contains a trusted key, if any were given.
        Nothing is written, and nothing beside the log is read.
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
    blobs = Blobs(log / BLOBS / "sha256")
    return Evidence(folder, view, records, custody, bool(given), blobs)


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
        note = folder.read(CHECKPOINT, MAX_NOTE)
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
            with naming(where):
                entries = decode_bundle(content, name.width)
            yield from entries


def _staged(data: bytes) -> Iterator[bytes]:
    at = end_of_stage_head(data)
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
