# SPDX-License-Identifier: Apache-2.0
"""`VERIFY.txt`: checks of the bundle, first at once, then by hand, without lexfed.

Commands are lines that begin with four spaces; they run in a POSIX shell in the
unpacked folder. A test runs them as they are printed.
"""

from collections.abc import Sequence

import jinja2
from markupsafe import Markup

from lexfed.audit.entries import CompletionEntry
from lexfed.audit.tree.tiles import bundle_names
from lexfed.report.facts.dossier import Dossier
from lexfed.report.markup.escaping import visible
from lexfed.report.sections.headline import headline


def verify_text(dossier: Dossier, files: Sequence[str]) -> str:
    """Return the text of `VERIFY.txt`; `files` names the other files of the bundle."""
    evidence = dossier.evidence
    checkpoint = evidence.view.signed.checkpoint
    done = dossier.entry(CompletionEntry)
    environment = jinja2.Environment(  # noqa: S701 - plain text
        loader=jinja2.PackageLoader("lexfed.report"),
        undefined=jinja2.StrictUndefined,
        finalize=_shown,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
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


def _shown(value: object) -> object:
    if isinstance(value, str) and not isinstance(value, Markup):
        return visible(value)
    return value


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
