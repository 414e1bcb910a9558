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

**A Gaussian that dominates** (`dominating_releases`). Ledgers that outlive a run add
squares of Gaussian privacy. The best of a random number of runs is no Gaussian, but one
dominates it: one whose delta at every epsilon >= 0 is at least as large [ZDW22]. Of the
best of K runs, each mu-GDP, we know

    delta(e) <= min over orders a of the Rényi conversion of D_a
    delta(e) <= E_K[delta of (sqrt(K) mu)-GDP at e]                (K revealed)

The smallest mu* is sought whose Gaussian lies above their minimum. Both sides fall with
e, so between two points of a grid the left value on one side and the right value on the
other decide. A Gaussian of sqrt(k) mu, where P[K > k] is negligible, dominates in any
case: that is where the search starts. What is left out of delta is `NEGLIGIBLE`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import mpmath
import numpy as np
from scipy.special import log_ndtr, ndtr

from lexfed import checks
from lexfed.arrays import Floats
from lexfed.privacy.accountants import rdp
from lexfed.privacy.accountants.gdp import sensitivity
from lexfed.privacy.accountants.rdp import ORDERS, delta_from
from lexfed.privacy.noise.gaussian import epsilon_with_sampler
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.privacy.scopes import (
    CountedRelease,
    releases_per_person,
    require_renyi,
    steps_of,
    tier_releases,
    up,
)
from lexfed.randomness import RandomSource
from lexfed.terms import Neighbours
from lexfed.tiers import MODEL_TIERS, Tier

Distribution = Literal["logarithmic", "geometric", "poisson"]

MOST_RUNS = 1000.0
"""Largest mean number of repetitions."""

_DIGITS = 80  # decimal; 192 random bits are 58
_FLOATS = 1e-12

NEGLIGIBLE = 1e-30
"""Delta that the Gaussian need not dominate; far below every delta there is."""

_REACH = 400.0  # the grid ends at so many mu, where deltas are 0 in floats
_POINTS = 300
_TAIL = 1e-9  # chance of larger K, taken as delta 1
_BUCKETS = 200
_MARGIN = 1e-6  # above the rounding of floats
_HALVINGS = 30


@dataclass(frozen=True)
class Repetitions:
    """The law of the secret number of runs; `mean` is a tight bound on its mean."""

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

    `epsilon` is that of the whole record under `neighbours`; `label` and `tiers` are
    under replace-one. Delta is that of all of them, with the sampler's error in it.
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

    `settings` has the releases of one run under each setting, its score included;
    `delta` is that of the whole, `neighbours` the relation of the record's guarantee.

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
        paid = [releases_per_person(one, sites_per_person) for one in kept]
        worst = np.max([rdp.curve(steps_of(one), relation) for one in paid], axis=0)
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


def dominating_releases(
    settings: Sequence[Sequence[CountedRelease]],
    repetitions: Repetitions,
    sites_per_person: int = 1,
) -> tuple[Release, ...]:
    """Return releases that cost every scope at least what a search costs it.

    There is one for each tier that a search reads and one for the label, none of them
    sampled. Their squares add up, from the most sensitive tier down, to what each scope
    pays; that a person may be at several sites is already paid for. Noise in shares is
    refused: no Gaussian is known to dominate it.
    """
    for one in settings:
        require_renyi(one, "gdp")
    paid = [releases_per_person(one, sites_per_person) for one in settings]

    def square(
        kept: Sequence[Sequence[CountedRelease]], neighbours: Neighbours
    ) -> float:
        reach = sensitivity(neighbours)
        steps = [steps_of(one) for one in kept]
        squares = (
            math.fsum(s.count / s.noise_multiplier**2 for s in one) for one in steps
        )
        mu = reach * math.sqrt(max(squares))
        curve = np.max([rdp.curve(one, neighbours) for one in steps], axis=0)
        least = dominating_mu(mu, selected_curve(curve, repetitions), repetitions)
        return (least / reach) ** 2

    releases: list[Release] = []
    so_far = 0.0
    scopes: list[tuple[Tier | None, float]] = [
        (tier, square([tier_releases(one, tier) for one in paid], "replace-one"))
        for tier in reversed(MODEL_TIERS)
    ]
    whole = max(square(paid, "add-remove"), square(paid, "replace-one"))
    for reads, needed in (*scopes, (None, whole)):
        missing = needed - so_far
        if missing > 0.0:
            sigma = 1.0 / math.sqrt(missing * (1.0 + _MARGIN))
            group = ReleaseGroup("search", 1.0, sigma)
            releases.append(Release("search", (group,), 1.0, reads, 0))
            so_far = needed
    return tuple(releases)


