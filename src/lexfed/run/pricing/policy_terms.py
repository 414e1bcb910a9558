# SPDX-License-Identifier: Apache-2.0
"""The budget policy of a run: read, checked against the run, turned into terms."""

from collections.abc import Mapping
from pathlib import Path

from lexfed.budget.policy import BudgetPolicy, PolicyTerms, policy_terms
from lexfed.config.policy_file import PolicyFile, read_policy
from lexfed.config.tables.root import Config
from lexfed.errors import ConfigError, Problem
from lexfed.run.intake.population import Population
from lexfed.tiers import MODEL_TIERS, Tier


def policy_of(config: Config, base: Path) -> PolicyFile:
    """Read the policy that a configuration names.

    Raises:
        ConfigError: with every problem of the file, or of its signature.
        RunFolderError: if a key file cannot be used.
    """
    budget = config.budget
    return read_policy(budget.policy, budget.policy_keys, base)


def terms_of(
    config: Config, population: Population, policy: BudgetPolicy
) -> PolicyTerms:
    """Return what a run may spend under a policy, and how its tiers weigh.

    Without noise there is no budget to hold to, so nothing is refused.

    Raises:
        ConfigError: if the configuration asks for more than the policy allows, or
            gives a column a level that changes nothing.
    """
    own = {
        tier: cap
        for tier in MODEL_TIERS
        if (cap := getattr(config.budget.caps, tier.label)) is not None
    }
    assigned = {name: row.level for name, row in config.budget.levels.items()}
    if config.privacy.mechanism == "none":
        usual = {tier: policy.of_tier(tier)[0].weight for tier in MODEL_TIERS}
        return PolicyTerms(own, usual)
    encoding = population.encoding
    columns = {tier: encoding.columns_of(tier) for tier in encoding.model_tiers}
    tagged = population.tagged
    _require_effect(config, policy, assigned, columns)
    return policy_terms(
        policy,
        caps=own,
        delta=config.budget.delta,
        columns=columns,
        target=tagged.tier_of(tagged.schema.target),
        assigned=assigned,
    )


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
        raise ConfigError(
            [
                Problem(
                    "`budget.levels`",
                    f"a level for `{idle[0]}` does nothing: policy `{policy.name}` has "
                    f'no caps, and `allocation = "{config.budget.allocation}"` does '
                    "not weigh tiers by level",
                    'use `policy = "published"` or a file with caps, or '
                    '`allocation = "multiplier"`',
                )
            ]
        )


def multipliers_of(config: Config, weights: Mapping[Tier, float]) -> dict[Tier, float]:
    """Return the share of each tier under `multiplier`: stated, or one over weight."""
    stated = config.budget.multipliers
    found = {}
    for tier in MODEL_TIERS:
        own: float | None = getattr(stated, tier.label)
        found[tier] = 1.0 / weights[tier] if own is None else own
    return found
