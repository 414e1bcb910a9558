# SPDX-License-Identifier: Apache-2.0
"""The drawings of a profile: bars with their intervals, and where most values lie.

Noise is shown and not hidden: every bar has a line from one end of its interval to the
other. Bars are put together until their intervals are small beside the highest one.
"""

import math
from collections.abc import Sequence

from markupsafe import Markup

from lexfed.report.markup.svg import (
    AxisScale,
    dot,
    figure,
    grid_lines,
    line,
    rectangle,
    text,
    ticks,
)
from lexfed.report.profile.wording import exact, number
from lexfed.sketch.profile.answers import (
    ProfiledHistogram,
    ProfiledNumber,
    ProfiledQuantile,
)

WIDTH = 720.0
_LEFT, _RIGHT = 52.0, WIDTH - 8.0
_TOP, _BASE = 14.0, 158.0
_BOX = 184.0  # height at which the box of the quartiles lies
_LABELS, _HEIGHT = 208.0, 214.0
_NOISY = 0.2
"""Intervals larger than this share of the highest bar make bars be put together."""

_FEWEST = 8
_TOWERS = 3.0  # a bar so many times as high as the next one is cut
_SEEN = 0.02  # unless the next one is hardly anything beside it


def histogram(
    bars: ProfiledHistogram,
    quantiles: Sequence[ProfiledQuantile],
    ends: tuple[float, float] | None,
    title: str,
) -> Markup:
    """Draw a histogram over the box of its quartiles.

    `quantiles` are the outer ones, the quartiles and the median, or none; `ends` of the
    declared range are marked by broken lines.
    """
    shown = put_together(bars)
    y = AxisScale(0.0, _highest(shown), _BASE, _TOP)
    x = Axis(shown)
    parts = grid_lines(y, _LEFT, _RIGHT, 4, ",g")
    parts += _bars(shown, x, y)
    for end in marks(shown, ends):
        parts.append(line(x.at(end), _TOP - 8.0, x.at(end), _BASE, "limit"))
    parts += _box(quantiles, x)
    parts += [line(_LEFT, _BASE, _RIGHT, _BASE, "thin"), *x.labels(_LABELS)]
    return figure(WIDTH, _HEIGHT, title, parts)


def marks(bars: ProfiledHistogram, ends: tuple[float, float] | None) -> list[float]:
    """Return the ends of a range that lie within a drawing."""
    return [end for end in ends or () if bars.edges[0] <= end <= bars.edges[-1]]


class Axis:
    """Places of numbers below bars that are all equally wide."""

    def __init__(self, bars: ProfiledHistogram) -> None:
        self._edges, self._by_size = bars.edges, bars.by_size
        self._scale = AxisScale(0, len(bars.counts), _LEFT, _RIGHT)

    def edge(self, index: int) -> float:
        """Return the place of an edge."""
        return self._scale.at(index)

    def at(self, value: float) -> float:
        """Return the place of a number; one that lies beyond is put at the end."""
        if value >= self._edges[-1]:
            return self.edge(len(self._edges) - 1)
        index = max(sum(edge <= value for edge in self._edges) - 1, 0)
        low, high = self._edges[index], self._edges[index + 1]
        return self._scale.at(index + max((value - low) / (high - low), 0.0))

    def labels(self, height: float) -> list[Markup]:
        """Return round numbers below the axis, or the edges of bars by size."""
        if not self._by_size:
            low, high = self._edges[0], self._edges[-1]
            marks = [(value, exact(value)) for value in ticks(low, high, 8)]
        else:
            every = max(math.ceil(len(self._edges) / 9), 1)
            marks = [
                (edge, _size(edge, self._edges[at : at + 2]))
                for at, edge in enumerate(self._edges)
                if at % every == 0
            ]
        return [
            text(self.at(value), height, label, "middle", "muted")
            for value, label in marks
        ]


def _size(edge: float, bar: Sequence[float]) -> str:
    """An edge of a bar by size; the bar around zero is called by it."""
    around_zero = len(bar) > 1 and bar[0] < 0 < bar[1]
    return "0" if around_zero else number(edge, abs(edge) / 10)


