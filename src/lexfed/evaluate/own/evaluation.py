# SPDX-License-Identifier: Apache-2.0
"""An evaluation of one's own data and policy: its folder, its course and its answers.

    evaluation_folder   the folder is claimed, and lends a place for the private rows
    own_dataset         rows and policies, as the measurements read them
    measured_policy     every run that is left, the results and the page

Callers say how runs are shown and people are told; the results are the same.
"""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from lexfed.config import Config
from lexfed.counted_words import counted
from lexfed.durable import write_atomically
from lexfed.errors import RunFolderError, system_reason
from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.harness.machine import machine
from lexfed.evaluate.harness.summary import Summary
from lexfed.evaluate.own.csv_copy import own_table
from lexfed.evaluate.own.findings import EvaluationFinding, findings
from lexfed.evaluate.own.page import INTERNAL, PAGE, evaluation_html
from lexfed.evaluate.own.policies import with_policies
from lexfed.evaluate.own.private_rows import Warn, private_files, rows_folder
from lexfed.evaluate.own.questions import Omission, measure, questions
from lexfed.evaluate.results.files import ALL, write_results
from lexfed.evaluate.suite import (
    RESULTS,
    Evaluation,
    IncompleteTables,
    ResultJournal,
)
from lexfed.notebook_html import html_table
from lexfed.plain_files import MOST_OF_A_DOCUMENT, read_plain
from lexfed.run.pricing.priced_run import PricedRun

ASKED = "asked.json"
SEEDS = 10
"""Splits of the rows over which methods are compared, if a caller states none."""
Say = Callable[[str], None]
RunJobs = Callable[[Evaluation], None]
"""Runs what is left of an evaluation, and shows it."""


@dataclass(frozen=True, repr=False)
class PolicyEvaluation:
    """The answers about a policy on the holder's own data.

    Internal: figures come from private rows without noise, and no budget pays for them.

    Attributes:
        name: that of the configuration.
        folder: has the page, and every run.
        summaries: every table with its lines.
        left_out: parts that were not measured, with the reasons.
    """

    name: str
    folder: Path
    summaries: tuple[Summary, ...]
    left_out: tuple[Omission, ...]

    @cached_property
    def answers(self) -> tuple[EvaluationFinding, ...]:
        """The answers in sentences."""
        return findings({one.table.name: one for one in self.summaries})

    @property
    def alarm(self) -> bool:
        """True if an attack seems to do better than the proof allows."""
        return any(answer.alarm for answer in self.answers)

    @property
    def page(self) -> Path:
        """The page for people."""
        return self.folder / PAGE

    def __repr__(self) -> str:
        alarm = "ALARM, " if self.alarm else ""
        return f"<PolicyEvaluation: {alarm}{len(self.answers)} answers; {self.page}>"

    def __str__(self) -> str:
        """The answers as the command line prints them."""
        return "\n".join(map(str, self.answers))

    def _repr_html_(self) -> str:
        """Return the answers as a notebook shows them, and that they are internal."""
        rows = [(each.headline, " ".join(each.details)) for each in self.answers]
        notes = [INTERNAL, *(f"Left out: {o.part}: {o.why}." for o in self.left_out)]
        caption = "ALARM: see below" if self.alarm else "Answers about this policy"
        return html_table(caption, ["answer", "figures"], rows, notes)


@dataclass(frozen=True)
class EvaluationFolder:
    """A folder that this process holds, its journal, and the place of private rows."""

    out: Path
    journal: ResultJournal
    rows: Path


@contextmanager
def evaluation_folder(
    out: Path, digest: str, resume: bool, warn: Warn, say: Say
) -> Iterator[EvaluationFolder]:
    """Hold the folder of the evaluation of a configuration with this digest.

    Guarantees:
        Nothing of anybody else is touched, and no private row stays.

    Raises:
        RunFolderError: if it is of something else, is in use or cannot be written.
    """
    _claim_folder(out, digest, resume, say)
    with private_files(), closing(ResultJournal(out, resume, private=True)) as journal:
        _state_question(out, digest, journal)
        with rows_folder(out, warn) as rows:
            yield EvaluationFolder(out, journal, rows)


