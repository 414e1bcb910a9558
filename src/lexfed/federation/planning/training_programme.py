# SPDX-License-Identifier: Apache-2.0
"""From choices and public facts to a priced programme; nothing is spent.

Planning reads the schema, the tiers, the number of units and sites, and the budget.
It shares the budget among the towers, asks the rule of each tower which releases it
wants and how they share the tower's part, prices them, and lays out the stages.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lexfed.budget import allocation
from lexfed.budget.allocation import CappedShares, TierFacts
from lexfed.budget.noise_plan import (
    Budget,
    effective_delta,
    full_batch_releases,
    searched_releases,
    tower_bounds,
)
from lexfed.budget.record_classes import RecordClass, class_scale, class_tiers
from lexfed.errors import ConfigError, Problem
from lexfed.federation.planning.choices import Choices, PopulationFacts
from lexfed.federation.planning.draft_releases import (
    DraftRelease,
    is_worth_training,
    networks_pay,
    tower_drafts,
)
from lexfed.federation.planning.site_shares import (
    expected_facts,
    planned_shares,
    whole_shares,
)
from lexfed.federation.planning.stage_layout import lay_out
from lexfed.federation.planning.tower_shapes import read_tiers, tower_shapes
from lexfed.federation.planning.tower_sketches import (
    drafts_with_sketches,
    require_use,
    training_part,
)
from lexfed.federation.programme.sequence import ClassScale, Programme
from lexfed.models.towers.shape import TowerShape
from lexfed.privacy.releases import Release
from lexfed.tiers import Tier


def plan_training(
    facts: PopulationFacts, budget: Budget, choices: Choices
) -> Programme:
    """Return the programme of a run.

    A tower that its budget would drown in noise is left out, the most sensitive first;
    its tier is then not read at all, and its share goes to the others. Networks by
    rule are left out of all towers unless they pay in every one.

    Raises:
        ConfigError: if choices contradict each other or a cap.
    """
    model = "linear" if choices.wants_networks else choices.model
    shapes = tower_shapes(
        facts.encoding, choices.mechanism, model, facts.outputs, choices.seed
    )
    if choices.mechanism == "none":
        wanted = tower_drafts(facts, choices, shapes, 0, math.inf)
        shares = whole_shares(facts, len(shapes))
        return lay_out(facts, choices, shapes, wanted, None, shares)
    while True:
        priced = _price(facts, budget, choices, shapes)
        noisy = [
            tower
            for tower, square in enumerate(priced.shares.squares)
            if tower > 0
            and not is_worth_training(
                priced.facts[tower],
                choices,
                shapes[tower],
                square * training_part(facts, choices, shapes, tower),
            )
        ]
        if noisy:
            shapes = shapes[: noisy[-1]] + shapes[noisy[-1] + 1 :]
            continue
        if choices.wants_networks and shapes[0].architecture != choices.model:
            deep = tuple(replace(s, architecture=choices.model) for s in shapes)
            if networks_pay(priced.facts, choices, deep, priced.shares.squares):
                shapes = deep
                continue
        releases = priced.releases()
        shares = planned_shares(
            facts, choices, priced.wanted, releases, priced.reads, priced.present
        )
        programme = lay_out(facts, choices, shapes, priced.wanted, releases, shares)
        require_use(programme, facts, choices)
        return replace(programme, classes=_class_scales(facts, programme, priced))


def _class_scales(
    facts: PopulationFacts, programme: Programme, priced: "_Priced"
) -> tuple[ClassScale, ...]:
    """Return what contributions of each class are multiplied by.

    Raises:
        ConfigError: if a class's budget is so small that rounding alone would cost it.
    """
    scales = []
    for one in facts.classes:
        scale = class_scale(
            programme.charges(),
            one.epsilon,
            priced.delta,
            priced.budget.neighbours,
            priced.choices.accountant,
            priced.budget.sites_per_person,
        )
        if any(scale <= (1.0 - scale) * stage.rounding for stage in programme.stages):
            raise ConfigError([_too_strict(one)])
        scales.append(ClassScale(one.name, one.condition.text, scale))
    return tuple(scales)


def _too_strict(one: RecordClass) -> Problem:
    return Problem(
        f"`budget.classes`, class `{one.name}`",
        f"at epsilon {one.epsilon:g} rounding alone could say more about a member than "
        "its budget allows",
        "raise its epsilon, or leave such records out of the data",
    )


@dataclass(frozen=True)
class _Priced:
    """Shares and drafts of a set of towers; the noise is solved for on demand."""

    budget: Budget
    choices: Choices
    shares: CappedShares
    wanted: tuple[DraftRelease, ...]
    delta: float
    reads: tuple[Tier, ...]
    present: tuple[Tier, ...]
    facts: tuple[PopulationFacts, ...]

    def releases(self) -> tuple[tuple[Release, ...], ...]:
        drafts = [item.draft for item in self.wanted]
        whole = all(draft.sampling_rate == 1.0 for draft in drafts)
        # Rényi accounting costs more than the formula, also without sampling.
        if whole and self.choices.accountant != "rdp":
            return full_batch_releases(drafts, self.shares.squares)
        return searched_releases(
            drafts,
            self.shares,
            self.budget,
            self.delta,
            self.choices.accountant,
            self.reads,
            self.present,
        )


def _price(
    facts: PopulationFacts,
    budget: Budget,
    choices: Choices,
    shapes: tuple[TowerShape, ...],
) -> _Priced:
    # Who is in a class moves every release, so every tower reads the classes' tiers.
    by_classes = class_tiers(facts.classes)
    reads = tuple(max((shape.tier, *by_classes)) for shape in shapes)
    present = tuple(sorted({*read_tiers(facts.encoding, shapes), *by_classes}))
    # The sampler's own error is paid first. It depends on the number of rounds and
    # that on the budget, so the drafts are made twice; the second time they stay.
    delta = budget.delta
    wanted: tuple[DraftRelease, ...] = ()
    expected = (facts,) * len(shapes)
    for _ in range(2):
        bounds = tower_bounds(budget, delta, reads, present)
        squares = _shares(facts, choices, shapes, bounds).squares
        expected = expected_facts(facts, squares, delta, reads, present)
        wanted = tuple(
            item
            for tower, square in enumerate(squares)
            for item in drafts_with_sketches(
                expected[tower], choices, shapes, tower, square
            )
        )
        drafts = [item.draft for item in wanted]
        delta = effective_delta(budget, drafts, choices.adapting.guarantee)
    bounds = tower_bounds(budget, delta, reads, present)
    shares = _shares(facts, choices, shapes, bounds)
    return _Priced(budget, choices, shares, wanted, delta, reads, present, expected)


def _shares(
    facts: PopulationFacts,
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
        parts = allocation.noise_scale(tiers, choices.weights)
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


def _tier_facts(
    facts: PopulationFacts, choices: Choices, shape: TowerShape
) -> TierFacts:
    columns = {facts.encoding.slots[place].column for place in shape.slots}
    weights = [choices.importance.get(column, 1.0) for column in columns]
    return TierFacts(shape.tier, len(shape.slots), sum(weights) / len(weights))
