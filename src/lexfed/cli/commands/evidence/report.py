# SPDX-License-Identifier: Apache-2.0
"""`lexfed report`: the page, the drafts and the bundle of a run."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import typer

from lexfed.cli import talk
from lexfed.cli.commands.evidence.verify import read_small
from lexfed.errors import RunFolderError
from lexfed.report.documents.run_documents import (
    Format,
    ReportSource,
    WrittenDocuments,
    make_report,
)


def report(
    run: Path,
    formats: str | None,
    pdf: bool,
    out: Path | None,
    keys: Path | None,
    policy: Path | None,
    pin: Path | None,
    as_json: bool,
) -> None:
    """Write the documents of a run; end with exit code 1 if a check failed."""
    source = ReportSource(run, read_small(policy), read_small(pin), keys)
    made = make_report(source, _formats(formats), pdf=pdf, out=out)
    talk.say(made.sentence)
    for note in made.notes:
        talk.say(f"note: {note}")
    if as_json:
        print(json.dumps(_plain(made), indent=2, allow_nan=False))
    else:
        for path in made.paths:
            print(path)
    if not made.verdict.ok:
        raise typer.Exit(1)


def _formats(text: str | None) -> Sequence[Format] | None:
    if text is None:
        return None
    known: tuple[Format, ...] = get_args(Format)
    asked = [part.strip() for part in text.split(",")]
    strange = [name for name in asked if name not in known]
    if strange:
        listed = ", ".join(f"`{name}`" for name in known)
        raise RunFolderError(
            f"`--formats`: expected {listed}, got: `{strange[0][:40]}`",
            "separate several with commas",
        )
    return [name for name in known if name in asked]


def _plain(made: WrittenDocuments) -> dict[str, object]:
    return {
        "files": [str(path) for path in made.paths],
        "sentence": made.sentence,
        "notes": list(made.notes),
        "verdict": made.verdict.to_json(),
    }
