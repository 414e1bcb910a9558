# SPDX-License-Identifier: Apache-2.0
"""What `lexfed tag` cannot do gets words and exit code 2; nothing is written."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Lexfed = Callable[..., Any]
Expected = Callable[[str, str], None]

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

MISTAKES: dict[str, list[str]] = {
    "missing": ["nothing.csv"],
    "missing-schema": ["--schema", "nothing.csv"],
    "folder": ["folder"],
    "binary": ["binary.csv"],
    "not-gzip": ["broken.csv.gz"],
    "not-parquet": ["broken.parquet"],
    "no-table": ["empty.sql"],
    "empty": ["empty.csv"],
    "not-a-schema": ["--schema", "patients.csv"],
    "twice": ["--schema", "twice.csv"],
    "two-inputs": ["patients.csv", "--schema", "schema.csv"],
    "two-files": ["patients.csv", "schema.csv"],
    "accept-a-schema": ["--schema", "schema.csv", "--accept"],
    "accept-and-more": ["--accept", "--explain", "x", "--jurisdictions", "gdpr"],
    "explain-as-json": ["--schema", "schema.csv", "--explain", "email", "--json"],
    "explain-nothing": ["--schema", "schema.csv", "--explain", "emial"],
    "explain-odd": ["--schema", "schema.csv", "--explain", "\x1b[31m<b>"],
    "unknown-law": ["--schema", "schema.csv", "--jurisdictions", "gdpr,lgpd"],
    "catalogue-missing": ["--schema", "schema.csv", "--catalogue", "no.toml"],
    "catalogue-wrong": ["--schema", "schema.csv", "--catalogue", "wrong.toml"],
    "catalogue-clash": ["--schema", "schema.csv", "--catalogue", "clash.toml"],
    "overwrite": ["patients.csv", "--csv", "patients.csv"],
    "same-output": ["--schema", "schema.csv", "--csv", "o", "--html", "o"],
    "no-folder": ["--schema", "schema.csv", "--csv", "no/where.csv"],
    "out-is-folder": ["--schema", "schema.csv", "--html", "folder"],
    "config-missing": ["nothing.toml"],
    "config-broken": ["broken.toml"],
    "config-built-in": ["demo.toml"],
    "option": ["--schema", "schema.csv", "--colour"],
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(lexfed: Lexfed, place: Path, expected: Expected, name: str) -> None:
    (place / "schema.csv").write_text("table,column\npatients,email\n")
    (place / "folder").mkdir()
    (place / "binary.csv").write_bytes(bytes(range(256)) * 9)
    (place / "broken.csv.gz").write_bytes(b"SECRET not gzip")
    (place / "broken.parquet").write_bytes(b"SECRET not parquet")
    (place / "empty.sql").write_text("SELECT 1;")
    (place / "empty.csv").write_text("")
    (place / "twice.csv").write_text("column\na\n\nb\na\n")
    (place / "wrong.toml").write_text(
        LAW.replace('reference = "Mine 1"\n', "") + "colour = 1\n"
    )
    (place / "clash.toml").write_text(LAW.replace('"mine.1"', '"gdpr.art10"'))
    (place / "broken.toml").write_text("[data\n")
    (place / "demo.toml").write_text('[data]\nsource = "synthetic:hospital"\n')
    before = {path.name: path.stat().st_mtime_ns for path in place.iterdir()}
    said = lexfed("tag", *MISTAKES[name])
    assert said.code == 2
    assert "SECRET" not in said.err
    assert "\x1b" not in said.err
    expected(f"tag-{name}.txt", said.err)
    if not {"--csv", "--html", "--json"} & set(MISTAKES[name]):
        assert said.out == ""
    assert {path.name: path.stat().st_mtime_ns for path in place.iterdir()} == before


def test_nothing_to_tag(lexfed: Lexfed, place: Path, expected: Expected) -> None:
    (place / "lexfed.toml").unlink()
    said = lexfed("tag")
    assert said.code == 2
    expected("tag-nothing.txt", said.err)
