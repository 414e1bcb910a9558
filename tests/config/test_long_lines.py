# SPDX-License-Identifier: Apache-2.0
"""A configuration is read in time that grows with its length, whatever is in it."""

import time
from pathlib import Path

import pytest

from lexfed.config import load
from lexfed.config.examination import examine
from lexfed.config.text.findings import _hint
from lexfed.errors import ConfigError
from lexfed.toml_text import MOST_PARTS, parse_toml

MEGABYTE = 1_000_000
PIECES = (
    "a",
    "a ",
    "a.",
    "-",
    "=",
    "= ",
    "a =",
    "a=b ",
    " ",
    '"',
    "'",
    "a:",
    "[a.",
    '\\"',
    '"\\"".',
    "é",
)


def seconds(text: str) -> float:
    begin = time.process_time()
    found = examine(text)
    taken = time.process_time() - begin
    assert found.problems  # none of these is a configuration
    return taken


@pytest.mark.no_cover
@pytest.mark.parametrize("piece", PIECES)
def test_a_line_of_a_megabyte_takes_less_than_a_second(piece: str) -> None:
    assert seconds((piece * MEGABYTE)[:MEGABYTE]) < 1.0


@pytest.mark.parametrize("piece", PIECES)
def test_a_hint_on_a_line_of_a_megabyte(piece: str) -> None:
    begin = time.process_time()
    _hint((piece * MEGABYTE)[:MEGABYTE])
    assert time.process_time() - begin < 1.0


def test_a_key_of_many_parts_is_refused_where_it_is() -> None:
    key = ".".join(["a"] * MOST_PARTS)
    assert parse_toml(f"{key} = 1")  # as many as may be
    text = f'version = 1\nrun = {{ "x" . {key} = 1 }}\n'
    [problem] = examine(text).problems
    assert problem.line == 2
    assert "a key of more than 100 parts" in problem.what


def test_dots_in_values_are_no_keys() -> None:
    numbers = ", ".join(["0.5"] * 1000)
    text = ". ".join(["a sentence"] * 1000)
    assert parse_toml(f'a = [{numbers}]\nb = "{text}"')["b"] == text


def test_bare_words_are_still_told_from_keys() -> None:
    assert _hint("[run]\nname = cohort one").startswith(
        'text needs quotes: `name = "co'
    )
    assert _hint("a.b-c = x") == 'text needs quotes: `a.b-c = "x"`'
    assert _hint("test = True") == "write `true`"
    assert _hint("a = true") == ""


def test_a_configuration_is_a_plain_file_of_some_length(tmp_path: Path) -> None:
    (tmp_path / "zeros.toml").symlink_to("/dev/zero")
    with pytest.raises(ConfigError, match="cannot be read: it is not a plain file"):
        load(tmp_path / "zeros.toml")
    (tmp_path / "long.toml").write_bytes(b"#" * ((1 << 24) + 1))
    with pytest.raises(ConfigError, match="it has more than 16777216 bytes"):
        load(tmp_path / "long.toml")
