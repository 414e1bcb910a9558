# SPDX-License-Identifier: Apache-2.0
"""Allocation of the record budget to tiers.

A share is a square mu² of Gaussian differential privacy (add/remove): squares add up
over the releases of a run [DRS22, Cor. 3.3], so "the joint guarantee is exactly the
record budget" is one sum. Three rules come from the literature and look at the tier
alone (`inverse`, `multiplier`, `noise-scale`); they are proportions of mu and are
scaled to the record budget. The fourth, `caps`, is the default and solves

    minimise  sum_k cost_k / mu_k²
    so that   sum_{s >= t} mu_s² <= bound_t  for every tier t,

where cost_k is the number of slots of tier k (the total variance that the noise adds
to it) and bound_t comes from the cap on the attribute epsilon of tier t and, for the
lowest tier, from the record budget. The sums run over s >= t because by Theorem C a
column of tier t is seen by the towers of its own and of the more sensitive tiers.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from lexfed.tiers import Tier

Allocation = Literal["caps", "inverse", "multiplier", "noise-scale"]
"""The rules by name, as `budget.allocation` takes them."""

TIER_SCORE = {Tier.NON_PERSONAL: 0.0, Tier.PERSONAL: 0.5, Tier.SPECIAL: 1.0}
"""Sensitivity score of a tier, for `inverse`: weight = alpha ** -score."""

TIER_MULTIPLIER = {Tier.NON_PERSONAL: 1.0, Tier.PERSONAL: 0.5, Tier.SPECIAL: 0.25}
"""Default multipliers of `multiplier`."""

TIER_NOISE = {Tier.NON_PERSONAL: 0.5, Tier.PERSONAL: 1.0, Tier.SPECIAL: 2.0}
"""Noise of a tier relative to the base, for `noise-scale`."""


@dataclass(frozen=True)
class TierFacts:
    """A tier as allocation may know it, by public facts only.

    Its columns are encoded to so many `slots` of the model; `importance` is a public
    prior of how useful they are, as a mean.
    """

    tier: Tier
    slots: int
    importance: float = 1.0


def inverse(tiers: Sequence[TierFacts], alpha: float) -> tuple[float, ...]:
    """Weigh tiers by `alpha ** -score`: the more sensitive, the less budget."""
    return _squares([alpha ** -TIER_SCORE[facts.tier] for facts in tiers])


def multiplier(
    tiers: Sequence[TierFacts], multipliers: Mapping[Tier, float]
) -> tuple[float, ...]:
    """Weigh tiers by multiplier times importance."""
    return _squares([multipliers[facts.tier] * facts.importance for facts in tiers])


def noise_scale(
    tiers: Sequence[TierFacts], noise: Mapping[Tier, float] = TIER_NOISE
) -> tuple[float, ...]:
    """Give each tier noise in fixed proportion, by default 2, 1 and one half."""
    return _squares([1.0 / noise[facts.tier] for facts in tiers])


def proportions(
    rule: Literal["inverse", "multiplier", "noise-scale"],
    tiers: Sequence[TierFacts],
    alpha: float,
    multipliers: Mapping[Tier, float],
    noise: Mapping[Tier, float],
) -> tuple[float, ...]:
    """Return the parts of the record budget by a rule that looks at tiers alone."""
    if rule == "inverse":
        return inverse(tiers, alpha)
    if rule == "multiplier":
        return multiplier(tiers, multipliers)
    return noise_scale(tiers, noise)


def _squares(weights: Sequence[float]) -> tuple[float, ...]:
    total = sum(weight * weight for weight in weights)
    return tuple(weight * weight / total for weight in weights)


@dataclass(frozen=True)
class CappedShares:
    """Shares mu_k² that respect the caps, and which bounds hold with equality."""

    squares: tuple[float, ...]
    tight: tuple[bool, ...]


def caps(costs: Sequence[float], bounds: Sequence[float]) -> CappedShares:
    """Solve the convex program of the module docstring exactly.

    With A_t = sum_{s >= t} sqrt(cost_s) and S_t = sum_{s >= t} mu_s², optimality asks
    that mu_k² / sqrt(cost_k) never grows from a tier to a more sensitive one, with a
    change only where a bound is tight (the multipliers of nested constraints add up).
    So S as a function of A, read from the most sensitive tier, is the greatest convex
    function below the points (A_t, bound_t): a lower convex hull. Costs and bounds are
    given least sensitive tier first; the first bound is finite.

    Guarantees:
        Every bound is respected.
        The first bound, or a smaller one that implies it, is used up entirely.
        No other feasible shares have a smaller sum of cost / mu².
    """
    points = [(0.0, 0.0)]
    reach = 0.0
    for cost, bound in zip(reversed(costs), reversed(bounds), strict=True):
        reach += cost**0.5
        points.append((reach, bound))
    hull = [0]
    for index in range(1, len(points)):
        if points[index][1] == float("inf"):
            continue
        while len(hull) > 1 and _slope(points, hull[-2], hull[-1]) >= _slope(
            points, hull[-1], index
        ):
            hull.pop()
        hull.append(index)
    squares = [0.0] * len(costs)
    tight = [False] * len(costs)
    for low, high in itertools.pairwise(hull):
        slope = _slope(points, low, high)
        for index in range(low + 1, high + 1):
            tier = len(costs) - index
            squares[tier] = slope * costs[tier] ** 0.5
        tight[len(costs) - high] = True
    return CappedShares(tuple(squares), tuple(tight))


def _slope(points: Sequence[tuple[float, float]], low: int, high: int) -> float:
    (x0, y0), (x1, y1) = points[low], points[high]
    return (y1 - y0) / (x1 - x0)
