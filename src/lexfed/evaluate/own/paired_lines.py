# SPDX-License-Identifier: Apache-2.0
"""The material of answers: lines of tables, and two of them over the same splits."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from lexfed.evaluate.harness.summary import Summary, TableLine, number


@dataclass(frozen=True)
class EvaluationFinding:
    """The answer to a question.

    Attributes:
        headline: one sentence that can stand alone.
        details: further sentences.
        alarm: whether something seems to be broken.
    """

    headline: str
    details: tuple[str, ...] = ()
    alarm: bool = False


Summaries = Mapping[str, Summary]


@dataclass(frozen=True)
class PairedLines:
    """The means of two methods over the splits in which both have a number.

    Attributes:
        first: mean of the one.
        second: mean of the other.
        count: number of splits in which both have a number.
        seeds: number of all splits.
    """

    first: float
    second: float
    count: int
    seeds: int

    @property
    def fewer(self) -> str:
        """The part of the splits it is over; empty where it is all of them."""
        return part_of(self.count, self.seeds)


def pair_of(
    summary: Summary, metric: str, first: str, second: str
) -> PairedLines | None:
    """Return two methods side by side; None where they share no split.

    Guarantees:
        Both means are over the same splits, those of the paired difference.
    """
    found: dict[str, dict[int, float]] = {first: {}, second: {}}
    for result in summary.results:
        facts, value = result["job"], number(result, metric)
        if facts["method"] in found and math.isfinite(value):
            found[facts["method"]][facts["seed"]] = value
    common = sorted(found[first].keys() & found[second].keys())
    if not common:
        return None
    one, two = (fmean(found[m][seed] for seed in common) for m in (first, second))
    return PairedLines(one, two, len(common), summary.table.seeds)


def part_of(count: int, seeds: int) -> str:
    """Return `k of n splits`; empty where it is all of them."""
    return f"{count} of {seeds} splits" if count < seeds else ""


def line_of(summaries: Summaries, table: str, method: str) -> TableLine | None:
    """Return a line of a table; None where it was not measured."""
    if table not in summaries:
        return None
    lines = summaries[table].lines
    return next((one for one in lines if one.facts["method"] == method), None)


def metric_of(*lines: TableLine) -> str:
    """Return the metric that decides: AUC, or RMSE of a number; empty without one."""
    for metric in ("auc", "rmse"):
        if all(metric in one.values for one in lines):
            return metric
    return ""


def word(metric: str) -> str:
    """Return the usual name of the deciding metric."""
    return {"auc": "AUC", "rmse": "RMSE"}[metric]


def why(line: TableLine | None) -> str:
    """Return the first reason why a line has no figure, as a sentence."""
    refused = [] if line is None else [n for n in line.notes if n.startswith("refused")]
    return f" {refused[0].removeprefix('refused: ').capitalize()}." if refused else ""
