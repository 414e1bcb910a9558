# SPDX-License-Identifier: Apache-2.0
"""Stages that count: their tables are public, agreed on, and fit their blocks."""

from dataclasses import replace

import pytest

from lexfed.data.letter_pairs import LEVELS, PAIRS
from lexfed.federation.programme.json_form import first_difference, from_bytes, to_bytes
from lexfed.federation.programme.sequence import Programme
from lexfed.sketch.queries.requested_tables import (
    DOUBLES,
    MOST_PREFIXES,
    RequestedTable,
)
from support.federation.sketch_worlds import TABLES, sketch_programme

TABLE = RequestedTable("age", "bins", (0,), 10)


def _with(programme: Programme, table: RequestedTable) -> Programme:
    first, *others = programme.stages
    tables = (table, *first.tables[1:])
    return replace(programme, stages=(replace(first, tables=tables), *others))


def test_tables_come_back_to_the_bit() -> None:
    programme = sketch_programme()
    again = from_bytes(to_bytes(programme))
    assert again == programme
    assert again.digest == programme.digest


@pytest.mark.parametrize(
    "change",
    [{"column": "weight"}, {"slots": (1,)}, {"seed": 1}, {"ends": (0.0, 1.0)}],
)
def test_another_table_is_another_programme(change: dict[str, object]) -> None:
    programme = sketch_programme((TABLES["bins"],))
    other = _with(programme, replace(TABLES["bins"], **change))  # type: ignore[arg-type]
    assert other.digest != programme.digest
    assert ".stages[0].tables[0]" in first_difference(programme, other)


def test_a_table_that_does_not_fit_its_block_is_refused() -> None:
    programme = sketch_programme((TABLES["bins"],))
    wider = replace(TABLES["bins"], width=TABLES["bins"].width + 1)
    with pytest.raises(ValueError, match="one table for every block"):
        _with(programme, wider)
    with pytest.raises(ValueError, match="one table for every block"):
        replace(programme.stages[0], tables=())
    with pytest.raises(ValueError, match="one table for every block"):
        replace(programme.stages[0], kind="labels")


@pytest.mark.parametrize(
    "wrong",
    [
        {"width": 3},
        {"slots": ()},
        {"slots": (0, 1)},
        {"depth": 2},
        {"seed": -1},
        {"seed": 2**53},
        {"ends": (1.0, 1.0)},
        {"ends": (0.0, float("inf"))},
        {"ends": (-1.7e308, 1.7e308)},
        {"domain": "codes", "ends": (0.0, 1.0)},
        {"domain": "codes", "slots": (0, 1)},
        {"domain": "codes", "width": 2},
        {"domain": "doubles"},
        {"domain": "letters"},
        {"domain": "letters", "width": PAIRS + 2, "slots": (0, 1)},
        {"domain": "keys"},
        {"domain": "keys", "slots": ()},
    ],
)
def test_tables_that_cannot_be_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="expected"):
        replace(TABLE, **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "right",
    [
        {"ends": (-1.0, 1.0)},
        {"domain": "codes"},
        {"domain": "doubles", "width": DOUBLES + 1},
        {"domain": "letters", "width": PAIRS + 2},
        {
            "domain": "letters",
            "width": MOST_PREFIXES * PAIRS + 2,
            "slots": tuple(range(LEVELS)),
        },
        {"domain": "keys", "slots": (), "width": 64, "depth": 5, "sites": 3},
    ],
)
def test_tables_that_can_be_are_taken(right: dict[str, object]) -> None:
    table = replace(TABLE, **right)  # type: ignore[arg-type]
    assert table.clip**2 == pytest.approx(table.depth)
    assert table.level == len(table.slots)
