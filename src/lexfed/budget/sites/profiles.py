# SPDX-License-Identifier: Apache-2.0
"""Sites with budgets of their own: how much less a stricter site may say.

The plan is priced for the loosest budgets. Sites with the same stricter budget form a
profile, and take part with less: their clipped sums are multiplied by a weight w <= 1
(`clip`), or their units are sampled less often (`sampling`), per tower, as little less
as their budgets allow. This is the "Scale" and the "Sample" of [BMZ+23].

**A record at a site of weight w.** Its contribution, clipped to C and multiplied by w,
has norm at most w C; the noise is the same. So for this record every release is the
(sampled) Gaussian with clip w C, and its guarantee is the composition of those: that
of `attributes`, with its own clips and its own rates. Nobody else's weight enters.

Weights of towers are found by filling: all towers of a profile grow together from
nothing, until the record's budget or a cap is used up, or a tower has weight 1; those
that this binds stay there, and the others grow on. So no tower could have more without
another that has no more than it having less.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from scipy.optimize import brentq

from lexfed.budget.noise_plan import Budget, TowerTiers, capped_towers
from lexfed.budget.noise_schedule import NoiseSchedule
from lexfed.errors import Refused
from lexfed.privacy.accountants.calibration import (
    TOLERANCE,
    PrivacyTarget,
    scale_to_budget,
)
from lexfed.privacy.accountants.gdp import Step
from lexfed.terms import Accountant, Neighbours, Realisation

LEAST = 1e-4
"""A tower that could take part with less than this does not take part."""


@dataclass(frozen=True)
class BudgetProfile:
    """Sites that have the same budget.

    Attributes:
        name: for people; claims and logs name profiles, never sites.
        sites: names of its sites.
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
    """The part of a profile in each tower.

    Attributes:
        weights: factor on the clipped sums, by tower.
        rates: factor on the sampling rates, by tower.
    """

    weights: tuple[float, ...]
    rates: tuple[float, ...]


def loosest_budget(budgets: Sequence[Budget]) -> Budget:
    """Return the budget that all others are stricter than: the one of the plan.

    A tier without a cap in one of them has none here.
    """
    first = budgets[0]
    shared = set(first.caps).intersection(*(budget.caps for budget in budgets))
    return replace(
        first,
        epsilon=max(budget.epsilon for budget in budgets),
        caps={tier: max(b.caps[tier] for b in budgets) for tier in sorted(shared)},
    )


Towers = Sequence[Sequence[Step]]
"""The plan's releases as steps, by tower."""


def weakened_step(step: Step, factor: float, realise: Realisation) -> Step:
    """Return a step as sites are charged that take part so much less in it."""
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
    bounds = sorted(
        [
            (0, budget.epsilon, budget.neighbours),
            *capped_towers(budget, tiers),
        ],
        key=lambda bound: -bound[0],
    )
    found = _filled(towers, bounds, budget.delta, accountant, _REALISED[realise])
    ones = (1.0,) * len(towers)
    return (
        ParticipationFactors(found, ones)
        if realise == "clip"
        else ParticipationFactors(ones, found)
    )


TowerBound = tuple[int, float, Neighbours]
"""The towers from this one up cost at most so much, under this relation."""

Weaken = Callable[[Step, float], Step]


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
            factors[tower] = level if level >= LEAST else 0.0
        open_towers -= bound_by
    return tuple(factors)


_Largest = Callable[[Sequence[Step], Sequence[Step], PrivacyTarget], float]


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
    if excess(LEAST) > 0.0:
        return 0.0
    found: float = brentq(excess, LEAST, 1.0, xtol=LEAST / 10.0, rtol=TOLERANCE)
    while excess(found) > 0.0:
        found *= 1.0 - TOLERANCE
    return found


_REALISED: dict[Realisation, tuple[Weaken, _Largest]] = {
    "clip": (_smaller, _largest_weight),
    "sampling": (_rarer, _largest_rate),
}