def put_together(bars: ProfiledHistogram) -> ProfiledHistogram:
    """Return the histogram with neighbours added up until noise is small beside it."""
    while (
        not bars.by_size
        and len(bars.counts) % 2 == 0
        and len(bars.counts) >= 2 * _FEWEST
        and max(bars.reaches) > _NOISY * max(bars.counts)
    ):
        pairs = range(0, len(bars.counts), 2)
        bars = ProfiledHistogram(
            edges=bars.edges[::2],
            counts=tuple(sum(bars.counts[at : at + 2]) for at in pairs),
            reaches=tuple(math.hypot(*bars.reaches[at : at + 2]) for at in pairs),
            below=bars.below,
            above=bars.above,
        )
    return bars


def _highest(bars: ProfiledHistogram) -> float:
    """Return the axis's end, such that one bar far above the others hides none."""
    tops = sorted(
        count + reach for count, reach in zip(bars.counts, bars.reaches, strict=True)
    )
    alone = len(tops) > 1 and tops[-1] > _TOWERS * tops[-2] > _TOWERS * _SEEN * tops[-1]
    return max(1.25 * tops[-2] if alone else tops[-1], 1.0)


def _bars(bars: ProfiledHistogram, x: Axis, y: AxisScale) -> list[Markup]:
    parts = []
    for at, (count, reach) in enumerate(zip(bars.counts, bars.reaches, strict=True)):
        left, right = x.edge(at) + 0.6, x.edge(at + 1) - 0.6
        middle = (left + right) / 2
        top = y.at(min(max(count, 0.0), y.high))
        parts.append(rectangle(left, top, right - left, _BASE - top, "soft"))
        if count > y.high:
            label = f"{number(count, reach)} ±{number(reach, reach)}"
            parts += [
                line(left - 3.0, top + 12.0, right + 3.0, top + 6.0, "cut"),
                text(right + 6.0, top + 10.0, label, "start", "muted"),
            ]
        elif count + reach > 0:
            ends = y.at(max(count - reach, 0.0)), y.at(count + reach)
            parts.append(line(middle, ends[0], middle, ends[1], "whisker"))
    return parts


def _box(quantiles: Sequence[ProfiledQuantile], x: Axis) -> list[Markup]:
    """A line between the outer quantiles, a box between quartiles, and the median."""
    if not quantiles:
        return []
    lowest, first, middle, third, highest = (x.at(each.at.value) for each in quantiles)
    return [
        line(lowest, _BOX, highest, _BOX, "thin"),
        line(lowest, _BOX - 4.0, lowest, _BOX + 4.0, "thin"),
        line(highest, _BOX - 4.0, highest, _BOX + 4.0, "thin"),
        rectangle(first, _BOX - 6.0, max(third - first, 1.0), 12.0, "box"),
        line(middle, _BOX - 6.0, middle, _BOX + 6.0, "ink"),
    ]


def spark(counts: Sequence[float], title: str) -> Markup:
    """Draw bars without axes, for a cell of a table."""
    highest = max((*counts, 1.0))
    width = 120.0 / max(len(counts), 1)
    parts = [
        rectangle(at * width, 24.0 - high, max(width - 0.4, 0.4), high, "bar")
        for at, count in enumerate(counts)
        if (high := 24.0 * max(count, 0.0) / highest) > 0
    ]
    parts.append(line(0.0, 24.0, 120.0, 24.0, "thin"))
    return figure(120.0, 25.0, title, parts)


def whisker(
    answer: ProfiledNumber, most: float, title: str, bar: bool = True
) -> Markup:
    """Draw a value, as a bar or a dot, and its interval on a line from 0 to `most`."""
    x = AxisScale(0.0, most, 1.0, 199.0)

    def place(value: float | None, unknown: float) -> float:
        return x.at(min(max(unknown if value is None else value, 0.0), x.high))

    value = place(answer.value, 0.0)
    parts = [line(1.0, 8.0, 199.0, 8.0, "grid")]
    if bar:
        parts.append(rectangle(1.0, 2.0, value - 1.0, 12.0, "soft"))
    low, high = place(answer.low, 0.0), place(answer.high, x.high)
    parts.append(line(low, 8.0, high, 8.0, "whisker"))
    if not bar:
        parts.append(dot(value, 8.0))
    return figure(200.0, 16.0, title, parts)
