# SPDX-License-Identifier: Apache-2.0
"""Sites that differ: budgets of their own, a shared total, weights for overlap.

**Profiles.** The plan is priced for the loosest budgets. Sites with the same stricter
budget form a profile, and take part with less: their clipped sums are multiplied by a
weight w <= 1 (`clip`), or their units are sampled less often (`sampling`), per tower,
as little less as their budgets allow. This is the "Scale" and the "Sample" of [BMZ+23].

A record at a site of weight w has contributions of norm at most w C, and the noise is
the same: its guarantee is that of `privacy.scopes`, with its own clips and its own
rates. No other weight enters.

Weights of towers are found by filling: all towers of a profile grow together from
nothing, until the record's budget or a cap is used up, or a tower has weight 1; those
that this binds stay there, and the others grow on. So no tower could have more without
another that has no more than it having less.

**A shared total** (`best_budgets`). What site i gains from its budget is taken to be
1 - exp(-gamma_i epsilon_i): much from the first bit, little from the last. Wanted is

    maximise  sum_i (1 - exp(-gamma_i epsilon_i))
    so that   sum_i epsilon_i <= total  and  low_i <= epsilon_i <= high_i,

by projected ascent with momentum and the exact Euclidean projection on the feasible
set, which is clip(y - theta, low, high) for one number theta. The total is used up
unless all are at their highs, and then marginal gains gamma_i exp(-gamma_i epsilon_i)
are equal at the optimum, but for sites at a bound. So are their logarithms, which the
ascent follows: it does not crawl where an exponential is flat. The total is an
agreement between the sites, not a guarantee: each person is protected by the own site's
epsilon. All of it is public and says nothing about data; a gamma taken from data would.

**Overlap** (`overlap_factors`). A person at two sites is learned from twice. With d_i
the part of a site's people that are seen elsewhere, a site counts

    f_i = 1 - d_i / 2,

because then people at two sites count as one: the sites hold n_1 + n_2 rows of
n_1 + n_2 - J people, and n_1 f_1 + n_2 f_2 is n_1 + n_2 - J as d_i n_i = J. Later
sketches move a factor half of the way. A site's sum is multiplied by its factor over
the largest one: at most 1, so a contribution is no longer than the clip that is charged
for, and nobody pays more because of it. As d_i is taken at the lower end of its
interval, noise alone moves nothing; and an invented sketch moves a site between the
whole and a half, no further.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq

from lexfed import checks
from lexfed.arrays import Floats
from lexfed.budget.noise_plan import Budget, TowerTiers, capped_towers
from lexfed.budget.noise_schedule import NoiseSchedule
from lexfed.errors import ConfigError, Problem, Refused
from lexfed.privacy.accountants.calibration import (
    TOLERANCE,
    PrivacyTarget,
    scale_to_budget,
)
from lexfed.privacy.accountants.gdp import Step
from lexfed.terms import Accountant, Neighbours, Realisation

LEAST_PARTICIPATION = 1e-4
"""A tower that could take part with less than this does not take part."""

Towers = Sequence[Sequence[Step]]
"""The plan's releases as steps, by tower."""

TowerBound = tuple[int, float, Neighbours]
"""The towers from this one up cost at most so much, under this relation."""

Weaken = Callable[[Step, float], Step]
_Largest = Callable[[Sequence[Step], Sequence[Step], PrivacyTarget], float]
STEP = 0.01
MOMENTUM = 0.9

_STILL = 1e-13
"""The ascent ends when no budget moves by more than this part of the total."""

_MOST_STEPS = 200_000

COUNTED_OFF = 0.5
"""Weight that is taken off a site whose persons are all seen elsewhere."""

LEAST_OVERLAP_WEIGHT = 1.0 - COUNTED_OFF
"""The smallest weight; sites refuse to be given a smaller one."""

_MEMORY = 0.5  # part of an overlap factor that the next sketch keeps


@dataclass(frozen=True)
class BudgetProfile:
    """Sites that have the same budget.

    Attributes:
        name: for people; claims and logs name profiles, never sites.
        budget: of every person (or client) there.
        save: their part while they save, relative to later.
        save_until: part of each tower's rounds of training in which they save.
    """

    name: str
    sites: tuple[str, ...]
    budget: Budget
    save: float = 1.0
    save_until: float = 0.0

    def early(self, rounds: int) -> tuple[float, ...]:
        """Return the factor on its part in each of so many rounds."""
        saving = NoiseSchedule(
            "time-adaptive", save=self.save, save_until=self.save_until
        )
        return saving.rates(rounds)


@dataclass(frozen=True)
class ParticipationFactors:
    """The part of a profile in each tower: factors on its sums and on its rates."""

    weights: tuple[float, ...]
    rates: tuple[float, ...]


