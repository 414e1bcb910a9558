# SPDX-License-Identifier: Apache-2.0
"""The log of one run: typed entries, appended once, durable and signed on return.

    log = AuditLog.create(folder, origin, keys)
    index = log.append(Round(...), "round/7").index      # on disk, under a checkpoint

An append may be interrupted after it became durable and before it was acknowledged:
whoever asks again gets the entry that is there.

A log asks its witnesses after every commit, whoever appends. An entry is durable before
anybody is asked, and no witness can hold a run up for long: one that fails is not asked
again until somebody wants it to be. The next commit or `lexfed log cosign` catches up.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from lexfed.audit.entries import Entry, Genesis
from lexfed.audit.entries.envelopes import (
    EntryPlace,
    RecordedEntry,
    body_of,
    seal,
    unseal,
)
from lexfed.audit.entries.fields import TIME_FORMAT
from lexfed.audit.entries.opening import BlobSource
from lexfed.audit.log.evidence import custody_of
from lexfed.audit.storage.blobs import Blobs
from lexfed.audit.storage.durable_store import Store
from lexfed.audit.storage.pins import check_pin, read_pin, write_pin
from lexfed.audit.tree.checkpoint import SignedCheckpoint
from lexfed.audit.tree.tiles import MAX_ENTRY
from lexfed.audit.tree.trust_policy import parse_policy
from lexfed.audit.witness.client import (
    CheckedCosignature,
    WitnessTarget,
    gather_cosignatures,
    last_seen_checkpoint,
    targets_of,
)
from lexfed.audit.witness.time_stamps import (
    MissingTimeStamp,
    TimeStamp,
    load_roots,
    stamp,
)
from lexfed.errors import AuditError, LexfedError, RunFolderError
from lexfed.signing.keys import Signer
from lexfed.signing.notes import VerifierKey
from lexfed.toml_text import parse_toml

_Kind = TypeVar("_Kind", bound=Entry)

TIMEOUT_S = 5.0
"""For one request of at most three to a witness, during a run."""

UtcClock = Callable[[], str]
KeyedEntry = tuple[Entry, str]
"""An entry and its idempotency key."""


def utc_now() -> str:
    """Return the time, as entries write it."""
    return datetime.now(UTC).strftime(TIME_FORMAT)


@dataclass(frozen=True)
class LogKeys:
    """Two keys with two jobs: entries are the coordinator's, checkpoints the log's."""

    coordinator: Signer
    log: Signer


@dataclass
class WitnessPanel:
    """The witnesses and the time-stamp authority that are asked about checkpoints."""

    policy: bytes | None = None
    """Bytes of the policy file; None without witnesses."""
    targets: tuple[WitnessTarget, ...] = ()
    authority: tuple[str, Path] | None = None
    """Where checkpoints are time-stamped, and the certificates its tokens must lead to;
    None without time stamps."""
    failed: dict[str, str] = field(default_factory=dict)
    """Why a witness or the authority did not sign, by its name."""
    _sizes: dict[str, int] = field(default_factory=dict)

    def ask(self, log: "AuditLog", again: bool = False) -> None:
        """Have the checkpoint cosigned; ask those who failed before only if `again`."""
        targets = [t for t in self.targets if again or t.name not in self.failed]
        if not targets:
            return
        outcomes = gather_cosignatures(
            targets,
            log.store.checkpoint,
            log.store.tree,
            known_sizes=self._sizes,
            timeout_s=TIMEOUT_S,
        )
        signatures = []
        for name, outcome in outcomes.items():
            if isinstance(outcome, CheckedCosignature):
                signatures.append(outcome.signature)
                self._sizes[name] = log.size
                self.failed.pop(name, None)
            else:
                self.failed[name] = outcome.reason
        if signatures:
            log.store.add_signatures(signatures)
            log.pin()

    def seen(self, origin: str, *log_keys: VerifierKey) -> int:
        """Return the largest size of a log that a witness can prove it has seen."""
        for target in self.targets:
            last = last_seen_checkpoint(target, origin, *log_keys, timeout_s=TIMEOUT_S)
            if isinstance(last, SignedCheckpoint):
                self._sizes[target.name] = last.checkpoint.size
        return max(self._sizes.values(), default=0)

    def stamp(self, log: "AuditLog") -> None:
        """Have the checkpoint time-stamped."""
        if self.authority is None:
            return
        url, roots = self.authority
        try:
            outcome = stamp(log.folder, log.size, url, load_roots(roots))
        except LexfedError as error:  # a file was changed since the run began
            outcome = MissingTimeStamp(error.message)
        if isinstance(outcome, TimeStamp):
            self.failed.pop("time stamp", None)
        else:
            self.failed["time stamp"] = outcome.reason


def panel_named_by(genesis: Genesis, content: BlobSource) -> WitnessPanel:
    """Return the witnesses that entry 0 names, for whoever appends after the run.

    Their addresses are in the witness policy or in the configuration, blobs of the log.
    Time stamps need files beside it: `lexfed log cosign`.
    """
    if genesis.witnesses is None:
        return WitnessPanel()
    try:
        blob = content.get(genesis.witnesses)
        policy = parse_policy(blob)
        tables = parse_toml(content.get(genesis.config).decode("utf-8-sig"))
        urls = {**policy.urls, **tables.get("audit", {}).get("witnesses", {})}
    except (
        LexfedError, ValueError, TypeError, AttributeError, RecursionError,
    ) as error:  # fmt: skip
        # Erased, or of another form.
        return WitnessPanel(failed={"the witness policy": str(error)})
    return WitnessPanel(blob, targets_of(policy, urls))


class AuditLog:
    """Appends entries; one process at a time.

    Guarantees:
        On return from `append` the entry is on disk under a signed checkpoint.
        The same key and content are appended once, however often they are asked for.
        The same key with other content is refused, and nothing is written.
        Entries are bound to this log, this run and their index.
        A key that is not the one in force does not open the log.
        A log that is older than its pin, or has another history, is not opened.
        On return from `append` its checkpoint is pinned away from the log, if a
        folder for pins was given; what cannot be pinned closes the log.
        On return from `append` the witnesses in `witnessing` were asked to cosign its
        checkpoint; `witnessing.failed` says who did not.
    """

    def __init__(
        self,
        folder: Path,
        store: Store,
        keys: LogKeys,
        former: Sequence[VerifierKey] = (),
        pins: Path | None = None,
        clock: UtcClock = utc_now,
    ) -> None:
        """Use `create` or `open` instead."""
        self.folder = folder
        self.store = store
        self.origin = keys.log.name
        self.run = self.origin.rsplit("/", 1)[-1]
        self.blobs = Blobs(folder / "blobs" / "sha256")
        self.keys = keys
        self._former = tuple(former)
        self._pins = pins
        self._clock = clock
        self._records = [unseal(data, n) for n, data in enumerate(store.entries)]
        self._by_key = {record.key: record for record in self._records}
        self.witnessing = WitnessPanel()

    @classmethod
    def create(
        cls,
        folder: Path,
        origin: str,
        keys: LogKeys,
        pins: Path | None = None,
        clock: UtcClock = utc_now,
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
        clock: UtcClock = utc_now,
        successor: Signer | None = None,
    ) -> "AuditLog":
        """Open a log to append to it; everything in it is verified first.

        `floor` is a size that others have seen, `former` keys signed checkpoints of
        before, and in the folder `pins` every checkpoint is pinned. A `successor` signs
        from now on in place of the log's key; the first entry appended must say so.
        """
        signer = successor or keys.log
        known = (keys.log.verifier, *former)
        try:
            pin = None if pins is None else read_pin(pins, keys.log.name, *known)
        except AuditError as error:
            hint = (
                "was the log restored from a backup, from before its key was replaced?"
            )
            raise AuditError(error.message, error.hint or hint) from error
        if pin is not None:
            floor = max(floor, pin.checkpoint.size)
        with ExitStack() as opened:
            store = opened.enter_context(Store.open(folder, signer, floor, known))
            if pin is not None:
                check_pin(pin.checkpoint, store.origin, store.tree)
            log = cls(folder, store, keys, known, pins, clock)
            log._check_keys()
            log.keys = LogKeys(keys.coordinator, signer)
            if pin is None or pin.checkpoint.size < store.size:
                log.pin()  # a crash may have come between an append and its pin
            opened.pop_all()  # everything was sound: the store stays open
        return log

    def _check_keys(self) -> None:
        if not self._records:
            return
        custody = custody_of(self._records)
        in_force = {
            "coordinator": (custody.coordinators[-1][1], self.keys.coordinator),
            "log": (custody.log_key.public, self.keys.log),
        }
        for role, (public, signer) in in_force.items():
            if public != signer.public:
                raise RunFolderError(
                    f"`{self.folder}`: the {role}'s key is not the one in force",
                    "use the keys of the run (`audit.keys`)",
                )

    @property
    def records(self) -> tuple[RecordedEntry, ...]:
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

    def append(self, entry: Entry, key: str, *cosigners: Signer) -> RecordedEntry:
        """Append one entry; see `append_all`."""
        return self.append_all([(entry, key)], *cosigners)[0]

    def append_all(
        self, entries: Sequence[KeyedEntry], *cosigners: Signer
    ) -> tuple[RecordedEntry, ...]:
        """Append entries in one durable commit, and return them as recorded.

        For a rotation, `cosigners` sign beside the coordinator. After a
        `RunFolderError`, ask again when the log was opened anew.
        """
        sealed: list[bytes] = []
        fresh: dict[str, RecordedEntry] = {}
        last = self._records[-1] if self._records else None
        for entry, key in entries:
            if self._known(entry, key, fresh):
                continue
            index = self.size + len(fresh)
            previous = "" if last is None else last.leaf.hex()
            data = seal(
                entry,
                EntryPlace(self.origin, self.run, index, previous),
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
            last = fresh[key] = unseal(data, index)
        if sealed:
            self.store.append(sealed)
            self._records += fresh.values()
            self._by_key |= fresh
            try:
                self.pin()
            except LexfedError:
                self.close()
                raise
            if not cosigners:  # else the checkpoint still lacks a signature
                self.witnessing.ask(self)
        return tuple(self._by_key[key] for _, key in entries)

    def pin(self) -> None:
        """Remember the checkpoint away from the log, which may be restored."""
        if self._pins is not None:
            store, known = self.store, (self.keys.log.verifier, *self._former)
            write_pin(self._pins, store.checkpoint, store.tree, *known)

    def _known(
        self, entry: Entry, key: str, fresh: Mapping[str, RecordedEntry]
    ) -> bool:
        known = fresh.get(key) or self._by_key.get(key)
        if known is None:
            return False
        if type(known.entry) is type(entry) and body_of(known.entry) == body_of(entry):
            return True
        raise AuditError(
            f"entry {known.index} has the key `{key}` already, with other content",
            "an event is logged once; a mistake is corrected by a new entry",
        )

    def close(self) -> None:
        """Let others write; everything appended is on disk."""
        self.store.close()
