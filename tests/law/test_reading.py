# SPDX-License-Identifier: Apache-2.0
"""Files of people who never heard of us: read, or refused with a sentence."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexfed.errors import DataError
from lexfed.law.tagger.column_files import read_columns, read_schema, read_text
from lexfed.law.tagger.sql_schemas import columns_of_sql
from lexfed.law.tagger.suggestions import DescribedColumn


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


# Schemas


def test_a_schema_in_any_order_with_fields_left_out(tmp_path: Path) -> None:
    text = "dtype,Column,table\nint,age,people\n,  name ,people\n\n,age,visits\n"
    assert read_schema(written(tmp_path / "s.csv", text)) == (
        DescribedColumn("people", "age", "", "int"),
        DescribedColumn("people", "name"),
        DescribedColumn("visits", "age"),
    )
    assert read_schema(written(tmp_path / "s.csv", "column\na\nb\n")) == (
        DescribedColumn("", "a"),
        DescribedColumn("", "b"),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "names no field `column`"),
        ("name,type\na,b\n", "names no field `column`"),
        ("table,column\nt,\n", r"s\.csv:2: a column without a name"),
        ("column\na\nb\na\n", r"s\.csv:4: column `a` is there twice"),
        ("table,column\nt,a\nu,a\nt,a\n", "column `a` of table `t` is there twice"),
        ("column\n", "it has no columns"),
        ('column\n"' + "x" * 200_000 + '"\n', "not CSV"),
    ],
)
def test_schemas_that_cannot_be_used(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_schema(written(tmp_path / "s.csv", text))


def test_many_mistakes_are_counted_not_listed(tmp_path: Path) -> None:
    text = "table,column\n" + "t,\n" * 5000
    with pytest.raises(DataError) as caught:
        read_schema(written(tmp_path / "s.csv", text))
    assert len(caught.value.problems) == 21
    assert "and 4980 more" in caught.value.message


def test_long_and_odd_names_are_names(tmp_path: Path) -> None:
    long, odd = "n" * 10_000, "الاسم"
    found = read_schema(written(tmp_path / "s.csv", f"column\n{long}\n{odd}\n"))
    assert [column.name for column in found] == [long, odd]
    with pytest.raises(DataError, match=r"has the hidden `.u202e`"):
        read_schema(written(tmp_path / "s.csv", f"column\n{odd}\u202e \x07\n"))
    with pytest.raises(DataError) as caught:
        read_schema(written(tmp_path / "s.csv", f"column\n{long}\n{long}\n"))
    assert len(caught.value.message) < 200


# Data files


def test_a_sample_of_values_is_taken_and_not_shown(tmp_path: Path) -> None:
    rows = "".join(f"{n};x{n}\n" for n in range(500))
    path = written(tmp_path / "patients.csv", f"id;name\n{rows}")
    first, second = read_columns(path)
    assert (first.table, first.name) == ("patients", "id")
    assert second.values == tuple(f"x{n}" for n in range(200))
    assert "x7" not in repr(second)
    assert read_columns(path, sample=0)[0].values is None


def test_ragged_rows_give_what_they_have(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", "a,b,c\n1,2,3\n4\n5,6,7,8\n")
    assert [column.values for column in read_columns(path)] == [
        ("1", "4", "5"),
        ("2", "6"),
        ("3", "7"),
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it has no columns|without a name"),
        (b"a,b,a\n", "field 3: column `a` of table `t` is there"),
        (b"PK\x03\x04\x00\x00\x00binary", "is not a text file"),
        (b"\xff\xfea\x00b", "is not a text file"),
    ],
)
def test_data_files_that_cannot_be_used(
    tmp_path: Path, content: bytes, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        read_columns(written(tmp_path / "t.csv", content))


@pytest.mark.parametrize(
    "content",
    [
        "größe,name\n".encode(),
        b"\xef\xbb\xbf" + "größe,name\n".encode(),
        "größe,name\n".encode("utf-16"),
        "größe,name\n".encode("cp1252"),
    ],
    ids=["utf-8", "mark", "utf-16", "windows"],
)
def test_encodings(tmp_path: Path, content: bytes) -> None:
    found = read_columns(written(tmp_path / "t.csv", content))
    assert [column.name for column in found] == ["größe", "name"]


def test_a_large_file_is_read_as_far_as_its_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lexfed.law.tagger.column_files._SAMPLE_BYTES", 1000)
    path = written(tmp_path / "t.csv", "a,b\n" + "11,22\n" * 1000)
    values = read_columns(path)[0].values
    assert values is not None
    assert set(values) == {"11"}
    with pytest.raises(DataError, match="more than 10 bytes"):
        read_text(path, 10)
    with pytest.raises(DataError, match="cannot be read"):
        read_columns(tmp_path / "gone.csv")


def test_parquet(tmp_path: Path) -> None:
    notes = {b"description": b"date of birth"}
    schema = pa.schema(
        [pa.field("dob", pa.string(), metadata=notes), ("n", pa.int64())]
    )
    table = pa.table({"dob": ["a", None, "b"], "n": [1, 2, 3]}, schema=schema)
    path = tmp_path / "people.parquet"
    pq.write_table(table, path)
    first, second = read_columns(path)
    assert (first.table, first.description, first.values) == (
        "people", "date of birth", ("a", "", "b"),
    )  # fmt: skip
    assert (second.dtype, read_columns(path, sample=0)[1].values) == ("int64", None)
    with pytest.raises(DataError, match="not a Parquet file"):
        read_columns(written(tmp_path / "bad.parquet", b"PAR1 nonsense"))
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    pq.write_table(twice, tmp_path / "twice.parquet")
    with pytest.raises(DataError, match="there twice"):
        read_columns(tmp_path / "twice.parquet")


# SQL

SQL = """
-- CREATE TABLE commented (out int);
CREATE TABLE IF NOT EXISTS public."Patients" (
  id BIGINT PRIMARY KEY, /* a key, not a column: (x int) */
  `full name` varchar(100) NOT NULL COMMENT 'patient''s name, (full)',
  [birth date] DATE DEFAULT ('1900-01-01'),
  weight numeric(5, 2) CHECK (weight > 0),
  PRIMARY KEY (id), CONSTRAINT k FOREIGN KEY (id) REFERENCES other (id)
) ENGINE=InnoDB;
INSERT INTO x VALUES ('CREATE TABLE no (a int)');
create temporary table visits (patient_id int, ward text);
COMMENT ON COLUMN public."Patients".weight IS 'body weight in kg';
COMMENT ON TABLE visits IS 'x';
CREATE INDEX i ON visits (ward);
"""


def test_create_table_of_many_dialects() -> None:
    assert columns_of_sql(SQL, "x.sql") == (
        DescribedColumn("Patients", "id", "", "bigint"),
        DescribedColumn("Patients", "full name", "patient's name, (full)", "varchar"),
        DescribedColumn("Patients", "birth date", "", "date"),
        DescribedColumn("Patients", "weight", "body weight in kg", "numeric"),
        DescribedColumn("visits", "patient_id", "", "int"),
        DescribedColumn("visits", "ward", "", "text"),
    )


def test_sql_files_are_told_by_their_name(tmp_path: Path) -> None:
    path = written(tmp_path / "x.sql", SQL)
    assert read_columns(path) == read_schema(path) == columns_of_sql(SQL, "x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT 1;", "no `CREATE TABLE`"),
        ("create", "no `CREATE TABLE`"),
        ("create table", "no `CREATE TABLE`"),
        ("create table t", "no `CREATE TABLE`"),
        ("create table t (", "no `CREATE TABLE`"),
        ("create table t (primary key (a))", "no `CREATE TABLE`"),
        ("create table t (a int, a int)", "column `a` of table `t` is there twice"),
        ("comment on column a", "no `CREATE TABLE`"),
        ("comment on column a.b is 3", "no `CREATE TABLE`"),
    ],
)
def test_sql_without_columns(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        columns_of_sql(text, "x.sql")


@settings(max_examples=200)
@given(
    st.text(alphabet="create table(),'\"`[]-/*;ab.\n comment on column is", max_size=80)
)
def test_no_sql_breaks_the_reader(text: str) -> None:
    try:
        found = columns_of_sql(text, "x.sql")
    except DataError:
        return
    assert all(isinstance(column, DescribedColumn) for column in found)


def test_columns_without_a_name_are_left_out(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", b",a,,c\n1,2,3,4\n")
    assert [column.name for column in read_columns(path)] == ["a", "c"]


def test_a_table_without_a_header_has_numbered_columns(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", b"1;2,5\n3;4,5\n")
    first, second = read_columns(path)
    assert (first.name, first.values) == ("column_1", ("1", "3"))
    assert (second.name, second.values) == ("column_2", ("2,5", "4,5"))
