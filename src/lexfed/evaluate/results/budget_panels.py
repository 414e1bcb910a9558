# SPDX-License-Identifier: Apache-2.0
"""The spending of every scope against its limit, as panels of one drawing."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from lexfed.report.markup.svg import (
    AxisScale,
    dot,
    figure,
    grid_lines,
    line,
    polyline,
    steps,
    text,
    ticks,
)
from lexfed.report.wording.rounding import round_up

WIDTH = 720.0


@dataclass(frozen=True)
class Panel:
    """The epsilon of one scope after each round, and its limit if there is one."""

    title: str
    spent: Sequence[tuple[int, float]]
    limit: float | None


def budget_panels(panels: Sequence[Panel], planned: int) -> Markup:
    """Draw the spending of each scope against its limit, two panels a row.

    Each has a scale of its own: the record's epsilon and a tier's belong to different
    relations and must not be compared on one axis.
    """
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
    parts += grid_lines(y, x.at(0), x.at(x.high), 4)
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
