# SPDX-License-Identifier: Apache-2.0
"""From a budget to a profile worth its price, or to the smallest budget that buys one.

A profile is planned for all columns. Where noise would hide the values of a tier whose
columns are all declared, nothing needs to be learned there: the tier is left out, the
most sensitive first, and its part goes to the others. So are the keys of persons. Where
open columns would be hidden, the budget is too small, and the smallest one that is not
is searched for.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lexfed.budget.noise_plan import Budget
from lexfed.config.tables.root import Config
from lexfed.errors import ConfigError, Problem
from lexfed.federation.planning.choices import Choices, PopulationFacts
from lexfed.federation.planning.purchase_programmes import (
    PERSONS,
    USEFUL,
    HiddenShare,
    hidden_shares,
    plan_profile,
)
from lexfed.federation.programme.sequence import Programme
from lexfed.run.intake.public_facts import public_facts
from lexfed.run.pricing.policy_terms import StatedBudget, stated_budget
from lexfed.run.pricing.site_budgets import SiteLimits, budget_within_limits
from lexfed.run.pricing.training_choices import choices_of
from lexfed.run.purchases.profile_population import ProfilePopulation
from lexfed.sketch.profile.federation_profile import ProfiledColumn

_MOST_PART = 0.99
"""A profile that took all of the budget would be of no use: nothing could follow."""
_HALVINGS = 12
"""Steps of the search: the smallest useful budget is found to below a percent."""


@dataclass(frozen=True)
class ProfilePlan:
    """A programme and its budget.

    Attributes:
        programme: of the profile.
        budget: that it keeps to.
        left_out: declared columns of which noise would leave nothing.
        hidden: tables of other columns of which noise would leave nothing.
    """

    programme: Programme
    budget: Budget
    left_out: tuple[str, ...]
    hidden: tuple[HiddenShare, ...]


@dataclass(frozen=True)
class ProfilePricing:
    """Everything that pricing a profile needs, but its budget."""

    config: Config
    facts: PopulationFacts
    choices: Choices
    stated: StatedBudget
    columns: tuple[ProfiledColumn, ...]
    limits: tuple[SiteLimits, ...] = ()

    @classmethod
    def of(
        cls,
        config: Config,
        found: ProfilePopulation,
        base: Path,
        limits: Sequence[SiteLimits] = (),
    ) -> "ProfilePricing":
        """Take the public facts about a population, and the stated budget.

        Raises:
            ConfigError: if the budget does not keep to its policy.
        """
        stated = stated_budget(config, found.population, base)
        facts = public_facts(config, found.population, ())
        choices = choices_of(config, stated.terms, {})
        return cls(config, facts, choices, stated, found.columns, tuple(limits))

    def plan(self, epsilon: float) -> ProfilePlan:
        """Return the plan of a budget; it may be too small."""
        budget = budget_within_limits(self.stated.purchase(epsilon), self.limits)
        left_out: tuple[str, ...] = ()
        while True:
            programme = plan_profile(
                self.facts, budget, self.choices, self.columns, left_out
            )
            shares = hidden_shares(programme, self.facts.units)
            hidden = tuple(one for one in shares if not one.useful)
            idle = self._idle(left_out, hidden)
            asked = {column.name for column in self.columns} - {*left_out, *idle}
            if not idle or not asked:
                return ProfilePlan(programme, budget, left_out, hidden)
            left_out += idle

    def useful(self, epsilon: float) -> ProfilePlan:
        """Return the plan of a budget that is large enough.

        Raises:
            ConfigError: if it is not, with the smallest one that is.
        """
        plan = self.plan(epsilon)
        if plan.hidden:
            raise ConfigError([self._too_small(epsilon, plan.hidden)])
        return plan

    def _idle(
        self, left_out: Sequence[str], hidden: Sequence[HiddenShare]
    ) -> tuple[str, ...]:
        """Return keys that are hidden, or the most sensitive columns, all declared."""
        names = {one.column for one in hidden}
        if PERSONS in names:
            return (PERSONS,)
        groups: dict[str, list[ProfiledColumn]] = {}
        for column in self.columns:
            if column.name not in left_out:
                groups.setdefault(self._group(column), []).append(column)
        idle = [
            own
            for own in groups.values()
            if any(c.name in names for c in own) and not any(map(is_open, own))
        ]
        most = max(idle, key=lambda own: own[0].tier, default=[])
        return tuple(column.name for column in most)

    def _group(self, column: ProfiledColumn) -> str:
        """Return the name of a column's group: its tier, or the label alone."""
        target = self.facts.encoding.schema.target
        return "label" if column.name == target else column.tier.label

    def _too_small(self, epsilon: float, hidden: Sequence[HiddenShare]) -> Problem:
        worst = max(hidden, key=lambda one: one.share)
        seen = "nothing would be seen"
        if worst.share < 1:
            percent = math.ceil(1000 * worst.share) / 10
            seen = f"only what {percent:g} % of the persons have would be seen"
        what = (
            f"epsilon {epsilon:g} is too small to say anything: of `{worst.column}` "
            f"{seen}, and what {100 * USEFUL:g} % have must be"
        )
        least = self._least(epsilon)
        tier = next(c.tier for c in self.columns if c.name == worst.column)
        state = f"declare `{worst.column}` from public knowledge"
        if least is not None:
            hint = f"use `--epsilon {least:g}` or more, or {state}"
        elif tier in self.stated.whole.caps:
            hint = f"raise `budget.caps.{tier.label}` or `budget.epsilon`, or {state}"
        else:
            hint = f"raise `budget.epsilon`, or {state}"
        return Problem("profile", what, hint)

    def _least(self, low: float) -> float | None:
        """Return the smallest useful budget, rounded up; None if all is too little."""
        high = _MOST_PART * self.config.budget.epsilon
        if low >= high or self.plan(high).hidden:
            return None
        for _ in range(_HALVINGS):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if self.plan(middle).hidden else (low, middle)
        step = 10.0 ** (math.floor(math.log10(high)) - 1)
        return min(
            math.ceil(high / step) * step, _MOST_PART * self.config.budget.epsilon
        )


def is_open(column: ProfiledColumn) -> bool:
    """Return True if the range or the list of a column is sought."""
    if column.kind == "number":
        return column.range is None
    return column.codes is None
