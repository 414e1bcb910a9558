# SPDX-License-Identifier: Apache-2.0
"""Whatever the file holds, a person gets a `ConfigError` with lines, or a `Config`."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.config import Config, examine, from_mapping, load, loads
from lexfed.errors import ConfigError

GOOD = (Path(__file__).parent / "good.toml").read_text()
LINES = GOOD.splitlines()
TABLES = [
    "run",
    "data",
    "law",
    "budget",
    "privacy",
    "federation",
    "audit",
    "report",
    "x",
]
KEYS = [*sorted(set(re.findall(r"\w+", GOOD))), "", "a b", "columns", "caps", "?"]
SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=10**400, max_value=10**401),
    st.floats(),
    st.sampled_from(KEYS),
    st.text(max_size=5),
    st.dates(),
    st.binary(max_size=3),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=8,
)


def only_config_errors(text: str) -> None:
    examination = examine(text, "f.toml")
    for problem in (*examination.problems, *examination.notes):
        assert re.fullmatch(r"f\.toml:\d+", problem.where)
        assert problem.line is not None
        assert 1 <= problem.line <= text.count("\n") + 1
    assert (examination.config is None) == bool(examination.problems)
    assert examine(text, "f.toml") == examination
    if examination.config is None:
        with pytest.raises(ConfigError):
            loads(text)


@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    only_config_errors(text)


@given(st.data())
def test_edited_files(data: st.DataObject) -> None:
    lines = list(LINES)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(lines) - 1))
        edit = data.draw(st.sampled_from(["drop", "swap", "cut", "insert", "value"]))
        other = data.draw(st.sampled_from(LINES))
        if edit == "drop":
            lines[at] = ""
        elif edit == "swap":
            lines[at] = other
        elif edit == "cut":
            lines[at] = lines[at][: data.draw(st.integers(0, len(lines[at])))]
        elif edit == "insert":
            lines.insert(at, other)
        else:
            value = other.partition("=")[2] or "1"
            lines[at] = lines[at].partition("=")[0] + "=" + value
    only_config_errors("\n".join(lines))


def config_or_problems(tables: dict[str, Any]) -> Config | ConfigError:
    try:
        return from_mapping(tables)
    except ConfigError as error:
        return error


@given(st.dictionaries(st.sampled_from(["version", *TABLES]), VALUES, max_size=6))
def test_any_values(tables: dict[str, Any]) -> None:
    found = config_or_problems(tables)
    if isinstance(found, ConfigError):
        assert found.problems
        assert all(problem.where == "configuration" for problem in found.problems)


@given(st.data())
def test_good_tables_with_one_wrong_value(data: st.DataObject) -> None:
    tables = loads(GOOD).model_dump(exclude_defaults=True)
    table = data.draw(st.sampled_from(sorted(tables)))
    value = data.draw(VALUES)
    if isinstance(tables[table], dict):
        tables[table][data.draw(st.sampled_from(sorted(tables[table])))] = value
    else:
        tables[table] = value
    found = config_or_problems(tables)
    if isinstance(found, Config):
        assert from_mapping(found.to_json()) == found


@given(st.binary(max_size=100))
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "bytes.toml"
    path.write_bytes(content)
    with pytest.raises(ConfigError):
        load(path)
