# SPDX-License-Identifier: Apache-2.0
"""Ranges, quantiles and histograms of a number, from half octaves and from bins.

Both tables answer every question, with independent noise and their part of the error,
so that the intersection of intervals holds the truth as often as one alone would
(Bonferroni); half octaves are finer near zero, bins elsewhere.
docs/theory/profile-answers.md says how the range to declare follows.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from lexfed.arrays import Floats
from lexfed.sketch.estimates.intervals import CONFIDENCE, Estimate
from lexfed.sketch.profile.answers import (
    ProfiledHistogram,
    ProfiledNumber,
    ProfiledQuantile,
)
from lexfed.sketch.profile.cell_spread import QuantileSpan, Spread
from lexfed.sketch.queries.refinements import ERROR, threshold
from lexfed.sketch.queries.requested_tables import (
    DOUBLES,
    HALVES,
    OCTAVES,
    ReleasedTable,
    double_edges,
)

TAIL = 0.005
"""Share of values beyond either end of a range."""

SHARES = (TAIL, 0.25, 0.5, 0.75, 1 - TAIL)
"""Quantiles of a profile."""

_CROWDED = 0.5
"""Share of values in one bin from which bins of equal width show too little."""

_FEW = 3
"""Bars by size that show no more than bins would."""

_MUCH = 4 * TAIL
"""Share of all persons that is much for a cell to have unseen."""

_STEPS = 20
"""A range is rounded outward to this part of its width, or to a finer round number."""


@dataclass(frozen=True)
class CellScale:
    """Cells of a number, the last for missing values; the outer edges are infinite."""

    spread: Spread
    edges: Floats

    @classmethod
    def of(cls, released: ReleasedTable, people: Estimate) -> "CellScale":
        """Return the cells of a table of bins or of doubles, all sites together."""
        if released.table.domain == "bins":
            low, high = map(float, released.asked)
            bins = released.table.width - 3
            edges = np.linspace(low, high, bins + 1)
            edges = np.concatenate([[-np.inf], edges, [np.inf]])
        else:
            edges = np.concatenate([[-np.inf], double_edges()[1:-1], [np.inf]])
        return cls(Spread.of(released, people), edges)

    def value(self, place: QuantileSpan) -> float:
        """The number at a place; the finite edge of an outer cell."""
        low, high = self.edges[place.cell], self.edges[place.cell + 1]
        if math.isinf(low):
            return float(high)
        return float(low if math.isinf(high) else low + place.share * (high - low))

    def ends(self, place: QuantileSpan) -> tuple[float, float]:
        """The interval of a place, in numbers."""
        return float(self.edges[place.low]), float(self.edges[place.high + 1])


def quantiles(scales: Sequence[CellScale]) -> tuple[ProfiledQuantile, ...]:
    """Quantiles of a number from the bins and any half octaves; none if nobody is seen.

    Guarantees:
        Each interval covers the true quantile in 95 % of seeds at least.
    """
    answers = (_quantile(scales, share) for share in SHARES)
    return tuple(each for each in answers if each is not None)


def _quantile(scales: Sequence[CellScale], share: float) -> ProfiledQuantile | None:
    confidence = 1 - (1 - CONFIDENCE) / max(len(scales), 1)
    places = [(scale, scale.spread.place(share, confidence)) for scale in scales]
    known = [(scale, place) for scale, place in places if place is not None]
    if not known:
        return None
    spans = [scale.ends(place) for scale, place in known]
    low, high = max(span[0] for span in spans), min(span[1] for span in spans)
    # The value is that of the shorter interval; of two without end, of the first one.
    best = min(range(len(known)), key=lambda at: spans[at][1] - spans[at][0])
    scale, place = known[best]
    if low > high:
        low, high = spans[best]
    value = _near_zero(min(max(scale.value(place), low), high))
    # Far out there are sizes that nobody asked about: as good as no end.
    bottom, top = float(scales[0].edges[1]), float(scales[0].edges[-2])
    least = _near_zero(low) if bottom <= low else None
    most = _near_zero(high) if high <= top else None
    return ProfiledQuantile(share, ProfiledNumber(value, least, most))


def _near_zero(number: float) -> float:
    """Sizes below the smallest half octave count as zero."""
    return number if abs(number) > math.ldexp(1.0, OCTAVES[0]) else 0.0


def range_of(known: Sequence[ProfiledQuantile], bins: CellScale) -> tuple[float, float]:
    """The range to declare, from quantiles, the lowest first, and the ends of the bins.

    Guarantees:
        It holds the outer quantiles, as far as they lie between the ends.
        The first end is the smaller one.
    """
    spread, ends = bins.spread, (float(bins.edges[1]), float(bins.edges[-2]))
    occupied = [float(bins.edges[cell]) for cell in spread.occupied]
    part = min(spread.hidden / (max(spread.people, 1.0) * _MUCH), 1.0) / 2
    bottom, top = known[0].at, known[-1].at
    ends_below = (None if end is None else -end for end in (bottom.high, bottom.low))
    mirrored = ProfiledNumber(-bottom.value, *ends_below)
    low = -_end(mirrored, -occupied[0], -ends[0], part)
    return rounded(low, _end(top, occupied[1], ends[1], part), ends)


def _end(
    quantile: ProfiledNumber, occupied: float, bins_end: float, part: float
) -> float:
    """The upper end of a range, `part` of the way from what is seen further out."""
    furthest = bins_end if quantile.high is None else min(quantile.high, bins_end)
    inner = max(min(quantile.value, bins_end), min(furthest, occupied))
    return inner + part * max(furthest - inner, 0.0)


def rounded(low: float, high: float, ends: tuple[float, float]) -> tuple[float, float]:
    """The least round numbers around a range; a bin of the ends if it is a point."""
    width = max(high - low, (ends[1] - ends[0]) / 100)
    power = math.floor(math.log10(width / _STEPS))
    digit = max(d for d in (1, 2, 5) if d * 10.0**power <= width / _STEPS)
    step = digit * 10.0**power
    first, last = math.floor(low / step) * digit, math.ceil(high / step) * digit
    if first == last:
        last += digit
    return float(f"{first}e{power}"), float(f"{last}e{power}")


def histogram(bins: CellScale, sizes: CellScale | None) -> ProfiledHistogram:
    """Bars of equal width, or half octaves where one bar would have most values."""
    shown = _bars(bins, list(range(1, len(bins.edges) - 1)), by_size=False)
    if sizes is None or max(shown.counts) <= _CROWDED * sum(shown.counts):
        return shown
    starts = _by_size(sizes.spread)
    return _bars(sizes, starts, by_size=True) if len(starts) > _FEW else shown


def _by_size(spread: Spread) -> list[int]:
    """First cells of bars by size, and the one after the last bar.

    Sizes below the smallest that stands out are one bar around zero.
    """
    least = threshold(DOUBLES, spread.variance, ERROR)
    occupied = np.flatnonzero(spread.noised[:DOUBLES] > least)
    if not len(occupied):
        return []
    first, last = int(occupied[0]), int(occupied[-1])
    smallest = min(
        (abs(cell - HALVES) for cell in occupied if cell != HALVES), default=1
    )
    inner = range(HALVES - smallest + 2, HALVES + smallest)
    return [cell for cell in range(first, last + 2) if cell not in inner]


def _bars(scale: CellScale, starts: list[int], by_size: bool) -> ProfiledHistogram:
    """Sums of the cells between `starts`, with the persons on either side."""
    spread, last = scale.spread, len(scale.edges) - 1
    bars = [spread.between(start, stop) for start, stop in pairwise(starts)]
    below, above = spread.between(0, starts[0]), spread.between(starts[-1], last)
    return ProfiledHistogram(
        edges=tuple(float(scale.edges[start]) for start in starts),
        counts=tuple(bar.value for bar in bars),
        reaches=tuple(bar.high - bar.value for bar in bars),
        below=ProfiledNumber.of(below.within(0.0, math.inf)),
        above=ProfiledNumber.of(above.within(0.0, math.inf)),
        by_size=by_size,
    )
