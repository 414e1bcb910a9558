# SPDX-License-Identifier: Apache-2.0
"""Budgets of sites, from `[budget.profiles]` and `[budget.clients]`.

Names of sites come from the data, so only here can be said which site a budget is for.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import BaseModel

from lexfed.budget.noise_plan import Budget
from lexfed.budget.sites import BudgetProfile, best_budgets, loosest_budget
from lexfed.config.tables.budget import ClientsTable
from lexfed.config.tables.root import Config
from lexfed.config.text.wording import closest
from lexfed.errors import ConfigError, Problem
from lexfed.tiers import MODEL_TIERS, Tier

_HALF = 0.5
"""A site that saves does so in this part of the rounds, if nothing else is said."""

_FINEST = 1e-9
"""Epsilons of sites are multiples of this, so that equal sites have equal ones."""


@dataclass(frozen=True)
class SiteLimits:
    """Limits of a site on its spending in a run, whatever the configuration says."""

    epsilon: float | None
    caps: Mapping[Tier, float]


def by_tier(table: BaseModel) -> dict[Tier, float]:
    """Return the numbers that a table states for tiers of models, by tier."""
    return {
        tier: stated
        for tier in MODEL_TIERS
        if (stated := getattr(table, tier.label)) is not None
    }


def budget_within_limits(budget: Budget, limits: Sequence[SiteLimits]) -> Budget:
    """Return a budget that exceeds no site's own limits: the strictest of all.

    A sum over sites is released to all of them, so the strictest site decides for the
    others too; a site that wants to differ has a profile in the configuration.
    """
    caps = dict(budget.caps)
    epsilon = budget.epsilon
    for own in limits:
        epsilon = min(epsilon, math.inf if own.epsilon is None else own.epsilon)
        for tier, cap in own.caps.items():
            caps[tier] = min(cap, caps.get(tier, math.inf))
    return replace(budget, epsilon=epsilon, caps=caps)


def site_budgets(
    config: Config,
    sites: Sequence[str],
    budget: Budget,
    part: float = 1.0,
    limits: Sequence[SiteLimits] = (),
) -> tuple[Budget, tuple[BudgetProfile, ...]]:
    """Return the loosest budget of any site, and the profiles of those that differ.

    `budget` is that of sites without a profile, `part` the part of every site's budget
    that this run has; no site's budget exceeds the `limits`. A site that there is not,
    or a total that cannot be met, is a `ConfigError`.
    """
    _require_known(config, sites)
    profiles = _by_profile(config, budget, part)
    if config.budget.clients is not None:
        profiles = _by_client(config.budget.clients, sites, budget, profiles, part)
    budget = budget_within_limits(budget, limits)
    profiles = tuple(
        replace(profile, budget=budget_within_limits(profile.budget, limits))
        for profile in profiles
    )
    named = {site for profile in profiles for site in profile.sites}
    budgets = [profile.budget for profile in profiles]
    if not named.issuperset(sites):
        budgets.append(budget)
    return loosest_budget(budgets), profiles


def _by_profile(
    config: Config, budget: Budget, part: float
) -> tuple[BudgetProfile, ...]:
    found = []
    for name, table in sorted(config.budget.profiles.items()):
        caps = dict(budget.caps)
        for tier, cap in by_tier(table.caps).items():
            caps[tier] = min(part * cap, caps.get(tier, math.inf))
        epsilon = budget.epsilon if table.epsilon is None else part * table.epsilon
        own = replace(budget, epsilon=epsilon, caps=caps)
        found.append(
            BudgetProfile(
                name,
                table.sites,
                own,
                save=1.0 if table.save is None else table.save,
                save_until=_HALF if table.save_until is None else table.save_until,
            )
        )
    return tuple(found)


def _by_client(
    clients: ClientsTable,
    sites: Sequence[str],
    budget: Budget,
    profiles: Sequence[BudgetProfile],
    part: float,
) -> tuple[BudgetProfile, ...]:
    """Split profiles, and those without one, by the epsilon that each site gets.

    Profiles are numbered from the strictest on, not in the order of the sites.
    """
    profile_of = {site: profile for profile in profiles for site in profile.sites}
    members: dict[tuple[str, float], list[str]] = {}
    allotted = best_budgets(
        [clients.gammas.get(site, clients.gamma) for site in sites],
        [clients.low] * len(sites),
        [clients.high] * len(sites),
        clients.total,
    )
    for site, epsilon in zip(sites, allotted, strict=True):
        name = profile_of[site].name if site in profile_of else "client"
        key = (name, max(math.floor(part * epsilon / _FINEST), 1) * _FINEST)
        members.setdefault(key, []).append(site)
    result: list[BudgetProfile] = []
    for (name, epsilon), together in sorted(members.items()):
        base = profile_of.get(together[0], BudgetProfile(name, (), budget))
        number = 1 + sum(profile.name.startswith(f"{name}-") for profile in result)
        own = replace(base.budget, epsilon=epsilon)
        result.append(
            replace(base, name=f"{name}-{number}", sites=tuple(together), budget=own)
        )
    return tuple(result)


def _require_known(config: Config, sites: Sequence[str]) -> None:
    budget = config.budget
    stated = [
        (f"budget.profiles.{name}.sites", site)
        for name, table in budget.profiles.items()
        for site in table.sites
    ]
    if budget.clients is not None:
        stated += [("budget.clients.gammas", site) for site in budget.clients.gammas]
    problems = []
    for where, site in stated:
        if site in sites:
            continue
        near = closest(site, sites)
        hint = f"did you mean `{near}`?" if near else "sites are named by the data"
        problems.append(Problem(f"`{where}`", f"there is no site `{site}`", hint))
    if problems:
        raise ConfigError(problems)
