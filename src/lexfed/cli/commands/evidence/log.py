# SPDX-License-Identifier: Apache-2.0
"""`lexfed log`: look at a log, prove an entry, append what people state."""

import json
import os
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Exit, Option

from lexfed.audit.vocabulary import KeyRole
from lexfed.cli import talk
from lexfed.cli.groups import command_group
from lexfed.cli.options import AsJson
from lexfed.cli.output import print_json
from lexfed.counted_words import counted
from lexfed.errors import AuditError, RunFolderError

if TYPE_CHECKING:
    from lexfed.audit.entries.envelopes import RecordedEntry
    from lexfed.audit.log.audit_log import AuditLog

RunArgument = Annotated[Path, Argument(help="Folder of a run.", readable=False)]
KeysFolderOption = Annotated[
    Path | None,
    Option(help="Folder with the keys; by default where the run left them."),
]

log = command_group("Show a run's log, prove an entry, add manual entries.")


@log.command()
def show(
    run: RunArgument,
    index: Annotated[int | None, Argument(min=0, help="One entry.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the entries, or print one whole."""
    from lexfed.audit.log.evidence import read_evidence

    records = read_evidence(run).records
    if index is not None:
        if index >= len(records):
            raise AuditError(
                f"`{run}` has {counted(len(records), 'entry')}, no entry {index}"
            )
        print_json(_plain(records[index]))
    elif as_json:
        print_json([_plain(record) for record in records])
    else:
        for record in records:
            print(f"{record.index:>5}  {record.time}  {record.kind:<22}{record.key}")


@log.command()
def prove(
    run: RunArgument,
    index: Annotated[int, Argument(min=0, help="Number of the entry.")],
    out: Annotated[
        Path | None, Option(help="File to write; `entry-N.tlog-proof`.")
    ] = None,
) -> None:
    """Write an entry with the proof that it is in the log."""
    from lexfed.audit.log.evidence import read_evidence
    from lexfed.audit.tree.proof_files import InclusionProof
    from lexfed.durable import write_atomically

    evidence = read_evidence(run)
    size = len(evidence.records)
    if index >= size:
        raise AuditError(f"`{run}` has {counted(size, 'entry')}, no entry {index}")
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


@log.command()
def add(
    run: RunArgument,
    kind: Annotated[str, Argument(help="Such as document, incident, change.")],
    stated: Annotated[
        list[str],
        Argument(metavar="NAME=VALUE...", help="The value @FILE stands for a file."),
    ],
    keys: KeysFolderOption = None,
) -> None:
    """Add a manual entry: a document, test, change or incident."""
    from lexfed.audit.log.manual_entries import append_by_hand

    values: dict[str, str] = {}
    for text in stated:
        name, equals, value = text.partition("=")
        if not equals:
            raise AuditError(f"expected `name=value`, got: `{text}`")
        if name in values:
            raise AuditError(f"`{name}` is stated twice")
        values[name] = value
    with _opened(run, keys) as opened:
        before = opened.size
        record = append_by_hand(opened, kind, values)
    known = " says the same already" if record.index < before else ""
    talk.say(f"entry {record.index}: {record.kind}{known}")
    _warn_unwitnessed(run, opened.witnessing.failed)


@log.command()
def certify(run: RunArgument, keys: KeysFolderOption = None) -> None:
    """Evaluate the rules on the log, and log their results."""
    from lexfed.audit import rules

    with _opened(run, keys) as opened:
        certificate = rules.certify(opened.records, opened.blobs)
        record = opened.append(certificate, f"certificate/{opened.size}")
    shown = rules.shown_rules(certificate.results, rules.catalogue())
    talk.say(f"entry {record.index}: certificate on entries 0-{record.index - 1}")
    talk.say(f"shown: {shown}")
    _warn_unwitnessed(run, opened.witnessing.failed)


@log.command()
def key(
    run: RunArgument,
    project: Annotated[
        bool, Option("--project", help="One key line for all runs under it.")
    ] = False,
) -> None:
    """Print the log's public key as a line of a trust file."""
    from lexfed.audit.log.evidence import read_evidence
    from lexfed.signing.notes import VerifierKey

    found = read_evidence(run).custody.log_key
    if project:
        name = f"{found.name.rpartition('/')[0]}/*"
        found = VerifierKey(name, found.algorithm, found.public)
    print(f"log {found.vkey}")


@log.command()
def cosign(run: RunArgument, keys: KeysFolderOption = None) -> None:
    """Have the last checkpoint cosigned and time-stamped."""
    from lexfed.config import load
    from lexfed.run.audit_log.opening import witnessing_of
    from lexfed.run.driver.open_run import base_of

    if not (run / "config.toml").is_file():
        raise RunFolderError(f"`{run}` is not the folder of a run")
    config = load(run / "config.toml")
    others = witnessing_of(config.audit, base_of(run))
    if not others.targets and others.authority is None:
        raise RunFolderError(
            f"`{run}` was configured without witnesses and time stamps",
            "name them under `[audit]` before the next run",
        )
    with _opened(run, keys) as opened:
        others.ask(opened, again=True)
        others.stamp(opened)
    for target in others.targets:
        reason = others.failed.get(target.name)
        talk.say(f"`{target.name}`: {'cosigned' if reason is None else reason}")
    if others.authority is not None:
        talk.say(f"time stamp: {others.failed.get('time stamp', 'kept')}")
    if others.failed:
        raise Exit(1)


@log.command()
def drill(
    run: RunArgument,
    copy: Annotated[
        Path, Argument(help="A restored copy of the run folder.", readable=False)
    ],
    keys: KeysFolderOption = None,
) -> None:
    """Log that a backup was restored and compared.

    This is the drill of GDPR Art. 32(1)(c).
    """
    from lexfed.audit.entries import Export
    from lexfed.audit.log.evidence import read_evidence

    restored = read_evidence(copy)
    if os.path.samefile(run, copy):
        raise AuditError(
            f"`{copy}` is the run itself",
            "restore a backup into another folder, and compare with that",
        )
    size = len(restored.records)
    with _opened(run, keys) as opened:
        if restored.origin != opened.origin or size > opened.size:
            raise AuditError(f"`{copy}` is not a copy of the log of `{run}`")
        root, expected = restored.view.tree.root(), opened.store.tree.root(size)
        entry = Export(
            what="restore-drill", digest=root.hex(), size=size, root=expected.hex()
        )
        record = opened.append(entry, f"drill/{opened.size}")
    same = root == expected
    words = "has the same root" if same else "has ANOTHER ROOT"
    talk.say(f"entry {record.index}: the copy of {counted(size, 'entry')} {words}")
    _warn_unwitnessed(run, opened.witnessing.failed)
    if not same:
        raise Exit(1)


@log.command()
def erase(
    run: RunArgument,
    digest: Annotated[str, Argument(help="SHA-256 of the blob.")],
    keys: KeysFolderOption = None,
    anyway: Annotated[
        bool, Option("--anyway", help="Even if the log cannot be verified without it.")
    ] = False,
) -> None:
    """Erase a blob, and log that it was erased."""
    from lexfed.audit import entries
    from lexfed.audit.entries.envelopes import body_of

    # Entries whose blobs verification computes with.
    needed = (
        entries.Genesis, entries.PolicyEntry, entries.FeatureTags, entries.BudgetPlan,
        entries.RoundEntry, entries.CompletionEntry,
    )  # fmt: skip
    with _opened(run, keys) as opened:
        opened.blobs.get(digest)  # what is not there is not erased
        for record in opened.records:
            cited = digest in json.dumps(body_of(record.entry))
            if cited and isinstance(record.entry, needed) and not anyway:
                raise RunFolderError(
                    f"entry {record.index} (`{record.kind}`) cannot be verified "
                    "without it",
                    "verification would fail from then on; `--anyway` erases it",
                )
        entry = entries.Deletion(artefact="blob", digest=digest)
        record = opened.append(entry, f"deletion/{digest[:32]}")
        opened.blobs.erase(digest)
    talk.say(f"erased; entry {record.index} says so")
    _warn_unwitnessed(run, opened.witnessing.failed)


@log.command()
def rotate(
    run: RunArgument,
    role: Annotated[KeyRole, Argument(help="Whose key to replace.")],
    keys: KeysFolderOption = None,
) -> None:
    """Replace a key of the log or of a site by a new one."""
    from lexfed.audit.log.access import rotate_key

    done = rotate_key(run, role, keys)
    talk.say(
        f"entry {done.record.index}: `{done.path}` signs from now on; keep the old key"
    )
    _warn_unwitnessed(run, done.unwitnessed)


def _opened(run: Path, keys: Path | None) -> closing["AuditLog"]:
    from lexfed.audit.log.access import open_for_appending

    return closing(open_for_appending(run, keys))


def _warn_unwitnessed(run: Path, failed: Mapping[str, str]) -> None:
    """Say who did not cosign the new checkpoint, and how to ask again."""
    for name, reason in failed.items():
        hint = f"`lexfed log cosign {run}` asks again, and so does the next entry"
        talk.warn(f"`{name}` did not cosign: {reason}", hint)


def _plain(record: "RecordedEntry") -> dict[str, object]:
    from lexfed.audit.entries.envelopes import body_of

    return {
        "index": record.index,
        "time": record.time,
        "kind": record.kind,
        "key": record.key,
        "entry": body_of(record.entry),
        "leaf": record.leaf.hex(),
    }
