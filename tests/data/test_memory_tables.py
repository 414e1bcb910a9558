# SPDX-License-Identifier: Apache-2.0
"""Data frames are read as the file that holds the same table."""

import dataclasses
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from lexfed.data.file_format import FileFormat
from lexfed.data.reading.checked_tables import read_files
from lexfed.data.reading.memory_tables import MemoryTable
from lexfed.data.schema import Column, Schema
from lexfed.errors import DataError

SCHEMA = Schema(
    (
        Column("age", "number", range=(0.0, 110.0)),
        Column("sex", "category", values=("f", "m")),
        Column("smoker", "flag"),
        Column("ill", "flag"),
    ),
    "ill",
)
ROWS: dict[str, list[Any]] = {
    "age": [41.0, None, 130.0],
    "sex": ["f", "x", None],
    "smoker": [True, None, False],
    "ill": [1, 0, 1],
    "note": ["a", "b", "c"],
}
MAKERS: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pandas": pd.DataFrame,
    "pandas-arrow": lambda rows: pa.table(rows).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "polars-category": lambda rows: pl.DataFrame(rows).with_columns(
        pl.col("sex").cast(pl.Categorical)
    ),
    "pandas-category": lambda rows: pd.DataFrame(rows).astype({"sex": "category"}),
}


@pytest.mark.parametrize("maker", MAKERS)
def test_a_frame_is_read_like_its_file(maker: str, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    pd.DataFrame(ROWS).to_csv(path, index=False)
    table = MemoryTable.of(MAKERS[maker](ROWS), "frame:table")
    assert table.columns == tuple(ROWS)
    memory, file = read_files([table], SCHEMA), read_files([path], SCHEMA)
    for name in SCHEMA.names:
        np.testing.assert_array_equal(memory.columns[name], file.columns[name])
    assert (memory.clamped, memory.undeclared) == ({"age": 1}, {"sex": 1})
    assert memory.ignored == file.ignored == ("note",)
    assert memory.rows.tolist() == [1, 2, 3]
    assert memory.site_names == ("frame:table",)


def test_the_frame_stays_as_it_was() -> None:
    frame = pd.DataFrame(ROWS)
    before = frame.copy(deep=True)
    read_files([MemoryTable.of(frame)], SCHEMA)
    pd.testing.assert_frame_equal(frame, before)


def _problems(frame: object) -> str:
    with pytest.raises(DataError) as error:
        read_files([MemoryTable.of(frame, "frame:mine")], SCHEMA)
    return "\n".join(f"{p} | {p.hint}" for p in error.value.problems)


def test_objects_of_several_types_are_texts() -> None:
    cell = "Mx-4711"
    mixed = {**ROWS, "age": [41, cell, 3.5]}
    found = _problems(pd.DataFrame(mixed))
    assert "frame:mine, column `age`, row 2" in found
    assert cell not in found
    lone = pd.DataFrame({**ROWS, "sex": ["f", 3, ("m",)]})
    assert read_files([MemoryTable.of(lone)], SCHEMA).undeclared == {"sex": 2}


def test_the_first_bad_row_is_row_one() -> None:
    frame = pd.DataFrame({**ROWS, "age": ["no", "41", "42"]})
    assert "column `age`, row 1" in _problems(frame)


def test_a_column_that_nobody_reads_is_not_converted() -> None:
    class Exploding:
        def __str__(self) -> str:
            raise AssertionError("it was looked at")

    frame = pd.DataFrame({**ROWS, "note": [Exploding() for _ in range(3)]})
    assert len(read_files([MemoryTable.of(frame)], SCHEMA).rows) == 3


def test_a_nan_of_polars_is_a_value_and_refused() -> None:
    frame = pl.DataFrame({**ROWS, "age": [41.0, float("nan"), 3.0]})
    assert "row 2" in _problems(frame)


def test_an_index_is_not_a_column() -> None:
    frame = pd.DataFrame(ROWS).set_index("age")
    assert "is the frame's index, which is not read | make it a column" in _problems(
        frame
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([[1, 2]], "is a `list`, not a table"),
        (np.zeros((2, 2)), "is a `ndarray`, not a table"),
        ({"age": [1]}, "is a `dict`, not a table"),
        (pd.Series([1]), "is a `Series`, not a table"),
        (None, "is a `NoneType`, not a table"),
        (pl.LazyFrame({"a": [1]}), "frame.collect()"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns of one name"),
        (pd.DataFrame([[1, 2]]), "has a column whose name is a `int`"),
        (
            pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])),
            "has a column whose name is a `tuple`",
        ),
    ],
)
def test_what_is_no_table_is_refused(given: object, said: str) -> None:
    with pytest.raises(DataError) as error:
        MemoryTable.of(given, "frame:mine")
    (problem,) = error.value.problems
    assert said in f"{problem} {problem.hint}"


def test_a_hidden_character_in_a_name_is_refused_and_shown() -> None:
    frame = pd.DataFrame({**ROWS, "ag\u202ee": [1, 2, 3]})
    found = _problems(frame)
    assert "hidden character" in found
    assert "\u202e" not in found


def test_the_head_is_texts() -> None:
    for maker in ("pandas", "polars", "pyarrow"):
        head = MemoryTable.of(MAKERS[maker](ROWS)).head(2)
        assert head["ill"] == ("1", "0")
        assert head["sex"] == ("f", "x")
    assert MemoryTable.of(pd.DataFrame(ROWS)).dtype("age") == "Float64"


def test_a_nested_type_is_refused_by_its_column() -> None:
    found = _problems(pl.DataFrame({**ROWS, "age": [[1], [2], [3]]}))
    assert re.search(r"frame:mine, column `age`", found)


@pytest.mark.parametrize(
    "keys",
    [
        pd.Series([2.0**53, 2.0**53 + 1]),  # whole numbers with a gap were floats
        pd.Series([Decimal("12345678901234567890"), Decimal("12345678901234567891")]),
    ],
)
def test_two_people_are_never_one_float(keys: "pd.Series[Any]") -> None:
    schema = Schema(SCHEMA.columns, "ill", person="key")
    rows = pd.DataFrame(ROWS).iloc[:2].assign(key=keys)
    with pytest.raises(DataError, match="do not tell it from its neighbours"):
        read_files([MemoryTable.of(rows)], schema)
    exact = rows.assign(key=[2**53, 2**53 + 1])
    assert len(read_files([MemoryTable.of(exact)], schema).person_keys) == 2


def test_a_key_that_is_a_word_for_missing_is_refused_with_a_way_out() -> None:
    schema = Schema(SCHEMA.columns, "ill", site="region")
    rows = pd.DataFrame(ROWS).assign(region=["NA", "EU", "EU"])
    worded = dataclasses.replace(schema, written=FileFormat(missing=("NA",)))
    with pytest.raises(DataError) as refused:
        read_files([MemoryTable.of(rows)], worded)
    assert "`data.missing` does not list it" in refused.value.problems[0].hint
    table = read_files([MemoryTable.of(rows)], schema)
    assert table.site_names == ("EU", "NA")
    gone = rows.assign(region=["", "EU", "EU"])
    with pytest.raises(DataError) as refused:
        read_files([MemoryTable.of(gone)], worded)
    assert refused.value.problems[0].hint == ""
