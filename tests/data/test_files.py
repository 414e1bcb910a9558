# SPDX-License-Identifier: Apache-2.0
"""Faults of files, and the messages that people get about them."""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lexfed.data.encoding import build_encoding
from lexfed.data.problems import SHOWN_PER_KIND, DataProblem, Problems
from lexfed.data.reading.checked_tables import read_files, read_inputs
from lexfed.data.reading.table_files import read_file
from lexfed.data.schema import Column, Schema
from lexfed.errors import ConfigError, DataError
from lexfed.tiers import Tier


def problems_of(
    paths: Path | list[Path], schema: Schema, *, strict: bool = False
) -> list[DataProblem]:
    listed = paths if isinstance(paths, list) else [paths]
    with pytest.raises(DataError) as caught:
        read_files(listed, schema, strict=strict)
    found = [p for p in caught.value.problems if isinstance(p, DataProblem)]
    assert len(found) == len(caught.value.problems)
    return found


def write(tmp_path: Path, rows: list[str], name: str = "r.csv") -> Path:
    path = tmp_path / name
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_a_good_file_is_read(register: Path, schema: Schema) -> None:
    table = read_files([register], schema)
    assert len(table) == 7
    assert table.person_keys == ("p1", "p2", "p3", "p4", "p5")
    assert table.persons.tolist() == [0, 1, 0, 2, 3, 4, 4]
    assert table.site_names == ("north", "south")
    assert table.rows.tolist() == [2, 3, 4, 5, 6, 7, 8]
    assert table.codes("sex").tolist() == [0, 1, 0, -1, 1, 0, 0]
    assert table.missing("sex").tolist() == [False] * 3 + [True] + [False] * 3
    assert np.isnan(table.numbers("dose")).tolist() == [False, True] + [False] * 5
    assert table.missing("ill").sum() == 1
    assert table.numbers("relapsed").tolist() == [0, 1, 0, 0, 1, 0, 1]
    assert table.clamped == {}
    assert table.undeclared == {}
    # An identifier is not even read.
    assert table.ignored == ("mrn",)
    assert "mrn" not in table.columns


def test_compressed_bom_and_blank_lines_read_the_same(
    tmp_path: Path, rows: list[str], register: Path, schema: Schema
) -> None:
    plain = read_files([register], schema)
    packed = tmp_path / "r.csv.gz"
    rows.insert(4, "")
    packed.write_bytes(gzip.compress(("\ufeff" + "\r\n".join(rows)).encode()))
    table = read_files([packed], schema)
    assert table.rows.tolist() == [2, 3, 4, 6, 7, 8, 9]
    for name in plain.columns:
        np.testing.assert_array_equal(table.columns[name], plain.columns[name])


def test_parquet_reads_the_same(tmp_path: Path, register: Path, schema: Schema) -> None:
    plain = read_files([register], schema)
    data = pd.read_csv(register)
    data["relapsed"] = data["relapsed"] == "yes"
    data["sex"] = data["sex"].astype("category")
    path = tmp_path / "r.parquet"
    data.to_parquet(path)
    table = read_files([path], schema)
    assert table.rows.tolist() == list(range(1, 8))
    assert table.person_keys == plain.person_keys
    for name in plain.columns:
        np.testing.assert_array_equal(table.columns[name], plain.columns[name])


def test_line_numbers_survive_line_breaks_in_quotes(
    tmp_path: Path, rows: list[str], schema: Schema
) -> None:
    rows[2] = '"p\n2",north,41,m,no,,yes,M2'
    rows[5] = "p4,south,old,m,,0,yes,M4"
    (found,) = problems_of(write(tmp_path, rows), schema)
    assert (found.column, found.row, found.kind) == ("age", 7, "not-a-number")


@pytest.mark.parametrize(
    ("line", "column", "kind"),
    [
        ("p4,south,SECRETWORD,m,,0,yes,M4", "age", "not-a-number"),
        ("p4,south,1_8,m,,0,yes,M4", "age", "not-a-number"),
        ("p4,south,nan,m,,0,yes,M4", "age", "not-finite"),
        ("p4,south,18,m,,-inf,yes,M4", "dose", "not-finite"),
        ("p4,south,18,m,,1e400,yes,M4", "dose", "not-finite"),
        ("p4,south,,m,,0,yes,M4", "age", "value-missing"),
        ("p4,south,18,m,,0,,M4", "relapsed", "value-missing"),
        ("p4,south,18,m,SECRETWORD,0,yes,M4", "ill", "not-a-flag"),
        (",south,18,m,,0,yes,M4", "pid", "key-missing"),
        ("p4,,18,m,,0,yes,M4", "site", "key-missing"),
        ("p4,south,18,m,,0,yes", "", "row-length"),
        ("p4,south,18,m,,0,yes,M4,,", "", "row-length"),
    ],
)
def test_a_wrong_row_is_named_and_its_value_is_not(
    tmp_path: Path, rows: list[str], schema: Schema, line: str, column: str, kind: str
) -> None:
    rows[5] = line
    path = write(tmp_path, rows)
    (found,) = problems_of(path, schema)
    assert (found.file, found.column, found.row) == (str(path), column, 6)
    assert found.kind == kind
    assert "SECRETWORD" not in f"{found} {found.hint}"
    assert "row 6" in str(found)


