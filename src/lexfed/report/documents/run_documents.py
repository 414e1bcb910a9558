# SPDX-License-Identifier: Apache-2.0
"""Making the documents of a run (`NAMES`): verify, write, and log page and bundle.

Everything comes from a log that was verified a moment ago. If a check failed, only the
page is made, and it says so first: the other documents would repeat numbers that
nothing proves. Page and bundle are in the log before they are in the folder.
"""

import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

from lexfed.audit.entries import CompletionEntry, Export
from lexfed.audit.log.access import UnloggedExport, exports_are_sound, log_export
from lexfed.audit.log.audit_log import utc_now
from lexfed.audit.log.evidence import Evidence, read_evidence
from lexfed.audit.verify import RunVerdict
from lexfed.durable import write_atomically
from lexfed.errors import RunFolderError, system_reason
from lexfed.report.documents.drafts import dpia, model_card
from lexfed.report.documents.evidence_bundle import evidence_bundle
from lexfed.report.documents.report_page import render
from lexfed.report.dossier import Dossier, read_dossier
from lexfed.report.sections.headline import headline
from lexfed.report.sections.log_entries import readable_time
from lexfed.report.sections.processing_record import processing_csv
from lexfed.terms import ReportFormat

FORMATS: tuple[ReportFormat, ...] = get_args(ReportFormat)

NAMES: dict[ReportFormat, str] = {
    "html": "report.html",
    "dpia": "dpia.md",
    "csv": "record-of-processing.csv",
    "card": "model-card.md",
    "statement": "privacy-statement.json",
    "evidence": "evidence.zip",
}

_DRAFTS: dict[ReportFormat, Callable[[Dossier], bytes]] = {
    "dpia": dpia,
    "csv": processing_csv,
    "card": model_card,
}

BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
TIMEOUT_S = 120.0


@dataclass(frozen=True)
class ReportSource:
    """A run folder or unpacked bundle, with the trust file, pin and keys of its reader.

    `keys` is None for the place where the run left them.
    """

    folder: Path
    policy: bytes | None = None
    pin: bytes | None = None
    keys: Path | None = None


@dataclass(frozen=True)
class WrittenDocuments:
    """The documents as written, with the verdict before anything was written.

    `sentence` is the first one of the page, `notes` say such as why nothing was logged.
    """

    paths: tuple[Path, ...]
    sentence: str
    verdict: RunVerdict
    notes: tuple[str, ...]


def make_report(
    source: ReportSource,
    formats: Sequence[ReportFormat] | None = None,
    *,
    pdf: bool = False,
    out: Path | None = None,
) -> WrittenDocuments:
    """Verify a run and write its documents.

    The formats are by default those that the run's configuration asks for; `pdf` prints
    the page too, with a Chromium that is installed; `out` is by default the run folder.

    Guarantees:
        Nothing is written of a log that cannot be read.
        Of a log that fails a check only the page is written, and nothing is logged.
        A page or bundle that the log knows is never replaced by one that it does not
        know.
    """
    dossier = _dossier(source)
    sound = not dossier.failures
    wanted = set(formats or _configured(dossier)) if sound else {"html"}
    making = _Making(source, source.folder if out is None else out, dossier)
    if not sound:
        making.notes.append("a check failed: only the page is written")
    if pdf or "html" in wanted:
        making.page(sound)
    if pdf:
        making.print()
    for name in FORMATS:
        if name in wanted and name in _DRAFTS:
            making.write(NAMES[name], _DRAFTS[name](dossier))
    if "statement" in wanted:
        making.statement()
    if "evidence" in wanted:
        making.bundle()
    making.tell_unwitnessed()
    sentence = headline(dossier).sentence
    return WrittenDocuments(
        tuple(making.paths), sentence, dossier.verdict, tuple(making.notes)
    )


def _dossier(source: ReportSource) -> Dossier:
    """Verify and read; the page that is about to be replaced is not looked at."""
    found = read_dossier(source.folder, source.policy, source.pin)
    return replace(found, verdict=_without_page(found.verdict, found.evidence))


def _without_page(verdict: RunVerdict, evidence: Evidence) -> RunVerdict:
    """Leave out the finding about the page that is about to be replaced."""
    if not exports_are_sound(evidence):
        return verdict
    kept = tuple(check for check in verdict.checks if check.claim != "report")
    return replace(verdict, checks=kept)


def _configured(dossier: Dossier) -> tuple[ReportFormat, ...]:
    asked = dossier.table("report").get("formats")
    if not isinstance(asked, list):
        return FORMATS
    return tuple(name for name in FORMATS if name in asked)