def loosest_budget(budgets: Sequence[Budget]) -> Budget:
    """Return the loosest of each bound: the plan's; a cap only where all have one."""
    first = budgets[0]
    shared = set(first.caps).intersection(*(budget.caps for budget in budgets))
    return replace(
        first,
        epsilon=max(budget.epsilon for budget in budgets),
        caps={tier: max(b.caps[tier] for b in budgets) for tier in sorted(shared)},
    )


def weakened_step(step: Step, factor: float, realise: Realisation) -> Step:
    """Return a step as it is charged to sites that take part so much less in it."""
    return _REALISED[realise][0](step, factor)


def participation_of(
    towers: Towers,
    budget: Budget,
    tiers: TowerTiers,
    accountant: Accountant,
    realise: Realisation,
) -> ParticipationFactors:
    """Return the part that sites with this budget take in the plan.

    The budget needs the delta of `effective_budget`.

    Guarantees:
        What the sites are then charged for costs at most the budget and every cap.
        Every tower has factor 1, or a budget or cap that it counts towards is used up
        but for the tolerance of calibration.
    """
    # Where two bind alike, the one on fewer towers leaves the others free to grow.
    record = (0, budget.epsilon, budget.neighbours)
    bounds = sorted(
        [record, *capped_towers(budget, tiers)], key=lambda bound: -bound[0]
    )
    factors = _filled(towers, bounds, budget.delta, accountant, _REALISED[realise])
    ones = (1.0,) * len(towers)
    if realise == "clip":
        return ParticipationFactors(factors, ones)
    return ParticipationFactors(ones, factors)


def _smaller(step: Step, factor: float) -> Step:
    return replace(step, noise_multiplier=step.noise_multiplier / factor)


def _rarer(step: Step, factor: float) -> Step:
    return replace(step, sampling_rate=step.sampling_rate * factor)


def _filled(
    towers: Towers,
    bounds: Sequence[TowerBound],
    delta: float,
    accountant: Accountant,
    realised: tuple[Weaken, "_Largest"],
) -> tuple[float, ...]:
    weaken, largest = realised
    factors = [1.0] * len(towers)
    open_towers = set(range(len(towers)))
    while open_towers:
        level, bound_by = 1.0, open_towers.copy()
        for low, limit, relation in bounds:
            moving = {tower for tower in open_towers if tower >= low}
            if not moving:
                continue
            fixed = [
                weaken(step, factors[tower])
                for tower in range(low, len(towers))
                if tower not in moving and factors[tower] > 0.0
                for step in towers[tower]
            ]
            steps = [step for tower in moving for step in towers[tower]]
            target = PrivacyTarget(limit, delta, relation, accountant)
            fits = largest(steps, fixed, target)
            if fits < level:
                level, bound_by = fits, moving
        for tower in open_towers:
            factors[tower] = level if level >= LEAST_PARTICIPATION else 0.0
        open_towers -= bound_by
    return tuple(factors)


def _largest_weight(
    steps: Sequence[Step], fixed: Sequence[Step], target: PrivacyTarget
) -> float:
    try:
        noise = scale_to_budget(steps, target, fixed)
    except Refused:
        return 0.0
    return min(1.0, 1.0 / noise)


def _largest_rate(
    steps: Sequence[Step], fixed: Sequence[Step], target: PrivacyTarget
) -> float:
    def excess(factor: float) -> float:
        rarer = [_rarer(step, factor) for step in steps]
        return target.price((*rarer, *fixed)) - target.epsilon

    # Coins of lower rate never cost more (joint convexity of divergences).
    if excess(1.0) <= 0.0:
        return 1.0
    if excess(LEAST_PARTICIPATION) > 0.0:
        return 0.0
    rate: float = brentq(
        excess,
        LEAST_PARTICIPATION,
        1.0,
        xtol=LEAST_PARTICIPATION / 10.0,
        rtol=TOLERANCE,
    )
    while excess(rate) > 0.0:
        rate *= 1.0 - TOLERANCE
    return rate


