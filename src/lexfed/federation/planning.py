# SPDX-License-Identifier: Apache-2.0
"""From choices and public facts to a priced programme; nothing is spent.

Planning reads the schema, the tiers, the number of units and sites, and the budget.
It shares the budget among the towers, asks the rule of each tower which releases it
wants and how they share the tower's part, prices them, and lays out the stages.
"""

import math
from collections.abc import Sequence

from lexfed.budget import allocation
from lexfed.budget.allocation import CappedShares, TierFacts
from lexfed.budget.plan import (
    Budget,
    effective_delta,
    full_batch_releases,
    sampled_releases,
    tower_bounds,
)
from lexfed.errors import ConfigError, Problem
from lexfed.federation.choices import Choices, Facts
from lexfed.federation.layout import lay_out
from lexfed.federation.programme import Programme
from lexfed.federation.shapes import tower_shapes
from lexfed.federation.wanted import wanted_by_tower
from lexfed.models.cascade import TowerShape


def plan(facts: Facts, budget: Budget, choices: Choices) -> Programme:
    """Return the programme of a run.

    Raises:
        ConfigError: if choices contradict each other or a cap.
    """
    shapes = tower_shapes(
        facts.encoding,
        choices.mechanism,
        choices.model,
        facts.outputs,
        choices.seed,
    )
    if choices.mechanism == "none":
        wanted = [wanted_by_tower(facts, choices, shapes, 0, math.inf)]
        return lay_out(facts, choices, shapes, wanted[0], None)
    reads = [shape.tier for shape in shapes]
    present = facts.encoding.model_tiers
    # The sampler's own error is paid first. It depends on the number of rounds and
    # that on the budget, so the drafts are made twice; the second time they stay.
    delta = budget.delta
    for _ in range(2):
        bounds = tower_bounds(budget, delta, reads, present)
        shares = _shares(facts, choices, shapes, bounds)
        wanted = [
            wanted_by_tower(facts, choices, shapes, tower, square)
            for tower, square in enumerate(shares.squares)
        ]
        drafts = [draft for tower in wanted for draft in tower]
        delta = effective_delta(budget, [item.draft for item in drafts])
    bounds = tower_bounds(budget, delta, reads, present)
    shares = _shares(facts, choices, shapes, bounds)
    plain = [item.draft for item in drafts]
    if all(draft.sampling_rate == 1.0 for draft in plain):
        releases = full_batch_releases(plain, shares.squares)
    else:
        releases = sampled_releases(
            plain, shares, budget, delta, choices.accountant, reads, present
        )
    return lay_out(facts, choices, shapes, drafts, releases)


def _shares(
    facts: Facts,
    choices: Choices,
    shapes: Sequence[TowerShape],
    bounds: Sequence[float],
) -> CappedShares:
    tiers = [_tier_facts(facts, choices, shape) for shape in shapes]
    if choices.allocation == "caps" or len(shapes) == 1:
        return allocation.caps([tier.slots for tier in tiers], bounds)
    if choices.allocation == "inverse":
        parts = allocation.inverse(tiers, choices.alpha)
    elif choices.allocation == "multiplier":
        parts = allocation.multiplier(tiers, choices.multipliers)
    else:
        parts = allocation.noise_scale(tiers)
    squares = tuple(part * bounds[0] for part in parts)
    for index, bound in enumerate(bounds):
        if sum(squares[index:]) > bound * (1 + 1e-9):
            raise ConfigError([_over_cap(choices, shapes[index])])
    return CappedShares(squares, (True,) + (False,) * (len(squares) - 1))


def _over_cap(choices: Choices, shape: TowerShape) -> Problem:
    return Problem(
        "`budget.allocation`",
        f"`{choices.allocation}` would spend more on tier `{shape.tier.label}` than "
        "its cap allows",
        'use `allocation = "caps"`, or raise the cap',
    )


def _tier_facts(facts: Facts, choices: Choices, shape: TowerShape) -> TierFacts:
    columns = {facts.encoding.slots[place].column for place in shape.slots}
    weights = [choices.importance.get(column, 1.0) for column in columns]
    return TierFacts(shape.tier, len(shape.slots), sum(weights) / len(weights))
