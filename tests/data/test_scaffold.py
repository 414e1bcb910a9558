# SPDX-License-Identifier: Apache-2.0
"""A scaffold tells names and kinds, and nothing that somebody's row holds."""

from pathlib import Path

import pandas as pd
import pytest

from lexfed.data.reading.checked_tables import read_frames
from lexfed.data.reading.column_guesses import guess_table
from lexfed.data.reading.frames import frame_of_arrays
from lexfed.data.schema import Column, Schema
from lexfed.errors import DataError

COUNT = 60
DATA = pd.DataFrame(
    {
        "key": [1000 + n for n in range(COUNT)],
        "age": [31.5 + n % 7 for n in range(COUNT)],
        "name": [f"Rumpelstilzchen {n}" for n in range(COUNT)],
        "ward": ["kapuziner" if n % 2 else "minorit" for n in range(COUNT)],
        "ill": [n % 2 for n in range(COUNT)],
        "well": ["yes" if n % 2 else None for n in range(COUNT)],
        "truth": [bool(n % 2) for n in range(COUNT)],
        "none": [None] * COUNT,
        "when": pd.to_datetime(["2020-02-02"] * COUNT),
    }
)
ARRAYS = {str(name): DATA[name].to_numpy() for name in DATA}


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_kinds_are_guessed_and_values_stay_behind(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"file{suffix}"
    if suffix == ".csv":
        DATA.to_csv(path, index=False)
    else:
        DATA.to_parquet(path)
    guesses = guess_table(path).columns
    kinds = {guess.name: guess.kind for guess in guesses}
    assert list(kinds) == list(DATA.columns)
    assert kinds == {
        "key": "text",
        "age": "number",
        "name": "text",
        "ward": "category",
        "ill": "flag",
        "well": "flag",
        "truth": "flag",
        "none": "text",
        "when": "date",
    }
    said = " ".join(guess.note for guess in guesses)
    for word in ("kapuziner", "minorit", "Rumpel", "1000", "31.5", "37.5", "2020"):
        assert word not in said


def test_a_file_without_rows_cannot_be_guessed(tmp_path: Path) -> None:
    path = tmp_path / "empty.csv"
    path.write_text("a,b\n", encoding="utf-8")
    with pytest.raises(DataError, match="no rows"):
        guess_table(path)
    with pytest.raises(DataError, match="not found"):
        guess_table(tmp_path / "absent.csv")


def test_a_frame_takes_the_kinds_of_its_arrays() -> None:
    frame = frame_of_arrays("arrays", ARRAYS)
    assert {name: raw.kind for name, raw in frame.columns.items()} == {
        "key": "number", "age": "number", "name": "text", "ward": "text",
        "ill": "number", "well": "text", "truth": "flag", "none": "text",
        "when": "date",
    }  # fmt: skip
    assert frame.columns["well"].missing.sum() == COUNT // 2
    schema = Schema(
        (Column("age", "number", range=(0, 99)), Column("ill", "flag")), "ill"
    )
    table = read_frames([frame], schema)
    assert table.numbers("age").tolist() == DATA["age"].tolist()
    assert len(frame_of_arrays("nothing", {})) == 0


def test_a_frame_without_a_declared_column_is_refused() -> None:
    schema = Schema((Column("gone", "flag"), Column("ill", "flag")), "ill")
    with pytest.raises(DataError, match="column `gone`: is not there"):
        read_frames([frame_of_arrays("arrays", ARRAYS)], schema)
