# SPDX-License-Identifier: Apache-2.0
"""Sketches while a model is trained: what is asked, and what follows from it.

Two kinds of tables are asked, each at a place that is fixed before the first round:

    persons   keys by site, before the first tower; reads no column
    columns   cells by site of the columns that the towers so far lean on most, before
              the next tower; reads what those towers read, and is paid with the last

So what a tower asks for depends on releases of its own tier or of lower ones, and
Theorem C holds as it stands. The columns are chosen by released weights, which is
public. If they are those of the last look, nothing is asked, and nothing is spent.

What follows is post-processing: weights of sites by overlap, which go with every later
query, and warnings of drift and of persons at several sites. After a drift later towers
keep the most noise of their range: steering was made for the population that was
declared.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lexfed.models.slot_importance import slot_scales, slot_weights
from lexfed.models.towers.cascade import Model
from lexfed.sketch.queries.watched_columns import WatchedColumn
from lexfed.terms import WeightRule


@dataclass(frozen=True)
class SketchSchedule:
    """The schedule of sketches in a run; public, and part of the programme.

    Attributes:
        share: part of a tower's budget that its sketches take; 0: there are none.
        every: before how many towers there is one look at columns.
        weights: what the weights of sites follow.
        columns: how many columns a look has room for.
        persons: whether keys of persons are counted.
        watched: the columns that may be looked at.
    """

    share: float = 0.0
    every: int = 1
    weights: WeightRule = "none"
    columns: int = 3
    persons: bool = False
    watched: tuple[WatchedColumn, ...] = ()

    @property
    def asks_persons(self) -> bool:
        """True if keys of persons are asked for."""
        return self.share > 0.0 and self.persons

    def looks_before(self, tower: int, towers: int) -> bool:
        """Return True if there is a look at columns before a tower."""
        asked = self.share > 0.0 and self.columns > 0 and bool(self.watched)
        return asked and 0 < tower < towers and tower % self.every == 0

    def within(self, slots: Sequence[int]) -> tuple[int, ...]:
        """Return the columns that have all of their slots among these."""
        known = set(slots)
        return tuple(
            place
            for place, column in enumerate(self.watched)
            if known.issuperset(column.slots)
        )


def leading_columns(
    sketching: SketchSchedule, model: Model, tower: int
) -> tuple[int, ...]:
    """Return the columns that the towers up to one lean on most, in their own order.

    A column counts by the length of its weights, each times the public guess of how
    far its slot moves. A tower whose weights belong to no single slots has none.
    """
    lengths: dict[int, float] = {}
    for one in model.towers[: tower + 1]:
        weights = slot_weights(one)
        if weights is None:
            continue
        moved = np.linalg.norm(weights, axis=1) * slot_scales(one.shape)
        of_slot = dict(zip(one.shape.slots, moved.tolist(), strict=True))
        for place in sketching.within(one.shape.slots):
            own = [of_slot[slot] for slot in sketching.watched[place].slots]
            lengths[place] = float(np.linalg.norm(own))
    longest = sorted(lengths, key=lambda place: (-lengths[place], place))
    return tuple(sorted(longest[: sketching.columns]))
