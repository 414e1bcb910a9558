# SPDX-License-Identifier: Apache-2.0
"""`lexfed evaluate`: run tables of the evaluation, or go on with them."""

import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from lexfed.cli import talk
from lexfed.cli.output import print_json
from lexfed.cli.progress import ProgressLine, between_rounds
from lexfed.counted_words import counted
from lexfed.evaluate.catalogue import NAMES, quick, table
from lexfed.evaluate.harness.machine import machine
from lexfed.evaluate.harness.summary import Summary, verdicts
from lexfed.evaluate.harness.tables import ResultTable
from lexfed.evaluate.results.extract import measured_table
from lexfed.evaluate.results.files import PAGE, write_all, write_pages
from lexfed.evaluate.results.page import page
from lexfed.evaluate.suite import Evaluation, IncompleteTables


@dataclass(frozen=True)
class EvaluationOptions:
    """Options of every evaluation: the folder of results and the runs at once."""

    out: Path | None = None
    resume: bool = False
    processes: int | None = None
    as_json: bool = False


def evaluate(
    small: bool,
    names: Sequence[str],
    published: Path | None,
    options: EvaluationOptions,
) -> None:
    """Run what is left of some tables, and write everything that is whole."""
    tables = _chosen(small, names)
    out, processes = options.out or Path("runs/evaluation"), options.processes
    count = processes or len(os.sched_getaffinity(0))
    with closing(Evaluation(tables, out, count, options.resume)) as found:
        left = len(found.left)
        talk.say(
            f"{counted(len(tables), 'table')}, {counted(found.jobs, 'run')}, "
            f"{left} to do; "
            f"{counted(count, 'process')}, {found.need}"
        )
        run_jobs(found)
        summaries = found.summaries()
    measured = [measured_table(summary, machine()) for summary in summaries]
    write_all(out, summaries, measured)
    if published is not None:
        write_pages(published, summaries, measured, _chosen(False, ()))
    if options.as_json:
        print_json([summary_json(summary) for summary in summaries])
    else:
        print(page(measured, str(out)))
    talk.say(f"\nResults: {out / PAGE}")
    missing = [one.table.name for one in summaries if not one.whole]
    if missing:
        raise IncompleteTables(
            f"not whole: {', '.join(missing)}; they show no figures",
            "`--resume` runs what is missing",
        )


def _chosen(small: bool, names: Sequence[str]) -> list[ResultTable]:
    if small:
        return [quick()]
    return [table(name) for name in names or NAMES]


def run_jobs(found: Evaluation) -> None:
    """Run what is left, with progress; Ctrl-C ends after the runs under way."""
    line = ProgressLine("runs")
    with between_rounds("the runs under way") as stop:
        for step in found.run(lambda: stop.asked):
            if step.failure is not None:
                who = f"{step.job.dataset}, {step.job.method}, seed {step.job.seed}"
                kind = "refused" if step.failure.expected else "defect"
                talk.warn(f"{kind}: {who}: {step.failure.words}")
                if talk.verbose and step.failure.trace:
                    talk.say(step.failure.trace)
            job = f"{step.job.dataset} · {step.job.method}"
            line.show(step.done, step.jobs, [f"{step.left:.0f} s left", job])
        line.end()


def summary_json(summary: Summary) -> dict[str, object]:
    """Return a table as JSON values."""
    return {
        "table": summary.table.name,
        "configuration": summary.table.digest,
        "whole": summary.whole,
        "runs": summary.done,
        "lines": [
            {
                **line.facts,
                **{name: value.mean for name, value in line.values.items()},
                "gains": {name: value.mean for name, value in line.gains.items()},
                "notes": line.notes,
            }
            for line in summary.lines
        ],
        "verdicts": [
            {"what": str(one), "reached": one.reached}
            for one in verdicts(summary.table, summary.lines)
        ],
    }
