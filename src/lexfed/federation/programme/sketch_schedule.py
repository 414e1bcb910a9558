# SPDX-License-Identifier: Apache-2.0
"""Sketches while a model is trained: their questions, and their consequences.

Two kinds of tables are asked, each at a place that is fixed before the first round:

    persons   keys by site, before the first tower; reads no column
    columns   cells by site of the columns that the towers so far lean on most, before
              the next tower; reads what those towers read, and is paid with the last

So the sketches before a tower depend on releases of its own tier or of lower ones, and
Theorem C holds as it stands. The columns are chosen by released weights, which is
public. The consequences are post-processing: weights of sites by overlap, warnings, and
after a drift the most noise of the range for later towers, since steering was made for
the population that was declared.

A table that follows up an earlier one needs numbers of earlier releases, which its
query carries. A site checks every one of them before it looks at its data:

    ends.i      lowest and highest value of the bins of table i
    prefixes.i  MOST_PREFIXES prefixes of level - 1 pairs each; -1 where there are fewer
    chosen.i    the watched column that is counted (`coordinator.sketch_learner`)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lexfed.arrays import Floats
from lexfed.data.letter_pairs import PAIRS
from lexfed.sketch.queries.drift import WatchedColumn
from lexfed.sketch.queries.refinements import ends_after, prefixes_after
from lexfed.sketch.queries.requested_tables import (
    MOST_PREFIXES,
    ReleasedTable,
    RequestedTable,
    are_ends,
)
from lexfed.terms import WeightRule

ANY_ENDS = (0.0, 1.0)
"""Stands for the ends of a column about which a release showed nothing, beside others
about which it showed something."""


@dataclass(frozen=True)
class SketchSchedule:
    """The schedule of sketches in a run; public, and part of the programme.

    They take a `share` of a tower's budget; at 0 there are none. There is one look at
    some of the `watched` columns before `every` so many towers, with room for so many
    `columns`, and keys of `persons` may be counted.
    """

    share: float = 0.0
    every: int = 1
    weights: WeightRule = "none"
    columns: int = 3
    persons: bool = False
    watched: tuple[WatchedColumn, ...] = ()

    def looks_before(self, tower: int, towers: int) -> bool:
        """Return True if there is a look at columns before a tower."""
        asked = self.share > 0.0 and self.columns > 0 and bool(self.watched)
        return asked and 0 < tower < towers and tower % self.every == 0

    def within(self, slots: Sequence[int]) -> tuple[int, ...]:
        """Return the watched columns that have all of their slots among these."""
        known = set(slots)
        return tuple(
            place
            for place, column in enumerate(self.watched)
            if known.issuperset(column.slots)
        )


def follow_up_name(table: RequestedTable, place: int) -> str:
    """Return the name of a table's numbers in a query; empty if it needs none."""
    if table.domain == "bins" and table.ends is None:
        return f"ends.{place}"
    if table.domain == "letters" and table.level > 1:
        return f"prefixes.{place}"
    return f"chosen.{place}" if table.domain == "chosen" else ""


def follow_up_lengths(tables: Sequence[RequestedTable]) -> dict[str, int]:
    """Return the length of the array for each of a stage's follow-up tables."""
    fixed = {"bins": 2, "chosen": 1}
    return {
        name: fixed.get(table.domain, MOST_PREFIXES * (table.level - 1))
        for place, table in enumerate(tables)
        if (name := follow_up_name(table, place))
    }


def are_follow_ups(
    tables: Sequence[RequestedTable], arrays: Mapping[str, NDArray[Any]]
) -> bool:
    """Return True if numbers of the right lengths can be such ends and prefixes.

    Guarantees:
        Ends are finite, rise and have a finite distance; codes are -1 or those of
        pairs of letters. Which columns may be chosen is for the programme to say.
    """
    return all(
        _is_sound(table, arrays[name])
        for place, table in enumerate(tables)
        if (name := follow_up_name(table, place))
    )


def _is_sound(table: RequestedTable, numbers: Floats) -> bool:
    if table.domain == "bins":
        return are_ends(*numbers.tolist())
    if table.domain == "chosen":
        return True
    whole = numbers == np.floor(numbers)
    return bool((whole & (numbers >= -1) & (numbers < PAIRS)).all())


def asked_numbers(
    table: RequestedTable, place: int, arrays: Mapping[str, Floats]
) -> Floats:
    """Return the ends of bins, declared or asked, or prefixes; empty for all others."""
    name = follow_up_name(table, place)
    if name:
        return arrays[name]
    return np.array(table.ends if table.ends is not None else (), dtype=np.float64)


def next_question(
    tables: Sequence[RequestedTable], released: Sequence[ReleasedTable]
) -> dict[str, Floats] | None:
    """Return a query's numbers from all releases before; None if nothing is asked.

    All its tables are then follow-ups, and the earlier ones showed nothing.
    """
    arrays: dict[str, Floats] = {}
    open_tables = 0
    for place, table in enumerate(tables):
        name = follow_up_name(table, place)
        finding = _finding(table, released) if name else None
        open_tables += not name or finding is not None
        if name:
            arrays[name] = _no_finding(table) if finding is None else finding
    return arrays if open_tables else None


def _finding(table: RequestedTable, released: Sequence[ReleasedTable]) -> Floats | None:
    """Return the finding of the last table of a column; None if it showed nothing."""
    for earlier in reversed(released):
        if earlier.table.column != table.column:
            continue
        if (table.domain, earlier.table.domain) == ("bins", "doubles"):
            ends = ends_after(earlier)
            return None if ends is None else np.array(ends)
        if earlier.table.domain == table.domain == "letters":
            if earlier.table.level != table.level - 1:
                return None
            prefixes = prefixes_after(earlier, table.level)
            return prefixes if bool((prefixes >= 0).any()) else None
    return None


def _no_finding(table: RequestedTable) -> Floats:
    if table.domain == "bins":
        return np.array(ANY_ENDS)
    return np.full(MOST_PREFIXES * (table.level - 1), -1.0)
