# SPDX-License-Identifier: Apache-2.0
"""A value with its variance and its interval, from rows or from a known variance.

Rows of a sketch are hashed and noised independently, so their spread shows the error of
their mean: Student's t over the rows needs no model of the data. Where a variance is
known or estimated, the interval is the normal one.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from lexfed import checks
from lexfed.arrays import Floats
from lexfed.errors import DataError, Problem

CONFIDENCE = 0.95
"""Chance that an interval holds the true value."""

_NEARLY_NORMAL = 1000
"""Degrees of freedom from which Student's law is taken for the normal one."""

RowEstimates = Floats
"""Estimates of one value by each row, [depth], or of several values, [depth, n]."""


@dataclass(frozen=True)
class Estimate:
    """A value, unbiased or, for ratios, to first order, with its interval."""

    value: float
    variance: float
    low: float
    high: float

    def within(self, least: float, most: float) -> "Estimate":
        """Cut value and interval to what is possible; the variance stays.

        Guarantees:
            The interval holds a true value in [least, most] whenever it did before.
        """
        ends = np.clip([self.value, self.low, self.high], least, most)
        return Estimate(float(ends[0]), self.variance, float(ends[1]), float(ends[2]))


def normal_quantile(confidence: float) -> float:
    """Return the reach of a two-sided normal interval, in standard deviations."""
    return NormalDist().inv_cdf(0.5 + confidence / 2)


def student_quantile(confidence: float, freedom: int) -> float:
    """Return the reach of a two-sided t interval, in standard errors.

    The probability of [-t, t] is a finite sum for whole degrees of freedom (Abramowitz
    and Stegun 1964, 26.7.3 and 26.7.4); bisection finds t.

    Guarantees:
        Within a relative 1e-9 of Student's quantile.
    """
    checks.in_range(1, _NEARLY_NORMAL, freedom=freedom)
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        angle = (low + high) / 2
        if _inside(angle, freedom) < confidence:
            low = angle
        else:
            high = angle
    return math.sqrt(freedom) * math.tan(low)


def _inside(angle: float, freedom: int) -> float:
    """Probability of |t| < sqrt(freedom) tan(angle)."""
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = term if freedom > 1 else 0.0
    for step in range(2 + odd, freedom - 1, 2):
        term *= cosine * cosine * (step - 1) / step
        total += term
    return 2 / math.pi * (angle + sine * total) if odd else sine * total


def from_variance(value: float, variance: float) -> Estimate:
    """An estimate with a normal interval."""
    reach = normal_quantile(CONFIDENCE) * math.sqrt(variance)
    return Estimate(value, variance, value - reach, value + reach)


def from_rows(rows: RowEstimates) -> Estimate:
    """The mean of two or more independent row estimates, with Student's interval."""
    depth = len(rows)
    checks.in_range(2, 1001, depth=depth)
    variance = float(np.var(rows, ddof=1)) / depth
    return _student(float(np.mean(rows)), variance, depth - 1)


def jackknife(rows: RowEstimates, ratio: Callable[[RowEstimates], float]) -> Estimate:
    """A smooth function of row means, by leaving out one row at a time.

    `rows` are [depth, n], the function's values by row (Quenouille 1956, Tukey 1958;
    docs/theory/sketches.md#counts-and-products).
    """
    depth = len(rows)
    checks.in_range(2, 1001, depth=depth)
    total = rows.sum(axis=0)
    without = np.array([ratio((total - row) / (depth - 1)) for row in rows])
    value = depth * ratio(total / depth) - (depth - 1) * float(without.mean())
    variance = (depth - 1) * float(np.var(without))
    return _student(value, variance, depth - 1)


def _student(value: float, variance: float, freedom: int) -> Estimate:
    reach = student_quantile(CONFIDENCE, freedom) * math.sqrt(variance)
    return Estimate(value, variance, value - reach, value + reach)


def summed_estimates(parts: Sequence[tuple[Estimate, float]]) -> Estimate:
    """The sum of independent estimates, each with its degrees of freedom.

    A known variance has infinitely many; the sum V^2 / sum (V_i^2 / freedom_i), rounded
    down (Satterthwaite 1946).
    """
    value = sum(each.value for each, _ in parts)
    variance = sum(each.variance for each, _ in parts)
    uncertain = sum(each.variance**2 / freedom for each, freedom in parts)
    freedom = variance**2 / uncertain if uncertain else math.inf
    if freedom > _NEARLY_NORMAL:
        return from_variance(value, variance)
    return _student(value, variance, max(int(freedom), 1))


def lost_in_noise(name: str) -> DataError:
    """Return the error for a denominator that may be zero."""
    what = f"{name} cannot be told from zero under this noise"
    hint = "Pay more for the sketch, or take one with fewer cells."
    return DataError([Problem("sketch", what, hint)])
