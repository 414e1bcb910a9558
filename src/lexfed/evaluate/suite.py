# SPDX-License-Identifier: Apache-2.0
"""The evaluation as a whole: what is asked, what is there already, what is left.

    tables -> jobs, each once -> less those in the journal -> processes -> journal

Everything that can be refused is refused before the first job: data that are missing
or not what they should be, too little memory, a folder that is in use.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.datasets.variants import prepare_variant
from lexfed.evaluate.harness.jobs import Job
from lexfed.evaluate.harness.journal import ResultJournal
from lexfed.evaluate.harness.machine import machine, today
from lexfed.evaluate.harness.memory import available_memory, memory_need, require_memory
from lexfed.evaluate.harness.summary import Result, Summary, summarise
from lexfed.evaluate.harness.tables import ResultTable, unique_jobs
from lexfed.evaluate.harness.workers import Failure, TaskFunction, in_parallel
from lexfed.evaluate.measurement.job_kinds import measure

DATA = "data"
REFUSED = "refused"
Prepare = Callable[[str, Path, int | None], Dataset]


@dataclass(frozen=True)
class EvaluationStep:
    """How far an evaluation is, after a job.

    Attributes:
        done: jobs with a result, those of earlier calls included.
        jobs: jobs in all.
        new: jobs that were run in this call.
        seconds: since the first of them began.
        job: the one that ended.
        failure: why it came to nothing, if it did.
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

        Args:
            tables: what is asked.
            folder: where results and prepared data are.
            processes: how many jobs run at once.
            resume: go on with the results that are there.
            memory: bytes that may be used; what the machine has free if None.
            prepare: writes a data set, or some of its rows, into a folder.
            measured: does a job, in a process of its own.
            journal: of the folder, if the caller holds it; who opened it closes it.

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
            self._data = _all_prepared(self._jobs, folder / DATA, prepare)
            self.need = memory_need(self._data.values(), processes)
            require_memory(self.need, available_memory() if memory is None else memory)
        except BaseException:
            self.close()
            raise

    @property
    def left(self) -> tuple[Job, ...]:
        """The jobs that have no result, and those that were refused earlier.

        A refusal may have lost its reason: a library was installed since.
        """
        return tuple(job for job in self._jobs if self._is_left(job))

    def _is_left(self, job: Job) -> bool:
        found = self.result(job)
        if found is None:
            return True
        return found["status"] == REFUSED and found["key"] not in self._tried

    @property
    def jobs(self) -> int:
        """How many jobs there are in all."""
        return len(self._jobs)

    def result(self, job: Job) -> Result | None:
        """Return what a job came to; None if it has not run."""
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
        for new, ((job, dataset), found) in enumerate(answers, start=1):
            failure = found if isinstance(found, Failure) else None
            if failure is None or failure.expected:
                row = _row(job, dataset, found)
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


def _all_prepared(
    jobs: Sequence[Job], folder: Path, prepare: Prepare
) -> Mapping[tuple[str, int | None], Dataset]:
    """Write every table that is read, once, before any process begins."""
    found = {}
    for name, rows in dict.fromkeys(job.table for job in jobs):
        place = folder / (name if rows is None else f"{name}-{rows}")
        found[name, rows] = prepare(name, place, rows)
    return found


def _timed(measured: TaskFunction, job: Job, dataset: Dataset) -> dict[str, Any]:
    """Measure a job and say when, on what, and with how much time of one core."""
    begin = sum(os.times()[:4])  # processes that it starts count too
    found = measured(job, dataset)
    took = sum(os.times()[:4]) - begin
    return {**found, "took": took, "machine": machine(), "date": today()}


def _row(job: Job, dataset: Dataset, found: dict[str, Any] | Failure) -> dict[str, Any]:
    if isinstance(found, Failure):
        found = {
            "status": REFUSED,
            "values": {},
            "note": found.words.replace("\n", "; "),
            "took": 0.0,
            "machine": machine(),
            "date": today(),
        }
    return {"key": job.key(dataset), "job": job.facts, **found}
