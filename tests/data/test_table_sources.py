# SPDX-License-Identifier: Apache-2.0
"""Several files as one table: in order, with the same columns, and persons across."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lexfed.data.people.site_partition import partition_by_files
from lexfed.data.people.unit_blocks import cap_records
from lexfed.data.reading.checked_tables import read_files
from lexfed.data.reading.column_guesses import guess_table
from lexfed.data.reading.table_sources import files_of
from lexfed.data.schema import Column, Schema
from lexfed.errors import ConfigError, DataError

SCHEMA = Schema(
    (Column("age", "number", range=(0, 99)), Column("ill", "flag")), "ill", person="id"
)


def write(folder: Path, name: str, *lines: str, encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding=encoding)
    return path


def test_files_of_a_pattern_are_one_table_by_name(tmp_path: Path) -> None:
    write(tmp_path, "visits-b.csv", "ill,id,age", "yes,p1,31", "no,p3,50")
    write(tmp_path, "visits-a.csv", "id,age,ill", "p1,30,no", "p2,40,yes")
    write(tmp_path, ".visits-c.csv", "nothing of this")
    write(tmp_path, "other.csv", "nor of this")
    table = read_files([tmp_path / "visits-*.csv"], SCHEMA)
    assert table.numbers("age").tolist() == [30, 40, 31, 50]
    assert table.person_keys == ("p1", "p2", "p3")
    assert table.persons.tolist() == [0, 1, 0, 2]
    assert [Path(file).name for file in table.files] == ["visits-a.csv", "visits-b.csv"]
    assert table.site_names == (str(tmp_path / "visits-*.csv"),)
    assert partition_by_files(table).names == ("visits",)


def test_a_cap_counts_the_rows_of_all_files(tmp_path: Path) -> None:
    for name in "ab":
        write(tmp_path, f"{name}.csv", "id,age,ill", "p1,30,no", "p2,40,yes")
    table = read_files([tmp_path / "?.csv"], SCHEMA)
    with pytest.raises(DataError, match=r"b\.csv"):
        cap_records(table, table.sites, 1, "error")


def test_a_pattern_can_be_a_site(tmp_path: Path) -> None:
    write(tmp_path, "north-1.csv", "id,age,ill", "p1,30,no")
    write(tmp_path, "north-2.csv", "id,age,ill", "p2,30,no")
    write(tmp_path, "south.csv", "id,age,ill", "p3,40,yes")
    table = read_files([tmp_path / "north-*.csv", tmp_path / "south.csv"], SCHEMA)
    partition = partition_by_files(table)
    assert partition.names == ("north", "south")
    assert [rows.tolist() for rows in partition.rows] == [[0, 1], [2]]


def test_a_file_whose_name_is_the_pattern_is_itself(tmp_path: Path) -> None:
    path = write(tmp_path, "a[1].csv", "id,age,ill", "p1,30,no")
    write(tmp_path, "a1.csv", "id,age,ill", "p2,30,no")
    assert files_of(path) == [path]
    assert files_of(tmp_path / "[a]1.csv") == [tmp_path / "a1.csv"]
    assert files_of(tmp_path / "gone" / "*.csv") == []


def test_files_of_other_columns_are_refused_by_name(tmp_path: Path) -> None:
    write(tmp_path, "a.csv", "id,age,ill,ward", "p1,30,no,x")
    write(tmp_path, "b.csv", "id,age,ill,room", "p2,30,no,7")
    for read in (
        lambda: read_files([tmp_path / "*.csv"], SCHEMA),
        lambda: guess_table(tmp_path / "*.csv"),
    ):
        with pytest.raises(DataError) as caught:
            read()
        text = str(caught.value)
        assert f"{tmp_path / 'b.csv'}: lacks `ward`, unlike `a.csv`" in text
        assert f"{tmp_path / 'b.csv'}: adds `room`, unlike `a.csv`" in text
    with pytest.raises(DataError, match="no file has such a name"):
        read_files([tmp_path / "z*.csv"], SCHEMA)


def test_a_file_is_read_once(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "id,age,ill", "p1,30,no")
    (tmp_path / "b.csv").symlink_to(path)
    with pytest.raises(DataError, match="listed twice"):
        read_files([tmp_path / "*.csv"], SCHEMA)
    (tmp_path / "b.csv").unlink()
    with pytest.raises(DataError, match="listed twice"):
        read_files([tmp_path / "a.csv", tmp_path / "*.csv"], SCHEMA)


def test_one_format_is_guessed_for_all_files(tmp_path: Path) -> None:
    rows = [f"p{n};{20 + n % 7},5;no" for n in range(30)]
    write(tmp_path, "a.csv", "id;dose;ward", *rows)
    write(tmp_path, "b.csv", "ward;id;dose", *(f"Süd;q{n};1,25" for n in range(30)),
          encoding="cp1252")  # fmt: skip
    guess = guess_table(tmp_path / "*.csv")
    written = guess.format
    assert (written.separator, written.decimal) == ("semicolon", "comma")
    assert written.encoding == "windows-1252"
    assert {each.name: each.kind for each in guess.columns}["dose"] == "number"
    assert len(guess.frame) == 60
    assert guess.notes[0] == "2 files, one below the other"
    write(tmp_path, "c.csv", "id;dose;ward", *rows, "é;1,0;é")
    with pytest.raises(ConfigError, match=r"its encoding is `utf-8`, that of `b\.csv`"):
        guess_table(tmp_path / "*.csv")
    write(tmp_path, "c.csv", "id,dose,ward", "p1,2.5,no", "p2,3.5,no")
    with pytest.raises(ConfigError, match="its separator is `comma`"):
        guess_table(tmp_path / "*.csv")


def test_strays_are_named_with_their_file(tmp_path: Path) -> None:
    for name in "ab":
        rows = [f"{n}.5,x" for n in range(40)]
        write(
            tmp_path, f"{name}.csv", "dose,ward", *rows, *(["many,x"] * (name == "b"))
        )
    notes = " ".join(guess_table(tmp_path / "*.csv").notes)
    assert f"first in row 42 of `{tmp_path / 'b.csv'}`" in notes
    assert "many" not in notes


def test_files_of_several_kinds_are_one_table(tmp_path: Path) -> None:
    write(tmp_path, "a.csv", "id,age,ill", *(f"p{n},{n},no" for n in range(30)))
    table = pa.table({"id": ["q"] * 30, "age": [1.5] * 30, "ill": [True] * 30})
    pq.write_table(table, tmp_path / "a.parquet")
    guess = guess_table(tmp_path / "a.*")
    assert {each.name: each.kind for each in guess.columns}["age"] == "number"
    assert len(read_files([tmp_path / "a.*"], SCHEMA)) == 60
    nested = pa.table({"id": ["q"], "age": [[1, 2]], "ill": [True]})
    pq.write_table(nested, tmp_path / "a.parquet")
    with pytest.raises(DataError, match="column `age`: holds lists, not single values"):
        read_files([tmp_path / "a.*"], SCHEMA)
