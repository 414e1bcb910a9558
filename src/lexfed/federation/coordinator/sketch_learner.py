# SPDX-License-Identifier: Apache-2.0
"""The questions of sketch stages, and what a run makes of the released tables.

Everything here is a function of released tables, of the released model and of public
constants. So it is post-processing, and its later effects (weights of sites, more noise
after a drift) are fixed before anything of the next round is computed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lexfed.arrays import Floats
from lexfed.budget.sites import overlap_factors, site_weights
from lexfed.federation.coordinator.progress import (
    Memory,
    Progress,
    table_memory,
    tables_before,
    tables_so_far,
)
from lexfed.federation.programme.sequence import SITE_WEIGHTS, Programme, Stage
from lexfed.federation.programme.sketch_schedule import SketchSchedule, next_question
from lexfed.models.rule.contributions import slot_scales
from lexfed.privacy.releases import Release
from lexfed.sketch.queries.drift import Drift, NoisedHistogram, WatchedColumn, drift
from lexfed.sketch.queries.duplicates import duplicate_shares, persons_by_site

if TYPE_CHECKING:
    from lexfed.models.towers import Model

DRIFTED = "sketch.drifted"
FACTORS = "sketch.factors"
PERSONS = "sketch.persons"


@dataclass(frozen=True)
class ColumnLook:
    """A counted column: cells by site, [sites, cells], and the variance of noise."""

    column: WatchedColumn
    cells: Floats
    variance: float

    @property
    def together(self) -> NoisedHistogram:
        """All sites as one."""
        sites = len(self.cells)
        return NoisedHistogram(self.cells.sum(axis=0), sites * self.variance)

    def of_site(self, site: int) -> tuple[NoisedHistogram, NoisedHistogram]:
        """Return one site, and all others as one."""
        own, others = self.cells[site], np.delete(self.cells, site, axis=0)
        rest = NoisedHistogram(others.sum(axis=0), len(others) * self.variance)
        return NoisedHistogram(own, self.variance), rest


class SketchLearner:
    """Asks in sketch stages, and keeps what follows; holds public constants only.

    Guarantees:
        Columns are chosen by released weights of towers that the stage may read.
        A look at the columns of the last look is not asked, hence not charged.
    """

    def __init__(self, programme: Programme) -> None:
        self._programme = programme

    def question(self, progress: Progress) -> dict[str, Floats] | None:
        """Return the arrays of a sketch stage's query; None if none is needed."""
        stage = self._programme.stages[progress.stage]
        if stage.tables[0].domain == "chosen":
            return self._columns(stage, progress)
        released = tables_before(self._programme, progress.memory, progress.stage)
        return next_question(stage.tables, released)

    def _columns(self, stage: Stage, progress: Progress) -> dict[str, Floats] | None:
        chosen = leading_columns(self._programme.sketching, progress.model, stage.tower)
        before = tables_before(self._programme, progress.memory, progress.stage)
        last = [int(one.asked[0]) for one in before if one.table.domain == "chosen"]
        if not chosen or set(chosen) == set(last[-len(chosen) :]):
            return None
        # Fewer columns than places: the first one is counted again.
        places = [*chosen, *[chosen[0]] * len(stage.tables)][: len(stage.tables)]
        return {f"chosen.{at}": np.array([float(p)]) for at, p in enumerate(places)}

    def learned(
        self,
        progress: Progress,
        release: Release | None,
        released: Floats,
        missing: int,
    ) -> dict[str, NDArray[Any]]:
        """Return the memory after a sketch stage's release without `missing` sites."""
        programme, stage = self._programme, self._programme.stages[progress.stage]
        asked, loudness = self.question(progress) or {}, programme.loudness(missing)
        place = progress.stage
        tables = table_memory(stage, place, asked, release, released, loudness)
        memory = {**progress.memory, **tables}
        if stage.tables[0].domain == "keys" and programme.sketching.weights != "none":
            [keys] = tables_before(programme, tables, progress.stage + 1)
            overlaps = np.array([one.at_least for one in duplicate_shares(keys)])
            memory[FACTORS] = overlap_factors(overlaps, progress.memory.get(FACTORS))
            memory[SITE_WEIGHTS] = site_weights(memory[FACTORS])
            memory[PERSONS] = persons_by_site(keys)
        if any(one.warns for _, one in column_drifts(programme, memory)):
            memory[DRIFTED] = np.ones(1)
        return memory

    def weights(self, progress: Progress) -> dict[str, Floats]:
        """Return the weights that a query carries, by their name; or nothing."""
        if not self._programme.is_weighed(progress.stage):
            return {}
        # A lost round leaves every site with its own weight.
        ones = np.ones(len(self._programme.sites))
        return {SITE_WEIGHTS: progress.memory.get(SITE_WEIGHTS, ones)}

    def counted(self, stage: Stage, progress: Progress) -> Stage:
        """Return a stage with the weights and the divisor of its sums."""
        arrays = self.weights(progress)
        if not arrays:
            return stage
        persons = progress.memory.get(PERSONS)
        return self._programme.weighted(stage, arrays[SITE_WEIGHTS], persons)

    def is_cautious(self, memory: Memory) -> bool:
        """Return True if the population has drifted, so that noise must not shrink."""
        return DRIFTED in memory


def leading_columns(
    sketching: SketchSchedule, model: "Model", tower: int
) -> tuple[int, ...]:
    """Return the columns that the towers up to one lean on most, in their own order.

    A column counts by the length of its weights, each times the guess of how far its
    slot moves; it has none where weights belong to no single slots.
    """
    lengths: dict[int, float] = {}
    for one in model.towers[: tower + 1]:
        weights = one.slot_weights()
        if weights is None:
            continue
        moved = np.linalg.norm(weights, axis=1) * slot_scales(one.shape)
        of_slot = dict(zip(one.shape.slots, moved.tolist(), strict=True))
        for place in sketching.within(one.shape.slots):
            own = [of_slot[slot] for slot in sketching.watched[place].slots]
            lengths[place] = float(np.linalg.norm(own))
    longest = sorted(lengths, key=lambda place: (-lengths[place], place))
    return tuple(sorted(longest[: sketching.columns]))


def column_looks(programme: Programme, memory: Memory) -> Iterator[ColumnLook]:
    """Yield the columns that were counted, in order; each look once."""
    for table in tables_so_far(programme, memory):
        if table.table.domain == "chosen":
            column = programme.sketching.watched[int(table.asked[0])]
            cells = table.counts[:, 0, : column.cells]
            yield ColumnLook(column, cells, table.variance)


def column_drifts(
    programme: Programme, memory: Memory
) -> list[tuple[WatchedColumn, Drift]]:
    """Compare every counted column with its counts from before the run.

    Guarantees:
        Without any drift there is a warning in at most 5 % of all runs.
    """
    asked = max(1, most_looks(programme))
    return [
        (look.column, drift(before, look.together, asked))
        for look in column_looks(programme, memory)
        if (before := look.column.before) is not None
    ]


def most_looks(programme: Programme) -> int:
    """Return the largest number of columns that a run counts."""
    return sum(
        table.domain == "chosen" for stage in programme.stages for table in stage.tables
    )
