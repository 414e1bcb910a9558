# SPDX-License-Identifier: Apache-2.0
"""A few shapes of SVG, of which drawings are made.

No colour is needed to read a figure. Figures use the fonts and classes of the page
(`report.css`) and carry a title that screen readers speak.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import count as numbers_from

from markupsafe import Markup, escape

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


def bar(share: float, title: str) -> Markup:
    """Draw a bar for a table cell; `share` is of the longest bar."""
    length = 100.0 * min(max(share, 0.0), 1.0)
    return figure(100.0, 9.0, title, [rectangle(0.0, 1.0, length, 7.0, "bar")])
