# SPDX-License-Identifier: Apache-2.0
"""Nothing but its own slots changes when a protected value changes (Theorem C).

Rows, order, units, splits and sites must not depend on a feature, and a slot must
not depend on another column. The test edits special-tier values of the synthetic
hospitals in every way that is not refused and compares bit by bit; the negative
control shows that the comparison sees a preparation that breaks the rule.
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from lexfed.data.builtin.registry import load_builtin
from lexfed.data.encoding import build_encoding, encode, encode_target
from lexfed.data.people.lots import LotKeys, split_by_person
from lexfed.data.people.site_partition import (
    partition_by_column,
    partition_dirichlet,
    partition_iid,
)
from lexfed.data.people.unit_blocks import PersonRows, cap_records, group_units
from lexfed.data.reading.checked_tables import read_frames
from lexfed.data.reading.frames import Frame, array_column
from lexfed.data.table import Table
from lexfed.tiers import Tier

SOURCE = load_builtin("synthetic:hospital", patients=300, sites=3)
TIERS = {name: tag.tier for name, tag in SOURCE.tags.items()}
ENCODING = build_encoding(SOURCE.schema, TIERS)
SPECIAL = ("diagnosis", "medication", "hba1c", "ethnicity")
EDITS = ("missing", "random", "huge")
VALUES: dict[str, list[Any]] = {
    "missing": [None, np.nan],
    "random": ["cardiac", "group-e", 6.1],
    "huge": ["a value nobody declared", 1e300, -1e300],
}


def edited(frame: Frame, column: str, rows: NDArray[np.intp], value: Any) -> Frame:
    raw = frame.columns[column]
    values = raw.values.copy()
    if raw.kind == "number":
        values[rows] = value if isinstance(value, float) else np.nan
    else:
        values[raw.missing] = None
        values[rows] = None if isinstance(value, float) else value
    return Frame(
        frame.name, {**frame.columns, column: array_column(values)}, frame.rows
    )


def prepared(frame: Frame, cap: int = 2) -> tuple[Table, dict[str, Any]]:
    """Run the whole preparation and return everything that others build on."""
    table = read_frames([frame], SOURCE.schema)
    natural = partition_by_column(table, SOURCE.sites).codes(len(table))
    capped = cap_records(table, natural, cap, "drop")
    table, dropped = capped.table, capped.dropped
    matrix, target = encode(ENCODING, table), encode_target(table)
    units = group_units(PersonRows(matrix, target, table.persons), cap)
    split = split_by_person(table, 0.25, LotKeys.seeded(3))
    parts = (
        partition_by_column(table, SOURCE.sites),
        partition_iid(table, 4, LotKeys.seeded(1)),
        partition_dirichlet(table, 4, 0.3, LotKeys.seeded(1), np.random.default_rng(1)),
    )
    owners = {slot.column for slot in ENCODING.slots}
    return table, {
        "rows": table.rows,
        "dropped": np.array(dropped),
        "persons": table.persons,
        "sites": table.sites,
        "target": target,
        "train": split.train,
        "test": split.test,
        "unit persons": units.persons,
        "unit weights": units.weights,
        "unit targets": units.targets,
        **{f"partition {k}": part.codes(len(table)) for k, part in enumerate(parts)},
        **{f"slots {c}": matrix[:, ENCODING.slots_of_column(c)] for c in owners},
        **{
            f"units {c}": units.inputs[..., ENCODING.slots_of_column(c)] for c in owners
        },
    }


BASE = prepared(SOURCE.frame)[1]


def differences(result: dict[str, Any]) -> set[str]:
    assert result.keys() == BASE.keys()
    return {
        name
        for name, value in result.items()
        if value.shape != BASE[name].shape or value.tobytes() != BASE[name].tobytes()
    }


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(SPECIAL), st.sampled_from(EDITS), st.data())
def test_a_special_value_moves_only_its_own_slots(
    column: str, edit: str, data: st.DataObject
) -> None:
    length = len(SOURCE.frame)
    rows = data.draw(st.lists(st.integers(0, length - 1), min_size=1, max_size=40))
    value = data.draw(st.sampled_from(VALUES[edit]))
    frame = edited(SOURCE.frame, column, np.array(rows, dtype=np.intp), value)
    moved = differences(prepared(frame)[1])
    assert moved <= {f"slots {column}", f"units {column}"}


@pytest.mark.parametrize("column", SPECIAL)
def test_wiping_out_a_special_column_moves_only_its_own_slots(column: str) -> None:
    everything = np.arange(len(SOURCE.frame))
    moved = differences(prepared(edited(SOURCE.frame, column, everything, None))[1])
    assert moved == {f"slots {column}", f"units {column}"}
    assert TIERS[column] == Tier.SPECIAL


def test_the_comparison_catches_a_complete_case_filter() -> None:
    """Negative control: dropping incomplete rows is seen at once."""
    frame = edited(SOURCE.frame, "hba1c", np.array([0, 5, 9]), np.nan)
    table = read_frames([frame], SOURCE.schema)
    kept = table.take(np.flatnonzero(~table.missing("hba1c")))
    complete = read_frames([SOURCE.frame], SOURCE.schema)
    before = complete.take(np.flatnonzero(~complete.missing("hba1c")))
    assert kept.persons.tobytes() != before.persons.tobytes()


def test_one_person_less_leaves_everybody_elses_split() -> None:
    table = read_frames([SOURCE.frame], SOURCE.schema)
    without = np.flatnonzero(table.persons != 17)
    smaller = Frame(
        "smaller",
        {n: array_column(r.values[without]) for n, r in SOURCE.frame.columns.items()},
        np.arange(1, len(without) + 1),
    )
    fewer = read_frames([smaller], SOURCE.schema)

    def held_back(some: Table) -> set[str]:
        rows = split_by_person(some, 0.3, LotKeys.seeded(5)).test
        return {some.person_keys[code] for code in some.persons[rows]}

    gone = table.person_keys[17]
    assert held_back(fewer) == held_back(table) - {gone}
