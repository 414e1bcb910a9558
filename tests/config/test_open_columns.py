# SPDX-License-Identifier: Apache-2.0
"""Ranges and lists may be open for a profile, and nothing else may."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexfed.config import examine
from lexfed.config.open_decisions import (
    ANY_AMOUNT,
    ANY_NUMBER,
    ANY_VALUE,
    examine_open,
    examine_open_file,
    load_open,
)
from lexfed.errors import ConfigError

GOOD = (Path(__file__).parent / "good.toml").read_text()
RANGE, VALUES = ", range = [0, 110]", ', values = ["north", "south"]'


@pytest.mark.parametrize(
    ("change", "column", "expected"),
    [
        ((RANGE, ', range = "?"'), "age", ANY_NUMBER),
        ((RANGE, ""), "age", ANY_NUMBER),
        ((RANGE, ', scale = "log"'), "age", ANY_AMOUNT),
        ((VALUES, ', values = "?"'), "ward", ANY_VALUE),
        ((VALUES, ""), "ward", ANY_VALUE),
    ],
)
def test_an_open_range_or_list_is_no_problem(
    change: tuple[str, str], column: str, expected: object
) -> None:
    found = examine_open(GOOD.replace(*change)).require()
    assert found.columns == (column,)
    declared = found.config.data.columns[column]
    assert expected in (declared.range, declared.values)
    assert examine(GOOD.replace(*change)).problems


def test_a_text_without_open_columns_is_judged_as_ever() -> None:
    found = examine_open(GOOD)
    assert found.columns == ()
    assert found.examination == examine(GOOD)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (("units = 6000", 'units = "?"'), "`data.units` is not decided yet"),
        (('tier = "personal"', 'tier = "?"'), "law.columns.age.tier"),
        (("[0, 110]", '"low"'), "expected an array of 2 numbers"),
        (('kind = "number", ', ""), "`data.columns.age.kind` is missing"),
        (("[data.columns]", "[data.columns"), "TOML"),
        (("[data.columns]\n", "[data]\ncolumns = 3\n"), ""),
        (("[data.columns]\n", "[data.columns]\nx = 3\n"), "data.columns.x"),
    ],
)
def test_everything_else_must_be_decided(change: tuple[str, str], what: str) -> None:
    found = examine_open(GOOD.replace(*change), "here.toml").examination
    assert what in "\n".join(map(str, found.problems))
    assert all(problem.line for problem in found.problems)


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "lexfed.toml"
    path.write_text("\ufeff" + GOOD.replace(RANGE, ""), encoding="utf-8")
    assert load_open(path).columns == ("age",)
    with pytest.raises(ConfigError, match="there is no such file"):
        load_open(tmp_path / "other.toml")
    path.write_bytes(b"\xff")
    assert "not UTF-8" in str(examine_open_file(path).examination.problems[0])


@settings(max_examples=200)
@given(st.text())
def test_nothing_is_raised_whatever_the_text(text: str) -> None:
    assert examine_open(text).examination.problems
    assert examine_open("data = " + text).examination.problems
