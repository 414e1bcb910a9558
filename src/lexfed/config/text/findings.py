# SPDX-License-Identifier: Apache-2.0
"""From errors of TOML and of the model's validation to findings in plain words."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic_core import ErrorDetails

from lexfed.config.tables.root import Config
from lexfed.config.text.positions import KeyPath, first_repeat
from lexfed.config.text.wording import (
    SchemaNode,
    did_you_mean,
    dotted,
    expectation,
    listed,
    quoted,
    schema_node,
    shown,
    type_hint,
)
from lexfed.visible_text import hidden_texts


@dataclass(frozen=True)
class Finding:
    """A problem of a key, or a remark on it; `also` are other keys it rests on."""

    path: KeyPath
    what: str
    hint: str = ""
    also: tuple[KeyPath, ...] = ()
    note: bool = False


def about(path: KeyPath, what: str, hint: str = "", *also: KeyPath) -> Finding:
    """Return a finding that begins with the name of its key, as in "`KEY`: WHAT"."""
    return Finding(path, f"`{dotted(path)}`{what}", hint, also)


# Names a reader may know from the project's plans. Saying "unknown" of them would
# send people looking for a typing mistake that they did not make.
UNAVAILABLE_KEYS: tuple[KeyPath, ...] = (("sketch",), ("evaluation", "attacks"))
UNAVAILABLE_VALUES: Mapping[KeyPath, str] = {("federation", "engine"): "flower"}
RENAMED_VALUES: Mapping[KeyPath, Mapping[str, str]] = {
    ("evaluation", "metrics"): {"uncovered": "outside-guarantee"},
}
NOT_AVAILABLE = "is not available in this version"

_TO_ADD: Mapping[KeyPath, str] = {
    ("version",): "add `version = 1` as the first line",
    ("run",): 'add `[run]` with `name = "..."`',
    ("run", "name"): 'add a name for the run, for example `name = "readmission"`',
    ("data",): 'add `[data]` with `source = "..."`',
    ("budget",): "add `[budget]` with `epsilon` and `delta`",
    ("budget", "epsilon"): "add what the whole run may cost one person, for example "
    "`epsilon = 2.0`",
    ("budget", "delta"): "add `delta`, well below one over the number of people, for "
    "example `delta = 1e-6`",
}
_TO_ADD_IN_COLUMN: Mapping[str, str] = {
    "kind": 'add `kind = "number"`, `"category"` or `"flag"`',
    "tier": 'add `tier = "non_personal"`, `"personal"`, `"special"` or `"identifier"`',
    "reason": 'say in a few words why, for example `reason = "operational code"`; '
    "the reason is kept with the run",
    "file": 'add the document, for example `file = "dpia.pdf"`',
    "issued": 'add its date, for example `issued = "2026-09-01"`',
    "exception": 'add the letter of GDPR Art. 9(2), for example `exception = "9.2.j"`',
}


HIDDEN = "expected visible characters on one line, found"
HIDDEN_HINT = (
    "names and reasons are shown to people who decide by them: remove the character; "
    "if it is in the data, rename the column there"
)

UNDECIDED = "?"
"""The mark of `lexfed init` where only a person can decide."""

_TO_DECIDE: Mapping[str, str] = {
    "tier": "choose `non_personal`, `personal`, `special` (health, religion, ...) or "
    "`identifier` (never enters a model)",
    "reason": "say in a few words why this tier is right",
    "range": "write the lowest and highest value that are public knowledge, for "
    "example `[0, 110]`; those of your data would leak (`lexfed profile` learns them "
    "at a price)",
    "values": "list the categories that are public knowledge, for example "
    '`["none", "cardiac", "other"]`; those of your data would leak rare ones '
    "(`lexfed profile` learns them at a price)",
    "period": "write the first and last day that are public knowledge, in quotes, for "
    'example `["2015-01-01", "2025-12-31"]`; those of your data would leak',
    "target": "name the column to predict",
    "units": "write a public number of people, for example `6000`; counted from the "
    'data it would leak (with `neighbours = "replace-one"` remove the key)',
    "sites": 'write `{ column = "hospital", names = ["north", "south"] }`, or '
    "`{ count = 8 }`",
}


def undecided_in(tables: Mapping[str, Any], above: KeyPath = ()) -> Iterator[Finding]:
    """Find the keys whose decision is still open."""
    for key, value in tables.items():
        path = (*above, key)
        if isinstance(value, Mapping):
            yield from undecided_in(value, path)
        elif value == UNDECIDED:
            hint = _TO_DECIDE.get(key) or "write " + expectation(
                _schema(), schema_node(_schema(), path), value
            )
            yield Finding(path, f"`{dotted(path)}` is not decided yet", hint)


def hidden_in(tables: Mapping[str, Any]) -> Iterator[Finding]:
    """Find keys and texts with characters that do not show as themselves."""
    for path, character in hidden_texts(tables):
        yield Finding(path, f"`{dotted(path)}`: {HIDDEN} `{character}`", HIDDEN_HINT)


@cache
def _schema() -> SchemaNode:
    return Config.model_json_schema()


def findings_of(errors: list[ErrorDetails]) -> Iterator[Finding]:
    """Translate validation errors, in the order of the model, one per key."""
    seen: set[KeyPath] = set()
    for error in errors:
        finding = _finding(error)
        if finding.path not in seen:
            seen.add(finding.path)
            yield finding


def _finding(error: ErrorDetails) -> Finding:
    path: KeyPath = error["loc"]
    value = error["input"]
    if path and path[-1] == "[key]":
        whose = "a" if path[0] == "audit" else "a column's"
        return Finding(path[:-1], f"{whose} name must not be empty or very long")
    if error["type"] == "missing" and isinstance(path[-1], int):
        return _unexpected(path[:-1], value)
    if error["type"] == "missing":
        table = len(path) == 1 and path != ("version",)
        name = f"[{path[0]}]" if table else dotted(path)
        hint = _TO_ADD.get(path) or _TO_ADD_IN_COLUMN.get(str(path[-1]), "")
        return Finding(path, f"`{name}` is missing", hint)
    if error["type"] == "extra_forbidden":
        return _unknown(path, value)
    return _unexpected(path, value)


def _unknown(path: KeyPath, value: object) -> Finding:
    key = str(path[-1])
    table = path[:-1]
    if path in UNAVAILABLE_KEYS:
        name = dotted(path) if table else f"[{key}]"
        return Finding(path, f"`{name}` {NOT_AVAILABLE}", "remove it")
    tables = schema_node(_schema(), ()).get("properties", {})
    homes = [
        name
        for name in tables
        if key in schema_node(_schema(), (name,)).get("properties", {})
    ]
    what = f"unknown key `{dotted(path)}`"
    if len(homes) == 1:
        return Finding(path, what, f"`{key}` belongs to `[{homes[0]}]`")
    known = list(schema_node(_schema(), table).get("properties", {}))
    if table:
        name = f"[{table[0]}]" if len(table) == 1 else dotted(table)
        return Finding(
            path, what, did_you_mean(key, known, f"the keys of `{name}` are")
        )
    if isinstance(value, Mapping):
        what = f"unknown table `[{dotted(path)}]`"
    known.remove("version")
    return Finding(path, what, did_you_mean(key, known, "the tables are", "[{}]"))


def _unexpected(path: KeyPath, value: Any) -> Finding:
    if isinstance(value, str) and value == UNAVAILABLE_VALUES.get(path):
        choices = schema_node(_schema(), path).get("enum", [])
        what = f"`{dotted(path)}`: `{value}` {NOT_AVAILABLE}"
        return Finding(path, what, f"use one of {listed(choices)}")
    node = schema_node(_schema(), path)
    expected = expectation(_schema(), node, value)
    got = shown(value)
    hint = type_hint(node, path, value)
    if path and path[-1] in ("range", "values", "period", "sites") and not hint:
        hint = _TO_DECIDE[str(path[-1])]
    if path[-2:-1] == ("period",):
        hint = _TO_DECIDE["period"]
    if path[-2:-1] == ("documents",) and isinstance(value, str):
        hint = f'write `{{ file = {quoted(value)}, issued = "2026-09-01" }}`'
    if path == ("version",):
        hint = "this version of lexfed reads configurations of version 1"
    if isinstance(value, str) and "enum" in node:
        near = did_you_mean(value, map(str, node["enum"]), "")
        hint = near if near.startswith("did you mean") else ""
        if value in (renamed := RENAMED_VALUES.get(path, {})):
            hint = f"it was renamed: write `{renamed[value]}`"
    name = f"`{dotted(path)}`: " if path else ""
    return Finding(path, f"{name}expected {expected}, got: {got}", hint)


_AT = re.compile(r" \(at line (\d+), column (\d+)\)$| \(at end of document\)$")
# A match begins where a word begins, and gives nothing back: a long line is read once.
_PYTHON_WORD = re.compile(r"=\s*+(True|False|None|yes|no|on|off|null)\b")
_BARE_TEXT = re.compile(r"(?<![\w.-])([\w.-]++)\s*+=\s*+([A-Za-z_/.~][^\s#,}\]\"']*+)")
_COLON = re.compile(r"^\s*([\w-]+)\s*:\s*(\S.*)$")
_CURLY_QUOTE = re.compile("[\u201c\u201d\u2018\u2019]")
_WORDS = {
    "Invalid statement": "expected a key, a `[table]` or a comment",
    "Invalid value": "expected a value",
    "Expected newline or end of document after a statement": (
        "expected the end of the line after a value"
    ),
    "Expected '=' after a key in a key/value pair": "expected `=` after a key",
    "Illegal character '\\n'": "the line ends inside quotes",
    "Unclosed array": "an array `[` is never closed",
    "Unclosed inline table": "a table `{` is not closed on its line",
}
_RIGHT_WORD = {"True": "true", "False": "false", "yes": "true", "no": "false"}


def syntax_finding(text: str, error: Exception) -> tuple[Finding, int]:
    """Return the finding for a text that `tomllib` refused, and its line."""
    message = str(error)
    lines = text.replace("\r\n", "\n").split("\n")
    if isinstance(error, RecursionError):
        return Finding((), "arrays or tables are nested too deeply"), 1
    repeat = first_repeat(text) if message.startswith(("Cannot", "Dupl")) else None
    if repeat is not None:
        path, first, second = repeat
        header = lines[second - 1].lstrip().startswith("[")
        name = f"[{dotted(path)}]" if header else dotted(path)
        what = f"`{name}` is set twice, first on line {first}"
        return Finding(path, what, "keep one of the two"), second
    match = _AT.search(message)
    if match is None:
        return Finding((), "holds a number of too many digits"), 1
    line = int(match[1]) if match[1] else len(text.rstrip().split("\n"))
    reason = message[: match.start()]
    reason = _WORDS.get(reason, reason[:1].lower() + reason[1:])
    place = f" at column {match[2]}" if match[2] else " at the end"
    return Finding((), f"not valid TOML{place}: {reason}", _hint(lines[line - 1])), line


def _hint(line: str) -> str:
    if _CURLY_QUOTE.search(line):
        return 'use straight quotes: `"`'
    word = _PYTHON_WORD.search(line)
    if word is not None:
        right = _RIGHT_WORD.get(word[1])
        return f"write `{right}`" if right else "leave the key out to use its default"
    bare = _BARE_TEXT.search(line)
    if bare is not None and bare[2] not in ("true", "false", "inf", "nan"):
        return f'text needs quotes: `{bare[1]} = "{bare[2]}"`'
    if line.count('"') % 2:
        return "close the quotes on the line that opens them"
    colon = _COLON.match(line)
    if colon is not None and "=" not in line:
        return f"write `{colon[1]} = {colon[2].replace('`', '')}`"
    if line.count("=") > 1 and "{" not in line:
        return "write one key per line"
    return ""