def own_dataset(priced: PricedRun, base: Path, rows: Path) -> Dataset:
    """Return rows and policies of a configuration; `rows` is where the copy goes.

    `ConfigError` if no method can be compared under it.
    """
    return with_policies(own_table(priced, base, rows), priced.config, base)


def measured_policy(
    held: EvaluationFolder,
    dataset: Dataset,
    config: Config,
    seeds: int,
    processes: int | None,
    run: RunJobs,
    say: Say,
) -> PolicyEvaluation:
    """Run what is left, write results and page, and return the answers.

    Raises:
        IncompleteTables: if runs are missing; then there is no page.
    """
    asked = questions(dataset, config, seeds)
    for one in asked.left_out:
        say(f"left out: {one.part}: {one.why}")
    count = processes or len(os.sched_getaffinity(0))
    # What takes longest begins first, so that no core waits for it at the end.
    found = Evaluation(
        tuple(reversed(asked.tables)),
        held.out,
        count,
        prepare=lambda *_: dataset,
        measured=measure,
        journal=held.journal,
    )
    say(
        f"{counted(len(asked.tables), 'question')}, {counted(found.jobs, 'run')}, "
        f"{len(found.left)} to do; {counted(count, 'process')}, {found.need}"
    )
    run(found)
    summaries = tuple(reversed(found.summaries()))
    write_results(held.out, summaries)
    return published(
        PolicyEvaluation(config.run.name, held.out, summaries, asked.left_out)
    )


def published(found: PolicyEvaluation) -> PolicyEvaluation:
    """Write the page of an evaluation; if runs are missing there is none."""
    missing = [one.table.title for one in found.summaries if not one.whole]
    if missing:
        found.page.unlink(missing_ok=True)
        raise IncompleteTables(
            f"runs are missing, so there is no page yet; open: {' '.join(missing)}",
            "`--resume` runs what is missing",
        )
    page = evaluation_html(found.name, found.summaries, found.left_out, machine())
    write_atomically(found.page, page.encode())
    return found


def _claim_folder(out: Path, digest: str, resume: bool, say: Say) -> None:
    """Make the folder, or see that it is ours, before anything in it is touched."""
    begun = (out / RESULTS).exists() and (out / RESULTS).stat().st_size
    if begun and resume:
        _require_same(out, digest)
    elif resume:
        say(f"`{out}` holds no evaluation yet; this one begins there")
    if not begun and _stated(out) is None:
        for name in (ASKED, ALL, PAGE):
            if (out / name).exists():
                raise RunFolderError(
                    f"`{out}` has a file `{name}` of something else",
                    "it would be overwritten: choose an empty folder with `--out`",
                )
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.mkdir(exist_ok=True, mode=0o700)
    except OSError as error:
        what = system_reason(error)
        raise RunFolderError(
            f"cannot write `{out}`: {what}", "choose another folder with `--out`"
        ) from error


def _state_question(out: Path, digest: str, journal: ResultJournal) -> None:
    """Write down what is evaluated in a folder that nobody else holds now."""
    if len(journal):
        _require_same(out, digest)
        return
    write_atomically(out / ASKED, f"{json.dumps({'configuration': digest})}\n".encode())


def _stated(out: Path) -> str | None:
    """Return for what configuration a folder is; None if it is not for any."""
    try:
        found = json.loads(read_plain(out / ASKED, MOST_OF_A_DOCUMENT))["configuration"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return str(found)


def _require_same(out: Path, digest: str) -> None:
    stated = _stated(out)
    if stated != digest:
        other = "tables" if stated is None else "another configuration"
        raise RunFolderError(
            f"`{out}` holds the evaluation of {other}",
            "`--out DIR` begins another; results of a changed file would not fit",
        )
