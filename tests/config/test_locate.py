# SPDX-License-Identifier: Apache-2.0
"""The scanner against TOML at its oddest, and against documents made at random."""

import tomllib
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.config.text.positions import KeyPath, first_repeat, key_lines, nearest_line

ODD = (FilePath(__file__).parent / "odd.toml").read_text()


def paths(value: Any, above: KeyPath = ()) -> Iterator[KeyPath]:
    if above:
        yield above
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths(inner, (*above, key))
    if isinstance(value, list):
        for number, inner in enumerate(value):
            yield from paths(inner, (*above, number))


def test_odd_toml() -> None:
    lines = key_lines(ODD)
    assert set(lines) == set(paths(tomllib.loads(ODD)))
    assert lines["a", "b"] == 2
    assert lines["q.k", "z"] == 3
    assert lines["q.k", "z", 1, 0] == 4
    assert lines["q.k", "z", 2, "y", "}"] == 4
    assert lines["s",] == 7
    assert lines["t", "u v"] == 10
    assert lines["t", "u v", "l"] == 11
    assert lines["t", "u v", "d"] == 13
    assert lines["arr",] == 14
    assert lines["arr", 0, "sub", "y"] == 17
    assert lines["arr", 1] == 18
    assert lines["arr", 1, "sub", "é"] == 20
    assert lines["t", "u v", "", "w", "f"] == 23


def test_windows_line_ends_count_once() -> None:
    assert key_lines("a = 1\r\nb = 2\r\n")["b",] == 2


def test_table_known_by_its_sub_table() -> None:
    assert key_lines("\n[a.b]\nc = 1\n[a]\nd = 1")["a",] == 2


KEYS = st.one_of(
    st.text("abc_-1", min_size=1, max_size=3),
    st.text(
        st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\\"),
        max_size=4,
    ),
)
SCALARS = st.sampled_from(["1", "-2.5e3", "true", '"]#\\""', "'{'", '"""x\n[y]\n"""'])
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3)
    ),
    max_leaves=6,
)
DOCUMENTS = st.dictionaries(
    KEYS, st.dictionaries(KEYS, VALUES, max_size=4) | SCALARS, max_size=4
)
FILLERS = st.lists(st.sampled_from(["", "# x = 1", "  # [t]", "   "]), max_size=2)


class Writer:
    """Writes a document as TOML and notes the line of every path, on its own."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.text = ""
        self.lines: dict[KeyPath, int] = {}

    def note(self, path: KeyPath) -> None:
        self.lines.setdefault(path, self.text.count("\n") + 1)

    def key(self, name: str) -> None:
        bare = name and all(c.isascii() and (c.isalnum() or c in "_-") for c in name)
        if bare and self.draw(st.booleans()):
            self.text += name
        elif "'" not in name and self.draw(st.booleans()):
            self.text += f"'{name}'"
        else:
            self.text += '"' + name.replace('"', '\\"') + '"'

    def value(self, value: Any, path: KeyPath) -> None:
        if isinstance(value, str):
            self.text += value
        elif isinstance(value, list):
            self.text += "["
            for number, inner in enumerate(value):
                self.text += self.draw(st.sampled_from(["", " ", "\n", " # ],\n"]))
                self.note((*path, number))
                self.value(inner, (*path, number))
                self.text += self.draw(st.sampled_from([",", "\n,", ", # [\n"]))
            self.text += "]"
        else:
            self.text += "{ "
            for number, (name, inner) in enumerate(value.items()):
                self.text += ", " if number else ""
                self.pair(name, inner, path)
            self.text += "}"

    def pair(self, name: str, value: Any, above: KeyPath) -> None:
        self.note((*above, name))
        self.key(name)
        self.text += self.draw(st.sampled_from(["=", " = ", "\t="]))
        self.value(value, (*above, name))

    def filler(self) -> None:
        for line in self.draw(FILLERS):
            self.text += line + "\n"

    def document(self, tables: dict[str, Any]) -> None:
        for name, value in tables.items():
            if isinstance(value, str):
                self.filler()
                self.pair(name, value, ())
                self.text += "\n"
        for name, table in tables.items():
            if isinstance(table, dict):
                self.filler()
                self.note((name,))
                self.text += "["
                self.key(name)
                self.text += "] # [x]\n"
                for key, value in table.items():
                    self.filler()
                    self.pair(key, value, (name,))
                    self.text += "\n"


@given(st.data(), DOCUMENTS)
def test_lines_of_random_documents(data: st.DataObject, tables: dict[str, Any]) -> None:
    writer = Writer(data.draw)
    writer.document(tables)
    tomllib.loads(writer.text)  # the writer writes TOML
    assert key_lines(writer.text) == writer.lines


@given(st.text("a.=[]{}\"'#\\\n ,1", max_size=40))
def test_any_text_raises_nothing_and_valid_text_is_complete(text: str) -> None:
    lines = key_lines(text)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    assert set(lines) == set(paths(document))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 1\nb = 2\na = 3", (("a",), 1, 3)),
        ("[t]\na = 1\n\n[t]\n", (("t",), 1, 4)),
        ("a.b = 1\na = 2", (("a",), 1, 2)),
        ("[a]\nb = 1\n[a.b]\n", (("a", "b"), 2, 3)),
        ("t = {a = 1, a = 2}", (("t", "a"), 1, 1)),
        ("[a]\n[a.b]\n[[c]]\n[[c]]\n", None),
        ("[a.b]\n[a]\n", None),
    ],
)
def test_first_repeat(text: str, expected: tuple[KeyPath, int, int] | None) -> None:
    assert first_repeat(text) == expected


def test_nearest_line() -> None:
    lines: dict[KeyPath, int] = {("a",): 3, ("a", "b"): 4}
    assert nearest_line(lines, ("a", "b", "c", 1)) == 4
    assert nearest_line(lines, ("a", "x")) == 3
    assert nearest_line(lines, ("x",)) == 1


def test_deep_nesting_is_survived() -> None:
    assert key_lines("a = " + "[" * 5000)["a",] == 1


@pytest.mark.parametrize(
    "text", ["a = {b = 1 c", "a = [1 'x'", r'"\x" = 1', "a = {b", "[a", "a"]
)
def test_stops_quietly_where_the_text_is_no_toml(text: str) -> None:
    assert first_repeat(text) is None
