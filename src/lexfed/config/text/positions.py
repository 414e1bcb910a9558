# SPDX-License-Identifier: Apache-2.0
r"""Lines of keys in a TOML text.

This scanner walks a TOML text once and notes where every key, table and array entry
begins. It decides nothing about validity: on text that is not TOML it stops quietly
with what it has, so it can also serve messages about such text.

>>> key_lines('[budget]\ncaps = { special = 0.3 }')[("budget", "caps", "special")]
2
"""

import re
import tomllib
from bisect import bisect_right
from collections.abc import Callable, Mapping
from contextlib import suppress

KeyPath = tuple[str | int, ...]
"""The way to a value: table and key names, and numbers of array entries from 0."""

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BLANK = re.compile(r"[ \t]*")
_FILLER = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}(?!")'
    r"|'''.*?'{3,5}(?!')"
    r'|"(?:\\[^\n]|[^"\\\n])*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)
_SCALAR = re.compile(r"[^,\]}#\n]*")


class _NotToml(Exception):
    """The text ends or goes on in a way TOML does not."""


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[KeyPath, int] = {}
        self.repeats: list[tuple[KeyPath, int, int]] = []
        self.declared: set[KeyPath] = set()
        self.arrays: dict[KeyPath, int] = {}
        self.starts = [0, *(m.end() for m in re.finditer("\n", text))]

    def line(self, at: int) -> int:
        return bisect_right(self.starts, at)

    def note(self, path: KeyPath, at: int) -> None:
        self.lines.setdefault(path, self.line(at))

    def note_repeat(self, path: KeyPath, at: int) -> None:
        self.repeats.append((path, self.lines[path], self.line(at)))

    def take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        if match is None:
            raise _NotToml
        self.at = match.end()
        return match.group()

    def peek(self, token: str) -> bool:
        return self.text.startswith(token, self.at)

    def expect(self, token: str) -> None:
        if not self.peek(token):
            raise _NotToml
        self.at += len(token)

    def document(self) -> None:
        table: KeyPath = ()
        while True:
            self.take(_FILLER)
            if self.at == len(self.text):
                return
            if self.peek("["):
                table = self.header()
            else:
                self.pair(table)

    def header(self) -> KeyPath:
        start = self.at
        many = self.peek("[[")
        self.expect("[[" if many else "[")
        table: KeyPath = ()
        names = self.dotted()
        for number, name in enumerate(names, start=1):
            table = (*table, name)
            if many and number == len(names):
                self.note(table, start)
                self.arrays[table] = self.arrays.get(table, -1) + 1
            if table in self.arrays:
                table = (*table, self.arrays[table])
            self.note(table, start)
        self.expect("]]" if many else "]")
        if table in self.declared:
            self.note_repeat(table, start)
        self.declared.add(table)
        return table

    def dotted(self) -> list[str]:
        names = []
        while True:
            self.take(_BLANK)
            if self.peek('"') or self.peek("'"):
                names.append(_unquoted(self.take(_STRING)))
            else:
                names.append(self.take(_BARE_KEY))
            self.take(_BLANK)
            if not self.peek("."):
                return names
            self.at += 1

    def pair(self, table: KeyPath) -> None:
        start = self.at
        *above, last = self.dotted()
        path = table
        for name in above:
            path = (*path, name)
            self.note(path, start)
            self.declared.add(path)
        path = (*path, last)
        if path in self.lines:
            self.note_repeat(path, start)
        self.note(path, start)
        self.declared.add(path)
        self.expect("=")
        self.take(_BLANK)
        self.value(path)

    def value(self, path: KeyPath) -> None:
        if self.peek("{"):
            self.entries("{", lambda _: self.pair(path), "}")
        elif self.peek("["):
            self.array(path)
        elif self.peek('"') or self.peek("'"):
            self.take(_STRING)
        else:
            self.take(_SCALAR)

    def array(self, path: KeyPath) -> None:
        def entry(number: int) -> None:
            self.note((*path, number), self.at)
            self.value((*path, number))

        self.entries("[", entry, "]")

    def entries(self, opening: str, entry: Callable[[int], None], closing: str) -> None:
        self.expect(opening)
        self.take(_FILLER)
        number = 0
        while not self.peek(closing):
            entry(number)
            self.take(_FILLER)
            if self.peek(","):
                self.at += 1
                self.take(_FILLER)
            elif not self.peek(closing):
                raise _NotToml
            number += 1
        self.expect(closing)


def _unquoted(text: str) -> str:
    try:
        value = tomllib.loads(f"key = {text}")["key"]
    except tomllib.TOMLDecodeError as error:
        raise _NotToml from error
    return str(value)


def _scan(text: str) -> _Scanner:
    # tomllib reads "\r\n" as one line end too, so the numbers agree.
    scanner = _Scanner(text.replace("\r\n", "\n"))
    # What was found before the text went wrong is still right.
    with suppress(_NotToml, RecursionError):
        scanner.document()
    return scanner


def key_lines(text: str) -> dict[KeyPath, int]:
    """Return the line, from 1, on which each key, table and array entry begins.

    Guarantees:
        For valid TOML the paths are exactly those of the parsed document.
        A table that only its sub-tables mention has the line of the first of them.
        Text that is not TOML raises nothing.
    """
    return _scan(text).lines


def first_repeat(text: str) -> tuple[KeyPath, int, int] | None:
    """Return the first key or table set twice, with its first and second line."""
    repeats = _scan(text).repeats
    return repeats[0] if repeats else None


def nearest_line(lines: Mapping[KeyPath, int], path: KeyPath) -> int:
    """Return the line of the path, or of the closest table above it, else 1."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)
