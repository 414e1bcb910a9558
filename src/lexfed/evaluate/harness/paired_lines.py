# SPDX-License-Identifier: Apache-2.0
"""Lines that are more than means: hindsight, distances, savings of courses of noise.

**Hindsight.** The best of several rules, chosen cell by cell after seeing the test
rows, is a peer that nobody could have run, and generous to the other side. Methods
outside the choice have their difference to it, paired by split.

**Distance** to methods without privacy, which no budget changes: paired by split, in
AUC, or in R² where a number is predicted.

**Courses of noise**, read off a grid of budgets and planned rounds:

    less_budget   part of the budget per round (mu^2) that a course can do without, and
                  still reach the AUC that constant noise has with all of it
    more_rounds   how many more rounds it runs for the same claim, as a part of those
                  of constant noise, and still reaches that AUC

An AUC counts as reached if it is at most `MARGIN` below; between two points of the grid
it is interpolated, and a gain beyond the grid counts as the grid's end. Constant noise
is measured too: where its own AUC hardly depends on budget or rounds it "gains" as
well, and only what a course gains beyond it is worth something. Intervals are 95 %, by
bootstrap over splits.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lexfed.arrays import Floats, Integers
from lexfed.evaluate.harness.summary import (
    MeanEstimate,
    TableLine,
    estimate,
    notes_of,
    number,
    overlap_of,
    paired_gain,
    table_lines,
)
from lexfed.evaluate.harness.tables import LinesOf, Measured, ResultTable

UNIFORM = ("uniform", "uniform-simple", "uniform-simple-paid", "uniform-simple-linear")
OVER_UNIFORM = "auc over the best of 4 uniform rules in hindsight"

MARGIN = 0.005
PARTS = (1.0, 0.8, 0.6, 0.4, 0.25)
"""Budgets per round, as parts of the full one."""
LENGTHS = (1.0, 1.25, 1.6, 2.0, 3.0)
"""Planned rounds, as multiples of the usual ones."""
_DRAWS = 1000


def over_the_best(chosen: Sequence[str], column: str) -> LinesOf:
    """Return a maker of lines with the difference to the best of the `chosen` methods.

    The best is taken in each cell, by the mean of the table's first metric.
    """

    def lines(table: ResultTable, results: Measured) -> tuple[TableLine, ...]:
        metric, groups = table.shows[0], table.grouped(results)
        means = table_lines(table, results)
        extended = []
        for line in means:
            peers = [
                other
                for other in means
                if _cell(other) == _cell(line)
                and other.facts["method"] in chosen
                and metric in other.values
            ]
            if line.facts["method"] in chosen or not peers:
                extended.append(line)
                continue
            best = max(peers, key=lambda peer: peer.values[metric].mean)
            own, others = (
                groups[tuple(one.facts[fact] for fact in table.across)]
                for one in (line, best)
            )
            over = paired_gain(own, {job.seed: peer for job, peer in others}, metric)
            more = {} if over is None else {column: over}
            extended.append(replace(line, values={**line.values, **more}))
        return tuple(extended)

    return lines


def beside(references: Sequence[str]) -> LinesOf:
    """Return a maker of lines with the difference to each of some `references`.

    Its column is called `over REFERENCE`. A reference has one line for a data set,
    which serves every budget.
    """

    def lines(table: ResultTable, results: Measured) -> tuple[TableLine, ...]:
        groups = table.grouped(results)
        known = {
            name: {
                (job.dataset, job.rows, job.seed): result
                for job, result in results
                if job.method == name
            }
            for name in references
        }
        extended = []
        for line in table_lines(table, results):
            group = groups[tuple(line.facts[fact] for fact in table.across)]
            metric = next((m for m in ("auc", "r2") if m in line.values), None)
            more: dict[str, MeanEstimate] = {}
            for name in references if metric else ():
                peers = {
                    job.seed: known[name][job.dataset, job.rows, job.seed]
                    for job, _ in group
                    if (job.dataset, job.rows, job.seed) in known[name]
                }
                over = paired_gain(group, peers, str(metric))
                if over is not None and line.facts["method"] != name:
                    more[f"over {name}"] = over
            extended.append(replace(line, values={**line.values, **more}))
        return tuple(extended)

    return lines


def _cell(line: TableLine) -> dict[str, object]:
    return {name: value for name, value in line.facts.items() if name != "method"}


def schedule_lines(table: ResultTable, results: Measured) -> tuple[TableLine, ...]:
    """Return a line for each course of noise, with what it saves."""
    groups = table.grouped(results)
    lines = []
    for place, group in groups.items():
        facts = dict(zip(table.across, place, strict=True))
        base = tuple({**facts, "method": table.against}[f] for f in table.across)
        shared = overlap_of(result for _, result in group)
        values, gain = _savings(_grid(group), _grid(groups[base]), shared)
        is_base = facts["method"] == table.against
        seeds = len({job.seed for job, _ in group})
        notes = notes_of(result for _, result in group)
        gains = {} if gain is None or is_base else {"auc": gain}
        lines.append(TableLine(facts, values, gains, seeds, notes))
    return tuple(lines)


@dataclass(frozen=True)
class _Grid:
    """AUC by part of the budget and by length, and rounds by length; a row a split."""

    parts: Floats
    lengths: Floats
    rounds: Floats


def _grid(group: Measured) -> _Grid:
    known = {
        (job.seed, job.setting["part"], job.setting["length"]): result
        for job, result in group
    }
    seeds = sorted({job.seed for job, _ in group})

    def values(metric: str, cells: list[tuple[float, float]]) -> Floats:
        return np.array(
            [[number(known[seed, *cell], metric) for cell in cells] for seed in seeds]
        )

    lengths = [(1.0, length) for length in LENGTHS]
    return _Grid(
        values("auc", [(part, 1.0) for part in PARTS]),
        values("auc", lengths),
        values("rounds", lengths),
    )


def _savings(
    grid: _Grid, constant: _Grid, shared: float
) -> tuple[dict[str, MeanEstimate], MeanEstimate | None]:
    """Return the values of a course, and its gain in AUC over constant noise."""
    seeds = len(grid.parts)
    draws = np.random.default_rng(7).integers(seeds, size=(_DRAWS, seeds))
    whole = _saved(grid, constant, np.arange(seeds))
    low, high = np.nanquantile(
        [_saved(grid, constant, draw) for draw in draws], (0.025, 0.975), axis=0
    )
    values = {
        "auc": estimate(grid.parts[:, 0], shared),
        "rounds": estimate(grid.rounds[:, 0]),
        **{
            name: MeanEstimate(float(mean), float(up - down) / 2.0, seeds)
            for name, mean, down, up in zip(
                ("less_budget", "more_rounds"), whole, low, high, strict=True
            )
            if np.isfinite(mean)
        },
    }
    gain = estimate(grid.parts[:, 0] - constant.parts[:, 0], shared)
    return {name: value for name, value in values.items() if value is not None}, gain


def _saved(grid: _Grid, constant: _Grid, seeds: Integers) -> tuple[float, float]:
    target = float(constant.parts[seeds, 0].mean()) - MARGIN
    usual = float(constant.rounds[seeds, 0].mean())
    run = grid.rounds[seeds].mean(axis=0) / usual
    return (
        1.0 - reach(PARTS, grid.parts[seeds].mean(axis=0), target),
        reach(run.tolist(), grid.lengths[seeds].mean(axis=0), target) - 1.0,
    )


def reach(grid: Sequence[float], scores: Floats, target: float) -> float:
    """Return how far along a grid the scores stay at the target, interpolated.

    >>> round(reach((1.0, 0.5), np.array([0.8, 0.7]), 0.75), 3)
    0.75
    """
    if scores[0] < target:
        return grid[0]
    for place in range(1, len(grid)):
        after, before = float(scores[place]), float(scores[place - 1])
        if after < target:
            crossed = (before - target) / (before - after)
            return grid[place - 1] + crossed * (grid[place] - grid[place - 1])
    return grid[-1]
