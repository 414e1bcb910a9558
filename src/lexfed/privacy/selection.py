# SPDX-License-Identifier: Apache-2.0
"""Repeat and select: what it costs to train several times and keep the best.

Releasing the best of k runs costs up to k times one run: the maximum tells something
about all of them. If the *number* of runs is itself random, secret and independent of
the data, the cost hardly grows [PS22]. A repetition Q draws a setting, trains and
scores itself; the output A is the one with the best score, nothing of the others.

**Truncated negative binomial**, P[K = k] proportional to (1-g)^k times
(s)_k / k!, k >= 1; shape s = 0 is the logarithmic, s = 1 the geometric law. For every
order a > 1 and every order b >= 1 [PS22, Thm. 2]

    D_a(A) <= D_a(Q) + ln E[K]/(a-1) + (1+s) ((1-1/b) D_b(Q) - ln(g)/b).

**Poisson** of mean m >= 1 (k = 0: nothing is released). For every order a > 1, if Q is
(e, d)-private with e = ln(1 + 1/(a-1)) [PS22, Thm. 6]

    D_a(A) <= D_a(Q) + m d + ln(m)/(a-1).

Both compare the laws of A on one pair of inputs given those of Q on that pair, so they
hold for every relation: the record, the label, an attribute of a tier. A setting drawn
uniformly and released with its run costs at most what the dearest setting costs:
(a-1) D_a = ln mean_i exp((a-1) D_a(Q_i)). Runs whose scores are equal are told apart by
their order, which is a draw of its own and independent of the data.

The sum of sampler errors is paid for E[K] runs: by coupling, A is within E[K] times the
total variation of one run. The law of K is drawn to 2^-190, far below that.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import mpmath
import numpy as np

from lexfed import checks
from lexfed.arrays import Floats
from lexfed.privacy.accountants import rdp
from lexfed.privacy.accountants.rdp import ORDERS
from lexfed.privacy.noise.gaussian import epsilon_with_sampler
from lexfed.privacy.rounding import up
from lexfed.privacy.scopes import (
    CountedRelease,
    release_per_person,
    steps_of,
    tier_releases,
)
from lexfed.randomness import RandomSource
from lexfed.terms import Neighbours
from lexfed.tiers import Tier

Distribution = Literal["logarithmic", "geometric", "poisson"]

MOST_RUNS = 1000.0
"""Largest mean number of repetitions."""

_DIGITS = 80  # decimal; 192 random bits are 58
_FLOATS = 1e-12


@dataclass(frozen=True)
class Repetitions:
    """The law of the secret number of runs.

    Attributes:
        distribution: its form.
        mean: an upper bound on its mean, tight to floating point.
    """

    distribution: Distribution
    mean: float

    def __post_init__(self) -> None:
        checks.in_range(1.0, MOST_RUNS, mean=self.mean)
        if self.mean == 1.0:
            raise ValueError("expected a mean above 1: one run selects nothing")

    @property
    def gamma(self) -> float:
        """The parameter g of the truncated forms, rounded towards fewer runs."""
        if self.distribution == "geometric":
            return math.nextafter(1.0 / self.mean, 1.0)
        low, high = 1e-12, 1.0
        while (middle := math.sqrt(low * high)) not in (low, high):
            many = (1.0 / middle - 1.0) / -math.log(middle) > self.mean
            low, high = (middle, high) if many else (low, middle)
        return high * (1.0 + _FLOATS)

    def draw(self, source: RandomSource) -> int:
        """Draw the number of runs by inverting its distribution function."""
        point = sum(int(word) << 64 * n for n, word in enumerate(source.words(3)))
        with mpmath.workdps(_DIGITS):
            left = mpmath.mpf(point) / mpmath.mpf(2) ** 192
            count, chance = self.first()
            while left >= chance:
                left -= chance
                chance *= self.ratio(count)
                count += 1
        return count

    def first(self) -> tuple[int, mpmath.mpf]:
        """Return the smallest number of runs and its probability."""
        if self.distribution == "poisson":
            return 0, mpmath.exp(-mpmath.mpf(self.mean))
        gamma = mpmath.mpf(self.gamma)
        if self.distribution == "geometric":
            return 1, gamma
        return 1, (1 - gamma) / -mpmath.log(gamma)

    def ratio(self, count: int) -> mpmath.mpf:
        """Return P[K = count + 1] / P[K = count]."""
        if self.distribution == "poisson":
            return mpmath.mpf(self.mean) / (count + 1)
        gamma = mpmath.mpf(self.gamma)
        if self.distribution == "geometric":
            return 1 - gamma
        return (1 - gamma) * count / (count + 1)

    @property
    def last_ratio(self) -> float:
        """The limit of the ratios of chances as numbers grow."""
        return 0.0 if self.distribution == "poisson" else 1.0 - self.gamma


def selected_curve(curve: Floats, repetitions: Repetitions) -> Floats:
    """Return the divergence at `ORDERS` of the best of a random number of runs.

    The curve is that of one run; `repetitions` is the law of their number.

    Guarantees:
        Never below the theorem's bound for these orders.
        0 where a run says nothing.
    """
    if not np.any(curve):
        return np.zeros(len(ORDERS))
    orders = np.array(ORDERS, dtype=float)
    mean = repetitions.mean
    if repetitions.distribution == "poisson":
        extra = np.array(
            [mean * rdp.delta_from(curve, math.log1p(1 / (a - 1))) for a in ORDERS]
        )
    else:
        shape = 1.0 if repetitions.distribution == "geometric" else 0.0
        tail = -math.log(repetitions.gamma) / orders
        least = float(np.min((1.0 - 1.0 / orders) * curve + tail))
        extra = np.full(len(ORDERS), (1.0 + shape) * least)
    bound = (curve + extra + math.log(mean) / (orders - 1.0)) * (1.0 + _FLOATS)
    # Divergence grows with its order, so a larger order's bound holds for a smaller.
    return np.minimum.accumulate(bound[::-1])[::-1]


@dataclass(frozen=True)
class SelectionCost:
    """The cost of repeating a run and selecting the best.

    Attributes:
        epsilon: of the whole record.
        label: of the label, replace-one.
        tiers: of an attribute of each tier, replace-one.
        delta: of all of them; the sampler's error is part of it.
        neighbours: relation of `epsilon`.
    """

    epsilon: float
    label: float
    tiers: Mapping[Tier, float]
    delta: float
    neighbours: Neighbours


def selection_cost(
    settings: Sequence[Sequence[CountedRelease]],
    repetitions: Repetitions,
    *,
    delta: float,
    neighbours: Neighbours,
    tiers: Sequence[Tier],
    sites_per_person: int = 1,
) -> SelectionCost:
    """Price the best of a random number of runs, each with a uniformly drawn setting.

    Args:
        settings: the releases of one run under each setting, its score included.
        repetitions: the law of the number of runs.
        delta: of the whole.
        neighbours: relation of the record's guarantee.
        tiers: of the attributes that are priced.
        sites_per_person: sites at which one person may be.

    Guarantees:
        Rounded up; every line pays for the sampler at its own epsilon, and is infinite
        where delta does not.
        A setting more never makes it cheaper.
    """
    samples = max(
        sum(release.samples * count for release, count in one) for one in settings
    )
    drawn = math.ceil(samples * repetitions.mean)

    def cost(kept: Sequence[Sequence[CountedRelease]], relation: Neighbours) -> float:
        curves = [
            rdp.curve(
                steps_of((release_per_person(r, sites_per_person), n) for r, n in one),
                relation,
            )
            for one in kept
        ]
        worst = np.max(np.array(curves), axis=0)
        if not np.any(worst):
            return 0.0
        best = selected_curve(worst, repetitions)
        return up(epsilon_with_sampler(partial(rdp.epsilon_from, best), delta, drawn))

    return SelectionCost(
        epsilon=cost(settings, neighbours),
        label=cost(settings, "replace-one"),
        tiers={
            tier: cost([tier_releases(one, tier) for one in settings], "replace-one")
            for tier in tiers
        },
        delta=delta,
        neighbours=neighbours,
    )
