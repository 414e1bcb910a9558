# SPDX-License-Identifier: Apache-2.0
"""`lexfed log`: look at a log, prove an entry, append what people state."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import typer

from lexfed.audit.entries import (
    BudgetPlan,
    CompletionEntry,
    Deletion,
    Export,
    FeatureTags,
    Genesis,
    PolicyEntry,
    RoundEntry,
)
from lexfed.audit.entries.envelopes import RecordedEntry, body_of
from lexfed.audit.log.access import open_for_appending, rotate_key
from lexfed.audit.log.evidence import read_evidence
from lexfed.audit.log.manual_entries import append_by_hand
from lexfed.audit.rules.evaluation import certify as evaluate
from lexfed.audit.tree.proof_files import InclusionProof
from lexfed.audit.vocabulary import KeyRole
from lexfed.cli import talk
from lexfed.cli.output import print_json
from lexfed.config import load
from lexfed.durable import write_atomically
from lexfed.errors import AuditError, RunFolderError
from lexfed.run.audit_log.opening import witnessing_of
from lexfed.run.driver.open_run import base_of
from lexfed.signing.notes import VerifierKey


def show(run: Path, index: int | None, as_json: bool) -> None:
    """Print the entries of a log, or one of them whole."""
    records = read_evidence(run).records
    if index is not None:
        if index >= len(records):
            raise AuditError(f"`{run}` has {len(records)} entries, no entry {index}")
        print_json(_plain(records[index]))
    elif as_json:
        print_json([_plain(record) for record in records])
    else:
        for record in records:
            print(f"{record.index:>5}  {record.time}  {record.kind:<22}{record.key}")


def prove(run: Path, index: int, out: Path | None) -> None:
    """Write a proof that an entry is in the log, for whoever has nothing else."""
    evidence = read_evidence(run)
    size = len(evidence.records)
    if index >= size:
        raise AuditError(f"`{run}` has {size} entries, no entry {index}")
    note = evidence.view.signed.note.to_bytes()
    path = Path(f"entry-{index}.tlog-proof") if out is None else out
    if path.is_dir() or path.suffix == ".json":
        raise RunFolderError(
            f"`{path}` is not a name for a proof",
            f"such as `--out entry-{index}.tlog-proof`; the entry goes beside it, "
            "with the ending `.json`",
        )
    entry = path.with_suffix(".json")
    hashes = evidence.view.tree.inclusion_proof(index, size)
    write_atomically(path, InclusionProof(index, hashes, note).to_bytes())
    write_atomically(entry, evidence.view.entries[index])
    talk.say(f"wrote {entry} (the entry's bytes) and {path} (its proof)")


def add(run: Path, kind: str, stated: Sequence[str], keys: Path | None) -> None:
    """Append what a person states."""
    values: dict[str, str] = {}
    for text in stated:
        name, equals, value = text.partition("=")
        if not equals:
            raise AuditError(f"expected `name=value`, got: `{text}`")
        if name in values:
            raise AuditError(f"`{name}` is stated twice")
        values[name] = value
    log = open_for_appending(run, keys)
    try:
        before = log.size
        record = append_by_hand(log, kind, values)
    finally:
        log.close()
    known = " says the same already" if record.index < before else ""
    talk.say(f"entry {record.index}: {record.kind}{known}")
    _warn_unwitnessed(run, log.witnessing.failed)


_NEEDED = (Genesis, PolicyEntry, FeatureTags, BudgetPlan, RoundEntry, CompletionEntry)
"""Entries whose blobs verification computes with."""


def erase(run: Path, digest: str, keys: Path | None, anyway: bool) -> None:
    """Erase a blob, and say so in the log; the entries that cite it stay."""
    log = open_for_appending(run, keys)
    try:
        log.blobs.get(digest)  # what is not there is not erased
        for record in log.records:
            cited = digest in json.dumps(body_of(record.entry))
            if cited and isinstance(record.entry, _NEEDED) and not anyway:
                raise RunFolderError(
                    f"entry {record.index} (`{record.kind}`) cannot be verified "
                    "without it",
                    "verification would fail from then on; `--anyway` erases it",
                )
        entry = Deletion(artefact="blob", digest=digest)
        record = log.append(entry, f"deletion/{digest[:32]}")
        log.blobs.erase(digest)
    finally:
        log.close()
    talk.say(f"erased; entry {record.index} says so")
    _warn_unwitnessed(run, log.witnessing.failed)


def certify(run: Path, keys: Path | None) -> None:
    """Evaluate the catalogue on the log as it is now, and append what it gave."""
    log = open_for_appending(run, keys)
    try:
        record = log.append(evaluate(log.records, log.blobs), f"certificate/{log.size}")
    finally:
        log.close()
    talk.say(f"entry {record.index}: certificate on entries 0-{record.index - 1}")
    _warn_unwitnessed(run, log.witnessing.failed)


def key(run: Path, project: bool) -> None:
    """Print the key of a log for trust files, or of all logs beside it."""
    found = read_evidence(run).custody.log_key
    if project:
        name = f"{found.name.rpartition('/')[0]}/*"
        found = VerifierKey(name, found.algorithm, found.public)
    print(f"log {found.vkey}")


def cosign(run: Path, keys: Path | None) -> None:
    """Ask witnesses and the time-stamp authority about the last checkpoint."""
    if not (run / "config.toml").is_file():
        raise RunFolderError(f"`{run}` is not the folder of a run")
    config = load(run / "config.toml")
    others = witnessing_of(config.audit, base_of(run))
    if not others.targets and others.authority is None:
        raise RunFolderError(
            f"`{run}` was configured without witnesses and time stamps",
            "name them under `[audit]` before the next run",
        )
    log = open_for_appending(run, keys)
    try:
        others.ask(log, again=True)
        others.stamp(log)
    finally:
        log.close()
    for target in others.targets:
        reason = others.failed.get(target.name)
        talk.say(f"`{target.name}`: {'cosigned' if reason is None else reason}")
    if others.authority is not None:
        talk.say(f"time stamp: {others.failed.get('time stamp', 'kept')}")
    if others.failed:
        raise typer.Exit(1)


def drill(run: Path, copy: Path, keys: Path | None) -> None:
    """Log that a copy was restored, and whether it is the log it was made of."""
    restored = read_evidence(copy)
    if os.path.samefile(run, copy):
        raise AuditError(
            f"`{copy}` is the run itself",
            "restore a backup into another folder, and compare with that",
        )
    size = len(restored.records)
    log = open_for_appending(run, keys)
    try:
        if restored.origin != log.origin or size > log.size:
            raise AuditError(f"`{copy}` is not a copy of the log of `{run}`")
        found, expected = restored.view.tree.root(), log.store.tree.root(size)
        entry = Export(
            what="restore-drill", digest=found.hex(), size=size, root=expected.hex()
        )
        record = log.append(entry, f"drill/{log.size}")
    finally:
        log.close()
    same = found == expected
    words = "has the same root" if same else "has ANOTHER ROOT"
    talk.say(f"entry {record.index}: the copy of {size} entries {words}")
    _warn_unwitnessed(run, log.witnessing.failed)
    if not same:
        raise typer.Exit(1)


def rotate(run: Path, role: KeyRole, keys: Path | None) -> None:
    """Hand a job to a new key."""
    done = rotate_key(run, role, keys)
    talk.say(
        f"entry {done.record.index}: `{done.path}` signs from now on; keep the old key"
    )
    _warn_unwitnessed(run, done.unwitnessed)


def _warn_unwitnessed(run: Path, failed: Mapping[str, str]) -> None:
    """Say who did not cosign the new checkpoint, and how to ask again."""
    for name, reason in failed.items():
        hint = f"`lexfed log cosign {run}` asks again, and so does the next entry"
        talk.warn(f"`{name}` did not cosign: {reason}", hint)


def _plain(record: RecordedEntry) -> dict[str, object]:
    return {
        "index": record.index,
        "time": record.time,
        "kind": record.kind,
        "key": record.key,
        "entry": body_of(record.entry),
        "leaf": record.leaf.hex(),
    }
