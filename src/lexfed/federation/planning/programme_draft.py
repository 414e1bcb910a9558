# SPDX-License-Identifier: Apache-2.0
"""A programme before its noise is known: towers, and the releases that they want."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lexfed.budget.noise_plan import Budget, Draft, TowerTiers, effective_budget
from lexfed.budget.record_classes import class_tiers
from lexfed.data.encoding import Encoding
from lexfed.federation.planning.choices import Choices, PopulationFacts
from lexfed.federation.programme.messages import QueryKind
from lexfed.models.tower_shapes import TowerShape
from lexfed.privacy.noise.shares import NoiseCohort
from lexfed.sketch.queries.requested_tables import RequestedTable
from lexfed.terms import Mechanism
from lexfed.tiers import Tier


@dataclass(frozen=True)
class DraftRelease:
    """A draft and its kind of sum; the tables of a sketch, one per group."""

    kind: QueryKind
    draft: Draft
    tables: tuple[RequestedTable, ...] = ()

    def at_part(self, part: float) -> "DraftRelease":
        """Return the same release with that part of its share."""
        draft = replace(self.draft, share=self.draft.share * part)
        return replace(self, draft=draft)


@dataclass(frozen=True)
class ProgrammeDraft:
    """A programme whose releases have shares of a budget, and no noise yet."""

    facts: PopulationFacts
    choices: Choices
    shapes: tuple[TowerShape, ...]
    wanted: tuple[DraftRelease, ...]

    @property
    def drafts(self) -> list[Draft]:
        """The drafts alone, which is all that pricing looks at."""
        return [item.draft for item in self.wanted]

    @property
    def tiers(self) -> TowerTiers:
        """The tiers that the towers, and the rules of classes, depend on."""
        return tower_tiers(self.facts, self.shapes)

    @property
    def cohort(self) -> NoiseCohort | None:
        """The sites that add shares of noise; None where none does."""
        return self.choices.cohort(len(self.facts.sites))

    @property
    def float32(self) -> bool:
        """True if gradients are summed in single precision."""
        return not self.choices.follows_rule and self.facts.places == 1

    def effective(self, budget: Budget) -> Budget:
        """Return a budget once the sampler's error on these drafts is paid for."""
        return effective_budget(budget, self.drafts, self.choices.adapting.guarantee)


def tower_shapes(
    encoding: Encoding, mechanism: Mechanism, model: str, outputs: int, seed: int
) -> tuple[TowerShape, ...]:
    """Return the towers, least sensitive first.

    `cascade` has one tower per tier that owns columns; the other mechanisms have one
    tower that reads everything, so it counts as the most sensitive of its tiers.
    """
    chosen = {encoding.model_tiers[-1]: list(range(encoding.width))}
    if mechanism == "cascade":
        chosen = {t: list(map(int, encoding.slots_of(t))) for t in encoding.model_tiers}
    shapes = []
    for tier, places in chosen.items():
        own = [encoding.slots[place] for place in places]
        names = list(dict.fromkeys(slot.column for slot in own))
        shapes.append(
            TowerShape(
                tier=tier,
                slots=tuple(places),
                architecture=model,
                outputs=outputs,
                seed=seed,
                kinds=tuple(slot.kind for slot in own),
                levels=tuple(slot.levels for slot in own),
                columns=tuple(names.index(slot.column) for slot in own),
                tails=tuple(slot.tail for slot in own),
                linear=tuple(slot.linear for slot in own),
            )
        )
    return tuple(shapes)


def with_shape_functions(encoding: Encoding, shape: TowerShape) -> TowerShape:
    """Return a tower whose bounded numbers have shape functions.

    A number scaled by public statistics has no bounded range that bins could divide.
    """
    schema = encoding.schema
    binned = tuple(
        slot.kind == "number" and schema.by_name(slot.column).public_stats is None
        for slot in (encoding.slots[place] for place in shape.slots)
    )
    return replace(shape, binned=binned) if any(binned) else shape


def read_tiers(encoding: Encoding, shapes: Sequence[TowerShape]) -> tuple[Tier, ...]:
    """Return the tiers with at least one column that is read by a tower."""
    read = {encoding.slots[place].tier for shape in shapes for place in shape.slots}
    return tuple(sorted(read))


def column_groups(encoding: Encoding) -> tuple[int, ...]:
    """Return for `grouped` the group of every slot: one group per tier."""
    order = {tier: number for number, tier in enumerate(encoding.model_tiers)}
    return tuple(order[slot.tier] for slot in encoding.slots)


def tower_tiers(facts: PopulationFacts, shapes: Sequence[TowerShape]) -> TowerTiers:
    """Return the tiers of towers, and those with a column that a tower reads.

    Membership in a class moves every release, so every tower reads the classes' tiers.
    """
    by_classes = class_tiers(facts.classes)
    reads = tuple(max((shape.tier, *by_classes)) for shape in shapes)
    read = {*read_tiers(facts.encoding, shapes), *by_classes}
    return TowerTiers(reads, tuple(sorted(read)))
