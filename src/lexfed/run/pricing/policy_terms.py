# SPDX-License-Identifier: Apache-2.0
"""The budget and the choices for training that a configuration states."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from lexfed.budget.noise_plan import Budget
from lexfed.budget.noise_schedule import NoiseSchedule
from lexfed.budget.policy import BudgetPolicy, PolicyTerms, RunColumns, policy_terms
from lexfed.config.policy_file import PolicyFile, read_policy
from lexfed.config.tables.root import Config
from lexfed.errors import ConfigError, Problem
from lexfed.federation.planning.choices import Choices
from lexfed.privacy.scopes import down
from lexfed.run.intake.population import Population
from lexfed.run.pricing.site_budgets import by_tier
from lexfed.tiers import MODEL_TIERS, Tier


@dataclass(frozen=True)
class StatedBudget:
    """The budget of a run as its configuration and its policy state it.

    It is `whole` before earlier runs, single sites or other runs take their part;
    `terms` has caps and weights of tiers under the policy.
    """

    policy: PolicyFile
    terms: PolicyTerms
    whole: Budget

    def part(self, part: float) -> Budget:
        """Return the same part of epsilon and of every cap."""
        whole = self.whole
        caps = {tier: part * cap for tier, cap in whole.caps.items()}
        return replace(whole, epsilon=part * whole.epsilon, caps=caps)

    def purchase(self, epsilon: float) -> Budget:
        """Return the budget of a purchase: every cap counts by the same part.

        Rounded down, so that the claim, which is rounded up, says no more.
        """
        part = self.part(epsilon / self.whole.epsilon)
        caps = {tier: down(cap) for tier, cap in part.caps.items()}
        return replace(part, epsilon=down(epsilon), caps=caps)


def stated_budget(config: Config, population: Population, base: Path) -> StatedBudget:
    """Return the budget that a configuration and its policy state."""
    budget = config.budget
    policy = read_policy(budget.policy, budget.policy_keys, base)
    terms = _terms(config, population, policy.policy)
    whole = Budget(
        epsilon=budget.epsilon,
        delta=budget.delta,
        neighbours=budget.neighbours,
        caps=terms.caps,
        sites_per_person=config.data.sites_per_person,
    )
    return StatedBudget(policy, terms, whole)


def _terms(config: Config, population: Population, policy: BudgetPolicy) -> PolicyTerms:
    """Return the terms of a run; without noise nothing is refused."""
    own = by_tier(config.budget.caps)
    assigned = {name: row.level for name, row in config.budget.levels.items()}
    if config.privacy.mechanism == "none":
        usual = {tier: policy.of_tier(tier)[0].weight for tier in MODEL_TIERS}
        return PolicyTerms(own, usual)
    encoding = population.encoding
    columns = {tier: encoding.columns_of(tier) for tier in encoding.model_tiers}
    tagged = population.tagged
    _require_effect(config, policy, assigned, columns)
    target = tagged.tier_of(tagged.schema.target)
    run = RunColumns(columns, target, assigned)
    return policy_terms(policy, own, config.budget.delta, run)


def _require_effect(
    config: Config,
    policy: BudgetPolicy,
    assigned: Mapping[str, str],
    columns: Mapping[Tier, tuple[str, ...]],
) -> None:
    """Refuse levels where they set neither a cap nor a delta nor a weight in use."""
    weighs = (
        config.budget.allocation in ("multiplier", "noise-scale")
        or config.adapt.noise == "linear"
    )
    binding = {
        tier
        for tier in MODEL_TIERS
        for level in policy.of_tier(tier)
        if level.epsilon is not None or level.delta is not None or weighs
    }
    idle = [
        name
        for tier, names in columns.items()
        if tier not in binding
        for name in names
        if name in assigned
    ]
    if idle:
        problem = Problem(
            "`budget.levels`",
            f"a level for `{idle[0]}` does nothing: policy `{policy.name}` has no "
            f'caps, and `allocation = "{config.budget.allocation}"` does not weigh '
            "tiers by level",
            'use `policy = "published"` or a file with caps, or '
            '`allocation = "multiplier"`',
        )
        raise ConfigError([problem])


def choices_of(
    config: Config, terms: PolicyTerms, importance: Mapping[str, float]
) -> Choices:
    """Return the choices of a configuration; importances are by column."""
    budget, federation, privacy = config.budget, config.federation, config.privacy
    own = by_tier(budget.multipliers)  # the rest: one over the tier's weight
    return Choices(
        mechanism=privacy.mechanism,
        trust=privacy.trust,
        unit=budget.unit,
        model=federation.model,
        allocation=budget.allocation,
        schedule=NoiseSchedule(budget.schedule, **budget.pace.model_dump()),
        accountant=privacy.accountant,
        alpha=budget.alpha,
        multipliers={
            tier: own[tier] if tier in own else 1.0 / terms.weights[tier]
            for tier in MODEL_TIERS
        },
        weights=terms.weights,
        importance=importance,
        clip=by_tier(privacy.clip),
        default_clip=privacy.clip.default,
        rounds=federation.rounds,
        sampling_rate=federation.sampling_rate,
        local_steps=federation.local_steps,
        learning_rate=federation.learning_rate,
        learning_rate_schedule=federation.learning_rate_schedule,
        momentum=federation.momentum,
        batch_size=federation.batch_size,
        paid_metrics=config.evaluation.metrics == "paid",
        realise=budget.realise,
        seed=config.run.seed,
        adapting=replace(config.adapt.adapting, weights=terms.linear_weights),
        colluders=federation.colluders,
        dropouts=federation.dropouts,
        setup_rounds=federation.setup_rounds,
    )
