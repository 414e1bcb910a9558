# SPDX-License-Identifier: Apache-2.0
"""From a workbook, a database or several files to scores, by commands alone."""

import csv
import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pytest

from lexfed.config import load
from support.postgres import MISSING, PASSWORD, programs, running_server

Lexfed = Callable[..., Any]
HEADER = ("patient_id", "age", "systolic_pressure", "sex", "readmitted")


def rows_of(count: int = 150) -> list[tuple[Any, ...]]:
    chance = np.random.default_rng(3)
    rows = []
    for number in range(count):
        age = int(chance.integers(18, 95))
        sex = str(chance.choice(["female", "male"]))
        ill = "yes" if age > chance.integers(20, 95) else "no"
        rows.append(
            (f"P{number // 2:04}", age, int(chance.integers(90, 200)), sex, ill)
        )
    return rows


def write_workbook(folder: Path) -> str:
    book = openpyxl.Workbook()
    for row in (HEADER, *rows_of()):
        book.active.append(row)
    book.save(folder / "visits.xlsx")
    return "visits.xlsx"


def write_files(folder: Path) -> str:
    for number in range(3):
        with (folder / f"visits-{number}.csv").open("w", newline="") as file:
            csv.writer(file, delimiter=";").writerows([HEADER, *rows_of()[number::3]])
    return "visits-*.csv"


def write_sqlite(folder: Path) -> str:
    with sqlite3.connect(folder / "clinic.db") as connection:
        connection.execute(f"CREATE TABLE visits ({', '.join(HEADER)})")
        connection.executemany("INSERT INTO visits VALUES (?,?,?,?,?)", rows_of())
    connection.close()
    os.environ["LEXFED_DATABASE"] = "sqlite:///clinic.db"
    return "sql:visits"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LEXFED_DATABASE", "")
    return tmp_path


@pytest.mark.parametrize("write", [write_workbook, write_files, write_sqlite])
def test_every_source_leads_to_scores(
    lexfed: Lexfed, folder: Path, write: Callable[[Path], str]
) -> None:
    source = write(folder)
    said = lexfed("init", source, "--target", "readmitted", "--sites", "2", "--yes")
    assert said.code == 0, said.err
    config = load(Path("lexfed.toml"))
    assert (config.data.source, config.run.name) == (source, "visits")
    assert config.data.person == "patient_id"
    for command in ("check", "tag", "run"):
        done = lexfed(command)
        assert done.code == 0, done.err
    assert len(lexfed("predict", "runs/visits", source).out.splitlines()) == 151
    tagged = lexfed("tag", source).out
    assert "systolic_pressure" in tagged
    assert lexfed("verify", "runs/visits").code == 0


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    if programs() is None:
        pytest.skip(MISSING)
    with running_server() as server:
        server.execute(
            "CREATE TABLE visits (patient_id text, age int, systolic_pressure int, "  # noqa: S608 (rows of this test)
            "sex text, readmitted text); GRANT SELECT ON visits TO reader; "
            "INSERT INTO visits VALUES " + ", ".join(map(str, rows_of()))
        )
        yield server.url()


def test_a_password_stays_where_it_is(
    lexfed: Lexfed, folder: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLINIC", url)
    init = ("init", "sql:visits", "--target", "readmitted", "--sites", "2", "--yes")
    assert "`LEXFED_DATABASE` is not set" in lexfed(*init).err
    said = [lexfed(*init, "--database", "env:CLINIC")]
    said += [lexfed(*each) for each in (("check",), ("tag",), ("plan",), ("run",))]
    assert [each.code for each in said] == [0] * 5
    monkeypatch.setenv("LEXFED_DATABASE", url)
    said.append(lexfed("predict", "runs/visits", "sql:public.visits"))
    assert len(said[-1].out.splitlines()) == 151
    assert 'database = "env:CLINIC"' in Path("lexfed.toml").read_text()
    monkeypatch.setenv("CLINIC", url.replace(PASSWORD, "swordfish"))
    said += [lexfed("--verbose", "plan"), lexfed("--verbose", "run", "--resume")]
    assert said[-2].code == 2
    for each in said:
        assert PASSWORD not in each.out + each.err
        assert "swordfish" not in each.out + each.err
    for file in folder.rglob("*"):
        if file.is_file():
            content = file.read_bytes()
            assert PASSWORD.encode() not in content
            assert b"reader" not in content, file


SECRET = "postgresql://u:swordfish@h/d"  # noqa: S105 (opens nothing)


@pytest.mark.parametrize(
    "arguments",
    [
        ("init", SECRET, "--yes"), ("init", f"sql:{SECRET}", "--yes"),
        ("init", "sql:t", "--database", SECRET, "--yes"), ("tag", SECRET),
        ("init", "sql:t", "--database", f"{SECRET}?sslmode=require", "--yes"),
        ("overlap", "sketch", SECRET, "--key", "x", "--size", "9", "--epsilon", "1"),
    ],
)  # fmt: skip
def test_a_url_on_the_command_line_is_not_repeated(
    lexfed: Lexfed, folder: Path, arguments: tuple[str, ...]
) -> None:
    said = lexfed(*arguments)
    assert said.code == 2
    assert "swordfish" not in said.out + said.err
    assert not Path("lexfed.toml").exists()


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (f'source = "sql:t"\ndatabase = "{SECRET}"', "has a password or options in it"),
        (f'source = "{SECRET}"', "a URL where a file or a table belongs"),
        (f'source = "sql:{SECRET}"', "a URL where a file or a table belongs"),
        (f'source = "sql:t"\ndatabse = "{SECRET}"', "did you mean `database`"),
        (f'source = "sql:t"\ndatabase = ["{SECRET}"]', "expected text in quotes"),
        (f'source = "a.csv"\nmissing = "{SECRET}"', "got: a URL"),
        ('source = "sql:SELECT * FROM t"', "make a view of it"),
        ('source = "a.csv"\ndatabase = "env:X"', "no source is a table of a database"),
        ('source = "a.csv"\nsheet = 3', "expected text in quotes"),
    ],
)
def test_a_configuration_without_passwords(
    lexfed: Lexfed, folder: Path, keys: str, message: str
) -> None:
    Path("lexfed.toml").write_text(
        f'version = 1\n[run]\nname = "x"\n[data]\n{keys}\ntarget = "y"\n'
        "sites = { count = 1 }\n[budget]\nepsilon = 1.0\ndelta = 1e-6\n"
    )
    for command in (("check",), ("run",), ("check", "--json")):
        said = lexfed(*command)
        assert said.code == 2
        assert message in said.err
        assert "swordfish" not in said.out + said.err


def test_several_files_are_a_pattern_in_quotes(lexfed: Lexfed, folder: Path) -> None:
    write_files(folder)
    said = lexfed("init", "visits-0.csv", "visits-1.csv")
    assert said.code == 2
    assert 'put the pattern in quotes, "visits-*.csv"' in said.err