class _Making:
    """Writes one file after the other and collects notes for the reader."""

    def __init__(self, source: ReportSource, out: Path, dossier: Dossier) -> None:
        self.source, self.out, self.dossier = source, out, dossier
        self.paths: list[Path] = []
        self.notes: list[str] = []
        self.html: bytes | None = None
        self.unwitnessed: Mapping[str, str] = {}
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunFolderError(
                f"cannot create `{out}`: {system_reason(error)}",
                "write elsewhere with `--out`",
            ) from error

    def write(self, name: str, content: bytes) -> None:
        write_atomically(self.out / name, content)
        self.paths.append(self.out / name)

    def page(self, sound: bool) -> None:
        now = readable_time(utc_now())
        self.html = render(self.dossier, secrets.token_hex(32), now)
        if sound:
            self.log("report", self.html, self.dossier.evidence)
        self.write(NAMES["html"], self.html)

    def print(self) -> None:
        path = self.out / "report.pdf"
        print_pdf(self.out / NAMES["html"], path)
        self.paths.append(path)

    def statement(self) -> None:
        done = self.dossier.entry(CompletionEntry)
        if done is None or done.claim is None:
            why = "the run is not finished" if done is None else "nothing is guaranteed"
            self.notes.append(f"no `{NAMES['statement']}`: {why}")
            return
        content = self.dossier.evidence.blobs.get(done.claim)
        self.write(NAMES["statement"], content)

    def bundle(self) -> None:
        # Read again: that the page was handed out is part of what the bundle shows.
        evidence = read_evidence(self.source.folder)
        content = evidence_bundle(replace(self.dossier, evidence=evidence), self.html)
        self.log("evidence", content, evidence)
        self.write(NAMES["evidence"], content)

    def tell_unwitnessed(self) -> None:
        """Note the witnesses who have not cosigned the latest entries."""
        for name, reason in self.unwitnessed.items():
            run = self.source.folder
            self.notes.append(
                f"`{name}` has not cosigned the log with these documents: {reason}; "
                f"ask again with `lexfed log cosign {run}`, then make the bundle again "
                f"with `lexfed report {run} --formats evidence`"
            )

    def log(
        self, what: Literal["report", "evidence"], content: bytes, evidence: Evidence
    ) -> None:
        export = log_export(evidence, what, content, self.source.keys)
        if not isinstance(export, UnloggedExport):
            self.unwitnessed = export.unwitnessed
            return
        self.notes.append(f"the {what} is not in the log: {export.reason}")
        at_home = self.out.resolve() == self.source.folder.resolve()
        exports = evidence.of(Export)
        known = any(what == "report" or each.entry.what == what for each in exports)
        if at_home and known:
            name = NAMES["html" if what == "report" else "evidence"]
            raise RunFolderError(
                f"`{self.out / name}` is in the log, and a new one would not "
                f"be: {export.reason}",
                "name the keys with `--keys`, or write elsewhere with `--out`",
            )


def find_browser() -> str | None:
    """Return the path of a Chromium; None if there is none."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def print_pdf(page: Path, out: Path, browser: str | None = None) -> None:
    """Print an HTML page to a PDF file, which is replaced if it is there.

    A Chromium that is already there prints it: no PDF library lays out HTML as browsers
    do, and a browser is nothing to install for one file.
    """
    program = browser or find_browser()
    if program is None:
        raise RunFolderError(
            "no Chromium to print with",
            f"install `chromium`, or print `{page}` from any browser",
        )
    with tempfile.TemporaryDirectory(prefix="lexfed-pdf-") as folder:
        made = Path(folder) / "report.pdf"
        try:
            subprocess.run(  # noqa: S603 - a program found by name, our own arguments
                _command(program, page, made, folder),
                check=False,
                capture_output=True,
                timeout=TIMEOUT_S,
            )
            content = made.read_bytes()
        except (subprocess.TimeoutExpired, OSError) as error:
            raise _failed(program, page) from error
    if not content.startswith(b"%PDF-"):
        raise _failed(program, page)
    try:
        out.write_bytes(content)
    except OSError as error:
        raise RunFolderError(f"cannot write `{out}`: {system_reason(error)}") from error


def _command(program: str, page: Path, made: Path, folder: str) -> list[str]:
    flags = [
        "--headless", "--disable-gpu", "--no-pdf-header-footer", "--no-first-run",
        "--disable-background-networking", "--disable-component-update",
        "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND",
        f"--user-data-dir={folder}/profile", f"--print-to-pdf={made}",
    ]  # fmt: skip
    if os.geteuid() == 0:
        # Chromium refuses to build its sandbox as root; the page is our own and runs
        # no program.
        flags.append("--no-sandbox")
    return [program, *flags, page.resolve().as_uri()]


def _failed(program: str, page: Path) -> RunFolderError:
    hint = f"print `{page}` from any browser"
    return RunFolderError(f"`{program}` printed nothing", hint)
