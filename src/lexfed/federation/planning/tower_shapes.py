# SPDX-License-Identifier: Apache-2.0
"""The towers of a mechanism, and the slots that each of them reads."""

from collections.abc import Sequence

from lexfed.data.encoding import Encoding
from lexfed.models.towers.shape import TowerShape
from lexfed.terms import Mechanism
from lexfed.tiers import Tier


def tower_shapes(
    encoding: Encoding, mechanism: Mechanism, model: str, outputs: int, seed: int
) -> tuple[TowerShape, ...]:
    """Return the towers, least sensitive first.

    `cascade` has one tower per tier that owns columns; the other mechanisms have one
    tower that reads everything, so it counts as the most sensitive of its tiers.
    """
    if mechanism == "cascade":
        chosen = [
            (tier, [int(place) for place in encoding.slots_of(tier)])
            for tier in encoding.model_tiers
        ]
    else:
        chosen = [(encoding.model_tiers[-1], list(range(encoding.width)))]
    shapes = []
    for tier, places in chosen:
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


def read_tiers(encoding: Encoding, shapes: Sequence[TowerShape]) -> tuple[Tier, ...]:
    """Return the tiers of which at least one column is read by a tower."""
    read = {encoding.slots[place].tier for shape in shapes for place in shape.slots}
    return tuple(sorted(read))


def column_groups(encoding: Encoding) -> tuple[int, ...]:
    """Return for `grouped` the group of every slot: one group per tier."""
    order = {tier: number for number, tier in enumerate(encoding.model_tiers)}
    return tuple(order[slot.tier] for slot in encoding.slots)
