# SPDX-License-Identifier: Apache-2.0
"""What a course of noise saves, read off a grid of budgets and planned rounds.

    less_budget   part of the budget per round (mu^2) that it can do without, and still
                  reach the AUC that constant noise has with all of it
    more_rounds   how many more rounds it runs for the same claim, as a part of those
                  of constant noise, and still reaches that AUC

An AUC counts as reached if it is at most `MARGIN` below; between two points of the grid
it is interpolated, and a gain beyond the grid counts as the grid's end. Constant noise
is asked too: where its own AUC hardly depends on budget or rounds it "gains" as well,
and only what a course gains beyond it is worth something. Intervals are 95 %, by
bootstrap over splits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lexfed.arrays import Floats, Integers
from lexfed.evaluate.harness.jobs import Job
from lexfed.evaluate.harness.summary import (
    MeanEstimate,
    Result,
    TableLine,
    estimate,
    notes_of,
    number,
    overlap_of,
)
from lexfed.evaluate.harness.tables import ResultTable

MARGIN = 0.005
PARTS = (1.0, 0.8, 0.6, 0.4, 0.25)
"""Budgets per round, as parts of the full one."""
LENGTHS = (1.0, 1.25, 1.6, 2.0, 3.0)
"""Planned rounds, as multiples of the usual ones."""
_DRAWS = 1000


def schedule_lines(
    table: ResultTable, results: Sequence[tuple[Job, Result]]
) -> tuple[TableLine, ...]:
    """Return a line for each course of noise, with what it saves."""
    groups: dict[tuple[Any, ...], list[tuple[Job, Result]]] = {}
    for job, result in results:
        place = tuple(job.facts.get(fact) for fact in table.across)
        groups.setdefault(place, []).append((job, result))
    lines = []
    for place, group in groups.items():
        facts = dict(zip(table.across, place, strict=True))
        base = tuple({**facts, "method": table.against}[f] for f in table.across)
        values, gains = _figures(_grid(group), _grid(groups[base]), group)
        found = [result for _, result in group]
        seeds = len({job.seed for job, _ in group})
        gains = gains if facts["method"] != table.against else {}
        lines.append(TableLine(facts, values, gains, seeds, notes_of(found)))
    return tuple(lines)


@dataclass(frozen=True)
class _Grid:
    """AUC and rounds of one course, a row for each split."""

    parts: Floats
    lengths: Floats
    rounds: Floats


def _grid(group: Sequence[tuple[Job, Result]]) -> _Grid:
    seeds = sorted({job.seed for job, _ in group})
    known = {
        (job.seed, job.setting["part"], job.setting["length"]): result
        for job, result in group
    }
    return _Grid(
        *(
            np.array(
                [
                    [number(known[seed, *cell], metric) for cell in cells]
                    for seed in seeds
                ]
            )
            for metric, cells in (
                ("auc", [(part, 1.0) for part in PARTS]),
                ("auc", [(1.0, length) for length in LENGTHS]),
                ("rounds", [(1.0, length) for length in LENGTHS]),
            )
        )
    )


def _figures(
    grid: _Grid, constant: _Grid, group: Sequence[tuple[Job, Result]]
) -> tuple[dict[str, MeanEstimate], dict[str, MeanEstimate]]:
    seeds = len(grid.parts)
    shared = overlap_of(result for _, result in group)
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
    gains = {} if gain is None else {"auc": gain}
    return {name: found for name, found in values.items() if found is not None}, gains


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
        here, before = float(scores[place]), float(scores[place - 1])
        if here < target:
            crossed = (before - target) / (before - here)
            return grid[place - 1] + crossed * (grid[place] - grid[place - 1])
    return grid[-1]
