# SPDX-License-Identifier: Apache-2.0
"""From a budget to priced releases: the noise of each round.

The drafts say what will be released (clips, dimensions, rounds, sampling rates) and
which share of its tower's budget each takes; the noise is what is solved for. Where
every draft uses the full batch the answer is a formula, because squares of Gaussian
differential privacy add up. Otherwise the multipliers are scaled from there, tower by
tower, until every cap and the record budget hold under the claim's accountant.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lexfed.budget.allocation import CappedShares
from lexfed.budget.noise_schedule import NoiseSchedule
from lexfed.errors import ConfigError, Problem, Refused
from lexfed.privacy.accountants import gdp
from lexfed.privacy.accountants.calibration import (
    PrivacyTarget,
    scale_to_budget,
    scaled_steps,
)
from lexfed.privacy.accountants.gdp import Step, mu_from
from lexfed.privacy.noise.gaussian import delta_sampler
from lexfed.privacy.releases import MOST_SAMPLES, Release, ReleaseGroup
from lexfed.terms import Accountant, Guarantee, Neighbours
from lexfed.tiers import Tier

_LEAST_SHARE = 1.5
"""Growth of lower towers' noise that is allowed to use up a tight cap: shares only
estimate what sampling saves."""

_SEVERAL_COINS = Problem(
    "`data.sites_per_person`",
    "a person at several sites flips a coin at each of them, so sampling proves "
    "nothing for the person",
    "set `federation.sampling_rate = 1`",
)


@dataclass(frozen=True)
class DraftGroup:
    """A group before its noise is known.

    `weight` is its part in the joint multiplier: the weights of a release are
    proportional to clip / sigma.
    """

    name: str
    clip: float
    dimension: int
    weight: float = 1.0


@dataclass(frozen=True)
class Draft:
    """A release of several rounds before its noise is known.

    Attributes:
        tower: index of the tower that pays for it.
        groups: blocks that leave together.
        profile: relative noise of each round; all ones for a constant schedule.
        reads: the most sensitive tier it depends on; None for the label alone.
        share: its part of the tower's square.
        senders: parties that draw noise of their own for one round.
        rates: factor on the sampling rate of each round; empty: 1 in all.
    """

    name: str
    tower: int
    groups: tuple[DraftGroup, ...]
    sampling_rate: float
    profile: tuple[float, ...]
    reads: Tier | None
    share: float
    senders: int = 1
    rates: tuple[float, ...] = ()

    @property
    def round_rates(self) -> tuple[float, ...]:
        """Sampling rate of each round."""
        factors = self.rates or (1.0,) * len(self.profile)
        return tuple(self.sampling_rate * factor for factor in factors)

    @property
    def samples(self) -> int:
        """Noise values drawn in one round."""
        return self.senders * sum(group.dimension for group in self.groups)


@dataclass(frozen=True)
class Budget:
    """The budget of a whole run, for the record and, by caps, for tiers.

    `delta` is also that of every tier's claim; `caps` are always under replace-one.
    `sites_per_person` is the number of sites at which one person may have rows.
    """

    epsilon: float
    delta: float
    neighbours: Neighbours
    caps: Mapping[Tier, float] = field(default_factory=dict)
    sites_per_person: int = 1


@dataclass(frozen=True)
class TowerTiers:
    """The tiers that a plan depends on.

    Attributes:
        reads: most sensitive tier of each tower, least sensitive tower first.
        present: tiers that own at least one column; a cap on any other binds nobody.
    """

    reads: tuple[Tier, ...]
    present: tuple[Tier, ...]


def effective_budget(
    budget: Budget, drafts: Sequence[Draft], guarantee: Guarantee
) -> Budget:
    """Return the budget of the Gaussians: the noise sampler's error is off its delta.

    The error grows with e^epsilon, and it is paid for at the largest epsilon that the
    budget or a cap lets a line of the claim have; a cap above what replacing a whole
    record costs binds nobody. It is refused if it takes more than half of delta. The
    label has no budget to keep within: its claim states its error beside delta. Under a
    filter more rounds than planned may be run.
    """
    samples = sum(draft.samples * len(draft.profile) for draft in drafts)
    if guarantee == "filter":
        samples *= MOST_SAMPLES
    replaced = budget.epsilon
    if budget.neighbours == "add-remove":
        mu = mu_from(budget.epsilon, budget.delta)
        replaced = gdp.epsilon_from(2.0 * mu, budget.delta)
    capped = min(max(budget.caps.values(), default=0.0), replaced)
    largest = max(budget.epsilon, capped)
    left = budget.delta - delta_sampler(samples, largest)
    if left < budget.delta / 2.0:
        problem = Problem(
            "`budget.epsilon`",
            f"at ε = {largest:.4g} the error of the noise sampler, times e^ε, would "
            "use up `budget.delta`",
            "choose smaller budgets and caps; so large ones mean nothing",
        )
        raise ConfigError([problem])
    return replace(budget, delta=left)


def tower_bounds(budget: Budget, tiers: TowerTiers) -> tuple[float, ...]:
    """Return for each tower the most that it and the towers above may spend together.

    The unit is a square of add/remove Gaussian privacy. A replaced person or value
    moves a sum twice as far as a removed one, and a person at m sites m times as far.
    A budget that is spent needs the delta of `effective_budget`.
    """
    delta = budget.delta
    reach = 2.0 if budget.neighbours == "replace-one" else 1.0
    bounds = [math.inf] * len(tiers.reads)
    bounds[0] = _square(budget.epsilon, delta, reach * budget.sites_per_person)
    for first, cap, _ in capped_towers(budget, tiers):
        limit = _square(cap, delta, 2.0 * budget.sites_per_person)
        bounds[first] = min(bounds[first], limit)
    for index in range(1, len(bounds)):
        # A bound on more towers binds the fewer above as well.
        bounds[index] = min(bounds[index], bounds[index - 1])
    return tuple(bounds)


def _square(epsilon: float, delta: float, reach: float) -> float:
    return (mu_from(epsilon, delta) / reach) ** 2


def full_batch_releases(
    drafts: Sequence[Draft], squares: Sequence[float]
) -> tuple[tuple[Release, ...], ...]:
    """Return the releases of each draft by round; exact if all sampling rates are 1."""
    return tuple(
        _releases(draft, _multipliers(draft, squares[draft.tower])) for draft in drafts
    )


def _multipliers(draft: Draft, square: float) -> list[float]:
    total = sum(part**-2 for part in draft.profile)
    base = math.sqrt(total / (draft.share * square))
    return [base * part for part in draft.profile]


def _releases(draft: Draft, multipliers: Sequence[float]) -> tuple[Release, ...]:
    norm = math.hypot(*(group.weight for group in draft.groups))
    releases = []
    for z, rate in zip(multipliers, draft.round_rates, strict=True):
        groups = tuple(
            ReleaseGroup(group.name, group.clip, group.clip * z * norm / group.weight)
            for group in draft.groups
        )
        releases.append(Release(draft.name, groups, rate, draft.reads, draft.samples))
    return tuple(releases)


def searched_releases(
    drafts: Sequence[Draft],
    shares: CappedShares,
    budget: Budget,
    tiers: TowerTiers,
    accountant: Accountant,
) -> tuple[tuple[Release, ...], ...]:
    """Return releases whose noise has no formula: sampled, or priced by Rényi.

    The shares fix proportions; from the most sensitive tower down it is asked whether
    filling the record budget in these proportions would break a cap. Where it would,
    or where the cap is what limits the shares, the towers from there up are scaled to
    the cap and stay; the others fill what is left. So no cap is exceeded, whether or
    not it looked tight beforehand. The budget is that of `effective_budget`.

    A person at several sites is refused under sampling: each site flips its own coin,
    so sampling proves nothing for the person (Theorem C.4).
    """
    sampled = any(draft.sampling_rate < 1.0 for draft in drafts)
    if sampled and budget.sites_per_person > 1:
        raise ConfigError([_SEVERAL_COINS])
    steps = [_steps(draft, shares.squares[draft.tower]) for draft in drafts]
    towers = len(tiers.reads)
    scales = [1.0] * towers

    def scaled(chosen: Collection[int]) -> list[Step]:
        return [
            Step(
                step.noise_multiplier * scales[draft.tower] / budget.sites_per_person,
                step.sampling_rate,
            )
            for draft, rounds in zip(drafts, steps, strict=True)
            if draft.tower in chosen
            for step in rounds
        ]

    # Each bounds the towers from this one up, by a price under a relation.
    bounds = [(0, budget.epsilon, budget.neighbours), *capped_towers(budget, tiers)]

    def factor(first: int, stop: int, last: int) -> float:
        """Scale towers up to `stop` to the bounds that begin at first..last."""
        fixed = scaled(range(stop, towers))
        return max(
            scale_to_budget(
                scaled(range(low, stop)),
                PrivacyTarget(limit, budget.delta, relation, accountant),
                fixed,
            )
            for low, limit, relation in bounds
            if first <= low <= last
        )

    def room_below(tower: int, whole: float) -> bool:
        """Return True if the lower towers still get about their share."""
        try:
            return factor(0, tower, tower - 1) <= _LEAST_SHARE * whole
        except Refused:
            return False

    stop = towers
    for tower in sorted({low for low, _, _ in bounds}, reverse=True):
        # This bound is on some of the open towers, the lower ones on more of them.
        whole = factor(0, stop, max(tower - 1, 0))
        needed = factor(tower, stop, tower) if tower else whole
        binds = tower == 0 or needed > whole
        if not binds and not shares.tight[tower]:
            continue
        before = scales.copy()
        for above in range(tower, stop):
            scales[above] *= needed
        if binds or room_below(tower, whole):
            stop = tower
        else:
            scales[:] = before
    return tuple(
        _releases(
            draft, [step.noise_multiplier * scales[draft.tower] for step in rounds]
        )
        for draft, rounds in zip(drafts, steps, strict=True)
    )


def capped_towers(
    budget: Budget, tiers: TowerTiers
) -> list[tuple[int, float, Neighbours]]:
    """Return for each cap the first tower that reads its tier, and the cap."""
    return [
        (
            next(index for index, read in enumerate(tiers.reads) if read >= tier),
            cap,
            "replace-one",
        )
        for tier, cap in budget.caps.items()
        if tier in tiers.present
    ]


def _steps(draft: Draft, square: float) -> list[Step]:
    rates = draft.round_rates
    if draft.sampling_rate == 1.0:
        return [Step(z, 1.0, 1) for z in _multipliers(draft, square)]
    # Starting point only: T rounds of a sampled Gaussian act like a Gaussian of
    # square T q² (exp(1/z²) - 1) when T is large [DRS22, Cor. 5.4].
    total = len(rates) * draft.sampling_rate * draft.sampling_rate
    if min(rates) < draft.sampling_rate:
        total = math.fsum(q * q for q in rates)
    z = 1.0 / math.sqrt(math.log1p(draft.share * square / total))
    return [Step(z * part, q, 1) for part, q in zip(draft.profile, rates, strict=True)]


def calibrated(
    schedule: NoiseSchedule,
    rounds: int,
    epsilon: float,
    delta: float,
    neighbours: Neighbours = "add-remove",
    rate: float = 1.0,
    accountant: Accountant = "pld",
) -> tuple[Step, ...]:
    """Return the rounds of a schedule, with as little noise as the budget allows.

    `rate` is the highest sampling rate.

    >>> steps = calibrated(NoiseSchedule("geometric"), 3, epsilon=2.0, delta=1e-6)
    >>> [round(step.noise_multiplier, 3) for step in steps]
    [5.901, 4.173, 2.951]

    Guarantees:
        All steps together cost at most the budget under that accountant; noise less
        by 1e-9 (full batch) or 3e-4 (sampled) would not.
        Noise multipliers and rates have the proportions of the schedule.
    """
    sampled = rate < 1.0
    noise = schedule.noise(rounds, sampled)
    rates = schedule.rates(rounds) if sampled else (1.0,) * rounds
    steps = [Step(z, rate * part) for z, part in zip(noise, rates, strict=True)]
    # More than a few levels of noise are rounded down to 64 by the accountant itself.
    target = PrivacyTarget(epsilon, delta, neighbours, accountant)
    return scaled_steps(steps, scale_to_budget(steps, target))
