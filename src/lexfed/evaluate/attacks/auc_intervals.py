# SPDX-License-Identifier: Apache-2.0
"""The result of an attack: its AUC with an interval, beside the proven bound.

An attack gives every person a score; those it is about (members, or people who have the
value) should score higher. Its AUC is the chance that one of them scores above one of
the others, ties counted half. Three kinds of interval, of 95 % each:

- **One release.** The placements V_i = P(score_i above another), W_j likewise, have the
AUC as their mean, and var(V)/m + var(W)/n is its variance [DDC88]. The interval is
taken on the scale of ln(AUC/(1 - AUC)), so that it stays inside (0, 1).
- **Several releases** with noise of their own. People of one release share its noise,
so it counts as one observation: the mean over releases, with Student's t.
- **Across releases.** Where a person's score rests on knowing everybody else, two
people of one release cannot be compared: each score would hold the other's secret. Only
pairs from different releases count, and the variance is that of leaving out one release
after the other.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm, rankdata, t

from lexfed.arrays import Bools, Floats

CONFIDENCE = 0.95


def joint_confidence(comparisons: int) -> float:
    """Return the confidence of each of some intervals that all hold with 95 %.

    However they depend on each other, by Bonferroni's inequality.

    >>> round(joint_confidence(5), 6)
    0.99
    """
    return 1.0 - (1.0 - CONFIDENCE) / comparisons


@dataclass(frozen=True)
class Interval:
    """A value and the ends of its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class AttackResult:
    """One attack, beside the bound that the guarantee sets to any attack.

    Attributes:
        auc: area under its ROC curve; .5 is guessing.
        low: lower end of its interval, of 95 % unless several are looked at.
        bound: the largest AUC that the proven guarantee allows; 1 without one.
        n: people whom it was tried on, over all releases.
    """

    name: str
    auc: float
    low: float
    high: float
    bound: float
    n: int
    seconds: float

    @classmethod
    def of(
        cls, name: str, auc: Interval, bound: float, n: int, seconds: float
    ) -> "AttackResult":
        """Return the result of an attack from the interval of its AUC."""
        return cls(name, auc.value, auc.low, auc.high, bound, n, seconds)

    @property
    def contradicts_proof(self) -> bool:
        """True if even the lower end lies above the proven bound."""
        return self.low > self.bound


def auc_of(scores: Floats, positive: Bools) -> float:
    """Return the chance that a positive scores above a negative, ties half."""
    above, _ = _placements(scores, positive)
    return float(above.mean())


def one_release(
    scores: Floats, positive: Bools, confidence: float = CONFIDENCE
) -> Interval:
    """Return the AUC over the people of one release, with its interval.

    Guarantees:
        The interval lies in [0, 1] and holds the AUC.
        It is never a point, also where every positive scores above every negative.
    """
    above, below = _placements(scores, positive)
    value = float(above.mean())
    # Half a person ranked otherwise: what a perfect separation leaves open. Placements
    # that are all alike say nothing about their variance; then that of coins is used.
    smallest = min(len(above), len(below))
    inside = min(max(value, 0.5 / smallest), 1.0 - 0.5 / smallest)
    variance = _variance(above) + _variance(below)
    error = math.sqrt(variance or inside * (1.0 - inside) / smallest)
    odds = math.log(inside / (1.0 - inside))
    reach = _reach(confidence) * error / (inside * (1.0 - inside))
    low, high = _logistic(odds - reach), _logistic(odds + reach)
    return Interval(value, min(low, value), max(high, value))


def several_releases(
    values: Sequence[float], confidence: float = CONFIDENCE
) -> Interval:
    """Return the mean over releases whose noise is independent, with its interval."""
    if len(values) < 2:
        raise ValueError(f"expected two releases or more, got: {len(values)}")
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    reach = _reach(confidence, len(values) - 1) * error
    mean = float(np.mean(values))
    return Interval(mean, max(0.0, mean - reach), min(1.0, mean + reach))


