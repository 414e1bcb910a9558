# SPDX-License-Identifier: Apache-2.0
"""Tables of real databases, SQLite and PostgreSQL: read only, and telling nothing."""

import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lexfed.data.file_format import PLAIN, FileFormat
from lexfed.data.problems import Problems
from lexfed.data.reading.checked_tables import read_files
from lexfed.data.reading.column_guesses import guess_table
from lexfed.data.reading.frames import Frame
from lexfed.data.reading.typed_cells import database_tables
from lexfed.data.reading.typed_cells.cell_columns import column_of_cells
from lexfed.data.reading.typed_cells.database_address import (
    DatabaseAddress,
    WrongAddress,
    looks_like_url,
    may_hold_password,
    require_stated,
    require_table_name,
)
from lexfed.data.reading.typed_cells.database_tables import DatabaseTable
from lexfed.data.schema import Column, Schema
from support.postgres import MISSING, PASSWORD, Server, programs, running_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    if programs() is None:
        pytest.skip(MISSING)
    with running_server() as server:
        server.execute(TABLES)
        yield server


TABLES = """
CREATE SCHEMA clinic;
CREATE TYPE ward AS ENUM ('north', 'south');
CREATE TABLE patients (
    id bigint PRIMARY KEY, age smallint, dose numeric(8,3), weight real, ill boolean,
    born date, seen timestamp, sent timestamptz, at time, stay interval, sex char(1),
    note text, ward ward, key uuid, empty text, price money);
INSERT INTO patients VALUES
    (3, 40, 1.250, 70.5, true, '1980-01-02', '2020-02-03 04:05', '2020-01-01 00:30+01',
     '14:30', '36 hours', 'f', ' fine ', 'north',
     '00000000-0000-0000-0000-000000000003', NULL, 12.5),
    (1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
     NULL, NULL),
    (9007199254740993, 2, 'NaN', 'Infinity', false, '2000-12-31', '2021-01-01', now(),
     '00:15', '30 minutes', 'm', '', 'south', NULL, NULL, NULL);
CREATE VIEW clinic.adults AS SELECT id, age FROM patients WHERE age > 18;
CREATE TABLE nested (n int, list int[], doc json, docb jsonb, raw bytea, span int4range,
    place point);
INSERT INTO nested VALUES (1, '{1,2}', '{"a": 1}', '5', '\\x00', '[1,2)', '(1,2)');
CREATE TABLE ages (n int, d date);
INSERT INTO ages VALUES (1, 'infinity');
CREATE TABLE hidden (secret text);
CREATE SEQUENCE visits;
CREATE VIEW writing AS SELECT nextval('visits') AS n;
CREATE VIEW broken AS SELECT CAST('rumpelstilzchen' || note AS int) AS n FROM patients;
CREATE TABLE long AS SELECT n, n % 7 AS w, 'word ' || n % 5 AS t
    FROM generate_series(1, 12000) AS n;
GRANT USAGE ON SCHEMA clinic TO reader;
GRANT USAGE ON SEQUENCE visits TO reader;
GRANT SELECT ON ALL TABLES IN SCHEMA public, clinic TO reader;
REVOKE SELECT ON hidden FROM reader;
"""


