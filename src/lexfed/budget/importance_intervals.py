# SPDX-License-Identifier: Apache-2.0
"""Intervals of importances, and whether noise lets one column be called the first.

An importance is the length of a column's entries; they are signal plus Gaussian noise
of a known deviation sigma. So the sum of k squares over sigma² follows a noncentral
chi-square law of k degrees, and its noncentrality is (length / sigma)². Inverting that
law gives an exact interval of the length. With a share of the error for each of m
columns (Bonferroni) all intervals hold together:

    P(every length is in its interval) >= 1 - ERROR

and then every order that the intervals allow is possible, and no other. Intervals speak
of the noise. How far the people in the table stand for others they do not say.
"""

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chndtr, ndtri

from lexfed.arrays import Floats
from lexfed.data.encoding import Encoding

ERROR = 0.05
"""Chance that any interval misses; all of them hold together otherwise."""

_NAMED = 6
"""Columns that a sentence lists."""

_NORMAL_FROM = 1e6
"""Squares from which a root is normal with deviation 1, to three digits and more."""


@dataclass(frozen=True)
class ImportanceInterval:
    """The ends between which the importance of a column lies."""

    low: float
    high: float

    def over(self, unit: float) -> "ImportanceInterval":
        """Return the interval in another unit."""
        return ImportanceInterval(self.low / unit, self.high / unit)


@dataclass(frozen=True)
class ImportanceRanking:
    """Intervals of columns, and what they say about the order."""

    intervals: Mapping[str, ImportanceInterval]

    @property
    def leaders(self) -> tuple[str, ...]:
        """The columns that may be the most important; one is named only if alone."""
        floor = max((one.low for one in self.intervals.values()), default=0.0)
        return tuple(n for n, one in self.intervals.items() if one.high >= floor)

    @property
    def shown(self) -> tuple[str, ...]:
        """The columns whose importance is surely above zero."""
        return tuple(name for name, one in self.intervals.items() if one.low > 0.0)

    @property
    def is_decided(self) -> bool:
        """True if one column is surely the most important."""
        return len(self.leaders) == 1 and bool(self.shown)

    def over(self, unit: float) -> "ImportanceRanking":
        """Return the same in another unit."""
        return replace(
            self, intervals={n: one.over(unit) for n, one in self.intervals.items()}
        )

    def __str__(self) -> str:
        if not self.intervals:
            return "nothing is known about any column"
        if not self.shown:
            return (
                "undecided, noise decides this order: no column's importance can be "
                "told from zero"
            )
        if self.is_decided:
            return f"`{self.leaders[0]}` is the most important, beyond the noise"
        may_be = "undecided: within the noise the most important may be any of"
        if len(self.leaders) > _NAMED:
            return f"{may_be} {len(self.leaders)} columns"
        return f"{may_be} {', '.join(f'`{name}`' for name in self.leaders)}"

    def to_json(self) -> dict[str, object]:
        """Return it under its fixed names."""
        return {
            "intervals": {n: [one.low, one.high] for n, one in self.intervals.items()},
            "leaders": list(self.leaders),
            "decided": self.is_decided,
        }


def importance_ranking(
    encoding: Encoding, values: Floats, noise: Floats, columns: Collection[str]
) -> ImportanceRanking:
    """Return the intervals of some columns, which hold together.

    `values` are [slots, outputs]; `noise` is the standard deviation of the noise in
    each entry of a slot. Entries of one column have the same.
    """
    intervals = {}
    for name in encoding.columns:
        places = encoding.slots_of_column(name)
        if name in columns:
            own = np.asarray(values[places])
            sigma = float(noise[places].max())
            error = ERROR / len(columns)
            intervals[name] = length_interval(own, sigma, error)
    return ImportanceRanking(intervals)


def length_interval(entries: Floats, sigma: float, error: float) -> ImportanceInterval:
    """Return the interval of a signal's length, seen with noise of that deviation.

    Guarantees:
        It misses the length with a chance of at most `error`, whatever the length is.
        Without noise both ends are the length.
    """
    length = float(np.linalg.norm(entries))
    if sigma == 0.0:
        return ImportanceInterval(length, length)
    square, degrees = (length / sigma) ** 2, entries.size
    if square > _NORMAL_FROM:
        root, reach = math.sqrt(square), -float(ndtri(error / 2.0))
        low, high = root - reach - degrees / root, root + reach
    else:
        low = math.sqrt(_noncentrality(square, degrees, 1.0 - error / 2.0))
        high = math.sqrt(_noncentrality(square, degrees, error / 2.0))
    return ImportanceInterval(sigma * low, sigma * high)


def _noncentrality(square: float, degrees: int, chance: float) -> float:
    """Return the noncentrality at which so much of the law lies below the square.

    0 where less lies below it even without a signal.
    """

    def below(noncentrality: float) -> bool:
        return bool(chndtr(square, degrees, noncentrality) < chance)

    return 0.0 if below(0.0) else _crossing(below, square)


def _crossing(beyond: Callable[[float], bool], start: float) -> float:
    """Return where a growing number first is beyond a bound, from above."""
    low, high = 0.0, max(1.0, start)
    while not beyond(high):
        low, high = high, 2.0 * high
    for _ in range(80):
        middle = (low + high) / 2.0
        low, high = (low, middle) if beyond(middle) else (middle, high)
    return high