def test_values_outside_the_declaration_are_bent_and_counted(
    tmp_path: Path, rows: list[str], schema: Schema
) -> None:
    rows[5] = "p4,south,7,robot,,1e9,yes,M4"
    path = write(tmp_path, rows)
    table = read_files([path], schema)
    assert table.clamped == {"age": 1, "dose": 1}
    assert table.undeclared == {"sex": 1}
    assert table.numbers("age")[4] == 18
    assert table.numbers("dose")[4] == 100
    assert table.codes("sex")[4] == -1
    found = problems_of(path, schema, strict=True)
    assert {(p.column, p.row) for p in found} == {("age", 6), ("dose", 6), ("sex", 6)}


def test_a_class_nobody_declared_is_refused(tmp_path: Path) -> None:
    target = Column("y", "category", values=("a", "b"))
    path = write(tmp_path, ["y", "a", "b", "c"])
    (found,) = problems_of(path, Schema((target,), "y"))
    assert (found.kind, found.row) == ("undeclared-value", 4)


def test_a_column_missing_or_of_another_type_at_one_site(
    tmp_path: Path, rows: list[str], register: Path, schema: Schema
) -> None:
    no_dose = [line.rsplit(",", 3)[0] + "," + line.split(",", 6)[-1] for line in rows]
    worded = [rows[0]]
    for line in rows[1:]:
        fields = line.split(",")
        worded.append(",".join([*fields[:2], "old", fields[3], "perhaps", *fields[5:]]))
    second = write(tmp_path, no_dose, "second.csv")
    third = write(tmp_path, worded, "third.csv")
    found = problems_of([register, second, third], schema)
    assert [(Path(p.file).name, p.column, p.kind) for p in found] == [
        ("second.csv", "dose", "column-missing"),
        ("third.csv", "age", "column-type"),
        ("third.csv", "ill", "column-type"),
    ]


def test_a_misspelt_header_is_named(
    tmp_path: Path, rows: list[str], schema: Schema
) -> None:
    rows[0] = rows[0].replace("dose", "dosis")
    (found,) = problems_of(write(tmp_path, rows), schema)
    assert (found.kind, found.column) == ("column-missing", "dose")
    assert found.hint == "the file has `dosis`; is that the one you mean?"


def test_every_problem_of_every_file_is_listed_at_once(
    tmp_path: Path, rows: list[str], schema: Schema
) -> None:
    rows[1] = "p1,north,x,f,yes,1.5,no,M1"
    rows[2] = "p2,north,41,m,no,inf,,M2"
    first = write(tmp_path, rows)
    found = problems_of([first, tmp_path / "absent.csv"], schema)
    assert {p.kind for p in found} == {
        "not-a-number", "not-finite", "value-missing", "file-not-found",
    }  # fmt: skip


