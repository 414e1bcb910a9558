# SPDX-License-Identifier: Apache-2.0
"""From choices and public facts to a priced programme; nothing is spent."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from lexfed.budget import allocation
from lexfed.budget.allocation import CappedShares, TierFacts
from lexfed.budget.noise_plan import Budget, tower_bounds
from lexfed.budget.record_classes import class_scale
from lexfed.errors import ConfigError, Problem
from lexfed.federation.planning.choices import Choices, PopulationFacts
from lexfed.federation.planning.draft_releases import DraftTower, tower_drafts
from lexfed.federation.planning.programme_draft import (
    ProgrammeDraft,
    tower_shapes,
    tower_tiers,
    with_shape_functions,
)
from lexfed.federation.planning.programme_price import (
    ShareRule,
    lay_out,
    price_programme,
)
from lexfed.federation.planning.site_shares import expected_facts, whole_shares
from lexfed.federation.planning.tower_sketches import (
    drafts_with_sketches,
    require_use,
    training_part,
)
from lexfed.federation.programme.sequence import ClassScale, Programme
from lexfed.models.rule.network_worth import networks_pay
from lexfed.models.tower_shapes import TowerShape
from lexfed.privacy.accountants.calibration import PrivacyTarget


def plan_training(
    facts: PopulationFacts, budget: Budget, choices: Choices
) -> Programme:
    """Return the programme of a run.

    A tower that its budget would drown in noise is left out, the most sensitive first;
    its tier is then not read at all, and its share goes to the others. Networks by rule
    are left out of all towers unless they pay in every one. A `ConfigError` tells that
    choices contradict each other or a cap.
    """
    model = "linear" if choices.wants_networks else choices.model
    shapes = tower_shapes(
        facts.encoding, choices.mechanism, model, facts.outputs, choices.seed
    )
    if choices.mechanism == "none":
        wanted = tuple(tower_drafts(DraftTower(facts, choices, shapes, 0), math.inf))
        draft = ProgrammeDraft(facts, choices, shapes, wanted)
        return lay_out(draft, None, whole_shares(facts, len(shapes)))
    while True:
        drafted = _drafted(facts, budget, choices, shapes)
        noisy = [
            tower.place
            for tower, square in zip(drafted.towers, drafted.squares, strict=True)
            if tower.place > 0
            and not tower.is_worth_training(square * training_part(tower))
        ]
        if noisy:
            shapes = shapes[: noisy[-1]] + shapes[noisy[-1] + 1 :]
            continue
        shaped = _with_shapes(drafted, choices)
        if shaped != shapes:
            shapes = shaped
            continue
        if choices.wants_networks and shapes[0].architecture != choices.model:
            deep = tuple(replace(s, architecture=choices.model) for s in shapes)
            if networks_pay(
                replace(tower, shapes=deep).network_kappa(square)
                for tower, square in zip(drafted.towers, drafted.squares, strict=True)
            ):
                shapes = deep
                continue
        programme = price_programme(drafted.draft, budget, drafted.allocate)
        require_use(programme, facts, choices)
        left = drafted.draft.effective(budget)
        return replace(programme, classes=_class_scales(drafted.draft, programme, left))


def _with_shapes(drafted: "_Drafted", choices: Choices) -> tuple[TowerShape, ...]:
    """Return the towers, with shape functions where the rule expects them to pay."""
    encoding = drafted.draft.facts.encoding
    shapes = []
    for tower, square in zip(drafted.towers, drafted.squares, strict=True):
        shape = tower.shape
        if choices.wants_shapes and not shape.is_additive:
            able = with_shape_functions(encoding, shape)
            shaped = replace(tower, shapes=_at(tower.shapes, tower.place, able))
            pays = able.is_additive and shaped.gets_shapes(
                square * training_part(tower)
            )
            shape = able if pays else shape
        shapes.append(shape)
    return tuple(shapes)


def _at(
    shapes: Sequence[TowerShape], place: int, shape: TowerShape
) -> tuple[TowerShape, ...]:
    return (*shapes[:place], shape, *shapes[place + 1 :])


def _class_scales(
    draft: ProgrammeDraft, programme: Programme, budget: Budget
) -> tuple[ClassScale, ...]:
    """Return the factor on contributions of each class of records."""
    scales = []
    for one in draft.facts.classes:
        target = PrivacyTarget(
            one.epsilon, budget.delta, budget.neighbours, draft.choices.accountant
        )
        scale = class_scale(programme.charges(), target, budget.sites_per_person)
        if any(scale <= (1.0 - scale) * stage.rounding for stage in programme.stages):
            where = f"`budget.classes`, class `{one.name}`"
            what = (
                f"at epsilon {one.epsilon:g} rounding alone could say more about a "
                "member than its budget allows"
            )
            hint = "raise its epsilon, or leave such records out of the data"
            raise ConfigError([Problem(where, what, hint)])
        scales.append(ClassScale(one.name, one.condition.text, scale))
    return tuple(scales)


@dataclass(frozen=True)
class _Drafted:
    """Drafted towers, and the part of the budget that each of them gets."""

    draft: ProgrammeDraft
    allocate: ShareRule
    squares: tuple[float, ...]
    towers: tuple[DraftTower, ...]


def _drafted(
    facts: PopulationFacts,
    budget: Budget,
    choices: Choices,
    shapes: tuple[TowerShape, ...],
) -> _Drafted:
    tiers = tower_tiers(facts, shapes)
    allocate = partial(_shares, facts, choices, shapes)
    left = budget
    # The sampler's own error is paid first. It depends on the number of rounds and
    # that on the budget, so the drafts are made twice; the second time they stay.
    for _ in range(2):
        squares = allocate(tower_bounds(left, tiers)).squares
        expected = expected_facts(facts, squares, left.delta, tiers)
        towers = tuple(
            DraftTower(known, choices, shapes, place)
            for place, known in enumerate(expected)
        )
        wanted = tuple(
            item
            for tower, square in zip(towers, squares, strict=True)
            for item in drafts_with_sketches(tower, square)
        )
        draft = ProgrammeDraft(facts, choices, shapes, wanted)
        left = draft.effective(budget)
    squares = allocate(tower_bounds(left, tiers)).squares
    return _Drafted(draft, allocate, squares, towers)


def _shares(
    facts: PopulationFacts,
    choices: Choices,
    shapes: Sequence[TowerShape],
    bounds: Sequence[float],
) -> CappedShares:
    tiers = [_tier_facts(facts, choices, shape) for shape in shapes]
    if choices.allocation == "caps" or len(shapes) == 1:
        return allocation.caps([tier.slots for tier in tiers], bounds)
    parts = allocation.proportions(
        choices.allocation, tiers, choices.alpha, choices.multipliers, choices.weights
    )
    squares = tuple(part * bounds[0] for part in parts)
    for index, bound in enumerate(bounds):
        if sum(squares[index:]) > bound * (1 + 1e-9):
            what = (
                f"`{choices.allocation}` would spend more on tier "
                f"`{shapes[index].tier.label}` than its cap allows"
            )
            hint = 'use `allocation = "caps"`, or raise the cap'
            raise ConfigError([Problem("`budget.allocation`", what, hint)])
    return CappedShares(squares, (True,) + (False,) * (len(squares) - 1))


def _tier_facts(
    facts: PopulationFacts, choices: Choices, shape: TowerShape
) -> TierFacts:
    columns = dict.fromkeys(facts.encoding.slots[place].column for place in shape.slots)
    return TierFacts(shape.tier, len(shape.slots), choices.mean_importance(columns))
