# SPDX-License-Identifier: Apache-2.0
"""The evaluation as a whole, and the journal of its results.

    tables -> jobs, each once -> less those in the journal -> processes -> journal

Everything that can be refused is refused before the first job: data that are missing or
not what they should be, too little memory, a folder that is in use. A folder holds
`results.jsonl`, one synced line for each finished job, so that a killed evaluation
loses only the jobs under way; tables, figures and pages are made from these lines.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from lexfed.durable import FileLock, JsonLines
from lexfed.errors import LexfedError, RunFolderError, system_reason
from lexfed.evaluate.datasets import Dataset, prepare_variant
from lexfed.evaluate.harness.machine import (
    available_memory,
    machine,
    memory_need,
    require_memory,
    today,
)
from lexfed.evaluate.harness.summary import Summary, summarise
from lexfed.evaluate.harness.tables import Job, Result, ResultTable, unique_jobs
from lexfed.evaluate.harness.workers import Failure, TaskFunction, in_parallel
from lexfed.evaluate.measurement.job_kinds import measure

DATA, RESULTS = "data", "results.jsonl"
REFUSED = "refused"
Prepare = Callable[[str, Path, int | None], Dataset]


class IncompleteTables(LexfedError):
    """Jobs are missing, so some tables show no figure."""

    exit_code = 1


class ResultJournal:
    """The results in a folder, by key.

    Guarantees:
        What `add` returned from is found again after a kill at any later moment.
        A line that was cut off is dropped on opening, and its job runs again.
        At most one process of the machine holds a folder.
    """

    def __init__(self, folder: Path, resume: bool, private: bool = False) -> None:
        """Open the folder, or make it; a `private` one nobody else may read.

        Raises:
            RunFolderError: if there are results and `resume` is not set, or if another
                evaluation holds the folder.
        """
        path = folder / RESULTS
        if path.exists() and path.stat().st_size and not resume:
            raise RunFolderError(
                f"`{folder}` holds the results of an evaluation already",
                "`--resume` goes on with it; `--out DIR` begins another",
            )
        try:
            folder.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            what = system_reason(error)
            raise RunFolderError(f"cannot write `{folder}`: {what}") from error
        try:
            self._lock = FileLock(handle)
        except BlockingIOError as error:
            raise RunFolderError(
                f"another evaluation writes to `{folder}`", "wait until it has ended"
            ) from error
        if private:
            os.fchmod(handle, 0o600)
        self._lines = JsonLines(path)
        self._results = {row["key"]: row for row in self._lines.rows if "key" in row}

    def __len__(self) -> int:
        return len(self._results)

    def get(self, key: str) -> Result | None:
        """Return a result, or None if its job has not run."""
        return self._results.get(key)

    def add(self, row: Result) -> None:
        """Keep a result; on return it is on disk."""
        self._lines.append(row)
        self._results[row["key"]] = dict(row)

    def close(self) -> None:
        """Let others write."""
        self._lines.close()
        self._lock.close()


@dataclass(frozen=True)
class EvaluationStep:
    """The progress of an evaluation after a job.

    Jobs that are done include those of earlier calls, `new` ones do not; `seconds` are
    since the first of these began.
    """

    done: int
    jobs: int
    new: int
    seconds: float
    job: Job
    failure: Failure | None = None

    @property
    def left(self) -> float:
        """Seconds that the rest takes if it goes on like this."""
        return self.seconds / max(self.new, 1) * (self.jobs - self.done)


class Evaluation:
    """Some tables, their data and their journal."""

    def __init__(
        self,
        tables: Sequence[ResultTable],
        folder: Path,
        processes: int,
        resume: bool = False,
        memory: int | None = None,
        prepare: Prepare = prepare_variant,
        measured: TaskFunction = measure,
        journal: ResultJournal | None = None,
    ) -> None:
        """Prepare the data and see what is left to do.

        `memory` is in bytes, those that the machine has free if None. `prepare` writes
        a data set, or some of its rows, into a folder; `measured` does a job in a
        process of its own. A `journal` of the folder that is given is closed by the
        caller.

        Raises:
            DataError: if data are missing, or are not what they should be.
            ConfigError: if the estimate of memory is above what is free.
            RunFolderError: if the folder is in use, or has results and `resume` is not
                set.
        """
        self.tables = tuple(tables)
        self.processes = processes
        self._measured = measured
        self._lent = journal is not None
        self._journal = ResultJournal(folder, resume) if journal is None else journal
        self._tried: set[str] = set()
        try:
            self._jobs = unique_jobs(tables)
            # Every table that is read is written once, before any process begins.
            self._data = {
                (name, rows): prepare(name, folder / DATA / _place(name, rows), rows)
                for name, rows in dict.fromkeys(job.table for job in self._jobs)
            }
            self.need = memory_need(self._data.values(), processes)
            require_memory(self.need, available_memory() if memory is None else memory)
        except BaseException:
            self.close()
            raise

    @property
    def left(self) -> tuple[Job, ...]:
        """The jobs without a result, or refused: a library may be there by now."""
        known = [(job, self.result(job)) for job in self._jobs]
        return tuple(
            job
            for job, result in known
            if result is None
            or (result["status"] == REFUSED and result["key"] not in self._tried)
        )

    @property
    def jobs(self) -> int:
        """The number of jobs in all."""
        return len(self._jobs)

    def result(self, job: Job) -> Result | None:
        """Return the result of a job; None if it has not run."""
        return self._journal.get(job.key(self._data[job.table]))

    def run(
        self, stopped: Callable[[], bool] = lambda: False
    ) -> Iterator[EvaluationStep]:
        """Run what is left and tell of every job that ends.

        Guarantees:
            When a step without a failure of ours is told its result is on disk.
            A job that lexfed refused in words has a result that says so. A job that
            ended by a defect has none, and runs again next time.
        """
        left = self.left
        done, begin = len(self._jobs) - len(left), time.monotonic()
        tasks = ((job, self._data[job.table]) for job in left)
        timed = partial(_timed, self._measured)
        answers = in_parallel(timed, tasks, self.processes, stopped)
        for new, ((job, dataset), answer) in enumerate(answers, start=1):
            failure = answer if isinstance(answer, Failure) else None
            if failure is None or failure.expected:
                row = _row(job, dataset, answer)
                self._journal.add(row)
                self._tried.add(row["key"])
                done += 1
            past = time.monotonic() - begin
            yield EvaluationStep(done, len(self._jobs), new, past, job, failure)

    def summaries(self) -> tuple[Summary, ...]:
        """Return every table with its lines, empty where jobs are missing."""
        return tuple(summarise(table, self.result) for table in self.tables)

    def close(self) -> None:
        """Let others use the folder, unless the caller holds it."""
        if not self._lent:
            self._journal.close()


def _place(name: str, rows: int | None) -> str:
    return name if rows is None else f"{name}-{rows}"


def _timed(measured: TaskFunction, job: Job, dataset: Dataset) -> dict[str, Any]:
    """Measure a job and say when, on what, and with how much time of one core."""
    begin = sum(os.times()[:4])  # processes that it starts count too
    result = measured(job, dataset)
    took = sum(os.times()[:4]) - begin
    return {**result, "took": took, "machine": machine(), "date": today()}


def _row(
    job: Job, dataset: Dataset, answer: dict[str, Any] | Failure
) -> dict[str, Any]:
    if isinstance(answer, Failure):
        answer = {
            "status": REFUSED,
            "values": {},
            "note": answer.words.replace("\n", "; "),
            "took": 0.0,
            "machine": machine(),
            "date": today(),
        }
    return {"key": job.key(dataset), "job": job.facts, **answer}
