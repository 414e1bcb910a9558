# SPDX-License-Identifier: Apache-2.0
"""The state of a run, all of it released or public, and the tables it keeps.

    sketch.s.t           persons by cell of table t of stage s, one after the other
    sketch.s.t.asked     ends of its bins, or its prefixes
    sketch.s.t.variance  of the noise on every cell

Counts are released sums over the scale of contributions (`Stage.shrinking`), so that a
person counts one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lexfed.arrays import Floats
from lexfed.federation.programme.sequence import Programme, Stage
from lexfed.federation.programme.sketch_schedule import asked_numbers
from lexfed.privacy.releases import Release
from lexfed.sketch.queries.requested_tables import ReleasedTable

if TYPE_CHECKING:
    from lexfed.models.towers import Model, Tower

Memory = Mapping[str, NDArray[Any]]
"""Released vectors that a run keeps beside its model, by name."""


@dataclass(frozen=True)
class Progress:
    """The state of a run: a function of released values and public facts.

    `done` rounds of the programme are over, whether released or lost; the next one is
    at `step` of `stage`, unless that is over. `memory` has released vectors by name.
    """

    done: int
    model: "Model"
    memory: Memory
    stage: int = 0
    step: int = 0

    def remember(self, memory: Memory) -> "Progress":
        """Return the state with further released vectors."""
        return replace(self, memory={**self.memory, **memory})

    def with_tower(self, index: int, tower: "Tower") -> "Progress":
        """Return the state with one tower replaced."""
        return replace(self, model=self.model.with_tower(index, tower))

    def after_round(self, stage: int, step: int) -> "Progress":
        """Return the state once a round at that place is over."""
        return replace(self, done=self.done + 1, stage=stage, step=step + 1)


def tables_so_far(programme: Programme, memory: Memory) -> tuple[ReleasedTable, ...]:
    """Return every table that was released, in the order of the programme."""
    return tables_before(programme, memory, len(programme.stages))


def tables_before(
    programme: Programme, memory: Memory, stage: int
) -> tuple[ReleasedTable, ...]:
    """Return the released tables of the stages before one."""
    return tuple(
        ReleasedTable(
            table=table,
            asked=memory[f"{name}.asked"],
            counts=memory[name].reshape(table.shape),
            variance=float(memory[f"{name}.variance"][0]),
        )
        for at, each in enumerate(programme.stages[:stage])
        for place, table in enumerate(each.tables)
        if (name := f"sketch.{at}.{place}") in memory
    )


def table_memory(
    stage: Stage,
    index: int,
    arrays: Mapping[str, Floats],
    release: Release | None,
    released: Floats,
    loudness: float,
) -> dict[str, Floats]:
    """Return what stays of a release: tables, their questions, and their noise."""
    memory: dict[str, Floats] = {}
    for place, (table, block, scale) in enumerate(
        zip(stage.tables, stage.blocks, stage.shrinking, strict=True)
    ):
        sigma = 0.0 if release is None else release.groups[place].sigma
        name = f"sketch.{index}.{place}"
        memory[name] = released[block.start : block.stop] / scale
        memory[f"{name}.asked"] = asked_numbers(table, place, arrays)
        memory[f"{name}.variance"] = np.array([loudness * (sigma / scale) ** 2])
    return memory
