# SPDX-License-Identifier: Apache-2.0
"""Cells whose sum is known from other tables: less noise, and quantiles with intervals.

Counts are the best linear unbiased ones for a known sum, so that counting from either
end is as exact as from the nearer one (docs/theory/sketches.md#counts-of-profiles). The
value of a quantile, though not its interval, is read from the *occupied* cells alone:
from the first to the last run of 1, 2, 4 ... cells whose sum stands out of the noise
(docs/theory/profile-answers.md).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from lexfed import checks
from lexfed.arrays import Floats
from lexfed.sketch.estimates.intervals import (
    CONFIDENCE,
    Estimate,
    from_variance,
    normal_quantile,
)
from lexfed.sketch.queries.refinements import ERROR, pooled, threshold
from lexfed.sketch.queries.requested_tables import ReleasedTable


@dataclass(frozen=True)
class QuantileSpan:
    """The cells `low` to `high` that may reach a share; likely `share` into `cell`."""

    cell: int
    share: float
    low: int
    high: int


@dataclass(frozen=True)
class Spread:
    """Persons by cell as released; the last cell is for those without a value.

    `people` is their number from other tables, with the variance `doubt`; infinite if
    it is not known.
    """

    noised: Floats
    variance: float
    people: float
    doubt: float = 0.0

    def __post_init__(self) -> None:
        checks.in_range(2, 2**24, cells=len(self.noised))

    @classmethod
    def of(cls, released: ReleasedTable, people: Estimate) -> "Spread":
        """Return the cells of a table of one row; `people` is independent of it."""
        counts, variance = pooled(released)
        return cls(counts[0], variance, people.value, people.variance)

    @property
    def _share(self) -> float:
        """1 / m', the part of the missing sum that a cell is given."""
        if not self.variance:
            return 0.0
        return 1 / (len(self.noised) + self.doubt / self.variance)

    @cached_property
    def counts(self) -> Floats:
        """The best counts."""
        return self.noised + (self.people - float(self.noised.sum())) * self._share

    @property
    def _lengths(self) -> list[int]:
        return [2**power for power in range((len(self.noised) - 1).bit_length())]

    @cached_property
    def hidden(self) -> float:
        """Fewest persons that a cell must have to stand out."""
        runs = sum(len(self.noised) - length for length in self._lengths)
        return threshold(runs, self.variance, ERROR)

    @cached_property
    def occupied(self) -> tuple[int, int]:
        """First cell of values that is occupied, and the one after the last.

        Guarantees:
            Where there is nothing but noise, these are all cells with probability
            1 - ERROR at least.
        """
        values = self.noised[:-1]
        upto = np.concatenate([[0.0], np.cumsum(values)])
        starts, stops = [], []
        for length in self._lengths:
            least = self.hidden * math.sqrt(length)
            first_cells = np.flatnonzero(upto[length:] - upto[:-length] > least)
            starts += [(int(start), length) for start in first_cells]
            stops += [(int(start) + length, -length) for start in first_cells]
        if not starts:
            return 0, len(values)
        # Of all runs the innermost at either end, which is the shortest one: a longer
        # one may reach far beyond the cells that make it stand out.
        last, length = max(starts, key=lambda run: (run[0], -run[1]))
        first, back = min(stops, key=lambda run: (run[0], -run[1]))
        return min(first + back, last), max(last + length, first)

    def weighted(self, weights: Floats) -> Estimate:
        """A weighted sum of cells.

        Guarantees:
            The value is unbiased, its variance exact, and no linear unbiased one that
            uses the known sum has less.
        """
        value = float(weights @ self.counts)
        spread = float(weights @ weights - weights.sum() ** 2 * self._share)
        # Rounding may leave less than nothing where all weights are equal.
        return from_variance(value, self.variance * max(spread, 0.0))

    def between(self, start: int, stop: int) -> Estimate:
        """Persons in the cells from `start` to before `stop`."""
        weights = np.zeros(len(self.noised))
        weights[start:stop] = 1.0
        return self.weighted(weights)

    def of_cell(self, cell: int) -> Estimate:
        """Persons in one cell."""
        return self.between(cell, cell + 1)

    def place(
        self, share: float, confidence: float = CONFIDENCE
    ) -> QuantileSpan | None:
        """The cell in which a share of all values is reached; None if it may not exist.

        Guarantees:
            The interval covers the true cell with this confidence at least.
        """
        cells = len(self.noised) - 1
        valued = np.append(np.ones(cells), 0.0)
        if self.weighted(valued).low <= 0:
            return None
        counts = self.counts[:-1]
        upto = np.arange(1, cells)
        above = np.cumsum(counts)[:-1] - share * counts.sum()
        squares = upto * (1 - share) ** 2 + (cells - upto) * share**2
        sums = upto - share * cells
        variances = self.variance * (squares - sums**2 * self._share)
        reach = normal_quantile(confidence) * np.sqrt(variances)
        may_reach = np.append(above >= -reach, True)
        may_miss_before = np.insert(above < reach, 0, True)
        low = int(np.argmax(may_reach))
        high = cells - 1 - int(np.argmax(may_miss_before[::-1]))
        return self._within(share, low, high)

    def _within(self, share: float, low: int, high: int) -> QuantileSpan:
        """Return the place where the occupied cells reach a share, in an interval."""
        first, stop = self.occupied
        kept = np.append(self.noised[first:stop], self.noised[-1])
        inside = replace(self, noised=kept).counts[:-1]
        below = np.cumsum(inside) - share * inside.sum()
        # Noise lets the sum fall now and then: the number below leans to no side.
        at = int((below[:-1] < 0).sum())
        into = 1 - below[at] / inside[at] if inside[at] > 0 else 0.5
        cell = first + at
        share = float(np.clip(into, 0, 1))
        return QuantileSpan(cell, share, min(low, cell), max(high, cell))


@dataclass(frozen=True)
class PersonTotal:
    """The number of persons counted: sums of tables, weighted by their precision.

    Everybody is in one cell of each table, at each of their sites. The public number of
    persons is not used: it may be rough, and a person at two sites is counted at both.
    """

    tables: tuple[ReleasedTable, ...]

    @property
    def counted(self) -> Estimate:
        """The number of persons, from all tables."""
        return _together(self.tables)

    def without(self, released: ReleasedTable) -> Estimate:
        """Return the number from all other tables, of infinite variance without any."""
        return _together([other for other in self.tables if other is not released])


def _together(tables: Sequence[ReleasedTable]) -> Estimate:
    pools = [pooled(table) for table in tables]
    sums = [(float(counts.sum()), each * counts.size) for counts, each in pools]
    exact = [value for value, variance in sums if not variance]
    if exact:
        return from_variance(exact[0], 0.0)
    precision = sum(1 / variance for _, variance in sums)
    if not precision:
        return Estimate(0.0, math.inf, -math.inf, math.inf)
    value = sum(value / variance for value, variance in sums) / precision
    return from_variance(value, 1 / precision)
