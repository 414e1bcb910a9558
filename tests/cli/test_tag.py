# SPDX-License-Identifier: Apache-2.0
"""`lexfed tag`: suggestions with their reasons, and words for what cannot be done."""

import csv
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lexfed as package
from lexfed.errors import ConfigError, DataError
from lexfed.law.tagger.suggestions import TIERS, DescribedColumn

Lexfed = Callable[..., Any]

SCHEMA = """\
table,column,description,dtype
patients,hiv_status,,string
patients,geburtsdatum,,date
patients,email,,string
sensors,engine_rpm,,float
"""
ODD = ["<script>alert(1)</script>", "=1+2", "الاسم", "x" * 10_000]
KEYS = [
    "table", "column", "tier", "category", "score", "review", "articles", "evidence",
]  # fmt: skip
LAW = """\
version = 1
jurisdiction = "mine"
title = "A law of our own"
[[rule]]
id = "mine.1"
reference = "Mine 1"
obligation = "Ask first."
categories = ["health"]
"""


@pytest.fixture
def schema(place: Path) -> str:
    (place / "schema.csv").write_text(SCHEMA)
    return "schema.csv"


def rows(said: Any) -> list[dict[str, Any]]:
    assert said.code == 0, said.err
    found: list[dict[str, Any]] = json.loads(said.out)
    return found


def test_json_has_the_fields_and_the_order_of_the_input(
    lexfed: Lexfed, schema: str
) -> None:
    found = rows(lexfed("tag", "--schema", schema, "--json"))
    assert [row["column"] for row in found] == [
        "hiv_status", "geburtsdatum", "email", "engine_rpm",
    ]  # fmt: skip
    for row in found:
        assert list(row) == KEYS
        assert row["tier"] in TIERS
        assert 0 <= row["score"] <= 1
        for article in row["articles"]:
            assert list(article) == ["id", "jurisdiction", "reference"]
        for item in row["evidence"]:
            assert list(item) == ["kind", "tier", "category", "weight", "text"]
    assert [row["tier"] for row in found[:3]] == ["special", "personal", "identifier"]
    assert {a["jurisdiction"] for a in found[0]["articles"]} == {
        "gdpr", "hipaa", "ccpa",
    }  # fmt: skip


def test_a_table_for_people(lexfed: Lexfed, schema: str) -> None:
    said = lexfed("tag", "--schema", schema)
    assert said.code == 0
    head, *lines = said.out.splitlines()
    assert head.split() == ["column", "tier", "category", "why"]
    assert lines[0].split()[:3] == ["patients.hiv_status", "special", "health"]
    assert "hiv" in lines[0].split("health", 1)[1]
    assert "4 columns: " in said.err
    assert "; 0 need review\n" in said.err


def test_one_table_needs_no_prefix(lexfed: Lexfed, place: Path) -> None:
    (place / "s.csv").write_text("column\nhiv_status\n")
    out = lexfed("tag", "--schema", "s.csv").out
    assert out.splitlines()[1].startswith("hiv_status  special")


def test_data_sql_parquet_and_compressed_files(
    lexfed: Lexfed, place: Path, table: Any
) -> None:
    (place / "t.sql").write_text("CREATE TABLE patients (hiv_status text, x int);")
    table.to_parquet("t.parquet")
    (place / "t.csv.gz").write_bytes(gzip.compress(b"hiv_status,email\nyes,a@b.org\n"))
    for file, first in (
        ("patients.csv", "patient"), ("t.sql", "hiv_status"),
        ("t.parquet", "patient"), ("t.csv.gz", "hiv_status"),
    ):  # fmt: skip
        assert rows(lexfed("tag", file, "--json"))[0]["column"] == first
    assert rows(lexfed("tag", "--schema", "t.sql", "--json"))[0]["table"] == "patients"


def test_no_value_is_printed_or_written(lexfed: Lexfed, place: Path) -> None:
    row = "Zyxwvut.Secret@example.org,{},Zyxwvut Secret"
    lines = "\n".join(row.format(n) for n in range(50))
    (place / "p.csv").write_text(f"email,patient_id,full_name\n{lines}\n")
    outputs = [
        lexfed("--verbose", "tag", "p.csv", *options)
        for options in (
            [], ["--json"], ["--explain", "email"],
            ["--html", "o.html", "--csv", "o.csv"],
        )
    ]  # fmt: skip
    texts = [said.out + said.err for said in outputs]
    texts += [(place / name).read_text() for name in ("o.html", "o.csv")]
    assert not any("yxwvut" in text or "ecret" in text for text in texts)
    assert "email" in texts[0]


def test_explain_shows_the_chain_and_what_is_asked(lexfed: Lexfed, schema: str) -> None:
    said = lexfed("tag", "--schema", schema, "--explain", "patients.hiv_status")
    assert said.code == 0
    flat = " ".join(said.out.split())
    assert flat.startswith("patients.hiv_status: special, health")
    assert "hiv" in flat.split("evidence", 1)[1]
    assert "GDPR Art. 9(1), 4(15) [gdpr.art9.health]" in flat
    assert "may be used only under one of the exceptions of Art. 9(2)" in flat
    assert "HIPAA" in flat
    assert lexfed("tag", "--schema", schema, "--explain", "hiv_status").out == said.out


def test_explain_of_a_name_that_two_tables_have(lexfed: Lexfed, place: Path) -> None:
    (place / "s.csv").write_text("table,column\na,email\nb,email\n")
    out = lexfed("tag", "--schema", "s.csv", "--explain", "email").out
    assert out.startswith("a.email: ")
    assert "\n\nb.email: " in out


