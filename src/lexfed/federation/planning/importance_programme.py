# SPDX-License-Identifier: Apache-2.0
"""A programme that buys importances of columns: the label rate, then one sum per tier.

The sum of a tier reads that tier's columns alone, as a tower does, so it is charged to
the tiers up to its own and Theorem C holds for it as it stands. Nothing is sampled.
"""

from functools import partial

from lexfed.budget import allocation
from lexfed.budget.drafts import Draft, DraftGroup
from lexfed.budget.noise_plan import Budget
from lexfed.federation.planning.choices import Choices, PopulationFacts
from lexfed.federation.planning.draft_releases import LABEL_SHARE
from lexfed.federation.planning.programme_draft import DraftRelease, ProgrammeDraft
from lexfed.federation.planning.programme_price import price_programme
from lexfed.federation.planning.tower_shapes import tower_shapes
from lexfed.federation.programme.sequence import Programme
from lexfed.models.rule.purchases import CLIP, label_dimension
from lexfed.models.towers.facts import RuleFacts
from lexfed.models.towers.shape import TowerShape

RELEASE = "importance"
"""First word of the names of releases that buy importances; the tier follows."""


def plan_importance(
    facts: PopulationFacts, budget: Budget, choices: Choices
) -> Programme:
    """Return the programme that buys importances with a budget of its own.

    The choices are those of the run that the importances are for; only trust,
    accountant and seed matter here.
    """
    own = choices.of_purchase()
    shapes = tower_shapes(facts.encoding, "cascade", "linear", facts.outputs, own.seed)
    wanted = tuple(
        item
        for tower, shape in enumerate(shapes)
        for item in _wanted(facts, own, tower, shape)
    )
    draft = ProgrammeDraft(facts, own, shapes, wanted)
    slots = [len(shape.slots) for shape in shapes]
    return price_programme(draft, budget, partial(allocation.caps, slots))


def _wanted(
    facts: PopulationFacts, choices: Choices, tower: int, shape: TowerShape
) -> list[DraftRelease]:
    senders = choices.senders(len(facts.sites))
    rule = RuleFacts(shape, facts.loss)
    left, wanted = 1.0, []
    if tower == 0:
        group = DraftGroup("label rate", CLIP, label_dimension(rule))
        left -= LABEL_SHARE
        draft = Draft(
            group.name, tower, (group,), 1.0, (1.0,), None, LABEL_SHARE, senders
        )
        wanted.append(DraftRelease("labels", draft))
    name = f"{RELEASE} {shape.tier.label}"
    groups = (DraftGroup(name, CLIP, len(shape.slots) * shape.outputs),)
    draft = Draft(name, tower, groups, 1.0, (1.0,), shape.tier, left, senders)
    return [*wanted, DraftRelease("importance", draft)]
