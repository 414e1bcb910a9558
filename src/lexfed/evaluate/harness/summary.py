# SPDX-License-Identifier: Apache-2.0
"""From single results to the lines of a table: means, intervals, gains, verdicts.

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
from lexfed.evaluate.harness.tables import (
    Job,
    Measured,
    Result,
    ResultTable,
    TableTarget,
)

LEVEL = 0.95
OVERLAP = "overlap"
"""Test rows over training rows of a split, among the values of a training."""
GOAL = 0.9
"""Part of the AUC above chance without privacy that counts as the target of a run."""
GAIN = "gain "
"""Begins the name of a target's metric if the gain over `against` is meant."""


@dataclass(frozen=True)
class MeanEstimate:
    """A mean over the seeds with a number, and the half-width of its 95 % interval.

    The half-width is by Student's t; None with a single seed.
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

    def agrees(self, facts: Mapping[str, Any]) -> bool:
        """Say whether it has all of these facts."""
        return all(self.facts.get(name) == value for name, value in facts.items())


@dataclass(frozen=True)
class Summary:
    """A table with the results of the jobs that have run, in their order.

    There are no lines unless every job has run.
    """

    table: ResultTable
    lines: tuple[TableLine, ...]
    done: int
    results: tuple[Result, ...]

    @property
    def whole(self) -> bool:
        """True if every job has run; an incomplete table shows no figure."""
        return self.done == len(self.table.jobs)


def estimate(values: Iterable[float], overlap: float = 0.0) -> MeanEstimate | None:
    """Return mean and 95 % interval of the numbers among the values of some splits.

    Splits of one table share rows, so that their results are no independent draws: S of
    them have a mean whose variance is not 1/S of theirs but about 1/S + overlap [NB03].
    The overlap is test rows over training rows of a split; 0 for independent values.

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
    """Return the lines of a table; `find` gives the result of a job that has run.

    Guarantees:
        There are no lines unless every job of the table has a result.
    """
    pairs = ((job, find(job)) for job in table.jobs)
    results = _with_ceiling([(job, one) for job, one in pairs if one is not None])
    kept = tuple(result for _, result in results)
    if len(kept) < len(table.jobs):
        return Summary(table, (), len(kept), kept)
    lines = table_lines if table.lines is None else table.lines
    return Summary(table, lines(table, results), len(kept), kept)


def table_lines(table: ResultTable, results: Measured) -> tuple[TableLine, ...]:
    """Return a line for all results that agree in the facts of the table."""
    return tuple(
        _line(dict(zip(table.across, place, strict=True)), group, table, results)
        for place, group in table.grouped(results).items()
    )


_SAME_MODEL = ("dataset", "rows", "seed", "model", "sites", "partition", "alpha")
"""Fields that a model without privacy shares with another to be its ceiling."""


def _with_ceiling(results: Measured) -> list[tuple[Job, Result]]:
    """Add what is left of the AUC without privacy, and how soon it came to `GOAL`."""

    def model(job: Job) -> tuple[Any, ...]:
        return tuple(job.facts.get(fact) for fact in _SAME_MODEL)

    ceilings = {
        model(job): number(result, "auc")
        for job, result in results
        if job.method == "none"
    }
    completed: list[tuple[Job, Result]] = []
    for job, result in results:
        values = dict(result["values"])
        ceiling = ceilings.get(model(job), math.nan)
        if "auc" in values and ceiling > 0.5:
            values["retention"] = retention(number(result, "auc"), ceiling)
            values |= _goal(values.get("path") or (), ceiling)
        completed.append((job, {**result, "values": values}))
    return completed


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
    reached = {"target_reached": 1.0, "rounds_to_target": float(number)}
    return reached if spent is None else {**reached, "budget_to_target": spent}


def _line(
    facts: dict[str, Any], group: Measured, table: ResultTable, everything: Measured
) -> TableLine:
    wanted = {**facts, "method": table.against}
    peers = {
        job.seed: result
        for job, result in everything
        if table.against
        and all(job.facts.get(fact) == value for fact, value in wanted.items())
    }
    results = [result for _, result in group]
    shared = overlap_of(results)
    values = {
        metric: estimate((number(result, metric) for result in results), shared)
        for metric in table.shows
    }
    gains = {
        metric: paired_gain(group, peers, metric)
        for metric in table.shows
        if facts.get("method") != table.against
    }
    return TableLine(
        facts,
        {name: value for name, value in values.items() if value is not None},
        {name: value for name, value in gains.items() if value is not None},
        len(group),
        notes_of(results),
    )


