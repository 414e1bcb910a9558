# SPDX-License-Identifier: Apache-2.0
"""The evidence bundle: all an auditor needs, and nothing that must stay with us.

    VERIFY.txt              commands, their expected output, and their limits
    verify.py               the verifier in one file, without lexfed
    log/                    the log of exactly the size that was verified
    log/signed/, timestamps/  its checkpoint, and others with the stamps on them
    log/blobs/sha256/       content that entries cite, less what was erased
    keys/*.pub.pem          public keys, for `openssl`
    config.toml ...         files whose digests are in the log, the model among them
    report.html             the report, if it was made

Names of sites (`parties.json`), sealed receipts, private keys, the journal and metrics
stay in the run folder. Files enter because the log cites them and not because they lie
in the folder, so nothing slips in; the same evidence gives the same bytes on every
machine: fixed order, fixed times, no compression. Commands of `VERIFY.txt` are lines
that begin with four spaces, for a POSIX shell in the unpacked folder.
"""

import io
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from lexfed.audit import standalone
from lexfed.audit.entries import (
    BudgetPlan,
    CompletionEntry,
    Entry,
    FeatureTags,
    PolicyEntry,
)
from lexfed.audit.entries.envelopes import body_of
from lexfed.audit.log.evidence import Evidence
from lexfed.audit.log.logged_files import MODEL, read_logged
from lexfed.audit.storage.held_folder import Folder
from lexfed.audit.storage.reader import LogView
from lexfed.audit.storage.write_protocol import MAX_NOTE, SIGNED, TIMESTAMPS
from lexfed.audit.tree.tiles import (
    bundle_files,
    bundle_names,
    partial_tiles,
    tile_files,
)
from lexfed.errors import AuditError
from lexfed.report.dossier import Dossier, cited_blob
from lexfed.report.markup.escaping import visible
from lexfed.report.markup.page_templates import template_environment
from lexfed.report.sections.headline import headline
from lexfed.terms import DIGEST

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time a ZIP file can state

MAX_TOKEN = 1 << 16
"""Bytes of the longest time stamp that is taken along."""

_DIGEST = re.compile(DIGEST)

_COPIES: tuple[tuple[type[Entry], str, str], ...] = (
    (PolicyEntry, "config", "config.toml"),
    (FeatureTags, "tags", "tags.json"),
    (FeatureTags, "encoding", "encoding.json"),
    (BudgetPlan, "plan", "plan.json"),
    (CompletionEntry, "claim", "claim.json"),
)
"""Files of a run folder that are blobs of its log too."""


def evidence_bundle(dossier: Dossier, report: bytes | None = None) -> bytes:
    """Return the bundle as a ZIP file, with the report's page if that is given.

    Guarantees:
        The same arguments give the same bytes.
        No name leads outside the folder it is unpacked in.
        No private key, site name, sealed receipt or metric is in it, apart from what
        the report shows.
    """
    files = dict(_log_files(dossier.evidence))
    for kind, field, name in _COPIES:
        blob = cited_blob(dossier.evidence, kind, field)
        if blob is not None:
            files[name] = blob
    model = _model(dossier)
    if model is not None:
        files["model.safetensors"] = model
    if report is not None:
        files["report.html"] = report
    files["verify.py"] = standalone.source()
    files["VERIFY.txt"] = verify_text(dossier, sorted(files)).encode()
    return pack(files)


