# SPDX-License-Identifier: Apache-2.0
"""The releases that a tower wants, before they are priced.

Towers follow the rule of `lexfed.models.rule`: paid statistics, then a few rounds, then
rounds of a network where one pays. With a step size given by a person, and under
`grouped`, they descend by noisy gradients, or by clipped local updates where the unit
is the client. The first tower also buys the label rate, and the last one the metrics if
they are to be paid for.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lexfed.budget import allocation
from lexfed.budget.allocation import TierFacts
from lexfed.budget.noise_plan import Draft, DraftGroup
from lexfed.budget.record_classes import raised_reads
from lexfed.budget.tower_steering import BIT_CLIP, bit_weight
from lexfed.federation.planning.choices import Choices, PopulationFacts
from lexfed.federation.planning.programme_draft import DraftRelease, column_groups
from lexfed.federation.programme.messages import QueryKind
from lexfed.models.descent import DEFAULT_CLIP, default_rounds
from lexfed.models.losses import histogram_cells
from lexfed.models.networks.specifications import LINEAR
from lexfed.models.rule import amplitudes, network_worth
from lexfed.models.rule.purchases import (
    CLIP,
    label_dimension,
    plan_tower,
    shapes_pay,
    worth_training,
)
from lexfed.models.tower_shapes import RuleFacts, TowerShape
from lexfed.privacy.releases import CLIP_BIT
from lexfed.tiers import Tier

LABEL_SHARE = 0.02
"""Part of the first tower's square that the label rate takes, without the rule."""

METRICS_SHARE = 0.05
"""Part of the last tower's square that paid metrics take."""


@dataclass(frozen=True)
class DraftTower:
    """A tower at its `place` among the `shapes` of a programme that is being planned.

    Its `facts` have the divisor that this tower is expected to have. Squares are
    budgets of the tower, in squares of add/remove Gaussian privacy.
    """

    facts: PopulationFacts
    choices: Choices
    shapes: Sequence[TowerShape]
    place: int

    @property
    def shape(self) -> TowerShape:
        """The tower's own shape."""
        return self.shapes[self.place]

    @property
    def rule_facts(self) -> RuleFacts:
        """The facts that the rule looks at."""
        return RuleFacts(self.shape, self.facts.loss)

    def mu(self, square: float) -> float:
        """Return a square as replace-one privacy of the noise that reaches the model.

        Where sites add noise of their own there is more of it than is charged for.
        """
        return 2.0 * math.sqrt(square / self.choices.loudness(len(self.facts.sites)))

    def is_worth_training(self, square: float) -> bool:
        """Return True if the tower can tell more than its noise, as the rule judges."""
        if not self.choices.follows_rule:
            return True
        return worth_training(self.rule_facts, self.facts.divisor, self.mu(square))

    def gets_shapes(self, square: float) -> bool:
        """Return True if the rule gives shape functions to the tower's numbers."""
        return shapes_pay(self.rule_facts, self.facts.divisor, self.mu(square))

    def gets_factors(self, square: float) -> bool:
        """Return True if factors of all towers are learned after this one."""
        known, shape, mu = self.facts.divisor, self.shape, self.mu(square)
        return amplitudes.factors_pay(len(self.shapes), shape.outputs, known, mu)

    def network_kappa(self, square: float) -> float:
        """Return the bound of the signal of a network over the norm of its noise."""
        return network_worth.kappa(
            self.shape.weights, self.facts.divisor, self.mu(square)
        )

    def release(
        self,
        kind: QueryKind,
        name: str,
        groups: tuple[DraftGroup, ...],
        share: float,
        reads: Tier | None,
    ) -> DraftRelease:
        """Return the draft of one round without sampling.

        It reads what the rules of classes read too: membership moves every release.
        """
        reads = raised_reads(reads, self.facts.classes)
        senders = self.choices.senders(len(self.facts.sites))
        draft = Draft(name, self.place, groups, 1.0, (1.0,), reads, share, senders)
        return DraftRelease(kind, draft)

    def rounds(self, item: DraftRelease, rounds: int) -> DraftRelease:
        """Return a draft with rounds of training, noised as the schedule says."""
        schedule, rate = self.choices.schedule, self.choices.sampling_rate
        sampled = rate < 1.0
        draft = replace(
            item.draft,
            sampling_rate=rate,
            profile=schedule.noise(rounds, sampled),
            rates=schedule.rates(rounds) if sampled else (),
        )
        return replace(item, draft=draft)