def paired_gain(
    group: Measured, peers: Mapping[int, Result], metric: str
) -> MeanEstimate | None:
    """Return a metric of a line less that of its peers, which are known by seed."""
    return estimate(
        (
            number(result, metric) - number(peers[job.seed], metric)
            for job, result in group
            if job.seed in peers
        ),
        overlap_of(result for _, result in group),
    )


def overlap_of(results: Iterable[Result]) -> float:
    """Return how much splits overlap; refused runs know nothing of it."""
    known = (number(result, OVERLAP) for result in results)
    return max((each for each in known if math.isfinite(each)), default=0.0)


def number(result: Result, metric: str) -> float:
    """Return a metric of a result; not a number if it has none."""
    value = result["values"].get(metric)
    return math.nan if value is None else float(value)


def notes_of(results: Iterable[Result]) -> tuple[str, ...]:
    """Return what a reader of a line must know, each note once."""
    results = list(results)
    notes = []
    diverged = sum(result["status"] == "diverged" for result in results)
    if diverged:
        notes.append(f"diverged in {diverged} of {len(results)}")
    for result in results:
        if result["status"] == "refused":
            notes.append(f"refused: {result['note']}")
        elif result["note"]:
            notes.append(result["note"])
    return tuple(dict.fromkeys(notes))


@dataclass(frozen=True)
class TargetVerdict:
    """One target beside the mean of the worst line that it is about.

    Nothing is found if a line has no number for one of its seeds.
    """

    target: TableTarget
    found: float | None
    where: str
    half: float | None = None

    @property
    def reached(self) -> bool:
        """True if every line's mean reaches it; without a number it is not reached."""
        return self.found is not None and self._holds(self.found)

    @property
    def surely(self) -> bool:
        """True if the whole interval of the worst line reaches it."""
        half = self.half or 0.0
        return self.found is not None and (
            self._holds(self.found - half) and self._holds(self.found + half)
        )

    @property
    def word(self) -> str:
        """The verdict in a word or two."""
        if self.reached:
            return "reached" if self.surely else "reached by the mean"
        return "missed"

    def _holds(self, value: float) -> bool:
        low, high = self.target.at_least, self.target.at_most
        return (low is None or value >= low) and (high is None or value <= high)

    def __str__(self) -> str:
        """The verdict in words."""
        low, high = self.target.at_least, self.target.at_most
        asked = f"at least {low:g}" if low is not None else f"at most {high:g}"
        half = f" ± {self.half:.3f}" if self.half else ""
        found = "no number for a seed" if self.found is None else f"{self.found:.3f}"
        return f"{self.target.metric} {asked}; found {found}{half} ({self.where})"


def verdicts(
    table: ResultTable, lines: tuple[TableLine, ...]
) -> tuple[TargetVerdict, ...]:
    """Return the verdict on every target of a table; none if it has no lines."""
    return tuple(_verdict(target, lines) for target in table.targets if lines)


def _verdict(target: TableTarget, lines: tuple[TableLine, ...]) -> TargetVerdict:
    def value(line: TableLine) -> MeanEstimate | None:
        if target.metric.startswith(GAIN):
            return line.gains.get(target.metric.removeprefix(GAIN))
        return line.values.get(target.metric)

    numbers = [(line, value(line)) for line in lines if line.agrees(target.where)]
    if not numbers:
        return TargetVerdict(target, None, "no such line")
    # A mean over the seeds that went well says nothing about the method.
    for line, mean in numbers:
        if mean is None or mean.count < line.seeds:
            return TargetVerdict(target, None, _name(line))
    sign = 1.0 if target.at_least is not None else -1.0
    worst, least = min(
        ((line, mean) for line, mean in numbers if mean is not None),
        key=lambda pair: sign * pair[1].mean,
    )
    return TargetVerdict(target, least.mean, _name(worst), least.half)


def _name(line: TableLine) -> str:
    shown = {name: value for name, value in line.facts.items() if value is not None}
    return ", ".join(f"{name} {value}" for name, value in shown.items())