def across_releases(
    scores: Sequence[Floats], positive: Sequence[Bools], confidence: float = CONFIDENCE
) -> Interval:
    """Return the AUC over pairs of people from different releases.

    Guarantees:
        The interval holds the AUC as often as it says, also where all people of a
        release share its noise.

    Raises:
        ValueError: if leaving out a release leaves no pair.
    """
    runs = len(scores)
    wins, pairs = np.zeros((runs, runs)), np.zeros((runs, runs))
    below = [own[~kind] for own, kind in zip(scores, positive, strict=True)]
    counts = np.array([len(own) for own in below], dtype=np.int64)
    owner = np.repeat(np.arange(runs), counts)
    for run in range(runs):
        above = scores[run][positive[run]]
        won = 0.5 + 0.5 * np.sign(above[:, None] - np.concatenate(below)[None, :])
        wins[run] = np.bincount(owner, won.sum(axis=0), runs)
        pairs[run] = len(above) * counts
        wins[run, run] = pairs[run, run] = 0.0
    left = pairs.sum() - pairs.sum(axis=0) - pairs.sum(axis=1)
    if not left.all() or not runs:
        raise ValueError("expected people of both kinds in three releases or more")
    value = float(wins.sum() / pairs.sum())
    without = (wins.sum() - wins.sum(axis=0) - wins.sum(axis=1)) / left
    spread = float(np.square(without - without.mean()).sum())
    reach = _reach(confidence, runs - 1) * math.sqrt((runs - 1) / runs * spread)
    return Interval(value, max(0.0, value - reach), min(1.0, value + reach))


def gain_over(
    scores: Floats, baseline: Floats, positive: Bools, confidence: float = CONFIDENCE
) -> Interval:
    """Return an attack's AUC less a baseline's on the same people.

    Pairing them takes out the part that both owe to the people alone: the placements
    of both are subtracted person by person before their variance is taken [DDC88].
    """
    above, below = _placements(scores, positive)
    base_above, base_below = _placements(baseline, positive)
    more, less = above - base_above, below - base_below
    value = float(more.mean())
    reach = _reach(confidence) * math.sqrt(_variance(more) + _variance(less))
    return Interval(value, value - reach, value + reach)


def more_gain_among(
    some: tuple[Floats, Floats, Bools],
    others: tuple[Floats, Floats, Bools],
    confidence: float = CONFIDENCE,
) -> Interval:
    """Return a gain among some people less that among others (see `gain_over`)."""
    one, other = gain_over(*some, confidence), gain_over(*others, confidence)
    value = one.value - other.value
    # Different people, so variances add, and so do squares of widths.
    reach = math.hypot(one.high - one.value, other.high - other.value)
    return Interval(value, value - reach, value + reach)


def _reach(confidence: float, freedom: int | None = None) -> float:
    """Return the half-width of an interval in standard errors."""
    at = 0.5 + confidence / 2
    return float(norm.ppf(at) if freedom is None else t.ppf(at, freedom))


def _placements(scores: Floats, positive: Bools) -> tuple[Floats, Floats]:
    """Return each positive's share of beaten negatives, and the other way round."""
    high, low = scores[positive], scores[~positive]
    if not len(high) or not len(low):
        raise ValueError("expected people of both kinds, got one kind only")
    if not bool(np.isfinite(scores).all()):
        raise ValueError("expected scores that are numbers, got one that is not")
    ranks = rankdata(scores)  # so in n log n
    beaten = (ranks[positive] - rankdata(high)) / len(low)
    beating = 1.0 - (ranks[~positive] - rankdata(low)) / len(high)
    return beaten, beating


def _variance(placements: Floats) -> float:
    """Return the variance of the mean of placements; 0 for a single one."""
    if len(placements) < 2:
        return 0.0
    return float(placements.var(ddof=1)) / len(placements)


def _logistic(odds: float) -> float:
    return 1.0 / (1.0 + math.exp(-odds)) if odds > -700.0 else 0.0