@pytest.fixture
def tables(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setenv("LEXFED_DATABASE", postgres.url())
    return postgres


@pytest.fixture
def lite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> sqlite3.Connection:
    monkeypatch.setenv("LEXFED_DATABASE", "sqlite:///patients.db")
    monkeypatch.chdir(tmp_path)
    return sqlite3.connect(tmp_path / "patients.db", isolation_level=None)


def frame_of(name: str, wanted: list[str] | None = None) -> Frame:
    problems = Problems()
    frame = DatabaseTable(name).read(wanted, problems, PLAIN)
    problems.raise_if_any()
    assert frame is not None
    return frame


def refusal(name: str, **given: Any) -> str:
    problems = Problems()
    DatabaseTable(name, **given).read(None, problems, PLAIN)
    assert problems.kept, "nothing was refused"
    return " ".join([str(problems.error()), *(each.hint for each in problems.kept)])


def test_postgres_cells_keep_their_types(tables: Server) -> None:
    frame = frame_of("sql:patients")
    kinds = {name: raw.kind for name, raw in frame.columns.items()}
    assert kinds == {
        "id": "number", "age": "number", "dose": "number", "weight": "number",
        "ill": "flag", "born": "date", "seen": "date", "sent": "date", "at": "text",
        "stay": "number", "sex": "text", "note": "text", "ward": "text", "key": "text",
        "empty": "text", "price": "text",
    }  # fmt: skip
    # In the order of the key; a number of any length stays what it is.
    assert frame.columns["id"].values.tolist() == [1, 3, 2**53 + 1]
    assert frame.columns["age"].missing.tolist() == [True, False, False]
    assert frame.columns["dose"].values[1] == 1.25
    assert np.isnan(frame.columns["dose"].values[2])
    assert not frame.columns["dose"].missing[2]  # no number, which is refused later
    assert frame.columns["sent"].values[1] == np.datetime64("2019-12-31T23:30")
    assert frame.columns["stay"].values[1] == 36
    assert frame.columns["at"].values[1] == "14:30:00"
    assert frame.columns["empty"].missing.all()
    assert frame.rows.tolist() == [1, 2, 3]


def test_a_view_of_a_schema_is_read(tables: Server) -> None:
    assert frame_of("sql:clinic.adults").columns["age"].values.tolist() == [40]
    assert "no schema `clinics`" in refusal("sql:clinics.adults")
    assert "no table or view `adults`" in refusal("sql:adults")


def test_nested_columns_are_refused_by_name(tables: Server) -> None:
    text = refusal("sql:nested")
    for name, held in (
        ("list", "lists"),
        ("doc", "structures"),
        ("docb", "structures"),
    ):
        assert f"column `{name}`: holds {held}, not single values" in text
    others = frame_of("sql:nested", ["n", "raw", "span", "place"]).columns
    kinds = [raw.kind for raw in others.values()]
    assert kinds == ["number", "other", "other", "text"]


def test_a_long_table_is_read_in_batches(
    tables: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes, place = [], "lexfed.data.reading.typed_cells.database_tables.column_of_cells"
    real = column_of_cells

    def counted(cells: Any) -> Any:
        raw = real(cells)
        sizes.append(len(raw.values))
        return raw

    monkeypatch.setattr(place, counted)
    frame = frame_of("sql:long")
    assert sorted(frame.columns["n"].values.tolist()) == list(range(1, 12_001))
    assert max(sizes) == 5_000
    # Without a key, the columns give the order.
    one, other = frame_of("sql:long", ["t", "w"]), frame_of("sql:long", ["t", "w"])
    for name in ("t", "w"):
        assert one.columns[name].values.tolist() == other.columns[name].values.tolist()
    problems = Problems()
    first = DatabaseTable("sql:long").read(None, problems, PLAIN, 7)
    assert first is not None
    assert len(first) == 7


def test_nothing_can_be_written_and_no_value_or_password_is_told(
    tables: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("sql:writing", "sql:broken", "sql:ages", "sql:hidden"):
        text = refusal(name)
        assert "could not be" in text
        for word in ("rumpelstilzchen", "infinity", "reader", PASSWORD, "secret"):
            assert word not in text
    for url in (
        tables.url().replace(PASSWORD, "swordfish-and-chips"),
        tables.url(user="nobody-here"),
        tables.url().replace("/postgres?", "/no-such-database?"),
        "postgresql://reader:swordfish-and-chips@127.0.0.1:9/x",
    ):
        monkeypatch.setenv("LEXFED_DATABASE", url)
        text = refusal("sql:patients")
        assert "could not be opened or read" in text
        for word in ("swordfish", "reader", "nobody-here", "127.0.0.1", "no-such"):
            assert word not in text


def test_sqlite_cells_are_read_as_they_are(lite: sqlite3.Connection) -> None:
    lite.executescript(
        "CREATE TABLE patients (id TEXT PRIMARY KEY, age INTEGER, day DATE, x, r REAL);"
        "INSERT INTO patients VALUES ('b', 30, '2020-01-02', 'NA', 1.5),"
        "('a', 'NA', '2020-02-03', 2, 2), ('c', NULL, NULL, 1.5, NULL);"
        "CREATE VIEW old AS SELECT age FROM patients;"
        "CREATE TABLE raw (b BLOB, j JSON); INSERT INTO raw VALUES (x'00', '{}');"
    )
    frame = frame_of("sql:patients")
    assert frame.columns["id"].values.tolist() == ["a", "b", "c"]
    assert frame.columns["age"].values.tolist() == ["NA", "30", ""]
    assert frame.columns["x"].values.tolist() == ["2", "NA", "15e-1"]
    assert frame.columns["r"].values.tolist()[:2] == [2, 1.5]
    assert len(frame_of("sql:old")) == 3
    assert frame_of("sql:raw", ["b"]).columns["b"].kind == "other"
    assert "column `j`: holds structures" in refusal("sql:raw")
    kinds = {
        each.name: each.kind
        for each in guess_table(DatabaseTable("sql:patients")).columns
    }
    assert kinds["day"] == "date"
    written = FileFormat(missing=("NA",))
    schema = Schema(
        (Column("age", "number", range=(0, 99)), Column("r", "number", range=(0, 9))),
        "r", written=written,
    )  # fmt: skip
    lite.execute("UPDATE patients SET r = 3 WHERE r IS NULL")
    table = read_files([DatabaseTable("sql:patients")], schema)
    assert table.numbers("age")[1] == 30
    assert np.isnan(table.numbers("age")[[0, 2]]).all()


def test_sqlite_is_neither_written_nor_made(
    lite: sqlite3.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lite.executescript("CREATE TABLE t (x); INSERT INTO t VALUES (1);")
    address = DatabaseAddress.of("env:LEXFED_DATABASE", tmp_path)
    import sqlalchemy

    with (
        database_tables._connected(address) as connection,
        pytest.raises(sqlalchemy.exc.OperationalError, match="readonly"),
    ):
        connection.execute(sqlalchemy.text("INSERT INTO t VALUES (2)"))
    monkeypatch.setenv("LEXFED_DATABASE", "sqlite:///other.db")
    assert "no such file" in refusal("sql:t")
    assert not (tmp_path / "other.db").exists()
    (tmp_path / "other.db").write_bytes(b"no database, but long enough to be one" * 99)
    assert "could not be" in refusal("sql:t")
    monkeypatch.setenv("LEXFED_DATABASE", f"sqlite:///{tmp_path}")
    assert "its file of SQLite" in refusal("sql:t")


def test_text_that_is_none_and_names_that_hide_are_refused(
    lite: sqlite3.Connection,
) -> None:
    lite.executescript(
        "CREATE TABLE t (x TEXT); INSERT INTO t VALUES (CAST(x'ff41' AS TEXT));"
        'CREATE TABLE h ("a\u202eb" INT); INSERT INTO h VALUES (1);'
        "CREATE TABLE e (x INT);"
        'CREATE TABLE "odd; DROP" (x INT);'
    )
    assert "could not be" in refusal("sql:t")
    assert "hidden character" in refusal("sql:h")
    with pytest.raises(Exception, match="there are no rows"):
        guess_table(DatabaseTable("sql:e"))


@pytest.mark.parametrize(
    "source",
    ["sql:", "sql:a.b.c", "sql:.a", "sql:a.", "sql:SELECT 1", "sql:a;b", "sql:(x)",
     "sql:postgresql://u:swordfish@h/d"],
)  # fmt: skip
def test_a_statement_or_a_url_is_no_table(source: str) -> None:
    with pytest.raises(WrongAddress) as caught:
        require_table_name(source)
    assert "swordfish" not in str(caught.value) + caught.value.hint


@pytest.mark.parametrize(
    "stated",
    ["postgresql://u:swordfish@h/d", "postgresql://h/d?password=swordfish",
     "sqlite:///x.db?key=swordfish", "postgresql://h/d#swordfish", "mysql://h/swordfish",
     "swordfish", "env:", "env:a b", "env:swordfish=1", "postgresql://u:sword:fish@h:p/d",
     "sqlite://swordfish", "sqlite:swordfish", "//[swordfish"],
)  # fmt: skip
def test_a_database_with_a_password_is_not_stated(stated: str) -> None:
    with pytest.raises(WrongAddress) as caught:
        require_stated(stated)
    assert "swordfish" not in str(caught.value) + caught.value.hint


def test_addresses_are_stated_without_passwords() -> None:
    for stated in ("env:CLINIC_DB", "postgresql://reader@db.example.org/clinic",
                   "postgres://h/d", "sqlite:///a.db",
                   "sqlite:////a/b.db"):  # fmt: skip
        require_stated(stated)
    base = Path("/base")
    assert DatabaseAddress.of("sqlite:///a.db", base).path == base / "a.db"
    assert DatabaseAddress.of("sqlite:////a/b.db", base).path == Path("/a/b.db")
    known = {"X": "postgresql://u:swordfish@h/d"}
    assert "swordfish" not in repr(DatabaseAddress.of("env:X", base, known))
    with pytest.raises(WrongAddress, match="`Y` is not set"):
        DatabaseAddress.of("env:Y", base, known)
    for url in ("postgresql://u:p@h/d", "postgresql:/u:p@h/d", "sqlite:///a.db"):
        assert looks_like_url(url)
    for file in ("a@b.csv", "C:/data/a.csv", "synthetic:hospital", "a:/b/c.csv",
                 "public:/folder/a@b.csv"):  # fmt: skip
        assert not looks_like_url(file)
    assert may_hold_password(" see postgresql://u:p@h/d")
    assert not may_hold_password("see https://example.org/a")


@pytest.mark.parametrize(
    ("library", "url"),
    [("sqlalchemy", "sqlite:///x.db"), ("psycopg", "postgresql://h/d")],
)
def test_without_a_library_the_extra_is_named(
    library: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEXFED_DATABASE", url)
    monkeypatch.setitem(sys.modules, library, None)
    assert 'pip install "lexfed[sql]"' in refusal("sql:t")
