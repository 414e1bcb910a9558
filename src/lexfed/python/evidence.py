# SPDX-License-Identifier: Apache-2.0
"""`verify` and `write_report`: what a finished run can show to others."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lexfed.audit.verify import RunVerdict, verify_run
from lexfed.audit.verify.outside_evidence import read_small
from lexfed.terms import ReportFormat

if TYPE_CHECKING:
    from lexfed.report.documents.run_documents import WrittenDocuments
    from lexfed.run.results.run_result import RunResult


def verify(
    run: "RunResult | Path | str",
    *,
    policy: Path | str | None = None,
    pin: Path | str | None = None,
    authorities: Path | str | None = None,
) -> RunVerdict:
    """Return one check for every claim of a run's log, as `lexfed verify` prints them.

    Args:
        run: a result, the folder of a run, or an unpacked evidence bundle.
        policy: a trust file, with the keys that are trusted.
        pin: a checkpoint of the log that was kept elsewhere.
        authorities: certificates (PEM) of time-stamp authorities.

    Raises:
        RunFolderError: if a file cannot be read.
    """
    return verify_run(
        _folder(run),
        read_small(policy),
        read_small(pin),
        authorities=None if authorities is None else Path(authorities),
    )


def write_report(
    run: "RunResult | Path | str",
    *,
    formats: Sequence[ReportFormat] | None = None,
    pdf: bool = False,
    out: Path | str | None = None,
) -> "WrittenDocuments":
    """Write the report, the drafts and the evidence bundle of a run.

    Args:
        run: a result, the folder of a run, or an unpacked evidence bundle.
        formats: what to write; else as configured.
        pdf: print the page too, with a Chromium.
        out: where to write; else the run folder.

    Raises:
        RunFolderError: if the run cannot be read, or nothing can be written.
    """
    # Imported here: to verify a run takes neither a page nor torch.
    from lexfed.report.documents.run_documents import ReportSource, make_report

    target = None if out is None else Path(out)
    return make_report(ReportSource(_folder(run)), formats, pdf=pdf, out=target)


def _folder(run: "RunResult | Path | str") -> Path:
    return Path(run) if isinstance(run, str | Path) else run.folder
