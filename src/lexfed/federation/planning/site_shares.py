# SPDX-License-Identifier: Apache-2.0
"""Shares of the sites in each tower, where budgets of sites differ.

A site's weight is the smaller of two public numbers: that of its profile, and how much
it is meant to count (`weighting = "sites"`). The sum over sites is divided by the
number of units that is expected to be in it, weights and sampling included. Under
add/remove the sizes of sites are private, so every site counts as an equal part of the
declared number of units.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lexfed.budget.noise_plan import Budget, TowerTiers
from lexfed.budget.sites import (
    BudgetProfile,
    ParticipationFactors,
    participation_of,
    weakened_step,
)
from lexfed.federation.planning.choices import Choices, PopulationFacts
from lexfed.federation.planning.programme_draft import DraftRelease, ProgrammeDraft
from lexfed.federation.programme.messages import QueryKind
from lexfed.federation.programme.sequence import SavingPhase
from lexfed.privacy.accountants.gdp import Step
from lexfed.privacy.releases import Release

TRAINING: frozenset[QueryKind] = frozenset({"residuals", "gradient", "update"})
"""Stages of several rounds, in which a site can save for later ones."""


@dataclass(frozen=True)
class SiteShares:
    """Factors of the sites in one tower, and the public divisor of a sum over all."""

    weights: tuple[float, ...]
    rates: tuple[float, ...]
    divisor: float


def planned_shares(
    draft: ProgrammeDraft, releases: Sequence[tuple[Release, ...]]
) -> tuple[SiteShares, ...]:
    """Return the sites' part in each tower, whose releases are priced."""
    choices, tiers = draft.choices, draft.tiers
    parts = [
        participation_of(
            _towers(draft, profile, releases),
            draft.effective(profile.budget),
            tiers,
            choices.accountant,
            choices.realise,
        )
        for profile in draft.facts.profiles
    ]
    return _shares(draft.facts, parts, len(draft.shapes))


def _towers(
    draft: ProgrammeDraft,
    profile: BudgetProfile,
    releases: Sequence[tuple[Release, ...]],
) -> list[list[Step]]:
    """Return the steps of a profile's sites at full weight, by tower."""
    facts, choices = draft.facts, draft.choices
    steps: list[list[Step]] = [[] for _ in draft.shapes]
    meant = 1.0
    if choices.realise == "sampling":
        # A site that counts less anyway need not be sampled less; by `clip` the smaller
        # of both weights is taken.
        weight_of = dict(zip(facts.sites, facts.site_weights, strict=True))
        meant = max(weight_of[site] for site in profile.sites)
    for item, rounds in zip(draft.wanted, releases, strict=True):
        early = (1.0,) * len(rounds)
        if item.kind in TRAINING:
            early = profile.early(len(rounds))
        for release, factor in zip(rounds, early, strict=True):
            step = Step(release.noise_multiplier / meant, release.sampling_rate)
            steps[item.draft.tower].append(weakened_step(step, factor, choices.realise))
    return steps


def phases_of(
    facts: PopulationFacts, choices: Choices, item: DraftRelease, shares: SiteShares
) -> tuple[SavingPhase, ...]:
    """Return the first rounds of a stage, where sites of some profiles save."""
    if item.kind not in TRAINING:
        return ()
    rounds = len(item.draft.profile)
    early = {
        site: profile.early(rounds)
        for profile in facts.profiles
        for site in profile.sites
    }
    ends = {sum(part < 1.0 for part in parts) for parts in early.values()}
    phases = []
    for until in sorted(ends - {0}):
        # All rounds since the last phase are alike: its last one stands for them.
        saved = [
            early[site][until - 1] if site in early else 1.0 for site in facts.sites
        ]
        weights, rates = shares.weights, shares.rates
        if choices.realise == "clip":
            weights = tuple(w * part for w, part in zip(weights, saved, strict=True))
        else:
            rates = tuple(r * part for r, part in zip(rates, saved, strict=True))
        divisor = _expected(facts, weights, rates)
        phases.append(SavingPhase(until, weights, rates, divisor))
    return tuple(phases)


def _expected(
    facts: PopulationFacts, weights: Sequence[float], rates: Sequence[float]
) -> float:
    """Return the expected number of units in a sum, each counted by its weight."""
    parts = zip(facts.site_units, weights, rates, strict=True)
    return math.fsum(units * weight * rate for units, weight, rate in parts)


def expected_facts(
    facts: PopulationFacts, squares: Sequence[float], delta: float, tiers: TowerTiers
) -> tuple[PopulationFacts, ...]:
    """Return for each tower the facts with the divisor that it will about have.

    How many rounds a tower wants depends on how strong its signal is, and that on how
    much stricter sites take part. Estimated as if each tower were one full batch.
    """
    if not facts.profiles:
        return (facts,) * len(squares)
    towers = [[Step(1.0 / math.sqrt(square))] for square in squares]
    parts = [
        participation_of(
            towers, replace(profile.budget, delta=delta), tiers, "gdp", "clip"
        )
        for profile in facts.profiles
    ]
    shares = _shares(facts, parts, len(squares))
    return tuple(replace(facts, divisor=share.divisor) for share in shares)


def whole_shares(facts: PopulationFacts, towers: int) -> tuple[SiteShares, ...]:
    """Return the shares of sites where there is no budget to differ in."""
    return _shares(replace(facts, profiles=()), (), towers)


def _shares(
    facts: PopulationFacts, parts: Sequence[ParticipationFactors], towers: int
) -> tuple[SiteShares, ...]:
    profile_of = {
        site: part
        for profile, part in zip(facts.profiles, parts, strict=True)
        for site in profile.sites
    }
    ones = (1.0,) * towers
    whole = ParticipationFactors(ones, ones)
    own = [profile_of.get(site, whole) for site in facts.sites]
    shares = []
    for tower in range(towers):
        weights = tuple(
            min(meant, part.weights[tower])
            for meant, part in zip(facts.site_weights, own, strict=True)
        )
        rates = tuple(part.rates[tower] for part in own)
        divisor = facts.divisor
        if weights != facts.site_weights or set(rates) != {1.0}:
            divisor = _expected(facts, weights, rates)
        shares.append(SiteShares(weights, rates, divisor))
    return tuple(shares)


def budget_of(
    site: str, profiles: Sequence[BudgetProfile], otherwise: Budget
) -> Budget:
    """Return the budget of a site: its profile's, or everybody's."""
    own = (profile.budget for profile in profiles if site in profile.sites)
    return next(own, otherwise)
