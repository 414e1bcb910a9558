# SPDX-License-Identifier: Apache-2.0
"""The releases that a tower wants, before they are priced.

Towers follow the rule of `lexfed.models.rule`: paid statistics, then a few rounds, then
rounds of a network where one pays. With a step size of a person's own, and under
`grouped`, they descend by noisy gradients, or by clipped local updates where the unit
is the client. The first tower also buys the label rate, and the last one the metrics
if they are to be paid for.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lexfed.budget import allocation
from lexfed.budget.allocation import TierFacts
from lexfed.budget.noise_plan import Draft, DraftGroup
from lexfed.budget.record_classes import raised_reads
from lexfed.budget.tower_steering import BIT_CLIP, bit_weight
from lexfed.federation.planning.choices import LINEAR, Choices, PopulationFacts
from lexfed.federation.planning.programme_draft import DraftRelease, column_groups
from lexfed.federation.programme.messages import QueryKind
from lexfed.models.descent import DEFAULT_CLIP, default_rounds
from lexfed.models.losses import histogram_cells
from lexfed.models.networks.flat_parameters import count, group_index
from lexfed.models.rule import network_part
from lexfed.models.rule.purchases import (
    CLIP,
    label_dimension,
    plan_tower,
    worth_training,
)
from lexfed.models.towers.shape import RuleFacts, TowerShape
from lexfed.privacy.releases import CLIP_BIT
from lexfed.tiers import Tier

LABEL_SHARE = 0.02
"""Part of the first tower's square that the label rate takes, without the rule."""

METRICS_SHARE = 0.05
"""Part of the last tower's square that paid metrics take."""


def tower_drafts(
    facts: PopulationFacts,
    choices: Choices,
    shapes: Sequence[TowerShape],
    tower: int,
    square: float,
) -> list[DraftRelease]:
    """Return the releases that one of the towers wants, with their shares of `square`.

    The square is the tower's budget, in squares of add/remove Gaussian privacy.
    """
    first, last = tower == 0, tower == len(shapes) - 1
    left = 1.0
    wanted: list[DraftRelease] = []
    metrics = METRICS_SHARE if last and choices.paid_metrics else 0.0
    left -= metrics
    if choices.follows_rule:
        part = left
        if shapes[tower].architecture not in LINEAR:
            part = left * (1.0 - network_part.SHARE)
        bought = _by_rule(facts, choices, shapes[tower], tower, square * part)
        wanted += [item.at_part(part) for item in bought]
        if part < left:
            wanted.append(_network(choices, shapes[tower], tower, left - part))
    else:
        if first:
            cells = label_dimension(RuleFacts(shapes[tower], facts.loss))
            group = DraftGroup("label rate", 1.0, cells)
            wanted.append(_single("labels", group, tower, None, LABEL_SHARE))
            left -= LABEL_SHARE
        wanted.append(_descent(facts, choices, shapes[tower], tower, left))
    if metrics:
        group = DraftGroup("metrics", 1.0, histogram_cells(facts.loss))
        wanted.append(_single("metrics", group, tower, shapes[tower].tier, metrics))
    senders = choices.senders(len(facts.sites))
    return [
        replace(
            each,
            draft=replace(
                each.draft,
                senders=senders,
                reads=raised_reads(each.draft.reads, facts.classes),
            ),
        )
        for each in wanted
    ]


def _single(
    kind: QueryKind, group: DraftGroup, tower: int, reads: Tier | None, share: float
) -> DraftRelease:
    draft = Draft(group.name, tower, (group,), 1.0, (1.0,), reads, share)
    return DraftRelease(kind, draft)


def _scheduled(choices: Choices, rounds: int, draft: Draft) -> Draft:
    """Return the draft with so many rounds of training, noised as the schedule says."""
    sampled = choices.sampling_rate < 1.0
    return replace(
        draft,
        sampling_rate=choices.sampling_rate,
        profile=choices.schedule.noise(rounds, sampled),
        rates=choices.schedule.rates(rounds) if sampled else (),
    )


def _by_rule(
    facts: PopulationFacts,
    choices: Choices,
    shape: TowerShape,
    tower: int,
    square: float,
) -> list[DraftRelease]:
    """Return the purchases of a linear tower, or of the linear part of one."""
    # A number of rounds that a person chose is the network's, where there may be one.
    rounds = None if choices.wants_networks else choices.rounds
    mu = _mu(facts, choices, square)
    bought = plan_tower(
        RuleFacts(shape, facts.loss), facts.divisor, mu, tower == 0, rounds
    )
    names = {
        "labels": "label rate",
        "moments": f"statistics {shape.tier.label}",
        "residuals": f"tower {shape.tier.label}",
    }
    result = []
    for item in bought:
        draft = Draft(
            name=names[item.kind],
            tower=tower,
            groups=(DraftGroup(names[item.kind], CLIP, item.dimension),),
            sampling_rate=1.0,
            profile=(1.0,),
            reads=None if item.kind == "labels" else shape.tier,
            share=item.share,
        )
        if item.kind == "residuals":
            draft = _scheduled(choices, item.rounds, draft)
        result.append(DraftRelease(item.kind, draft))
    return result


