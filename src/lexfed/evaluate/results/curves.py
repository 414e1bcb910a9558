# SPDX-License-Identifier: Apache-2.0
"""A metric against a number that was varied, one line a method, one panel a table."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from lexfed.evaluate.harness.summary import MeanEstimate, TableLine
from lexfed.evaluate.results.svg_files import end_labels, series
from lexfed.report.markup.svg import AxisScale, dot, figure, line, polyline, text, ticks

WIDTH, HEIGHT, LABELS = 720.0, 240.0, 110.0
_Points = list[tuple[float, MeanEstimate]]


def curves(
    lines: Sequence[TableLine], x: str, metric: str, title: str, what: str
) -> Markup:
    """Draw a metric against the fact `x`, with 95 % intervals.

    The scale of x is logarithmic: budgets and partitions are varied by factors.

    Args:
        lines: of a table; those without the fact or the metric are left out.
        x: the fact that was varied; a positive number.
        metric: what is drawn.
        title: that screen readers speak.
        what: name of the x axis.
    """
    panels = _panels(lines, x, metric)
    across = 1 if len(panels) == 1 else 2
    width = WIDTH / across
    parts: list[Markup] = []
    for number, (name, found) in enumerate(panels.items()):
        left, top = (number % across) * width, (number // across) * HEIGHT
        parts += _panel(name, found, left, top, width, f"{what}, {metric}")
    rows = max(1, math.ceil(len(panels) / across))
    return figure(WIDTH, rows * HEIGHT, title, parts)


def _panels(
    lines: Sequence[TableLine], x: str, metric: str
) -> dict[str, dict[str, _Points]]:
    found: dict[str, dict[str, _Points]] = {}
    for one in lines:
        place, value = one.facts.get(x), one.values.get(metric)
        if not isinstance(place, int | float) or value is None:
            continue
        panel = found.setdefault(_panel_name(one.facts), {})
        panel.setdefault(str(one.facts.get("method", "")), []).append((place, value))
    return {
        name: {method: sorted(points, key=_place) for method, points in panel.items()}
        for name, panel in found.items()
    }


def _place(point: tuple[float, MeanEstimate]) -> float:
    return point[0]


def _panel_name(facts: Mapping[str, Any]) -> str:
    equal = f", equal {facts['equal']} ε" if facts.get("equal") else ""
    return f"{facts.get('dataset', '')}{equal}"


def _panel(
    name: str,
    found: Mapping[str, _Points],
    left: float,
    top: float,
    width: float,
    axes: str,
) -> list[Markup]:
    places = sorted({place for points in found.values() for place, _ in points})
    values = [value for points in found.values() for _, value in points]
    low, high = min(v.low for v in values), max(v.high for v in values)
    x = AxisScale(
        math.log(places[0]),
        math.log(places[-1]),
        left + 40.0,
        left + width - LABELS,
    )
    y = AxisScale(low, high, top + HEIGHT - 34.0, top + 26.0)
    parts = [
        text(left, top + 12.0, name, style="strong"),
        text(left + width - LABELS, top + HEIGHT - 4.0, axes, "end", "muted"),
    ]
    for mark in ticks(low, y.high, 5):
        parts += [
            line(x.at(x.low), y.at(mark), x.at(x.high), y.at(mark), "grid"),
            text(x.at(x.low) - 6.0, y.at(mark) + 4.0, f"{mark:g}", "end", "muted"),
        ]
    parts += [
        text(
            x.at(math.log(place)), top + HEIGHT - 18.0, f"{place:g}", "middle", "muted"
        )
        for place in places
    ]
    ends = []
    for number, (method, points) in enumerate(found.items()):
        drawn = [(x.at(math.log(place)), y.at(value.mean)) for place, value in points]
        parts.append(polyline(drawn, series(number)))
        for (at, height), (_, value) in zip(drawn, points, strict=True):
            parts.append(line(at, y.at(value.low), at, y.at(value.high), "whisker"))
            parts.append(dot(at, height, 2.2))
        ends.append((drawn[-1][1], method))
    return parts + end_labels(
        ends, left + width - LABELS + 6.0, top + 20.0, top + HEIGHT - 34.0
    )
