# SPDX-License-Identifier: Apache-2.0
"""`lexfed evaluate CONFIG`: three questions about somebody's own data and policy."""

import json
import os
from contextlib import closing
from pathlib import Path

from lexfed.cli import talk
from lexfed.cli.commands.evaluate.private_rows import private_files, rows_folder
from lexfed.cli.commands.evaluate.public_tables import (
    EvaluationOptions,
    IncompleteTables,
    run_jobs,
    summary_json,
)
from lexfed.cli.inputs import load_config, load_priced, located_errors
from lexfed.cli.output import print_json
from lexfed.durable import write_atomically
from lexfed.errors import ClaimError, RunFolderError, system_reason
from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.harness.machine import machine
from lexfed.evaluate.harness.summary import Summary
from lexfed.evaluate.own.csv_copy import own_table
from lexfed.evaluate.own.findings import EvaluationFinding, findings
from lexfed.evaluate.own.page import INTERNAL, PAGE, evaluation_html
from lexfed.evaluate.own.policies import with_policies
from lexfed.evaluate.own.questions import Omission, QuestionSet, measure, questions
from lexfed.evaluate.results.files import ALL, write_results
from lexfed.evaluate.suite import RESULTS, Evaluation, ResultJournal
from lexfed.plain_files import MOST_OF_A_DOCUMENT, read_plain

ASKED = "asked.json"
SEEDS = 10


def evaluate_own(path: Path, seeds: int, options: EvaluationOptions) -> None:
    """Run what is left of an evaluation, and write its page once all of it is there."""
    config = load_config(path)
    priced = load_priced(path, config)
    resume = options.resume
    out = options.out or Path("runs") / f"{config.run.name}-evaluation"
    talk.warn(INTERNAL)
    _claim_folder(out, config.digest, resume)
    with private_files(), closing(ResultJournal(out, resume, private=True)) as journal:
        _state_question(out, config.digest, journal)
        with rows_folder(out) as rows:
            with located_errors(path):
                plain = own_table(priced, path.parent, rows)
                dataset = with_policies(plain, config, path.parent)
            asked = questions(dataset, config, seeds)
            for one in asked.left_out:
                talk.say(f"left out: {one.part}: {one.why}")
            summaries = _measured(dataset, asked, out, journal, options.processes)
        write_results(out, summaries)
        publish_answers(
            config.run.name, out, summaries, asked.left_out, options.as_json
        )


def _measured(
    dataset: Dataset,
    asked: QuestionSet,
    out: Path,
    journal: ResultJournal,
    processes: int | None,
) -> tuple[Summary, ...]:
    count = processes or len(os.sched_getaffinity(0))
    # What takes longest begins first, so that no core waits for it at the end.
    found = Evaluation(
        tuple(reversed(asked.tables)),
        out,
        count,
        prepare=lambda *_: dataset,
        measured=measure,
        journal=journal,
    )
    talk.say(
        f"{len(asked.tables)} questions, {found.jobs} runs, {len(found.left)} to do; "
        f"{count} processes, {found.need}"
    )
    run_jobs(found)
    return tuple(reversed(found.summaries()))


def _claim_folder(out: Path, digest: str, resume: bool) -> None:
    """Make the folder, or see that it is ours, before anything in it is touched."""
    begun = (out / RESULTS).exists() and (out / RESULTS).stat().st_size
    if begun and resume:
        _require_same(out, digest)
    elif resume:
        talk.say(f"`{out}` holds no evaluation yet; this one begins there")
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


def publish_answers(
    name: str,
    out: Path,
    summaries: tuple[Summary, ...],
    left_out: tuple[Omission, ...],
    as_json: bool,
) -> None:
    """Write the page and print the answers; if runs are missing there is no page."""
    missing = [one.table.title for one in summaries if not one.whole]
    if missing:
        (out / PAGE).unlink(missing_ok=True)
        raise IncompleteTables(
            f"runs are missing, so there is no page yet; open: {' '.join(missing)}",
            "`--resume` runs what is missing",
        )
    page = evaluation_html(name, summaries, left_out, machine())
    write_atomically(out / PAGE, page.encode())
    answers = findings({one.table.name: one for one in summaries})
    if as_json:
        print_json(_json(summaries, left_out, answers))
    else:
        for answer in answers:
            print(answer)
    talk.say(f"\nPage: {out / PAGE}   every run: {out / ALL}")
    if any(answer.alarm for answer in answers):
        raise ClaimError(
            "an attack seems to do better than the proof allows",
            "a strong hint, no proof: honest code gives it in at most one evaluation "
            "of ten; release nothing for now and evaluate again with another `--out`",
        )


def _json(
    summaries: tuple[Summary, ...],
    left_out: tuple[Omission, ...],
    answers: tuple[EvaluationFinding, ...],
) -> dict[str, object]:
    return {
        "internal": True,
        "answers": [
            {"headline": one.headline, "details": one.details, "alarm": one.alarm}
            for one in answers
        ],
        "left_out": [{"part": one.part, "why": one.why} for one in left_out],
        "tables": [summary_json(summary) for summary in summaries],
    }
