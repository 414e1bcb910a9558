# SPDX-License-Identifier: Apache-2.0
"""Opening the log of an earlier run to append to it: with the keys in force.

Keys of a role are `<role>.pem` and, after rotations, `<role>-2.pem`, `<role>-3.pem`.
The log says which one signs, and its file is found by its content, not by its name.
"""

import os
import re
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Literal, NamedTuple

from lexfed.audit.entries import Export, KeyRotation, PublicKeyRecord
from lexfed.audit.entries.envelopes import RecordedEntry, unseal
from lexfed.audit.log.audit_log import AuditLog, LogKeys, panel_named_by
from lexfed.audit.log.evidence import Custody, Evidence, custody_of, read_evidence
from lexfed.audit.log.logged_files import speaks_of_this_log
from lexfed.audit.tree.checkpoint import open_checkpoint, sign
from lexfed.audit.vocabulary import KeyRole
from lexfed.errors import AuditError, LexfedError, RunFolderError, system_reason
from lexfed.plain_files import plain
from lexfed.signing.keys import Signer, create_key, fingerprint, load_key
from lexfed.signing.notes import parse_note
from lexfed.signing.strict_text import encode_base64, parse_json

_JOURNAL = "events.jsonl"
_MAX_LINE = 65_536


def keys_folder(run: Path) -> Path:
    """Return the folder of a run's keys, as its journal says; copies have none."""
    try:
        with open(run / _JOURNAL, "rb", opener=plain) as file:
            first = parse_json(file.readline(_MAX_LINE))
        return Path(os.path.normpath(run / str(first["keys"])))
    except (OSError, AuditError, ValueError, KeyError, TypeError) as error:
        raise RunFolderError(
            f"`{run}` does not say where its keys are",
            "name their folder: `--keys DIR`",
        ) from error


def key_files(folder: Path, role: KeyRole) -> dict[int, Path]:
    """Return the private keys of a role by their number, oldest first."""
    name = re.compile(rf"{role}(?:-([2-9]|[1-9][0-9]{{1,5}}))?\.pem")
    try:
        matches = [(name.fullmatch(path.name), path) for path in folder.iterdir()]
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise RunFolderError(
            f"cannot read `{folder}`: {system_reason(error)}",
            "the folder with your keys has mode 0700 and is yours",
        ) from error
    return dict(sorted((int(match[1] or 1), path) for match, path in matches if match))


def open_for_appending(run: Path, keys: Path | None = None, floor: int = 0) -> AuditLog:
    """Verify the log of a run and open it for writing.

    `keys` is None for where the run left them, `floor` a size that others have seen.

    Guarantees:
        A log that does not verify, or is older than its pin, is not opened.
        Whoever appends has the witnesses asked that entry 0 names.
        Only the keys in force open it.
    """
    folder = keys_folder(run) if keys is None else keys
    evidence = read_evidence(run)
    custody = _custody(evidence)
    signers = keys_in_force(custody, evidence.origin, folder)
    return _open(evidence, custody, folder, signers, floor)


def keys_in_force(custody: Custody, origin: str, folder: Path) -> LogKeys:
    """Find the keys that sign the next entry and the next checkpoint."""
    coordinator = custody.coordinators[-1][1]
    return LogKeys(
        _find(folder, "coordinator", coordinator, "coordinator"),
        _find(folder, "log", custody.log_key.public, origin),
    )


class KeyHandover(NamedTuple):
    """The entry of a new key, its file, and why witnesses did not cosign, by name."""

    record: RecordedEntry
    path: Path
    unwitnessed: Mapping[str, str]


