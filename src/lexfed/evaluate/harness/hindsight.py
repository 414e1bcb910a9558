# SPDX-License-Identifier: Apache-2.0
"""The best of several methods in hindsight, as a peer that nobody could have run.

Whoever compares with the best of several rules, chosen cell by cell after seeing the
test rows, is generous to the other side. Methods outside the choice have their
difference to it, paired by split, in a column whose name says what it is.
"""

from collections.abc import Sequence
from dataclasses import replace

from lexfed.evaluate.harness.jobs import Job
from lexfed.evaluate.harness.summary import (
    Result,
    TableLine,
    estimate,
    number,
    overlap_of,
    table_lines,
)
from lexfed.evaluate.harness.tables import LinesOf, ResultTable

UNIFORM = (
    "uniform",
    "uniform-simple",
    "uniform-simple-paid",
    "uniform-simple-linear",
)
OVER_UNIFORM = "auc over the best of 4 uniform rules in hindsight"


def over_the_best(chosen: Sequence[str], column: str) -> LinesOf:
    """Return what adds the difference to the best of some methods in each cell.

    Args:
        chosen: methods of which the best is taken, by the mean of the first metric.
        column: name of the difference; it says that the choice was in hindsight.
    """

    def lines(
        table: ResultTable, results: Sequence[tuple[Job, Result]]
    ) -> tuple[TableLine, ...]:
        metric = table.shows[0]
        found = table_lines(table, results)
        by_place = _by_place(table, results)
        added = []
        for line in found:
            cell = [
                other
                for other in found
                if _cell(other) == _cell(line) and other.facts["method"] in chosen
            ]
            known = [other for other in cell if metric in other.values]
            if line.facts["method"] in chosen or not known:
                added.append(line)
                continue
            best = max(known, key=lambda other: other.values[metric].mean)
            own, peers = by_place[_place(table, line)], by_place[_place(table, best)]
            over = estimate(
                (
                    number(own[seed], metric) - number(peers[seed], metric)
                    for seed in own
                    if seed in peers
                ),
                overlap_of(own.values()),
            )
            more = {} if over is None else {column: over}
            added.append(replace(line, values={**line.values, **more}))
        return tuple(added)

    return lines


def _cell(line: TableLine) -> dict[str, object]:
    return {name: value for name, value in line.facts.items() if name != "method"}


def _place(table: ResultTable, line: TableLine) -> tuple[object, ...]:
    return tuple(line.facts[fact] for fact in table.across)


def _by_place(
    table: ResultTable, results: Sequence[tuple[Job, Result]]
) -> dict[tuple[object, ...], dict[int, Result]]:
    found: dict[tuple[object, ...], dict[int, Result]] = {}
    for job, result in results:
        place = tuple(job.facts.get(fact) for fact in table.across)
        found.setdefault(place, {})[job.seed] = result
    return found
