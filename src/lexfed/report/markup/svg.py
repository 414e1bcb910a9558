# SPDX-License-Identifier: Apache-2.0
"""A few shapes of SVG, and the drawings of the report made of them.

No colour is needed to read a figure. Figures use the fonts and classes of the page
(`report.css`) and carry a title that screen readers speak. Each scope has a panel of
its own, because the record's epsilon and a tier's belong to different relations and
must not be compared on one axis.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count as numbers_from
from itertools import groupby

from markupsafe import Markup, escape

from lexfed.report.wording.rounding import round_up

WIDTH = 720.0


def figure(width: float, height: float, title: str, parts: Iterable[Markup]) -> Markup:
    """Return a drawing that scales with the page."""
    return Markup(
        '<svg viewBox="0 0 {} {}" role="img" aria-label="{}"><title>{}</title>{}</svg>'
    ).format(_n(width), _n(height), title, title, Markup("").join(parts))


def line(x1: float, y1: float, x2: float, y2: float, style: str = "thin") -> Markup:
    """Return a straight line."""
    return Markup('<line x1="{}" y1="{}" x2="{}" y2="{}" class="{}"/>').format(
        _n(x1), _n(y1), _n(x2), _n(y2), style
    )


def polyline(points: Sequence[tuple[float, float]], style: str = "ink") -> Markup:
    """Return a line through points."""
    joined = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
    return Markup('<polyline points="{}" class="{}"/>').format(joined, style)


def rectangle(
    x: float, y: float, width: float, height: float, style: str = "box"
) -> Markup:
    """Return a rectangle."""
    return Markup(
        '<rect x="{}" y="{}" width="{}" height="{}" class="{}"/>'
    ).format(_n(x), _n(y), _n(width), _n(height), style)  # fmt: skip


def dot(x: float, y: float, radius: float = 3.0, style: str = "dot") -> Markup:
    """Return a filled circle."""
    return Markup('<circle cx="{}" cy="{}" r="{}" class="{}"/>').format(
        _n(x), _n(y), _n(radius), style
    )


def text(
    x: float, y: float, words: str, anchor: str = "start", style: str = ""
) -> Markup:
    """Return text; `anchor` is `start`, `middle` or `end`."""
    return Markup('<text x="{}" y="{}" text-anchor="{}" class="{}">{}</text>').format(
        _n(x), _n(y), anchor, style, escape(words)
    )


def steps(
    values: Sequence[float], x: Sequence[float], y: "AxisScale"
) -> list[tuple[float, float]]:
    """Return the corners of a line that rises at each x and stays until the next."""
    corners: list[tuple[float, float]] = []
    height = y.at(y.low)
    for value, place in zip(values, x, strict=True):
        corners += [(place, height), (place, y.at(value))]
        height = y.at(value)
    return corners


class AxisScale:
    """A linear map from values to places on the page."""

    def __init__(self, low: float, high: float, start: float, stop: float) -> None:
        self.low, self.high = low, high if high > low else low + 1.0
        self._start, self._stop = start, stop

    def at(self, value: float) -> float:
        """Return the place of a value."""
        share = (value - self.low) / (self.high - self.low)
        return self._start + share * (self._stop - self._start)


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return round numbers from low to high, at most that many.

    >>> ticks(0, 2.2)
    [0.0, 0.5, 1.0, 1.5, 2.0]
    """
    span = high - low
    if not span > 0:
        return [low]
    power = 10.0 ** math.floor(math.log10(span / most))
    for size in (1, 2, 5, 10, 20):
        step = size * power
        first = math.ceil(low / step - 1e-9)
        last = math.floor(high / step + 1e-9)
        if last - first < most:
            break
    places = max(0, -math.floor(math.log10(step) + 1e-9))
    chosen = numbers_from(first)
    return [round(next(chosen) * step, places) for _ in range(last - first + 1)]


def grid_lines(
    y: AxisScale, left: float, right: float, most: int, digits: str = "g"
) -> list[Markup]:
    """Return at most so many lines across the page, with their values beside them."""
    return [
        part
        for value in ticks(y.low, y.high, most)
        for part in (
            line(left, y.at(value), right, y.at(value), "grid"),
            text(left - 6.0, y.at(value) + 4.0, f"{value:{digits}}", "end", "muted"),
        )
    ]


def _n(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


@dataclass(frozen=True)
class Panel:
    """The epsilon of one scope after each round, and its limit if there is one."""

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
    parts = grid_lines(y, x.at(0), x.at(x.high), 5)
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
