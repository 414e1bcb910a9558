# SPDX-License-Identifier: Apache-2.0
"""The keys of a log: each with its job, and the entry from which on it signs.

Entry 0 names two keys with two jobs: the coordinator's signs entries, the log's signs
checkpoints. A `key-rotation` entry hands one of the jobs to a new key and is signed by
the coordinator in force, by the old key and by the new one: the old key agrees, the
new one exists. A coordinator's key signs from the entry after it on. A log's key signs
every checkpoint that covers the entry; older checkpoints keep the old signature.

A key that comes without such an entry is nobody's.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from lexfed.audit.entries import Genesis, KeyRotation, PublicKeyRecord
from lexfed.audit.entries.envelopes import RecordedEntry
from lexfed.errors import AuditError
from lexfed.signing.base64_text import decode_base64
from lexfed.signing.keys import fingerprint
from lexfed.signing.notes import ED25519, VerifierKey


@dataclass(frozen=True)
class Custody:
    """The keys of a log over its life.

    Attributes:
        coordinators: raw public keys that sign entries, each with the index of the
            first entry it signs; oldest first.
        log_keys: keys that sign checkpoints, oldest first.
        extra: who signs an entry beside the coordinator: raw keys by entry.
    """

    coordinators: tuple[tuple[int, bytes], ...]
    log_keys: tuple[VerifierKey, ...]
    extra: dict[int, tuple[bytes, ...]] = field(default_factory=dict)

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

    Raises:
        AuditError: naming the entry whose keys do not fit.
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
        old = (
            coordinators[-1][1] if entry.role == "coordinator" else log_keys[-1].public
        )
        if entry.old != fingerprint(old):
            raise AuditError(f"{where}: `old` is not the {entry.role} key in force")
        if entry.role == "coordinator":
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
    """Return the 32 bytes of a key as entries list it.

    Raises:
        AuditError: if its id is not that of its bytes.
    """
    raw = decode_base64(key.public, where)
    if len(raw) != 32 or fingerprint(raw) != key.keyid:
        raise AuditError(f"{where}: not an Ed25519 key, or not the one its id names")
    return raw


def _log_key(vkey: str, origin: str, where: str) -> VerifierKey:
    try:
        key = VerifierKey.parse(vkey)
    except AuditError as error:
        raise AuditError(f"{where}: {error.message}", error.hint) from error
    if key.name != origin or key.algorithm != ED25519:
        raise AuditError(f"{where}: not an Ed25519 key named `{origin}`")
    return key