def test_many_problems_of_a_kind_are_counted_not_listed(tmp_path: Path) -> None:
    schema = Schema(
        (Column("x", "number", range=(0, 1)), Column("y", "flag")), target="y"
    )
    path = write(tmp_path, ["x,y", *["word,yes"] * 150, "0,no"])
    found = problems_of(path, schema)
    assert len(found) == SHOWN_PER_KIND + 1
    assert str(found[-1]) == f"{150 - SHOWN_PER_KIND} more problems of this kind"


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("r.csv", b"", "file-empty"),
        ("r.csv", b"a,b\n\xe9,1\n", "file-encoding"),
        ("r.csv", b'a,b\n"open,1\n', "file-csv"),
        ("r.csv", b"a,b\n" + bytes(300), "row-length"),
        ("r.csv.gz", b"no archive", "file-packed"),
        ("r.csv.gz", gzip.compress(b"a,b\n" * 9999, mtime=0)[:-12], "file-packed"),
        ("r.parquet", b"no parquet", "file-parquet"),
        ("r.xls", b"", "file-kind"),
        ("r.xlsx", b"", "file-packed"),
        ("r.xlsx", b"PK no workbook", "file-packed"),
    ],
)
def test_a_broken_file_is_refused(
    tmp_path: Path, schema: Schema, name: str, content: bytes, kind: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    found = problems_of(path, schema)
    assert kind in {p.kind for p in found}
    assert {p.file for p in found} == {str(path)}


def test_wrong_encoding_says_the_line(tmp_path: Path, schema: Schema) -> None:
    for name, opener in (("r.csv", Path.write_bytes), ("r.csv.gz", None)):
        content = b"pid\n1\n2\ncaf\xe9\n"
        path = tmp_path / name
        path.write_bytes(content if opener else gzip.compress(content))
        found = [p for p in problems_of(path, schema) if p.kind == "file-encoding"]
        assert [p.row for p in found] == [4]


def test_folders_unreadable_and_repeated_files(
    tmp_path: Path, register: Path, schema: Schema
) -> None:
    folder = tmp_path / "folder.csv"
    folder.mkdir()
    below = register / "below.csv"
    found = problems_of([folder, register, register, below], schema)
    assert [p.kind for p in found] == ["file-twice", "file-folder", "file-unreadable"]
    assert [p.kind for p in problems_of([], schema)] == ["no-source"]


def test_header_mistakes(tmp_path: Path, schema: Schema, rows: list[str]) -> None:
    unnamed = write(tmp_path, [f"{line},," for line in rows])
    assert len(read_files([unnamed], schema)) == 7
    rows[0] = rows[0].replace("mrn", "age")
    found = problems_of(write(tmp_path, rows), schema)
    assert [(p.kind, p.column) for p in found] == [("header-duplicate", "age")]
    semicolons = write(tmp_path, ["a;b", "1;2"])
    assert '`separator = "semicolon"`' in problems_of(semicolons, schema)[0].hint


def test_duplicate_names_in_parquet(tmp_path: Path, schema: Schema) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    twice = pa.table([pa.array([1]), pa.array([2])], names=["age", "age"])
    pq.write_table(twice, tmp_path / "r.parquet")
    found = problems_of(tmp_path / "r.parquet", schema)
    assert ("header-duplicate", "age") in {(p.kind, p.column) for p in found}


def test_types_of_parquet_columns(tmp_path: Path) -> None:
    import datetime
    import decimal

    import pyarrow as pa
    import pyarrow.parquet as pq

    day = datetime.date(2020, 1, 1)
    table = pa.table(
        {
            "when": pa.array([day, day]),
            "text": pa.array(["1", "2"]),
            "truth": pa.array([True, None]),
            "endless": pa.array([float("nan"), float("inf")]),
            "exact": pa.array([decimal.Decimal("1.5"), None]),
            "coded": pa.array([3.0, float("inf")]),
            "nothing": pa.nulls(2),
            "y": pa.array([0, 1]),
        }
    )
    pq.write_table(table, tmp_path / "r.parquet")

    def one(column: Column) -> Schema:
        return Schema((column, Column("y", "flag")), "y")

    def kinds(column: Column) -> list[str]:
        return [p.kind for p in problems_of(tmp_path / "r.parquet", one(column))]

    for name in ("when", "truth"):
        assert kinds(Column(name, "number", range=(0, 9))) == ["column-type"]
    assert kinds(Column("when", "flag")) == ["column-type"]
    assert kinds(Column("when", "category", values=("a",))) == ["column-type"]
    assert kinds(Column("endless", "number", range=(0, 9))) == ["not-finite"] * 2
    for good in (
        Column("exact", "number", range=(0, 9)),
        Column("truth", "flag"),
        Column("coded", "category", values=("3",)),
        Column("nothing", "number", range=(0, 9)),
    ):
        read = read_files([tmp_path / "r.parquet"], one(good))
        assert read.missing(good.name).tolist()[1]


@pytest.mark.parametrize("rows", [[], ["yes", "yes"]])
def test_few_rows_are_read_as_they_are(tmp_path: Path, rows: list[str]) -> None:
    schema = Schema((Column("y", "flag"),), "y")
    table = read_files([write(tmp_path, ["y", *rows])], schema)
    assert table.numbers("y").tolist() == [1.0] * len(rows)
    assert table.person_count() == len(rows)


def test_prediction_reads_inputs_only(
    tmp_path: Path, schema: Schema, tiers: dict[str, Tier]
) -> None:
    encoding = build_encoding(schema, tiers).upto(Tier.PERSONAL)
    path = write(tmp_path, ["age,sex,ill", "20,f,rubbish"])
    table = read_inputs([path], encoding)
    assert set(table.columns) == {"age", "sex"}
    assert not table.has_target


def test_only_declared_columns_can_be_asked_for(register: Path, schema: Schema) -> None:
    assert set(read_files([register], schema, columns=["age"]).columns) == {
        "age", "relapsed",
    }  # fmt: skip
    with pytest.raises(ConfigError, match="`nope`"):
        read_files([register], schema, columns=["nope"])


def test_tens_of_thousands_of_columns(tmp_path: Path) -> None:
    # In time that grows with their number, not its square: that took half a minute.
    names = [f"c{number}" for number in range(30_000)]
    path = tmp_path / "wide.csv"
    path.write_text(",".join(names) + "\n" + ",".join("1" for _ in names) + "\n")
    problems = Problems()
    frame = read_file(path, None, problems)
    assert frame is not None
    assert list(frame.columns) == names
    assert not problems.kept