def _network(
    choices: Choices, shape: TowerShape, tower: int, share: float
) -> DraftRelease:
    name = f"network {shape.tier.label}"
    draft = Draft(
        name=name,
        tower=tower,
        groups=(DraftGroup(name, CLIP, count(shape.untrained())),),
        sampling_rate=1.0,
        profile=(1.0,),
        reads=shape.tier,
        share=share,
    )
    rounds = choices.rounds or network_part.ROUNDS
    return DraftRelease("gradient", _scheduled(choices, rounds, draft))


def networks_pay(
    facts: Sequence[PopulationFacts],
    choices: Choices,
    shapes: Sequence[TowerShape],
    squares: Sequence[float],
) -> bool:
    """Return True if networks of these shapes can tell more than their noise.

    Facts, shapes and squares (of add/remove Gaussian privacy) are given by tower.
    """
    return network_part.networks_pay(
        network_part.kappa(
            count(shape.untrained()), known.divisor, _mu(known, choices, square)
        )
        for known, shape, square in zip(facts, shapes, squares, strict=True)
    )


def is_worth_training(
    facts: PopulationFacts, choices: Choices, shape: TowerShape, square: float
) -> bool:
    """Return True if a tower can tell more than its noise at this budget.

    Only the rule judges that; with plain descent towers are always trained.
    """
    if not choices.follows_rule:
        return True
    mu = _mu(facts, choices, square)
    return worth_training(RuleFacts(shape, facts.loss), facts.divisor, mu)


def _mu(facts: PopulationFacts, choices: Choices, square: float) -> float:
    """Return a square as replace-one privacy of the noise that reaches the model.

    Where sites add noise of their own there is more of it than is charged for.
    """
    return 2.0 * math.sqrt(square / choices.loudness(len(facts.sites)))


def _descent(
    facts: PopulationFacts,
    choices: Choices,
    shape: TowerShape,
    tower: int,
    share: float,
) -> DraftRelease:
    kind: QueryKind = "update" if choices.unit == "client" else "gradient"
    name = f"tower {shape.tier.label}"
    if choices.mechanism == "grouped":
        groups = _groups(facts, choices, shape)
    else:
        clip = choices.clip_of(shape.tier) or DEFAULT_CLIP
        groups = (DraftGroup(name, clip, count(shape.untrained())),)
    if choices.adapting.clip == "quantile":
        groups += (DraftGroup(CLIP_BIT, BIT_CLIP, 1, bit_weight(1.0)),)
    rounds = choices.rounds or default_rounds(choices.mechanism)
    draft = Draft(
        name=name,
        tower=tower,
        groups=groups,
        sampling_rate=1.0,
        profile=(1.0,),
        reads=shape.tier,
        share=share,
    )
    return DraftRelease(kind, _scheduled(choices, rounds, draft))


def _importance(facts: PopulationFacts, choices: Choices, tier: Tier) -> float:
    """Return the mean importance of a tier's columns.

    Groups of one release cost as one Gaussian, whatever the shares of their noise
    (Theorem 1), so weights by importance change no price.
    """
    columns = facts.encoding.columns_of(tier)
    return sum(choices.importance.get(name, 1.0) for name in columns) / len(columns)


def _groups(
    facts: PopulationFacts, choices: Choices, shape: TowerShape
) -> tuple[DraftGroup, ...]:
    """Return one group per tier and one for the parameters that all columns share."""
    index = group_index(shape.untrained(), column_groups(facts.encoding))
    sizes = np.bincount(index)
    tiers = [
        TierFacts(tier, int(size), _importance(facts, choices, tier))
        for tier, size in zip(facts.encoding.model_tiers, sizes, strict=False)
    ]
    if choices.allocation == "caps":
        # No tier has a claim of its own here, so only the total noise counts.
        weights = [math.sqrt(math.sqrt(tier.slots)) for tier in tiers]
    else:
        parts = allocation.proportions(
            choices.allocation,
            tiers,
            choices.alpha,
            choices.multipliers,
            choices.weights,
        )
        weights = [math.sqrt(part) for part in parts]
    groups = [
        DraftGroup(
            facts.tier.label,
            choices.clip_of(facts.tier) or DEFAULT_CLIP,
            facts.slots,
            weight,
        )
        for facts, weight in zip(tiers, weights, strict=True)
    ]
    if len(sizes) > len(tiers):
        clip = choices.default_clip or DEFAULT_CLIP
        groups.append(DraftGroup("shared", clip, int(sizes[-1]), max(weights)))
    return tuple(groups)
