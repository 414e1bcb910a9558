# SPDX-License-Identifier: Apache-2.0
"""What a table of the evaluation is: a question, the jobs that answer it, its lines.

Tables share jobs: a training that two tables need runs once. `catalogue/` holds the
tables themselves.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lexfed.canonical import digest
from lexfed.evaluate.harness.jobs import Job

Drawing = Literal[
    "", "epsilon", "alpha", "sites", "rounds", "learning", "noise", "attack", "radar"
]
"""How a table is drawn; `drawings.py` knows each. Empty: it is not."""


@dataclass(frozen=True)
class PublishedFigure:
    """A figure that somebody published, and why ours may differ.

    Attributes:
        where: the facts of the line it stands beside.
        metric: the column it stands beside.
        value: as published.
        source: who published it.
        reason: where a difference comes from.
    """

    where: Mapping[str, Any]
    metric: str
    value: float
    source: str
    reason: str


@dataclass(frozen=True)
class TableTarget:
    """What a table must show.

    Attributes:
        where: the facts of the lines it is about; all that agree must reach it.
        metric: the column.
        at_least: lowest mean that is enough; None if there is none.
        at_most: highest mean that is allowed; None if there is none.
        reason: why it may be missed; the page shows it if it is.
    """

    where: Mapping[str, Any]
    metric: str
    at_least: float | None = None
    at_most: float | None = None
    reason: str = ""


LinesOf = Callable[["ResultTable", Sequence[tuple[Job, Mapping[str, Any]]]], Any]
"""Makes the lines of a table from its results, where means alone do not."""


@dataclass(frozen=True)
class ResultTable:
    """One table of the evaluation.

    Attributes:
        name: what the command line calls it.
        title: of the page.
        question: what it answers and how, in a few sentences.
        jobs: everything that must be measured.
        across: facts of a job that make a line; jobs that agree in them are averaged.
        shows: metrics, in the order of their columns.
        drawing: how it is drawn.
        against: the method that others are compared with, seed by seed.
        published: figures of others.
        targets: what it must show.
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
        """Hash of everything that was asked for: the configuration of the table."""
        return digest([job.facts for job in self.jobs])[:16]

    @property
    def seeds(self) -> int:
        """How many seeds stand behind a line."""
        return len({job.seed for job in self.jobs})


def unique_jobs(tables: Sequence[ResultTable]) -> tuple[Job, ...]:
    """Return the jobs of some tables, each once, in order."""
    found: dict[str, Job] = {}
    for table in tables:
        for job in table.jobs:
            found.setdefault(digest(job.facts), job)
    return tuple(found.values())
