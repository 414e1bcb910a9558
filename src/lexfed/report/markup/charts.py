# SPDX-License-Identifier: Apache-2.0
"""Charts of the report: lines stretch with the page, text and dots keep their size.

A chart is as wide as its box, on a phone as on a desk, so its places across are shares
of the width and its places down are pixels. The box of the SVG is the area of the plot;
labels of the axes hang over its edges, into the margin that `report.css` leaves. No
colour is needed to read a chart.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup, escape

from lexfed.report.markup.svg import AxisScale, steps, ticks
from lexfed.report.wording.rounding import round_up

_LINE_HEIGHT = 14.0
_GRID = 1000.0
"""Curves are drawn on a square of this size, which is then stretched."""


@dataclass(frozen=True)
class Axes:
    """The area of a plot: its values across and upwards, and its height."""

    x: tuple[float, float]
    y: tuple[float, float]
    height: float

    def across(self, value: float) -> str:
        """Return a place as a share of the width."""
        return f"{_plain(AxisScale(*self.x, 0.0, 100.0).at(value))}%"

    def down(self, value: float) -> float:
        """Return a place in pixels from the top."""
        return AxisScale(*self.y, self.height, 0.0).at(value)

    def curve(
        self, points: Sequence[tuple[float, float]], style: str = "ink"
    ) -> Markup:
        """Return a line through points."""
        x, y = AxisScale(*self.x, 0.0, _GRID), AxisScale(*self.y, _GRID, 0.0)
        joined = " ".join(f"{_plain(x.at(a))},{_plain(y.at(b))}" for a, b in points)
        return Markup(
            '<svg viewBox="0 0 1000 1000" preserveAspectRatio="none" width="100%" '
            'height="100%"><polyline points="{}" class="{}"/></svg>'
        ).format(joined, style)

    def band(
        self, points: Sequence[tuple[float, float]], half: Sequence[float]
    ) -> Markup:
        """Return the area so far above and below a line."""
        above = [(x, y + away) for (x, y), away in zip(points, half, strict=True)]
        below = [(x, y - away) for (x, y), away in zip(points, half, strict=True)]
        return self.curve([*above, *reversed(below)], "band")

    def upright(self, value: float, style: str, top: float = 0.0) -> Markup:
        """Return a line from a height above the plot to its bottom."""
        place = self.across(value)
        return Markup('<line x1="{0}" x2="{0}" y1="{1}" y2="{2}" class="{3}"/>').format(
            place, _plain(top), _plain(self.height), style
        )

    def level(self, value: float, style: str) -> Markup:
        """Return a line from left to right."""
        place = _plain(self.down(value))
        return Markup('<line x1="0" x2="100%" y1="{0}" y2="{0}" class="{1}"/>').format(
            place, style
        )

    def whisker(self, at: float, low: float, high: float) -> Markup:
        """Return an interval around a point."""
        return Markup(
            '<line x1="{0}" x2="{0}" y1="{1}" y2="{2}" class="thin"/>'
        ).format(self.across(at), _plain(self.down(low)), _plain(self.down(high)))

    def dot(self, x: float, y: float, style: str = "dot") -> Markup:
        """Return a filled circle."""
        return Markup('<circle cx="{}" cy="{}" r="3" class="{}"/>').format(
            self.across(x), _plain(self.down(y)), style
        )

    def grid(self, most: int) -> list[Markup]:
        """Return at most so many lines across, with their values at the left edge."""
        parts = []
        for value in ticks(*self.y, most):
            parts.append(self.level(value, "grid"))
            parts.append(
                text("0", self.down(value) + 4.0, f"{value:g}", "end", "muted", dx=-6)
            )
        return parts

    def scale(self, marks: Iterable[float], name: str) -> list[Markup]:
        """Return values below the plot, and below them the name of the axis."""
        low = self.height + 16.0
        parts = [
            text(self.across(mark), low, f"{mark:g}", "middle", "muted")
            for mark in marks
        ]
        return [*parts, text("50%", low + 15.0, name, "middle", "muted")]


def text(
    x: str, y: float, words: str, anchor: str = "start", style: str = "", dx: int = 0
) -> Markup:
    """Return text; `anchor` is `start`, `middle` or `end`."""
    return Markup(
        '<text x="{}" y="{}" dx="{}" text-anchor="{}" class="{}">{}</text>'
    ).format(x, _plain(y), dx, anchor, style, escape(words))


def chart(
    height: float, title: str, parts: Iterable[Markup], above: float = 0.0
) -> Markup:
    """Return a chart that is as wide as its box; screen readers speak its title.

    `above` is the room for words over the plot.
    """
    room = Markup(' style="margin-top: {}px"').format(_plain(above)) if above else ""
    return Markup(
        '<svg class="chart" height="{}"{} role="img" aria-label="{}">{}</svg>'
    ).format(_plain(height), room, title, Markup("").join(parts))


@dataclass(frozen=True)
class SpendingCurve:
    """The epsilon of one scope after each round, and its limit if there is one."""

    title: str
    spent: Sequence[tuple[int, float]]
    limit: float | None

    @property
    def reached(self) -> str:
        """The last value, with what it may reach."""
        last = round_up(self.spent[-1][1] if self.spent else 0.0)
        return f"{last} of {round_up(self.limit)}" if self.limit else last

    def drawn(self, planned: int) -> Markup:
        """Draw the staircase below its limit, over the planned rounds."""
        last = self.spent[-1][1] if self.spent else 0.0
        high = max(last, self.limit or 0.0) * 1.12 or 1.0
        axes = Axes((0.0, float(max(planned, 1))), (0.0, high), 110.0)
        parts = [*axes.grid(4), *axes.scale(_whole(axes.x), "round")]
        if self.limit:
            parts.append(axes.level(self.limit, "limit"))
        if self.spent:
            rounds = [float(number) for number, _ in self.spent]
            up = AxisScale(0.0, high, 0.0, high)
            corners = steps([value for _, value in self.spent], rounds, up)
            parts.append(axes.curve([(0.0, 0.0), *corners]))
            parts.append(axes.dot(*corners[-1]))
        title = f"{self.title}: ε {self.reached} after {len(self.spent)} rounds"
        return chart(axes.height, title, parts)


def metric_curve(
    name: str,
    rounds: Sequence[tuple[int, str, float]],
    planned: int,
    baseline: float | None = None,
) -> Markup:
    """Draw a metric after each round, with a mark wherever another tier begins.

    `rounds` has number, tier (empty before the first) and value, in order; the axis
    ends at the number of `planned` rounds. A `baseline` is what no model is needed for.
    """
    values = [value for _, _, value in rounds]
    drawn = [*values, *([] if baseline is None else [baseline])]
    margin = (max(drawn) - min(drawn)) * 0.12 or 0.05
    axes = Axes(
        (0.0, float(max(planned, rounds[-1][0]))),
        (min(drawn) - margin, max(drawn) + margin),
        170.0,
    )
    parts = [*axes.grid(5), *axes.scale(_whole(axes.x), "round")]
    if baseline is not None:
        parts.append(axes.level(baseline, "limit"))
    starts = _starts(rounds)
    for number, (tier, start) in enumerate(starts):
        # Each on a line of its own: where a tier has few rounds, names would meet.
        top = -6.0 - _LINE_HEIGHT * (len(starts) - 1 - number)
        parts.append(axes.upright(start, "limit", top + 4.0))
        late = start > 0.6 * axes.x[1]
        parts.append(
            text(axes.across(start), top, tier, "end" if late else "start", "strong")
        )
    parts.append(axes.curve([(float(n), value) for n, _, value in rounds]))
    number, _, value = rounds[-1]
    parts.append(axes.dot(number, value))
    title = f"{name} after each round, {value:.3f} in the end"
    return chart(axes.height, title, parts, above=(len(starts) + 1) * _LINE_HEIGHT)


def _starts(rounds: Sequence[tuple[int, str, float]]) -> list[tuple[str, float]]:
    """Return every tier with the place where its rounds begin."""
    groups = groupby(rounds, key=lambda row: row[1])
    return [(tier, next(members)[0] - 0.5) for tier, members in groups if tier]


def roc_curve(
    points: Sequence[tuple[float, float]], chosen: tuple[float, float] | None
) -> Markup:
    """Draw the share of positives found over the share of negatives called positive."""
    axes = Axes((0.0, 1.0), (0.0, 1.0), 220.0)
    parts = [
        *axes.grid(5),
        *axes.scale((0, 0.5, 1), "negatives called positive"),
    ]
    parts.append(axes.curve([(0.0, 0.0), (1.0, 1.0)], "limit"))
    parts.append(axes.curve(points))
    if chosen is not None:
        parts.append(axes.dot(*chosen))
    return chart(axes.height, "Receiver operating characteristic (ROC)", parts)


def calibration_plot(
    points: Sequence[tuple[float, float]], intervals: Sequence[tuple[float, float]]
) -> Markup:
    """Draw mean truth over mean score of groups; `intervals` may be empty."""
    everything = [value for pair in (*points, *intervals) for value in pair]
    low, high = min(everything), max(everything)
    if intervals:
        low, high = 0.0, 1.0
    ends = (low, high if high > low else low + 1.0)
    axes = Axes(ends, ends, 220.0)
    parts = [*axes.grid(5), *axes.scale(ticks(*ends, 5), "predicted")]
    parts.append(axes.curve([(ends[0], ends[0]), (ends[1], ends[1])], "limit"))
    for (score, _), (least, most) in zip(points, intervals, strict=False):
        parts.append(axes.whisker(score, least, most))
    parts += [axes.dot(*point) for point in points]
    return chart(axes.height, "Predicted and observed, by groups of test rows", parts)


@dataclass(frozen=True)
class ChartPoint:
    """A labelled point, with the interval of its height if it has one."""

    label: str
    x: float
    y: float
    interval: tuple[float, float] | None = None


@dataclass(frozen=True)
class EffectLine:
    """An effect at places from 0 to 1 with half the width of its band, and a style."""

    points: Sequence[tuple[float, float]]
    half: Sequence[float]
    style: str


def effect_chart(
    title: str,
    lines: Sequence[EffectLine],
    ends: tuple[float, float],
    marks: Sequence[tuple[float, str]],
) -> Markup:
    """Draw what a column adds, over its values; `ends` are those of the axis upwards.

    `marks` name places along the axis of values, the first and the last at its ends.
    """
    axes = Axes((0.0, 1.0), ends, 120.0)
    parts = [axes.band(line.points, line.half) for line in lines]
    parts += [*axes.grid(4), axes.level(0.0, "thin")]
    parts += [axes.curve(line.points, line.style) for line in lines]
    low = axes.height + 14.0
    for place, name in marks:
        anchor = {0.0: "start", 1.0: "end"}.get(place, "middle")
        parts.append(text(axes.across(place), low, name, anchor, "muted"))
    return chart(axes.height, title, parts)


def effect_bars(
    title: str, effects: Sequence[tuple[float, float, str]], most: float
) -> Markup:
    """Draw bars left and right of zero with their bands, one below the other.

    `effects` are value, half of the band, and style; `most` is at the ends of the axis.
    """
    across = AxisScale(-most, most, 0.0, 100.0)
    height = 10.0 * len(effects)
    parts = [
        Markup('<line x1="50" x2="50" y1="0" y2="{}" class="thin"/>').format(
            _plain(height)
        )
    ]
    for number, (value, half, style) in enumerate(effects):
        top = 10.0 * number
        ends = sorted((50.0, across.at(value)))
        parts.append(
            Markup('<rect x="{}" y="{}" width="{}" height="6" class="{}"/>').format(
                _plain(ends[0]), _plain(top + 2.0), _plain(ends[1] - ends[0]), style
            )
        )
        low, high = across.at(value - half), across.at(value + half)
        parts.append(
            Markup('<line x1="{}" x2="{}" y1="{y}" y2="{y}" class="whisker"/>').format(
                _plain(max(0.0, low)), _plain(min(100.0, high)), y=_plain(top + 5.0)
            )
        )
    return Markup(
        '<svg class="bars" viewBox="0 0 100 {0}" preserveAspectRatio="none" '
        'style="height: {0}px" role="img" aria-label="{1}">{2}</svg>'
    ).format(_plain(height), title, Markup("").join(parts))


def metric_by_epsilon(
    name: str,
    points: Sequence[ChartPoint],
    levels: Sequence[tuple[str, float]],
    baseline: float | None = None,
) -> Markup:
    """Draw a metric over epsilon: runs with a guarantee as points, others as levels.

    A `baseline` is what no model is needed for. Points that nearly meet share a label.
    """
    heights = [value for _, value in levels] + [point.y for point in points]
    heights += [end for point in points for end in point.interval or ()]
    heights += [] if baseline is None else [baseline]
    margin = (max(heights) - min(heights)) * 0.12 or 0.05
    axes = Axes(
        (0.0, 1.15 * max(point.x for point in points) or 1.0),
        (min(heights) - margin, max(heights) + margin),
        220.0,
    )
    parts = [*axes.grid(5), *axes.scale(ticks(*axes.x, 6), "ε of the whole record")]
    if baseline is not None:
        parts.append(axes.level(baseline, "limit"))
    parts += [axes.level(value, "ink") for _, value in levels]
    named = [ChartPoint(label, 0.0, value) for label, value in levels]
    for label, _, y in _labels(axes, named):
        parts.append(text("100%", y - 5.0, label, "end", "strong"))
    for point in points:
        if point.interval is not None:
            parts.append(axes.whisker(point.x, *point.interval))
        parts.append(axes.dot(point.x, point.y))
    for label, x, y in _labels(axes, points):
        late = x > 0.8 * axes.x[1]
        parts.append(
            text(
                axes.across(x), y + 4.0, label, "end" if late else "start", "strong",
                dx=-8 if late else 8,
            )
        )  # fmt: skip
    title = f"{name} over epsilon of the whole record, by number of the run"
    return chart(axes.height, title, parts, above=_LINE_HEIGHT)


def _labels(axes: Axes, points: Sequence[ChartPoint]) -> list[tuple[str, float, float]]:
    """Return labels with their places, one for points that nearly meet."""
    near = 0.15 * axes.x[1]
    groups: list[list[ChartPoint]] = []
    for point in sorted(points, key=lambda each: (each.x, each.y)):
        for group in groups:
            close = abs(axes.down(group[0].y) - axes.down(point.y)) < _LINE_HEIGHT
            if close and abs(group[0].x - point.x) < near:
                group.append(point)
                break
        else:
            groups.append([point])
    return [
        (", ".join(p.label for p in group), group[-1].x, axes.down(group[0].y))
        for group in groups
    ]


def _whole(ends: tuple[float, float]) -> list[float]:
    return [tick for tick in ticks(*ends, 6) if tick == int(tick)]


def _plain(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
