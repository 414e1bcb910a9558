# SPDX-License-Identifier: Apache-2.0
"""`lexfed report`: the page, the drafts and the bundle of a run."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, get_args

from typer import Exit, Option

from lexfed.cli import talk
from lexfed.cli.options import AsJson, EvidenceFolder, PinOption, TrustFileOption
from lexfed.cli.output import print_json
from lexfed.errors import RunFolderError
from lexfed.terms import ReportFormat


def report(
    run: EvidenceFolder,
    formats: Annotated[
        str | None,
        Option(
            metavar="LIST",
            help="Of html,dpia,csv,card,statement,evidence; else as configured.",
        ),
    ] = None,
    pdf: Annotated[
        bool, Option("--pdf", help="Print the page too, with a Chromium.")
    ] = False,
    out: Annotated[
        Path | None, Option(metavar="DIR", help="Where to write; else the run folder.")
    ] = None,
    keys: Annotated[
        Path | None,
        Option(metavar="DIR", help="Keys of the run; else where it left them."),
    ] = None,
    policy: TrustFileOption = None,
    pin: PinOption = None,
    as_json: AsJson = False,
) -> None:
    """Write a run's report, compliance drafts and evidence bundle."""
    from lexfed.audit.verify.outside_evidence import read_small
    from lexfed.report.documents.run_documents import ReportSource, make_report

    source = ReportSource(run, read_small(policy), read_small(pin), keys)
    made = make_report(source, _formats(formats), pdf=pdf, out=out)
    talk.say(made.sentence)
    for note in made.notes:
        talk.say(f"note: {note}")
    if as_json:
        print_json(
            {
                "files": [str(path) for path in made.paths],
                "sentence": made.sentence,
                "notes": list(made.notes),
                "verdict": made.verdict.to_json(),
            }
        )
    else:
        for path in made.paths:
            print(path)
    if not made.verdict.ok:
        raise Exit(1)


def _formats(text: str | None) -> Sequence[ReportFormat] | None:
    if text is None:
        return None
    known: tuple[ReportFormat, ...] = get_args(ReportFormat)
    asked = [part.strip() for part in text.split(",")]
    strange = [name for name in asked if name not in known]
    if strange:
        listed = ", ".join(f"`{name}`" for name in known)
        raise RunFolderError(
            f"`--formats`: expected {listed}, got: `{strange[0][:40]}`",
            "separate several with commas",
        )
    return [name for name in known if name in asked]
