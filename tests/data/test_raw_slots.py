# SPDX-License-Identifier: Apache-2.0
"""Raw slots hold what a file holds; keys of persons are the same everywhere."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from lexfed.data.letter_pairs import LEVELS, pairs_of, text_of
from lexfed.data.people.unit_blocks import (
    KEY_BITS,
    PersonRows,
    group_units,
    keys_of_rows,
    person_keys,
)
from lexfed.data.problems import Problems
from lexfed.data.reading.checked_tables import read_frames
from lexfed.data.reading.conversion import raw_places, raw_slots
from lexfed.data.reading.frames import frame_of_arrays
from lexfed.data.schema import Column, ColumnKind, Schema
from lexfed.errors import DataError
from lexfed.federation.site.unit_batch import UnitBatch


@dataclass(frozen=True)
class Asked:
    name: str
    kind: ColumnKind
    values: tuple[str, ...] | None = None


COLUMNS = (
    Asked("age", "number"),
    Asked("town", "category"),
    Asked("ill", "flag"),
    Asked("ward", "category", ("a", "b")),
)
FRAME = frame_of_arrays(
    "site.csv",
    {
        "age": np.array([-1e300, 7.0, np.nan, 0.0]),
        "town": np.array(["Ulm", "Zürich", None, "Ulm"], dtype=object),
        "ill": np.array(["yes", "0", "", "TRUE"], dtype=object),
        "ward": np.array(["b", "c", "", "a"], dtype=object),
    },
)


def test_every_column_has_its_places() -> None:
    places = raw_places(COLUMNS)
    assert list(places) == ["age", "town", "ill", "ward"]
    assert [slot for own in places.values() for slot in own] == list(range(3 + LEVELS))
    assert len(places["town"]) == LEVELS


def test_values_are_as_read() -> None:
    problems = Problems()
    slots = raw_slots(COLUMNS, FRAME, problems)
    problems.raise_if_any()
    places = raw_places(COLUMNS)
    assert slots.shape == (4, 3 + LEVELS)
    # Neither clamped nor encoded: there is no range that could be known.
    assert np.array_equal(
        slots[:, places["age"][0]], [-1e300, 7.0, np.nan, 0.0], equal_nan=True
    )
    assert np.array_equal(slots[:, places["ill"][0]], [1, 0, np.nan, 1], equal_nan=True)
    assert np.array_equal(
        slots[:, places["ward"][0]], [1, -1, np.nan, 0], equal_nan=True
    )
    towns = slots[:, list(places["town"])]
    assert np.isnan(towns[2]).all()
    found = [text_of(tuple(int(pair) for pair in towns[row])) for row in (0, 1, 3)]
    assert found == ["Ulm", "Zürich", "Ulm"]
    assert towns[0].tolist() == list(pairs_of("Ulm"))


def test_a_slot_depends_on_its_own_value_alone() -> None:
    before = raw_slots(COLUMNS, FRAME, Problems())
    other = dict(FRAME.columns)
    values = other["town"].values.copy()
    values[0] = "Bern"
    other["town"] = replace(other["town"], values=values)
    after = raw_slots(COLUMNS, replace(FRAME, columns=other), Problems())
    changed = ~((before == after) | (np.isnan(before) & np.isnan(after)))
    assert changed[0].any()
    changed[0, list(raw_places(COLUMNS)["town"])] = False
    assert not changed.any()


def test_no_columns_have_no_slots() -> None:
    assert raw_slots((), FRAME, Problems()).shape == (4, 0)


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (Asked("x", "number"), np.array(["1", "inf"], dtype=object)),
        (Asked("x", "number"), np.array(["1", "many"], dtype=object)),
        (Asked("x", "number"), np.array(["few", "many"], dtype=object)),
        (Asked("x", "number"), np.array(["2020-01-01"], dtype="datetime64[D]")),
        (Asked("x", "flag"), np.array(["yes", "perhaps"], dtype=object)),
        (Asked("x", "category"), np.array(["2020-01-01"], dtype="datetime64[D]")),
    ],
)
def test_what_cannot_be_read_refuses_the_table(
    column: Asked, values: np.ndarray[tuple[int], np.dtype[np.object_]]
) -> None:
    problems = Problems()
    raw_slots((column,), frame_of_arrays("site.csv", {"x": values}), problems)
    with pytest.raises(DataError):
        problems.raise_if_any()


def test_keys_of_persons_depend_on_the_text_alone() -> None:
    keys = person_keys(["anna", "ben", "anna", ""])
    assert keys[0] == keys[2]
    assert len(set(keys.tolist())) == 3
    assert (keys >= 0).all()
    assert int(keys.max()).bit_length() <= KEY_BITS
    assert person_keys(["ben"])[0] == keys[1]
    # The first 62 bits of a SHA-256 that has a purpose of its own.
    assert keys[0] == 317677617368100617


def _schema(person: str | None) -> Schema:
    return Schema((Column("y", "flag"),), target="y", person=person)


def test_units_have_the_keys_of_their_persons() -> None:
    frame = frame_of_arrays(
        "a.csv",
        {
            "y": np.array([True, False, True, False]),
            "who": np.array(["ben", "anna", "ben", "carl"], dtype=object),
        },
    )
    table = read_frames([frame], _schema("who"))
    keys = keys_of_rows(table)
    assert keys is not None
    own = PersonRows(np.zeros((4, 1)), np.zeros(4), table.persons, keys=keys)
    block = group_units(own, 2)
    assert block.keys is not None
    assert block.keys.tolist() == person_keys(["ben", "anna", "carl"]).tolist()
    assert keys_of_rows(read_frames([frame], _schema(None))) is None


def test_cohorts_carry_keys() -> None:
    keys = person_keys(["a", "b", "c", "d"])
    own = PersonRows(np.zeros((4, 1)), np.zeros(4), np.arange(4), keys=keys)
    block = group_units(own)
    cohort = UnitBatch.of([block, block])
    assert cohort.keys is not None
    chosen = cohort.take(np.array([1, 0, 0, 1, 0, 1, 0, 0], dtype=bool))
    assert chosen.keys is not None
    assert chosen.keys.tolist() == keys[[0, 3, 1]].tolist()
    part = cohort.between(2, 5).keys
    assert part is not None
    assert part.tolist() == keys[[2, 3, 0]].tolist()
    without = group_units(PersonRows(np.zeros((4, 1)), np.zeros(4), np.arange(4)))
    assert UnitBatch.of([block, without]).keys is None
