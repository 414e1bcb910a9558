# SPDX-License-Identifier: Apache-2.0
"""The material of answers: two lines over the same splits, and numbers in sentences.

Proven bounds are rounded up, measured ones down. Means, ends and gains are neither;
they are rounded to the nearest.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

from lexfed.evaluate.harness.summary import MeanEstimate, Summary, TableLine, number
from lexfed.report.wording.rounding import round_down_to, round_up_to


@dataclass(frozen=True)
class EvaluationFinding:
    """The answer to a question: a sentence that can stand alone, then further ones.

    The alarm says that something seems to be broken.
    """

    headline: str
    details: tuple[str, ...] = ()
    alarm: bool = False

    def __str__(self) -> str:
        """The answer as the command line prints it."""
        return "\n  ".join((self.headline, *self.details))


Summaries = Mapping[str, Summary]


@dataclass(frozen=True)
class PairedLines:
    """The means of two methods over the splits in which both have a number.

    Attributes:
        fewer: the part of the splits they are over; empty where it is all of them.
    """

    first: float
    second: float
    fewer: str


def pair_of(
    summary: Summary, metric: str, first: str, second: str
) -> PairedLines | None:
    """Return two methods side by side; None where they share no split.

    Guarantees:
        Both means are over the same splits, those of the paired difference.
    """
    values: dict[str, dict[int, float]] = {first: {}, second: {}}
    for result in summary.results:
        facts, value = result["job"], number(result, metric)
        if facts["method"] in values and math.isfinite(value):
            values[facts["method"]][facts["seed"]] = value
    common = sorted(values[first].keys() & values[second].keys())
    if not common:
        return None
    one, two = (fmean(values[m][seed] for seed in common) for m in (first, second))
    return PairedLines(one, two, part_of(len(common), summary.table.seeds))


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


def lost_by(gain: MeanEstimate | None, metric: str) -> MeanEstimate | None:
    """Return the loss of a line of the table: less AUC, or more error."""
    if gain is None or metric == "rmse":
        return gain
    return MeanEstimate(-gain.mean, gain.half, gain.count)


def differs(gain: MeanEstimate) -> bool:
    """Return True if the interval leaves zero out; one split tells nothing."""
    return gain.half is not None and abs(gain.mean) > gain.half


def amount(gain: MeanEstimate | None, *, absolute: bool = False) -> str:
    """Return a difference with the half-width of its interval."""
    if gain is None:
        return "an unknown amount"
    text = three(abs(gain.mean) if absolute else gain.mean)
    return text if gain.half is None else f"{text} ± {three(gain.half)}"


def splits(gain: MeanEstimate) -> str:
    """Return the number of splits, in words."""
    return "one split" if gain.count == 1 else f"{gain.count} splits"


def three(value: float) -> str:
    """Return a number with three decimals.

    >>> three(-0.0071), three(-0.0001)
    ('−0.007', '0.000')
    """
    text = f"{value:.3f}"
    return "0.000" if text == "-0.000" else text.replace("-", "−")


three_up = partial(round_up_to, 3)
"""Returns a proven bound with three decimals."""
three_down = partial(round_down_to, 3)
"""Returns a measured lower bound with three decimals."""
down = partial(round_down_to, 2)
"""Returns a measured lower bound with two decimals."""


def enumerated(names: Sequence[str]) -> str:
    """Return names as a sentence has them.

    >>> enumerated(["a"]), enumerated(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
