# SPDX-License-Identifier: Apache-2.0
"""Drift: a test of two released histograms for different populations.

With p and q the two distributions, the distance is |p - q|, the root of the sum of
squared differences: .1 is as if 7 of 100 persons were in another cell. What is measured
is |p - q + e|, where e has three parts: noise in both histograms, and who of a larger
population is there by chance. By the triangle inequality

    |p - q| >= |p - q + e| - |e|,

and |e|^2 is a sum of squares of normal variables with variances l_1, l_2, ..., which
exceeds sum l + 2 sqrt(x sum l^2) + 2 x max l with probability e^-x at most
[LM00, Lemma 1]. So the lower end is sound whatever the distributions are, up to the
first order in noise over total: a total that is lost in its noise says nothing.

A warning needs the lower end above `WORTH_A_WARNING`: large tables find differences
that matter to nobody.
"""

import math
from dataclasses import dataclass

import numpy as np

from lexfed import checks
from lexfed.arrays import Floats

ERROR = 0.05
"""Chance that a lower end is above the truth, over all that are asked together."""

WORTH_A_WARNING = 0.1
"""Distance from which a drift is worth a word."""

TOTAL = 5.0
"""Deviations that a total must be above zero."""


@dataclass(frozen=True)
class NoisedHistogram:
    """Persons by cell, with independent noise of one variance on each.

    Raises:
        ValueError: unless there are two finite cells at least, and a finite variance.
    """

    counts: Floats
    variance: float

    def __post_init__(self) -> None:
        if self.counts.ndim != 1 or self.counts.size < 2:
            raise ValueError("expected `counts` to be a vector of at least 2 cells")
        if not np.isfinite(self.counts).all():
            raise ValueError("expected `counts` to be finite")
        checks.in_range(0, np.finfo(float).max, variance=self.variance)

    @property
    def is_lost(self) -> bool:
        """True if the number of persons cannot be told from nobody."""
        noise = math.sqrt(self.variance * self.counts.size)
        return float(self.counts.sum()) <= max(TOTAL * noise, 1.0)

    def parts(self) -> Floats:
        """Return the part of persons in each cell."""
        return np.asarray(self.counts / self.counts.sum())

    def covariance(self) -> Floats:
        """Return the covariance of the parts from noise and chance, to first order.

        With c = N p + e the parts are p + (e - p sum e) / N; chance adds
        (diag p - p p') / N, with p cut to what is possible.
        """
        total, parts = float(self.counts.sum()), self.parts()
        cells = len(parts)
        mixed = np.eye(cells) - np.outer(parts, np.ones(cells))
        possible = np.clip(parts, 0.0, None)
        possible /= possible.sum()
        chance = np.diag(possible) - np.outer(possible, possible)
        return np.asarray(self.variance / total**2 * mixed @ mixed.T + chance / total)


@dataclass(frozen=True)
class Drift:
    """The distance between two distributions.

    Attributes:
        distance: as measured, noise included.
        at_least: the lower end; 0 where nothing can be said.
    """

    distance: float
    at_least: float

    @property
    def warns(self) -> bool:
        """True if it is worth a warning."""
        return self.at_least > WORTH_A_WARNING


def drift(before: NoisedHistogram, now: NoisedHistogram, asked: int = 1) -> Drift:
    """Compare two histograms of the same cells with independent noise.

    `asked` is the number of comparisons that are made together.

    Guarantees:
        Where both are samples of one distribution, one of `asked` comparisons warns
        in at most 5 % of all cases.

    Raises:
        ValueError: if the cells are not the same.
    """
    checks.in_range(1, 2**30, asked=asked)
    if before.counts.size != now.counts.size:
        raise ValueError("expected two histograms of the same cells")
    if before.is_lost or now.is_lost:
        return Drift(0.0, 0.0)
    distance = float(np.linalg.norm(before.parts() - now.parts()))
    spread = np.linalg.eigvalsh(before.covariance() + now.covariance())
    reach = math.sqrt(_largest_square(np.clip(spread, 0.0, None), asked))
    return Drift(distance, max(0.0, distance - reach))


def _largest_square(spread: Floats, asked: int) -> float:
    """Return a bound that a sum of squares with these variances hardly exceeds."""
    x = math.log(asked / ERROR)
    deviation = math.sqrt(x * float(np.square(spread).sum()))
    return float(spread.sum()) + 2.0 * deviation + 2.0 * x * float(spread.max())
