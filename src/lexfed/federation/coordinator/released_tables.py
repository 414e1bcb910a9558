# SPDX-License-Identifier: Apache-2.0
"""Tables that were released so far, as the learner's memory keeps them.

    sketch.s.t           persons by cell of table t of stage s, one after the other
    sketch.s.t.asked     ends of its bins, or its prefixes
    sketch.s.t.variance  of the noise on every cell

A person's contribution is scaled to leave room for rounding in the charged clip
(`Stage.shrinking`); counts are released sums over that scale, so that a person counts
one.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lexfed.arrays import Floats
from lexfed.federation.programme.follow_ups import asked_numbers
from lexfed.federation.programme.sequence import Programme, Stage
from lexfed.privacy.releases import Release
from lexfed.sketch.queries.requested_tables import ReleasedTable, RequestedTable


def tables_so_far(
    programme: Programme, memory: Mapping[str, NDArray[Any]]
) -> tuple[ReleasedTable, ...]:
    """Return every table that was released, in the order of the programme."""
    return tables_before(programme, memory, len(programme.stages))


def tables_before(
    programme: Programme, memory: Mapping[str, NDArray[Any]], stage: int
) -> tuple[ReleasedTable, ...]:
    """Return the tables of the stages before one."""
    return tuple(
        _told(table, memory, f"sketch.{at}.{place}")
        for at, each in enumerate(programme.stages[:stage])
        for place, table in enumerate(each.tables)
        if f"sketch.{at}.{place}" in memory
    )


def _told(
    table: RequestedTable, memory: Mapping[str, NDArray[Any]], name: str
) -> ReleasedTable:
    return ReleasedTable(
        table=table,
        asked=memory[f"{name}.asked"],
        counts=memory[name].reshape(table.shape),
        variance=float(memory[f"{name}.variance"][0]),
    )


def table_memory(
    stage: Stage,
    index: int,
    arrays: Mapping[str, Floats],
    release: Release | None,
    released: Floats,
    loudness: float,
) -> dict[str, Floats]:
    """Return the memory of a stage's release.

    Args:
        stage: what was asked.
        index: of the stage in its programme.
        arrays: what it was asked with.
        release: what was charged for it.
        released: the numbers.
        loudness: variance of the noise over the one that is charged.
    """
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