def best_budgets(
    gammas: Sequence[float], lows: Sequence[float], highs: Sequence[float], total: float
) -> tuple[float, ...]:
    """Return the epsilon of each site.

    Gammas are the speeds at which the gains of sites saturate; lows and highs bound
    each epsilon, and the total bounds their sum.

    >>> [round(e, 3) for e in best_budgets([1.0, 2.0], [0.1, 0.1], [5.0, 5.0], 3.0)]
    [1.769, 1.231]

    Guarantees:
        Every epsilon lies between its bounds; the sum is never above the total.
        No other such budgets have a larger sum of gains, within 1e-9 of it.
    """
    for rate, least in zip(gammas, lows, strict=True):
        checks.finite_positive(gamma=rate, low=least)
    _require_feasible(lows, highs, total)
    low, high = np.array(lows, dtype=float), np.array(highs, dtype=float)
    if math.fsum(highs) <= total:
        return tuple(high.tolist())
    # In units of the typical 1/gamma, so that one step size suits all.
    unit = 1.0 / float(np.mean(gammas))
    gamma = np.array(gammas, dtype=float) * unit
    before = now = project(np.full(len(low), total / len(low)), low, high, total)
    still = 0
    for _ in range(_MOST_STEPS):
        slope = np.log(gamma) - gamma * now / unit
        ahead = now + unit * STEP * slope + MOMENTUM * (now - before)
        # A constant in all slopes changes nothing on the plane of the total, and this
        # one keeps the ascent there, where the logarithms tell the optimum.
        ahead += float((high - ahead).max())
        before, now = now, project(ahead, low, high, total)
        # Once may be momentum against a bound; the second time it is none.
        moved = float(np.abs(now - before).max()) > _STILL * total
        still = 0 if moved else still + 1
        if still == 2:
            break
    return tuple(now.tolist())


def project(point: Floats, low: Floats, high: Floats, total: float) -> Floats:
    """Return the nearest point with coordinates in bounds and a sum of at most `total`.

    The sum of clip(point - theta, low, high) falls piecewise linearly in theta, and
    its kinks are at point - low and point - high: theta is found by sorting them. The
    sum of `low` must be at most `total`.

    Guarantees:
        The sum, correctly rounded, is never above `total`.
    """
    clipped = np.clip(point, low, high)
    if math.fsum(clipped) <= total:
        return clipped
    kinks = np.sort(np.concatenate([point - high, point - low]))
    kinks = kinks[kinks > 0.0]
    # The last kink puts every coordinate at its low, hence the sum at most the total.
    first, last = 0, len(kinks) - 1
    while first < last:
        middle = (first + last) // 2
        if math.fsum(np.clip(point - kinks[middle], low, high)) > total:
            first = middle + 1
        else:
            last = middle
    right = float(kinks[first])
    left = float(kinks[first - 1]) if first else 0.0
    return _on_the_plane(point, low, high, total, (left, right))


def _on_the_plane(
    point: Floats, low: Floats, high: Floats, total: float, kinks: tuple[float, float]
) -> Floats:
    """Interpolate between two neighbouring kinks, and round the sum down."""
    left, right = kinks
    above = math.fsum(np.clip(point - left, low, high)) - total
    below = total - math.fsum(np.clip(point - right, low, high))
    # Where rounding leaves nothing between the two, either will do.
    part = above / (above + below) if above + below > 0.0 else 1.0
    theta = left + (right - left) * part
    nearest = np.clip(point - theta, low, high)
    while (excess := math.fsum(nearest) - total) > 0.0:
        # Rounding only: the excess comes off where there is most room.
        place = int(np.argmax(nearest - low))
        lower = np.nextafter(nearest[place] - excess, -np.inf)
        nearest[place] = max(low[place], lower)
    return nearest


def _require_feasible(
    lows: Sequence[float], highs: Sequence[float], total: float
) -> None:
    problems = [
        Problem(
            "`budget.clients`",
            f"a site would need at least {low:g} and at most {high:g}",
            "lower `low`, or raise `high`",
        )
        for low, high in zip(lows, highs, strict=True)
        if not low <= high
    ][:1]
    if math.fsum(lows) > total:
        problem = (
            f"{len(lows)} sites with at least their `low` need {math.fsum(lows):g} "
            f"together, the total is {total:g}"
        )
        hint = "raise `total`, or lower `low`"
        problems.append(Problem("`budget.clients.total`", problem, hint))
    if problems:
        raise ConfigError(problems)


def overlap_factors(duplicated: Floats, before: Floats | None = None) -> Floats:
    """Return the weight of each site, given the part of its people seen elsewhere.

    Guarantees:
        Each is in [LEAST_OVERLAP_WEIGHT, 1], whatever was released; what is not finite
        counts as 0.
    """
    known = np.where(np.isfinite(duplicated), duplicated, 0.0)
    wanted = 1.0 - COUNTED_OFF * np.clip(known, 0.0, 1.0)
    if before is not None:
        wanted = _MEMORY * before + (1.0 - _MEMORY) * wanted
    return np.asarray(np.clip(wanted, LEAST_OVERLAP_WEIGHT, 1.0))


def site_weights(factors: Floats) -> Floats:
    """Return the factor on the sum of each site.

    Guarantees:
        Each is in [LEAST_OVERLAP_WEIGHT, 1], and the largest is 1.
    """
    return np.asarray(factors / factors.max())


_REALISED: dict[Realisation, tuple[Weaken, _Largest]] = {
    "clip": (_smaller, _largest_weight),
    "sampling": (_rarer, _largest_rate),
}
