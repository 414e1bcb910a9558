# SPDX-License-Identifier: Apache-2.0
"""Bounds on any attack by a proven guarantee: its error, its AUC, its advantage.

An attack on one person is a test between two neighbouring data sets. If the release is
(epsilon, delta)-private, a test with false alarms of probability a misses with
probability at least [WZ10; DRS22, Sec. 2]

    f(a) = max(0, 1 - delta - e^epsilon a, e^-epsilon (1 - delta - a)).

A release has a whole curve of such pairs, and every pair holds, so the largest of
their f holds. It is convex and has straight pieces, so its area is exact:

    AUC       <=  1 - (area under f)         the ROC curve lies nowhere above 1 - f(a)
    advantage <=  1 - 2k,  where f(k) = k    the most that hits exceed false alarms by

For one pair these are 1 - (1 - delta)^2/(1 + e^epsilon) and
(e^epsilon - 1 + 2 delta)/(e^epsilon + 1) [KOV15]. For mu-GDP all pairs together give
Phi(mu/sqrt(2)) and 2 Phi(mu/2) - 1 [DRS22, Sec. 2], which is much less: at epsilon 1.9
and delta 1e-5 a Gaussian release allows an AUC of .63 where the one pair allows .87.

**Many people at once.** An attack is scored over people whose membership (or value) was
decided by independent coins. For a threshold that is fixed beforehand, f holds for
each of them given everybody else's coin; 1 - f is concave, so by Jensen's inequality
it holds for their mean hits and false alarms, and `auc` for scores of different
releases. People of *one* release are another matter: the score of a second person who
is in it is no fixed threshold. There

    AUC of one release  <=  1 - f(1/2),       which is Phi(mu) for mu-GDP.

*Proof.* Let i and j be two people, and E the event that i is ranked above j; it is
decided by the release and by what is known without their coins. If neither is there, E
and the same with i and j exchanged have probabilities that add up to 1: over all pairs
their mean is 1/2. The AUC is the mean probability of E if i is there and j is not, one
neighbour away; by f and Jensen's inequality it is at most 1 - f(1/2). It is attained
by N(0, 1/mu^2) on the difference of two people's coins. []
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lexfed import checks
from lexfed.arrays import Floats
from lexfed.privacy.accountants import composition, gdp
from lexfed.privacy.scopes import (
    CountedRelease,
    release_per_person,
    require_renyi,
    steps_of,
    tier_releases,
)
from lexfed.terms import Accountant, Neighbours
from lexfed.tiers import Tier

_EPSILONS = (0.0, *np.geomspace(0.003, 24.0, 47).tolist())
"""Points at which a curve is read: from no ratio to one that nobody would publish."""


@dataclass(frozen=True)
class TradeOff:
    """The least misses at each rate of false alarms, by pairs that all hold.

    Guarantees:
        Every error, AUC and advantage is a true bound if every pair is.
        More pairs never make a bound larger.
        For Gaussian releases without sampling the bound of `of_gaussian` is above the
        exact one by at most .001.
    """

    pairs: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        if not self.pairs:
            raise ValueError("expected a pair of epsilon and delta, got none")
        for epsilon, delta in self.pairs:
            checks.in_range(0.0, math.inf, epsilon=epsilon)
            checks.in_range(0.0, 1.0, delta=delta)

    def misses(self, alarms: Floats) -> Floats:
        """Return the least rate of misses at each rate of false alarms."""
        slopes, starts = self._lines
        lines = starts[:, None] - slopes[:, None] * alarms
        least: Floats = lines.max(axis=0, initial=0.0)
        return least

    @property
    def advantage(self) -> float:
        """The most by which the rate of hits exceeds the rate of false alarms."""
        # f(k) = k lies at the largest k of any pair: each is k = (1-delta)/(1+e^eps).
        largest = max((1.0 - d) * _share(e) for e, d in self.pairs)
        return 1.0 - 2.0 * largest

    @property
    def auc(self) -> float:
        """The largest area under the ROC curve with thresholds fixed beforehand."""
        slopes, starts = self._lines
        slopes, starts = np.append(slopes, 0.0), np.append(starts, 0.0)
        rise = starts[:, None] - starts[None, :]
        run = slopes[:, None] - slopes[None, :]
        crossings = rise[run > 0] / run[run > 0]
        inside = crossings[(crossings > 0.0) & (crossings < 1.0)]
        places = np.unique(np.concatenate([[0.0], inside, [1.0]]))
        # Between neighbouring crossings f is straight, so trapezia are exact.
        return float(min(1.0, 1.0 - np.trapezoid(self.misses(places), places)))

    @property
    def ranking(self) -> float:
        """The largest AUC among the people of one release, 1 - f(1/2)."""
        return 1.0 - float(self.misses(np.array([0.5]))[0])

    @property
    def _lines(self) -> tuple[Floats, Floats]:
        """Fall and start of every straight line under f."""
        finite = [(e, d) for e, d in self.pairs if e < 700.0]
        epsilon = np.array([e for e, _ in finite])
        rest = 1.0 - np.array([d for _, d in finite])
        ratio = np.exp(epsilon)
        return np.concatenate([ratio, 1 / ratio]), np.concatenate([rest, rest / ratio])


def of_gaussian(mu: float) -> TradeOff:
    """Return the trade-off of mu-GDP."""
    return TradeOff(tuple((e, gdp.delta_from(mu, e)) for e in _EPSILONS))


def of_record(
    releases: Sequence[CountedRelease],
    neighbours: Neighbours,
    by: Accountant = "pld",
    sites_per_person: int = 1,
) -> TradeOff:
    """Return the trade-off of all releases of a run for an attack on a whole record."""
    require_renyi(releases, by)
    paid = [
        (release_per_person(release, sites_per_person), n) for release, n in releases
    ]
    steps = steps_of(paid)
    return TradeOff(
        tuple((e, composition.delta(steps, e, neighbours, by)) for e in _EPSILONS)
    )


def of_tier(
    releases: Sequence[CountedRelease],
    tier: Tier,
    by: Accountant = "pld",
    sites_per_person: int = 1,
) -> TradeOff:
    """Return a run's trade-off for an attack on one value of a tier (Theorem C.2)."""
    read = tier_releases(releases, tier)
    return of_record(read, "replace-one", by, sites_per_person)


def with_guesses(trade_off: TradeOff, guessing: float) -> float:
    """Return the largest AUC of an attack that can also guess from other columns.

    Let g be the best AUC of guesses of a value from everything known without the
    release. Let i have the value and j not. Were i's value replaced before training,
    the release would say nothing of it, and ranking i above j would be a guess, right
    with probability at most g. Putting the value back moves the release by at most the
    advantage A in total variation, so the attack's AUC is at most g + A, over the
    people of one release or of several. `guessing` is g.
    """
    return min(1.0, guessing + trade_off.advantage)


def _share(epsilon: float) -> float:
    return 1.0 / (1.0 + math.exp(min(epsilon, 700.0)))
