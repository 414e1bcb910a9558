# SPDX-License-Identifier: Apache-2.0
"""The log of one run: typed entries, appended once, durable and signed on return.

    log = AuditLog.create(folder, origin, keys)
    index = log.append(Round(...), "round/7").index      # on disk, under a checkpoint

An append may be interrupted after it became durable and before it was acknowledged.
Whoever asks again with the same key and the same content gets the entry that is there;
the same key with other content is refused, so no event is in the log twice.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from lexfed.audit.blobs import Blobs
from lexfed.audit.entries import Entry, Genesis, KeyRotation
from lexfed.audit.entries.recorded import Recorded, body_of, seal, unseal
from lexfed.audit.keys import Signer
from lexfed.audit.note import VerifierKey
from lexfed.audit.pins import write_pin
from lexfed.audit.store import Store
from lexfed.audit.tiles import MAX_ENTRY
from lexfed.errors import AuditError, RunFolderError

_Kind = TypeVar("_Kind", bound=Entry)

Clock = Callable[[], str]
Keyed = tuple[Entry, str]
"""An entry and its idempotency key."""


def utc_now() -> str:
    """Return the time, as entries write it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class LogKeys:
    """Two keys with two jobs: entries are the coordinator's, checkpoints the log's."""

    coordinator: Signer
    log: Signer


class AuditLog:
    """Appends entries; one process at a time.

    Guarantees:
        On return from `append` the entry is on disk under a signed checkpoint.
        The same key and content are appended once, however often they are asked for.
        The same key with other content is refused, and nothing is written.
        Entries are bound to this log, this run and their index.
        A key that is not the one in force does not open the log.
        The checkpoint of the last append is pinned away from the log, if a folder
        for pins was given.
    """

    def __init__(
        self,
        folder: Path,
        store: Store,
        keys: LogKeys,
        former: Sequence[VerifierKey] = (),
        pins: Path | None = None,
        clock: Clock = utc_now,
    ) -> None:
        """Use `create` or `open` instead."""
        self.folder = folder
        self.store = store
        self.origin = keys.log.name
        self.run = self.origin.rsplit("/", 1)[-1]
        self.blobs = Blobs(folder / "blobs" / "sha256")
        self.keys = keys
        self._verifiers = (keys.log.verifier, *former)
        self._pins = pins
        self._clock = clock
        self._records = [unseal(data, n) for n, data in enumerate(store.entries)]
        self._by_key = {record.key: record for record in self._records}

    @classmethod
    def create(
        cls,
        folder: Path,
        origin: str,
        keys: LogKeys,
        pins: Path | None = None,
        clock: Clock = utc_now,
    ) -> "AuditLog":
        """Make an empty log; the arguments are those of `open`."""
        store = Store.create(folder, keys.log, origin)
        return cls(folder, store, keys, (), pins, clock)

    @classmethod
    def open(
        cls,
        folder: Path,
        keys: LogKeys,
        floor: int = 0,
        former: Sequence[VerifierKey] = (),
        pins: Path | None = None,
        clock: Clock = utc_now,
    ) -> "AuditLog":
        """Open a log to append to it; everything in it is verified first.

        Args:
            folder: where it is.
            keys: of the coordinator and the log.
            floor: size that somebody else has seen; a smaller log is an old copy.
            former: keys with which checkpoints were signed before.
            pins: folder beside which every checkpoint is pinned.
            clock: gives the time.

        Raises:
            AuditError: if the log does not verify, or is smaller than `floor`.
            RunFolderError: if it is in use, or the keys are not the ones in force.
        """
        store = Store.open(folder, keys.log, floor, former)
        try:
            log = cls(folder, store, keys, former, pins, clock)
            log._check_keys()
        except BaseException:
            store.close()
            raise
        return log

    def _check_keys(self) -> None:
        if not self._records:
            return
        if coordinator_key(self._records) != self.keys.coordinator.fingerprint:
            raise RunFolderError(
                f"`{self.folder}`: the coordinator's key is not the one this "
                "log was begun with",
                "use the keys of the run (`audit.keys`)",
            )

    @property
    def records(self) -> tuple[Recorded, ...]:
        """Everything in the log, oldest first."""
        return tuple(self._records)

    @property
    def size(self) -> int:
        """Number of entries."""
        return len(self._records)

    def entries(self, kind: type[_Kind]) -> tuple[_Kind, ...]:
        """Return the entries of a kind, oldest first."""
        entries = (record.entry for record in self._records)
        return tuple(entry for entry in entries if isinstance(entry, kind))

    def append(self, entry: Entry, key: str, *cosigners: Signer) -> Recorded:
        """Append one entry; see `append_all`."""
        return self.append_all([(entry, key)], *cosigners)[0]

    def append_all(
        self, entries: Sequence[Keyed], *cosigners: Signer
    ) -> tuple[Recorded, ...]:
        """Append entries in one durable commit, and return them as recorded.

        Args:
            entries: what to append, each with its idempotency key.
            cosigners: keys that sign beside the coordinator's, for a rotation.

        Raises:
            AuditError: if a key is in the log with other content, or an entry is
                too large.
            RunFolderError: if it cannot be made durable; ask again after reopening.
        """
        sealed: list[bytes] = []
        fresh: list[Recorded] = []
        for entry, key in entries:
            if self._known(entry, key, fresh):
                continue
            before = [*self._records[-1:], *fresh[-1:]]
            index = self.size + len(fresh)
            data = seal(
                entry,
                origin=self.origin,
                run=self.run,
                index=index,
                previous=before[-1].leaf.hex() if before else "",
                key=key,
                time=self._clock(),
                signers=(self.keys.coordinator, *cosigners),
            )
            if len(data) > MAX_ENTRY:
                raise AuditError(
                    f"entry {index} (`{key}`) has {len(data)} bytes, at most "
                    f"{MAX_ENTRY} fit",
                    "put what is large into a blob",
                )
            sealed.append(data)
            fresh.append(unseal(data, index))
        if sealed:
            self.store.append(sealed)
            self.pin()
        self._records += fresh
        self._by_key.update({record.key: record for record in fresh})
        return tuple(self._by_key[key] for _, key in entries)

    def pin(self) -> None:
        """Remember the checkpoint away from the log.

        A folder that is restored from a backup would go on from there and repeat
        rounds with fresh noise; the pin tells.
        """
        if self._pins is not None:
            store = self.store
            write_pin(self._pins, store.checkpoint, store.tree, *self._verifiers)

    def _known(self, entry: Entry, key: str, fresh: Sequence[Recorded]) -> bool:
        there = {record.key: record for record in fresh}.get(key, self._by_key.get(key))
        if there is None:
            return False
        if type(there.entry) is type(entry) and body_of(there.entry) == body_of(entry):
            return True
        raise AuditError(
            f"entry {there.index} has the key `{key}` already, with other content",
            "an event is logged once; a mistake is corrected by a new entry",
        )

    def close(self) -> None:
        """Let others write; everything appended is on disk."""
        self.store.close()


def coordinator_key(records: Sequence[Recorded]) -> str:
    """Return the id of the key that signs entries after these ones.

    Raises:
        AuditError: if the first one is not a genesis.
    """
    first = records[0].entry
    if not isinstance(first, Genesis):
        raise AuditError("entry 0 is not a genesis")
    key = first.coordinator.keyid
    for record in records:
        if isinstance(record.entry, KeyRotation) and record.entry.role == "coordinator":
            key = record.entry.new.keyid
    return key
