# SPDX-License-Identifier: Apache-2.0
"""A programme that buys importances of columns: the label rate, then one sum per tier.

The sum of a tier reads that tier's columns alone, as a tower does, so it is charged to
the tiers up to its own and Theorem C holds for it as it stands. Nothing is sampled.
"""

from dataclasses import replace

from lexfed.budget import allocation
from lexfed.budget.adaptation.tower_steering import Adaptation
from lexfed.budget.drafts import Draft, DraftGroup
from lexfed.budget.noise_plan import (
    Budget,
    effective_delta,
    full_batch_releases,
    searched_releases,
    tower_bounds,
)
from lexfed.federation.planning.choices import Choices, PopulationFacts
from lexfed.federation.planning.draft_releases import LABEL_SHARE, DraftRelease
from lexfed.federation.planning.site_shares import whole_shares
from lexfed.federation.planning.stage_layout import lay_out
from lexfed.federation.planning.tower_shapes import read_tiers, tower_shapes
from lexfed.federation.programme.sequence import Programme
from lexfed.models.rule.purchases import CLIP, label_dimension
from lexfed.models.towers.facts import RuleFacts
from lexfed.models.towers.shape import TowerShape

RELEASE = "importance"
"""How the names of releases begin that buy importances; the tier follows."""


def plan_importance(
    facts: PopulationFacts, budget: Budget, choices: Choices
) -> Programme:
    """Return the programme that buys importances with a budget of its own.

    Args:
        facts: what is public about the population.
        budget: what it may cost, caps included.
        choices: of the run that the importances are for; only trust, accountant and
            seed matter here.
    """
    own = replace(
        choices,
        mechanism="cascade",
        model="linear",
        learning_rate=None,
        sampling_rate=1.0,
        adapting=Adaptation(),
    )
    shapes = tower_shapes(facts.encoding, "cascade", "linear", facts.outputs, own.seed)
    wanted = tuple(
        item
        for tower, shape in enumerate(shapes)
        for item in _wanted(facts, own, tower, shape)
    )
    drafts = [item.draft for item in wanted]
    delta = effective_delta(budget, drafts, own.adapting.guarantee)
    reads = tuple(shape.tier for shape in shapes)
    present = read_tiers(facts.encoding, shapes)
    bounds = tower_bounds(budget, delta, reads, present)
    shares = allocation.caps([len(shape.slots) for shape in shapes], bounds)
    if own.accountant == "rdp":
        releases = searched_releases(
            drafts, shares, budget, delta, own.accountant, reads, present
        )
    else:
        releases = full_batch_releases(drafts, shares.squares)
    parts = whole_shares(facts, len(shapes))
    return lay_out(facts, own, shapes, wanted, releases, parts)


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
