# SPDX-License-Identifier: Apache-2.0
"""The numbers that tables of a second look need: ends of bins, prefixes of texts.

    ends.i      lowest and highest value of the bins of table i
    prefixes.i  MOST_PREFIXES prefixes of level - 1 pairs each; -1 where there are fewer
    chosen.i    the watched column that is counted (`coordinator.sketch_learner`)

The coordinator takes them from what was released before; a site takes nothing for
granted and looks at every one of them before it looks at its data.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lexfed.arrays import Floats
from lexfed.data.letter_pairs import PAIRS
from lexfed.sketch.queries.refinements import ends_after, prefixes_after
from lexfed.sketch.queries.requested_tables import (
    ReleasedTable,
    RequestedTable,
    are_ends,
)
from lexfed.sketch.queries.value_cells import MOST_PREFIXES

ANY_ENDS = (0.0, 1.0)
"""Stands for the ends of a column of which nothing was found, beside others of which
something was."""


def follow_up_name(table: RequestedTable, place: int) -> str:
    """Return the name of a table's numbers in a query; empty if it needs none."""
    if table.domain == "bins" and table.ends is None:
        return f"ends.{place}"
    if table.domain == "letters" and table.level > 1:
        return f"prefixes.{place}"
    return f"chosen.{place}" if table.domain == "chosen" else ""


def follow_up_lengths(tables: Sequence[RequestedTable]) -> dict[str, int]:
    """Return the length of the array for each of a stage's second looks."""
    return {
        name: _length(table)
        for place, table in enumerate(tables)
        if (name := follow_up_name(table, place))
    }


def _length(table: RequestedTable) -> int:
    fixed = {"bins": 2, "chosen": 1}
    return fixed.get(table.domain, MOST_PREFIXES * (table.level - 1))


def are_follow_ups(
    tables: Sequence[RequestedTable], arrays: Mapping[str, NDArray[Any]]
) -> bool:
    """Return True if numbers of the right lengths can be such ends and prefixes.

    Guarantees:
        Ends are finite, rise and have a finite distance; codes are -1 or those of
        pairs of letters. Which columns may be chosen is for the programme to say.
    """
    for place, table in enumerate(tables):
        name = follow_up_name(table, place)
        if name and not _is_sound(table, arrays[name]):
            return False
    return True


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
    tables: Sequence[RequestedTable], told: Sequence[ReleasedTable]
) -> dict[str, Floats] | None:
    """Return the numbers for the query of a stage, from all releases before it.

    Returns:
        None, if there is nothing to ask: all are second looks, and the first ones
        showed nothing. Then nothing is spent.
    """
    arrays: dict[str, Floats] = {}
    open_tables = 0
    for place, table in enumerate(tables):
        name = follow_up_name(table, place)
        found = _found(table, told) if name else None
        open_tables += not name or found is not None
        if name:
            arrays[name] = _nothing(table) if found is None else found
    return arrays if open_tables else None


def _found(table: RequestedTable, told: Sequence[ReleasedTable]) -> Floats | None:
    """Return the finding of the last look at a column; None if it found nothing."""
    for earlier in reversed(told):
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


def _nothing(table: RequestedTable) -> Floats:
    if table.domain == "bins":
        return np.array(ANY_ENDS)
    return np.full(MOST_PREFIXES * (table.level - 1), -1.0)