def rotate_key(run: Path, role: KeyRole, keys: Path | None = None) -> KeyHandover:
    """Hand a job to a new key, by an entry that coordinator, old and new key sign.

    The first checkpoint after the rotation of a log's key carries both keys'
    signatures, so that whoever knows the old one can follow.
    """
    folder = keys_folder(run) if keys is None else keys
    # What a crash left is finished under the key in force; with the new one it would
    # be signed by a key that no entry names yet.
    open_for_appending(run, folder).close()
    evidence = read_evidence(run)
    custody = evidence.custody
    before = keys_in_force(custody, evidence.origin, folder)
    path = folder / f"{role}-{max(key_files(folder, role)) + 1}.pem"
    name = "coordinator" if role == "coordinator" else evidence.origin
    new = Signer(name, create_key(path))
    old = before.coordinator if role == "coordinator" else before.log
    entry = KeyRotation(
        role=role,
        old=old.fingerprint,
        new=PublicKeyRecord(keyid=new.fingerprint, public=encode_base64(new.public)),
        vkey=new.verifier.vkey if role == "log" else None,
    )
    successor, signers = (None, (new,)) if role == "coordinator" else (new, (old, new))
    opened = _open(evidence, custody, folder, before, successor=successor)
    with closing(opened) as log:
        record = log.append(entry, f"rotation/{new.fingerprint[:16]}", *signers)
        if successor is not None:
            latest = open_checkpoint(log.store.checkpoint, successor.verifier)
            note = sign(latest.checkpoint, old)
            log.store.add_signatures(parse_note(note).signatures)
            log.pin()
        log.witnessing.ask(log)
    return KeyHandover(record, path, log.witnessing.failed)


def _custody(evidence: Evidence) -> Custody:
    """Return the keys in force once an interrupted append is finished."""
    stage, size = evidence.view.stage, len(evidence.records)
    if stage is None or stage.new_size <= size:
        return evidence.custody
    staged = (unseal(data, size + n) for n, data in enumerate(stage.entries))
    return custody_of((*evidence.records, *staged))


def _open(
    evidence: Evidence,
    custody: Custody,
    keys: Path,
    signers: LogKeys,
    floor: int = 0,
    successor: Signer | None = None,
) -> AuditLog:
    folder, known = evidence.folder / "log", custody.log_keys
    log = AuditLog.open(folder, signers, floor, known, keys, successor=successor)
    log.witnessing = panel_named_by(evidence.genesis, log.blobs)
    return log


def _find(folder: Path, role: KeyRole, public: bytes, name: str) -> Signer:
    for path in key_files(folder, role).values():
        signer = Signer(name, load_key(path))
        if signer.public == public:
            return signer
    raise RunFolderError(
        f"`{folder}` does not hold the {role}'s key {fingerprint(public)[:16]}",
        "name the folder with the keys of this run (`--keys DIR`, or `audit.keys`)",
    )


@dataclass(frozen=True)
class LoggedExport:
    """The entry of an export, and why witnesses did not cosign it, by name."""

    index: int
    unwitnessed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class UnloggedExport:
    """An export that is not in the log, with the reason: no keys, or another writer."""

    reason: str


def log_export(
    evidence: Evidence,
    what: Literal["report", "evidence", "profile"],
    content: bytes,
    keys: Path | None,
) -> LoggedExport | UnloggedExport:
    """Append the digest of something that was made from the log as it was read.

    `keys` is the folder of the keys; None for where the run left them.
    """
    digest, tree = sha256(content).hexdigest(), evidence.view.tree
    entry = Export(what=what, digest=digest, size=tree.size, root=tree.root().hex())
    try:
        with closing(open_for_appending(evidence.folder, keys)) as log:
            record = log.append(entry, f"export/{what}/{digest[:32]}")
    except LexfedError as error:
        return UnloggedExport(error.message)
    return LoggedExport(record.index, log.witnessing.failed)


def is_logged(evidence: Evidence, what: str, content: bytes) -> bool:
    """Return True if the log already has an export of these very bytes."""
    digest = sha256(content).hexdigest()
    exports = (export.entry for export in evidence.of(Export))
    return any((each.what, each.digest) == (what, digest) for each in exports)


def exports_are_sound(evidence: Evidence) -> bool:
    """Return True if every export speaks of an earlier state of this very log."""
    return all(speaks_of_this_log(evidence, each) for each in evidence.of(Export))
