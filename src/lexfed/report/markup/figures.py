# SPDX-License-Identifier: Apache-2.0
"""The drawings of the report: budgets spent, metrics by round, bars in tables.

Each scope has a panel of its own, because the record's epsilon and a tier's belong to
different relations and must not be compared on one axis.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from lexfed.report.markup.svg import (
    AxisScale,
    dot,
    figure,
    line,
    polyline,
    rectangle,
    steps,
    text,
    ticks,
)
from lexfed.report.wording.rounding import round_up

WIDTH = 720.0


@dataclass(frozen=True)
class Panel:
    """The epsilon of one scope, round by round.

    Attributes:
        title: the name of the scope.
        spent: rounds and the epsilon after each, in order.
        limit: the most it may reach; None where nothing limits it.
    """

    title: str
    spent: Sequence[tuple[int, float]]
    limit: float | None


def budget_panels(panels: Sequence[Panel], planned: int) -> Markup:
    """Draw the spending of each scope against its limit, two panels a row."""
    across = 2 if len(panels) > 1 else 1
    width = (WIDTH - 24.0 * (across - 1)) / across
    height = 150.0
    parts: list[Markup] = []
    for number, panel in enumerate(panels):
        left = (number % across) * (width + 24.0)
        top = (number // across) * (height + 14.0)
        parts += _panel(panel, planned, left, top, width, height)
    rows = -(-len(panels) // across)
    total = rows * height + (rows - 1) * 14.0
    return figure(WIDTH, total, "epsilon after each round, and its limit", parts)


def _panel(
    panel: Panel, planned: int, left: float, top: float, width: float, height: float
) -> list[Markup]:
    last = panel.spent[-1][1] if panel.spent else 0.0
    high = max(last, panel.limit or 0.0) * 1.12 or 1.0
    x = AxisScale(0, max(planned, 1), left + 40.0, left + width - 8.0)
    y = AxisScale(0.0, high, top + height - 30.0, top + 26.0)
    parts = [text(left, top + 12.0, panel.title, style="strong")]
    reached = (
        f"{round_up(last)} of {round_up(panel.limit)}"
        if panel.limit
        else round_up(last)
    )
    parts.append(text(left + width - 8.0, top + 12.0, f"ε {reached}", "end"))
    for value in ticks(0.0, high, 4):
        parts += [
            line(x.at(0), y.at(value), x.at(x.high), y.at(value), "grid"),
            text(x.at(0) - 6.0, y.at(value) + 4.0, f"{value:g}", "end", "muted"),
        ]
    parts += _rounds_axis(planned, x, top + height - 14.0)
    if panel.limit:
        parts.append(
            line(x.at(0), y.at(panel.limit), x.at(x.high), y.at(panel.limit), "limit")
        )
    if panel.spent:
        places = [x.at(number) for number, _ in panel.spent]
        corners = steps([value for _, value in panel.spent], places, y)
        parts.append(polyline([(x.at(0), y.at(0.0)), *corners]))
        parts.append(dot(*corners[-1]))
    return parts


def _rounds_axis(planned: int, x: AxisScale, place: float) -> list[Markup]:
    marks = [tick for tick in ticks(0, max(planned, 1), 6) if tick == int(tick)]
    parts = [
        text(x.at(tick), place, f"{tick:g}", "middle", "muted") for tick in marks[1:]
    ]
    return [text(x.at(0), place, "round 0", "middle", "muted"), *parts]


def metric_curve(
    name: str, rounds: Sequence[tuple[int, str, float]], planned: int
) -> Markup:
    """Draw a metric after each round, with a mark wherever another tier begins.

    `rounds` has number, tier (empty before the first) and value, in order; the axis
    ends at the number of `planned` rounds.
    """
    values = [value for _, _, value in rounds]
    margin = (max(values) - min(values)) * 0.12 or 0.05
    x = AxisScale(0, max(planned, rounds[-1][0]), 48.0, WIDTH - 92.0)
    y = AxisScale(min(values) - margin, max(values) + margin, 176.0, 30.0)
    parts = [
        Markup("").join(
            (
                line(x.at(0), y.at(tick), x.at(x.high), y.at(tick), "grid"),
                text(x.at(0) - 6.0, y.at(tick) + 4.0, f"{tick:g}", "end", "muted"),
            )
        )
        for tick in ticks(y.low, y.high, 5)
    ]
    for tier, group in groupby(rounds, key=lambda row: row[1]):
        members = list(group)
        start = x.at(members[0][0] - 0.5)
        if tier:
            parts.append(line(start, 22.0, start, 176.0, "limit"))
            parts.append(text(start + 5.0, 20.0, tier, style="strong"))
    parts += _rounds_axis(int(x.high), x, 194.0)
    parts.append(polyline([(x.at(n), y.at(value)) for n, _, value in rounds]))
    number, _, value = rounds[-1]
    parts.append(dot(x.at(number), y.at(value)))
    parts.append(text(x.at(number) + 8.0, y.at(value) + 4.0, f"{name} {value:.3f}"))
    return figure(WIDTH, 200.0, f"{name} after each round", parts)


def bar(share: float, title: str) -> Markup:
    """Draw a bar for a table cell; `share` is of the longest bar."""
    length = 100.0 * min(max(share, 0.0), 1.0)
    return figure(100.0, 9.0, title, [rectangle(0.0, 1.0, length, 7.0, "bar")])
