# SPDX-License-Identifier: Apache-2.0
"""A table of the evaluation: a question, the jobs that answer it, its lines.

A job is data: what is measured, on which table, by which method, with which settings
and seed. Its key is a hash of that, of the rows and of the code, so that a result is
found again after a kill and never mistaken for that of another setting. A change of any
module makes all results old: which of them it leaves as they were, nobody can tell. A
training that two tables need runs once.
"""

import hashlib
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from lexfed.canonical import digest
from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.harness.machine import software

JobKind = Literal["train", "attack", "audit", "plan", "overhead", "search"]
"""Kinds of measurement; `measurement/job_kinds.py` defines each."""

Drawing = Literal[
    "",
    "epsilon",
    "alpha",
    "sites",
    "rounds",
    "learning",
    "noise",
    "attack",
    "radar",
    "distance",
]
"""Kinds of figure, drawn by `results/figures.py`. Empty: no figure."""


@dataclass(frozen=True)
class Job:
    """One measurement.

    Attributes:
        dataset: name of a table that `datasets` prepares.
        method: a method of training, or the part that is measured.
        seed: decides split, partition and first weights; never noise.
        rows: how many rows are drawn from the table; all if None.
        setting: everything else, as JSON values.
    """

    kind: JobKind
    dataset: str
    method: str
    seed: int
    rows: int | None = None
    setting: Mapping[str, Any] = field(default_factory=dict)

    @property
    def facts(self) -> dict[str, Any]:
        """Everything that identifies it, flat, as tables and rows show it."""
        return {
            "kind": self.kind,
            "dataset": self.dataset,
            "method": self.method,
            "seed": self.seed,
            "rows": self.rows,
            **self.setting,
        }

    @property
    def table(self) -> tuple[str, int | None]:
        """The prepared table that it reads; jobs with the same one share it."""
        return self.dataset, self.rows

    def key(self, dataset: Dataset) -> str:
        """Return the name of its result.

        Guarantees:
            Other settings, rows, data, code or versions of libraries have other keys.
        """
        made = {"data": dataset.digest, "code": code_digest(), "on": software()}
        return digest({**self.facts, **made})[:24]


@cache
def code_digest(package: Path = Path(__file__).parents[2]) -> str:
    """Return a hash of every module of a package and of the data it declares."""
    total = hashlib.sha256()
    for path in sorted(p for p in package.rglob("*") if p.suffix in (".py", ".toml")):
        total.update(f"{path.relative_to(package)}\0".encode())
        total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


Result = Mapping[str, Any]
"""A line of the journal: `key`, `job`, `status`, `values`, `note`."""

Measured = Sequence[tuple[Job, Result]]
"""Jobs that have run, each with its result."""


@dataclass(frozen=True)
class PublishedFigure:
    """A published figure, beside the line with these facts, and why ours may differ."""

    where: Mapping[str, Any]
    metric: str
    value: float
    source: str
    reason: str


@dataclass(frozen=True)
class TableTarget:
    """A target of all lines with the facts in `where`, and why it may be missed."""

    where: Mapping[str, Any]
    metric: str
    at_least: float | None = None
    at_most: float | None = None
    reason: str = ""


LinesOf = Callable[["ResultTable", Measured], Any]
"""Makes the lines of a table from its results, where means alone do not."""


@dataclass(frozen=True)
class ResultTable:
    """One table of the evaluation.

    Attributes:
        across: facts of a job that make a line; jobs that agree in them are averaged.
        shows: metrics, in the order of their columns.
        against: the method that others are compared with, seed by seed.
        lines: makes its lines; means over seeds if None.
    """

    name: str
    title: str
    question: str
    jobs: tuple[Job, ...]
    across: tuple[str, ...]
    shows: tuple[str, ...]
    drawing: Drawing = ""
    against: str = ""
    published: tuple[PublishedFigure, ...] = ()
    targets: tuple[TableTarget, ...] = ()
    lines: LinesOf | None = None

    @property
    def digest(self) -> str:
        """Hash of all that is asked for: the configuration of the table."""
        return digest([job.facts for job in self.jobs])[:16]

    @property
    def seeds(self) -> int:
        """The number of seeds behind a line."""
        return len({job.seed for job in self.jobs})

    def place(self, job: Job) -> tuple[Any, ...]:
        """Return the facts of a job that decide its line."""
        return tuple(job.facts.get(fact) for fact in self.across)

    def grouped(self, results: Measured) -> dict[tuple[Any, ...], Measured]:
        """Return the results of each line, by its place, in the order of the jobs."""
        groups: dict[tuple[Any, ...], list[tuple[Job, Result]]] = {}
        for job, result in results:
            groups.setdefault(self.place(job), []).append((job, result))
        return dict(groups)


@cache
def _questions(package: str) -> dict[str, dict[str, str]]:
    file = files(package) / "questions.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))


def asked(package: str, name: str, **values: Any) -> tuple[str, str, str]:
    """Return the name of a table, its title and what it asks, by `questions.toml`.

    The `values` are those that the question names in braces.
    """
    stated = _questions(package)[name]
    return name, stated["title"], stated["question"].format(**values)


def unique_jobs(tables: Sequence[ResultTable]) -> tuple[Job, ...]:
    """Return the jobs of some tables, each once, in order."""
    jobs = (job for table in tables for job in table.jobs)
    return tuple({digest(job.facts): job for job in jobs}.values())