def tower_drafts(tower: DraftTower, square: float) -> list[DraftRelease]:
    """Return the releases that a tower wants, with their shares of its square."""
    choices, shape = tower.choices, tower.shape
    last = tower.place == len(tower.shapes) - 1
    metrics = METRICS_SHARE if last and choices.paid_metrics else 0.0
    left = 1.0 - metrics
    wanted: list[DraftRelease] = []
    fitted = last and choices.wants_shapes and tower.gets_factors(square)
    if fitted:
        left -= amplitudes.SHARE
    if choices.follows_rule:
        part = left
        if shape.architecture not in LINEAR:
            part = left * (1.0 - network_worth.SHARE)
        wanted += [item.at_part(part) for item in _by_rule(tower, square * part)]
        if part < left:
            wanted.append(_network(tower, left - part))
    else:
        if tower.place == 0:
            groups = (DraftGroup("label rate", 1.0, label_dimension(tower.rule_facts)),)
            label = tower.release("labels", "label rate", groups, LABEL_SHARE, None)
            wanted.append(label)
            left -= LABEL_SHARE
        wanted.append(_descent(tower, left))
    if fitted:
        wanted.append(_amplitudes(tower))
    if metrics:
        groups = (DraftGroup("metrics", 1.0, histogram_cells(tower.facts.loss)),)
        wanted.append(tower.release("metrics", "metrics", groups, metrics, shape.tier))
    return wanted


def _by_rule(tower: DraftTower, square: float) -> list[DraftRelease]:
    """Return the purchases of a linear tower, or of the linear part of one."""
    choices, tier = tower.choices, tower.shape.tier
    # A number of rounds that a person chose is the network's, where there may be one.
    rounds = None if choices.wants_networks else choices.rounds
    names = {
        "labels": "label rate",
        "moments": f"statistics {tier.label}",
        "residuals": f"tower {tier.label}",
    }
    facts, units, mu = tower.rule_facts, tower.facts.divisor, tower.mu(square)
    drafts = []
    for bought in plan_tower(facts, units, mu, tower.place == 0, rounds):
        name = names[bought.kind]
        groups = (DraftGroup(name, CLIP, bought.dimension),)
        reads = None if bought.kind == "labels" else tier
        item = tower.release(bought.kind, name, groups, bought.share, reads)
        if bought.kind == "residuals":
            item = tower.rounds(item, bought.rounds)
        drafts.append(item)
    return drafts


def _network(tower: DraftTower, share: float) -> DraftRelease:
    shape = tower.shape
    name = f"network {shape.tier.label}"
    groups = (DraftGroup(name, CLIP, shape.weights),)
    item = tower.release("gradient", name, groups, share, shape.tier)
    return tower.rounds(item, tower.choices.rounds or network_worth.ROUNDS)


def _amplitudes(tower: DraftTower) -> DraftRelease:
    """Return the draft of the factors: they read every tower, so they cost the last."""
    size = amplitudes.dimension(len(tower.shapes), tower.shape.outputs)
    groups = (DraftGroup("factors of towers", CLIP, size),)
    tier = max(shape.tier for shape in tower.shapes)
    item = tower.release(
        "amplitudes", "factors of towers", groups, amplitudes.SHARE, tier
    )
    profile = (1.0,) * amplitudes.ROUNDS
    return replace(item, draft=replace(item.draft, profile=profile))


def _descent(tower: DraftTower, share: float) -> DraftRelease:
    choices, shape = tower.choices, tower.shape
    kind: QueryKind = "update" if choices.unit == "client" else "gradient"
    name = f"tower {shape.tier.label}"
    if choices.mechanism == "grouped":
        groups = _groups(tower)
    else:
        clip = choices.clip_of(shape.tier) or DEFAULT_CLIP
        groups = (DraftGroup(name, clip, shape.weights),)
    if choices.adapting.clip == "quantile":
        groups += (DraftGroup(CLIP_BIT, BIT_CLIP, 1, bit_weight(1.0)),)
    item = tower.release(kind, name, groups, share, shape.tier)
    return tower.rounds(item, choices.rounds or default_rounds(choices.mechanism))


def _groups(tower: DraftTower) -> tuple[DraftGroup, ...]:
    """Return one group per tier and one for the parameters that all columns share."""
    from lexfed.models.networks.flat_parameters import group_index

    choices, encoding = tower.choices, tower.facts.encoding
    index = group_index(tower.shape.untrained(), column_groups(encoding))
    sizes = np.bincount(index)
    # Groups of one release cost as one Gaussian, whatever the shares of their noise
    # (Theorem 1), so weights by importance change no price.
    tiers = [
        TierFacts(tier, int(size), choices.mean_importance(encoding.columns_of(tier)))
        for tier, size in zip(encoding.model_tiers, sizes, strict=False)
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
