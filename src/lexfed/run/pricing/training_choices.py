# SPDX-License-Identifier: Apache-2.0
"""The choices of a configuration for training, as planning takes them."""

from collections.abc import Mapping
from dataclasses import replace

from lexfed.budget.noise_schedule import NoiseSchedule
from lexfed.budget.policy import PolicyTerms
from lexfed.config.tables.root import Config
from lexfed.federation.planning.choices import Choices
from lexfed.run.pricing.policy_terms import multipliers_of
from lexfed.tiers import MODEL_TIERS


def choices_of(
    config: Config, terms: PolicyTerms, importance: Mapping[str, float]
) -> Choices:
    """Return the choices of a configuration; importances are by column."""
    budget, federation, privacy = config.budget, config.federation, config.privacy
    return Choices(
        mechanism=privacy.mechanism,
        trust=privacy.trust,
        unit=budget.unit,
        model=federation.model,
        allocation=budget.allocation,
        schedule=NoiseSchedule(budget.schedule, **budget.pace.model_dump()),
        accountant=privacy.accountant,
        alpha=budget.alpha,
        multipliers=multipliers_of(config, terms.weights),
        weights=terms.weights,
        importance=importance,
        clip={
            tier: clip
            for tier in MODEL_TIERS
            if (clip := getattr(privacy.clip, tier.label)) is not None
        },
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
