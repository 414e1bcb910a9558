# SPDX-License-Identifier: Apache-2.0
"""From single results to the lines of a table: means, intervals, gains by seed.

A line averages results that differ in the seed alone. What is not a number in one of
them is left out of a mean and said: how many seeds are behind it, how often a method
diverged; no target is reached by such a mean. A line whose jobs have not all run does
not exist.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from scipy.stats import t as student

from lexfed.evaluate.comparison.metrics import retention
from lexfed.evaluate.harness.jobs import Job
from lexfed.evaluate.harness.tables import ResultTable

Result = Mapping[str, Any]
"""A line of the journal: `key`, `job`, `status`, `values`, `note`."""
LEVEL = 0.95
OVERLAP = "overlap"
"""Test rows over training rows of a split, among the values of a training."""
GOAL = 0.9
"""Part of the AUC above chance without privacy that counts as the target of a run."""


@dataclass(frozen=True)
class MeanEstimate:
    """A mean over seeds with the half-width of its 95 % interval.

    Attributes:
        mean: over the seeds in which there is a number.
        half: half-width by Student's t; None with a single seed.
        count: how many seeds there are.
    """

    mean: float
    half: float | None
    count: int

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.mean - (self.half or 0.0)

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.mean + (self.half or 0.0)


@dataclass(frozen=True)
class TableLine:
    """One line of a table.

    Attributes:
        facts: what its jobs have in common.
        values: each metric; absent where no seed has a number.
        gains: each metric less that of the table's `against`, paired by seed.
        seeds: how many jobs are behind it.
        notes: what a reader must know: diverged, refused, a library that is missing.
    """

    facts: Mapping[str, Any]
    values: Mapping[str, MeanEstimate]
    gains: Mapping[str, MeanEstimate]
    seeds: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Summary:
    """A table with what was measured for it.

    Attributes:
        table: what was asked.
        lines: in the order of the jobs; empty unless every job has run.
        done: how many of the jobs have run.
        results: their results, in the order of the jobs; shorter than the jobs if
            some have not run.
    """

    table: ResultTable
    lines: tuple[TableLine, ...]
    done: int
    results: tuple[Result, ...]

    @property
    def whole(self) -> bool:
        """Whether every job has run; a table that is not whole shows no figure."""
        return self.done == len(self.table.jobs)


def estimate(values: Iterable[float], overlap: float = 0.0) -> MeanEstimate | None:
    """Return mean and 95 % interval of the numbers among some values.

    Splits of one table share rows, so that their results are no independent draws: S of
    them have a mean whose variance is not 1/S of theirs but about 1/S + overlap [NB03].

    Args:
        values: one for each split.
        overlap: test rows over training rows of a split; 0 for independent values.

    >>> found = estimate([0.7, 0.8, 0.9, math.nan])
    >>> round(found.mean, 3), round(found.half, 3), found.count
    (0.8, 0.248, 3)
    >>> round(estimate([0.7, 0.8, 0.9], overlap=3 / 7).half, 3)
    0.376
    """
    numbers = [value for value in values if math.isfinite(value)]
    if not numbers:
        return None
    count, mean = len(numbers), fmean(numbers)
    if count == 1:
        return MeanEstimate(mean, None, 1)
    quantile = float(student.ppf((1 + LEVEL) / 2, count - 1))
    spread = stdev(numbers) * math.sqrt(1.0 / count + overlap)
    return MeanEstimate(mean, quantile * spread, count)


def summarise(table: ResultTable, find: Callable[[Job], Result | None]) -> Summary:
    """Return the lines of a table.

    Guarantees:
        There are no lines unless every job of the table has a result.

    Args:
        table: what was asked.
        find: gives the result of a job, None if it has not run.
    """
    found = [(job, find(job)) for job in table.jobs]
    there = [(job, result) for job, result in found if result is not None]
    results = _with_ceiling(there)
    kept = tuple(result for _, result in results)
    if len(kept) < len(found):
        return Summary(table, (), len(kept), kept)
    lines = table_lines if table.lines is None else table.lines
    return Summary(table, lines(table, results), len(kept), kept)


def table_lines(
    table: ResultTable, results: Sequence[tuple[Job, Result]]
) -> tuple[TableLine, ...]:
    """Return a line for all results that agree in the facts of the table."""
    groups: dict[tuple[Any, ...], list[tuple[Job, Result]]] = {}
    for job, result in results:
        place = tuple(job.facts.get(fact) for fact in table.across)
        groups.setdefault(place, []).append((job, result))
    return tuple(
        _line(dict(zip(table.across, place, strict=True)), group, table, results)
        for place, group in groups.items()
    )


_SAME_MODEL = ("dataset", "rows", "seed", "model", "sites", "partition", "alpha")
"""What a model without privacy must share with another to be its ceiling."""


def _with_ceiling(results: Sequence[tuple[Job, Result]]) -> list[tuple[Job, Result]]:
    """Add what takes the same model without privacy, where the table has it.

    What is left of it, whether a run came to `GOAL` of it, and after which round.
    """
    ceilings = {
        _place(job): number(result, "auc")
        for job, result in results
        if job.method == "none"
    }
    found: list[tuple[Job, Result]] = []
    for job, result in results:
        values = dict(result["values"])
        ceiling = ceilings.get(_place(job), math.nan)
        if "auc" in values and ceiling > 0.5:
            values["retention"] = retention(number(result, "auc"), ceiling)
            values |= _goal(values.get("path") or (), ceiling)
        found.append((job, {**result, "values": values}))
    return found


def _goal(path: Sequence[Sequence[Any]], ceiling: float) -> dict[str, float]:
    """Return whether some round came to the goal, the first one, and what it took.

    Guarantees:
        A run that never did has no round, so that a mean over rounds is one over the
        runs that reached it, and `target_reached` says how many those are.
    """
    if not path:
        return {}
    enough = (point for point in path if retention(point[1], ceiling) >= GOAL)
    first = next(enough, None)
    if first is None:
        return {"target_reached": 0.0}
    number, _, spent = first
    found = {"target_reached": 1.0, "rounds_to_target": float(number)}
    return found if spent is None else {**found, "budget_to_target": spent}


def _place(job: Job) -> tuple[Any, ...]:
    return tuple(job.facts.get(fact) for fact in _SAME_MODEL)


def _line(
    facts: dict[str, Any],
    group: Sequence[tuple[Job, Result]],
    table: ResultTable,
    everything: Sequence[tuple[Job, Result]],
) -> TableLine:
    peers = _peers(facts, table, everything)
    shared = overlap_of(result for _, result in group)
    values, gains = {}, {}
    for metric in table.shows:
        found = estimate((number(result, metric) for _, result in group), shared)
        if found is not None:
            values[metric] = found
        paired = estimate(
            (
                number(result, metric) - number(peers[job.seed], metric)
                for job, result in group
                if job.seed in peers
            ),
            shared,
        )
        if paired is not None and facts.get("method") != table.against:
            gains[metric] = paired
    return TableLine(
        facts, values, gains, len(group), notes_of(result for _, result in group)
    )


def overlap_of(results: Iterable[Result]) -> float:
    """Return how much splits overlap; refused runs know nothing of it."""
    known = (number(result, OVERLAP) for result in results)
    return max((each for each in known if math.isfinite(each)), default=0.0)


def _peers(
    facts: Mapping[str, Any],
    table: ResultTable,
    everything: Sequence[tuple[Job, Result]],
) -> dict[int, Result]:
    """Return the results of `against` in the same place, by seed."""
    if not table.against:
        return {}
    wanted = {**facts, "method": table.against}
    return {
        job.seed: result
        for job, result in everything
        if all(job.facts.get(fact) == value for fact, value in wanted.items())
    }


def number(result: Result, metric: str) -> float:
    """Return a metric of a result; not a number if it has none."""
    value = result["values"].get(metric)
    return math.nan if value is None else float(value)


def notes_of(results: Iterable[Result]) -> tuple[str, ...]:
    """Return what a reader of a line must know, each note once."""
    found = list(results)
    notes = []
    diverged = sum(result["status"] == "diverged" for result in found)
    if diverged:
        notes.append(f"diverged in {diverged} of {len(found)}")
    for result in found:
        if result["status"] == "refused":
            notes.append(f"refused: {result['note']}")
        elif result["note"]:
            notes.append(result["note"])
    return tuple(dict.fromkeys(notes))