def pack(files: Mapping[str, bytes]) -> bytes:
    """Return a ZIP file that has the same bytes wherever it is made."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.create_system = 3
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, files[name])
    return content.getvalue()


def _log_files(evidence: Evidence) -> Iterator[tuple[str, bytes]]:
    view = evidence.view
    yield "log/checkpoint", view.signed.note.to_bytes()
    for path, data in bundle_files(view.entries, 0, view.size):
        yield f"log/{path}", data
    for path, data in tile_files(view.tree, 0, view.size):
        yield f"log/{path}", data
    yield from _stamped(evidence)
    # Every digest that an entry names; not all of them are of blobs.
    cited = {d for record in evidence.records for d in _digests(body_of(record.entry))}
    for digest in sorted(cited):
        try:
            yield f"log/blobs/sha256/{digest}", evidence.blobs.get(digest)
        except AuditError:
            continue
    custody = evidence.custody
    keys = {"log": custody.log_key.public, "coordinator": custody.coordinators[0][1]}
    for name, public in keys.items():
        key = Ed25519PublicKey.from_public_bytes(public)
        pem = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        yield f"keys/{name}.pub.pem", pem


def _stamped(evidence: Evidence) -> Iterator[tuple[str, bytes]]:
    """Yield the signed checkpoint of this size, and of others that carry a stamp.

    A log keeps every checkpoint it signed, each with the partial tiles of its size;
    all of them would make a bundle grow with the square of the log.
    """
    view = evidence.view
    with Folder(evidence.folder / "log") as folder:
        sizes = {view.size}
        for name in sorted(folder.listing(TIMESTAMPS)):
            token = folder.read(f"{TIMESTAMPS}/{name}", MAX_TOKEN)
            stamped = name.removesuffix(".tsr")
            if token is None or not stamped.isdecimal():
                continue
            if int(stamped) <= view.size:
                yield f"log/{TIMESTAMPS}/{name}", token
                sizes.add(int(stamped))
        for size in sorted(sizes):
            note = folder.read(f"{SIGNED}/{size}", MAX_NOTE)
            if note is not None:
                yield f"log/{SIGNED}/{size}", note
                yield from _partial_files(view, size)


def _partial_files(view: LogView, size: int) -> Iterator[tuple[str, bytes]]:
    """Yield the right edge of the log as it was at a smaller size."""
    for name in partial_tiles(size):
        if name.full_form.is_inside(view.size):
            continue  # a reader of the old checkpoint takes the full tile
        is_bundle = name.level is None
        content = name.bundle(view.entries) if is_bundle else name.hashes(view.tree)
        yield f"log/{name.path}", content


def _digests(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if _DIGEST.fullmatch(value):
            yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _digests(item)


def _model(dossier: Dossier) -> bytes | None:
    """Return the model if it is the one that was logged."""
    done = dossier.entry(CompletionEntry)
    if done is None or done.model is None:
        return None
    try:
        return read_logged(dossier.evidence, MODEL)
    except AuditError:
        return None


def verify_text(dossier: Dossier, files: Sequence[str]) -> str:
    """Return the text of `VERIFY.txt`; `files` names the other files of the bundle."""
    evidence = dossier.evidence
    checkpoint = evidence.view.signed.checkpoint
    done = dossier.entry(CompletionEntry)
    environment = template_environment(visible, keep_trailing_newline=True)
    return environment.get_template("VERIFY.txt").render(
        origin=checkpoint.origin,
        size=checkpoint.size,
        root=checkpoint.root.hex(),
        vkey=evidence.custody.log_key.vkey,
        verdict=headline(dossier).sentence,
        guarantee=headline(dossier).guarantee,
        signature_line=_signature_line(dossier),
        first_bundle=next(iter(bundle_names(0, checkpoint.size))).path,
        first_leaf=dossier.records[0].leaf.hex(),
        model=done.model if done and "model.safetensors" in files else None,
        claim=done.claim if done and "claim.json" in files else None,
        has_blobs=any(name.startswith("log/blobs/") for name in files),
        stamps=[name for name in files if name.startswith("log/timestamps/")],
    )


def _signature_line(dossier: Dossier) -> int:
    """Return the line of the checkpoint with the signature of the key in force."""
    signed = dossier.evidence.view.signed
    key = dossier.evidence.custody.log_key
    first = signed.note.body.count(b"\n") + 2
    return next(
        number
        for number, signature in enumerate(signed.note.signatures, start=first)
        if signature.is_by(key)
    )
