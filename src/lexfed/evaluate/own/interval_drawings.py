# SPDX-License-Identifier: Apache-2.0
"""One small drawing for a line of a table: a value, its interval, and a bound."""

from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup

from lexfed.report.markup.svg import AxisScale, dot, figure, line

WIDTH, HEIGHT, EDGE = 180.0, 16.0, 6.0


@dataclass(frozen=True)
class IntervalReading:
    """A value between the ends of its interval.

    Attributes:
        low: lower end of its interval; the value itself where there is none.
        high: upper end.
        bound: the most that a proof allows; None without one.
    """

    value: float
    low: float
    high: float
    bound: float | None = None

    @property
    def places(self) -> tuple[float, ...]:
        """Everything that a drawing must have room for."""
        ends = (self.low, self.value, self.high)
        return ends if self.bound is None else (*ends, self.bound)


def scale_of(readings: Iterable[IntervalReading]) -> AxisScale:
    """Return a scale that all readings of a table share."""
    places = [place for reading in readings for place in reading.places]
    low, high = min(places, default=0.0), max(places, default=1.0)
    return AxisScale(low, high, EDGE, WIDTH - EDGE)


def whisker(reading: IntervalReading, scale: AxisScale, title: str) -> Markup:
    """Draw a value as a dot on its interval, and the bound as an upright line."""
    middle = HEIGHT / 2
    parts = [
        line(EDGE, HEIGHT - 1, WIDTH - EDGE, HEIGHT - 1, "grid"),
        line(scale.at(reading.low), middle, scale.at(reading.high), middle, "thin"),
        dot(scale.at(reading.value), middle),
    ]
    if reading.bound is not None:
        at = scale.at(reading.bound)
        parts.append(line(at, 1.0, at, HEIGHT - 2, "bound"))
    return figure(WIDTH, HEIGHT, title, parts)