def dominating_mu(mu: float, curve: Floats, repetitions: Repetitions) -> float:
    """Return the mu* of a Gaussian that dominates the best of a number of runs.

    `mu` is that of one run, with sampled releases counted as if nobody were left out;
    `curve` is the divergence of the best at `ORDERS`, from `selected_curve`.

    Guarantees:
        At every epsilon >= 0 the Gaussian's delta is at least that of the best run,
        less `NEGLIGIBLE`.
        0 for runs that say nothing.
    """
    if mu == 0.0:
        return 0.0
    near = np.linspace(0.0, _REACH / 20.0, _POINTS)
    far = np.geomspace(_REACH / 20.0, _REACH, _POINTS)[1:]
    points = mu * np.concatenate([near, far])
    known = np.array([delta_from(curve, float(point)) for point in points])
    known = np.minimum(known, _revealed(mu, repetitions, points))
    # Below the last point the bound at the left must lie under the curve at the right;
    # beyond it, all that is left is the bound at the last point.
    low, high = mu, mu * math.sqrt(_most(repetitions, NEGLIGIBLE))
    if known[-1] > NEGLIGIBLE:
        return high
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        above = _delta(np.array([middle]), points[1:])[0] * (1.0 - _MARGIN)
        if np.all(known[:-1] <= above + NEGLIGIBLE):
            high = middle
        else:
            low = middle
    return high


def _revealed(mu: float, repetitions: Repetitions, points: Floats) -> Floats:
    """Return the deltas if the number of runs were known, rounded up."""
    numbers, chances = _law(repetitions)
    # Few buckets, each with the largest number in it: more runs tell more.
    edges = np.unique(np.geomspace(1, numbers[-1], _BUCKETS).round().astype(int))
    bucket = np.searchsorted(edges, numbers)
    weights = np.bincount(bucket, chances, minlength=len(edges))
    deltas = weights @ _delta(mu * np.sqrt(edges.astype(float)), points)
    return np.minimum(1.0, deltas * (1.0 + _MARGIN) + _TAIL)


def _law(repetitions: Repetitions) -> tuple[Floats, Floats]:
    """Return the numbers of runs above 0 up to the tail, and their chances."""
    most = _most(repetitions, _TAIL / 2.0)
    first, chance = repetitions.first()
    chances = [float(chance)]
    for number in range(first, most):
        chances.append(chances[-1] * float(repetitions.ratio(number)))
    numbers = np.arange(first, most + 1, dtype=float)
    kept = numbers > 0
    return numbers[kept], np.array(chances)[kept]


def _most(repetitions: Repetitions, tail: float) -> int:
    """Return a number that more runs exceed with at most that chance."""
    number, chance = repetitions.first()
    current = float(chance)
    while True:
        ratio = float(repetitions.ratio(number))
        # Ratios of all three laws never grow once below 1, except towards 1 - gamma.
        bound = max(ratio, repetitions.last_ratio)
        if bound < 1.0 and current * bound / (1.0 - bound) <= tail:
            return max(number, 1)
        current *= ratio
        number += 1


def _delta(mus: Floats, points: Floats) -> Floats:
    """Return delta of each Gaussian (rows) at each epsilon (columns)."""
    scaled = points[None, :] / mus[:, None]
    half = mus[:, None] / 2.0
    lost = np.exp(points[None, :] + log_ndtr(-scaled - half))
    return np.asarray(np.maximum(ndtr(-scaled + half) - lost, 0.0))