def test_laws_are_an_input(lexfed: Lexfed, place: Path, schema: str) -> None:
    (place / "mine.toml").write_text(LAW)
    for option, expected in (
        (["--jurisdictions", "ccpa"], {"ccpa"}),
        (["--jurisdictions", "hipaa, gdpr"], {"hipaa", "gdpr"}),
        (["--catalogue", "mine.toml"], {"gdpr", "hipaa", "ccpa", "mine"}),
        (["--jurisdictions", "", "--catalogue", "mine.toml"], {"mine"}),
    ):
        found = rows(lexfed("tag", "--schema", schema, "--json", *option))
        assert {a["jurisdiction"] for a in found[0]["articles"]} == expected
    said = lexfed("tag", "--schema", schema, "--catalogue", "mine.toml",
                  "--explain", "hiv_status")  # fmt: skip
    assert "Mine 1  [mine.1]\n    Ask first." in said.out


def test_sheets_are_written_and_replaced_whole(
    lexfed: Lexfed, place: Path, schema: str
) -> None:
    (place / "o.csv").write_text("old")
    said = lexfed("tag", "--schema", schema, "--html", "o.html", "--csv", "o.csv")
    assert said.code == 0
    assert "wrote o.html\nwrote o.csv\n" in said.err
    assert (place / "o.html").read_text().startswith("<!DOCTYPE html>")
    with (place / "o.csv").open(newline="") as file:
        assert len(list(csv.reader(file))) == 5
    assert not [p for p in place.iterdir() if p.name.startswith(".")]


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["table", "json"])
def test_odd_names_are_harmless(
    lexfed: Lexfed, place: Path, options: list[str]
) -> None:
    with (place / "s.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["column"], *([name] for name in ODD)])
    said = lexfed("tag", "--schema", "s.csv", *options)
    assert said.code == 0
    assert not set("\x1b\u202e") & set(said.out + said.err)
    if options:
        assert [row["column"] for row in json.loads(said.out)] == ODD
    for name in ODD[:3]:
        explained = lexfed("tag", "--schema", "s.csv", "--explain", name)
        assert explained.code == 0
        assert not set("\x1b\u202e") & set(explained.out + explained.err)


def test_a_configuration_says_where_the_data_are(lexfed: Lexfed, place: Path) -> None:
    for arguments in (["lexfed.toml"], []):
        found = rows(lexfed("tag", *arguments, "--json"))
        assert [row["column"] for row in found][:3] == ["patient", "hospital", "ward"]
        laws = {a["jurisdiction"] for row in found for a in row["articles"]}
        assert laws == {"gdpr"}
    both = rows(lexfed("tag", "--json", "--jurisdictions", "gdpr,ccpa"))
    assert {a["jurisdiction"] for row in both for a in row["articles"]} > {"gdpr"}


def test_a_stated_person_column_is_a_key(lexfed: Lexfed, place: Path) -> None:
    first = rows(lexfed("tag", "--json"))[0]
    assert (first["tier"], first["category"]) == ("identifier", "person_key")
    text = (place / "lexfed.toml").read_text()
    line = 'patient = { tier = "identifier", reason = "a key" }\n'
    (place / "lexfed.toml").write_text(text.replace(line, ""))
    assert "it looks like person_key" in lexfed("check").err


def test_files_of_several_sites_are_merged_by_the_strictest(
    lexfed: Lexfed, place: Path
) -> None:
    people = "".join(f"{n},p{n}@example.org\n" for n in range(40))
    (place / "a.csv").write_text(f"patient_id,c17\n{people}")
    (place / "b.csv").write_text("patient_id,c17\n" + "1,3\n2,4\n" * 20)
    (place / "two.toml").write_text('[data]\nsites = { files = ["a.csv", "b.csv"] }\n')
    said = lexfed("tag", "two.toml", "--json")
    found = {row["column"]: row for row in rows(said)}
    assert set(found) == {"patient_id", "c17"}
    alone = {
        name: {row["column"]: row for row in rows(lexfed("tag", name, "--json"))}
        for name in ("a.csv", "b.csv")
    }
    order = ("non_personal", "personal", "special", "identifier")
    for column, row in found.items():
        tiers = [order.index(site[column]["tier"]) for site in alone.values()]
        assert order.index(row["tier"]) == max(tiers)
    apart = {
        column
        for column in found
        if len({(s[column]["tier"], s[column]["category"]) for s in alone.values()}) > 1
    }
    for column in apart:
        assert f"warning: column `{column}`: " in said.err
        assert found[column]["review"]
    assert ("warning" in said.err) == bool(apart)


# The same from Python


def test_from_python(place: Path, schema: str) -> None:
    found = package.tag(schema=schema)
    assert found[0].suggestion.column.name == "hiv_status"
    assert list(found[0].to_dict()) == KEYS
    assert found == package.tag(schema=Path(schema))
    columns = [one.suggestion.column for one in found]
    assert package.tag(columns) == found
    (only,) = package.tag([DescribedColumn("t", "hiv")], jurisdictions=["ccpa"])
    assert {article.jurisdiction for article in only.articles} == {"ccpa"}
    assert len(package.tag("patients.csv")) == len(package.tag("lexfed.toml")) == 8
    assert len(package.tag([])) == 0


def test_mistakes_from_python(place: Path, schema: str) -> None:
    for wrong in ({}, {"source": "patients.csv", "schema": schema}):
        with pytest.raises(ConfigError, match="expected one of two inputs"):
            package.tag(**wrong)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="has no name"):
        package.tag([DescribedColumn("t", " ")])
    with pytest.raises(DataError, match="cannot be read"):
        package.tag("nothing.csv")
