# SPDX-License-Identifier: Apache-2.0
"""Edits of an author's `lexfed.toml`: a few values change, and nothing else does.

    age = { tier = "?", reason = "?" }      `lexfed tag --accept` fills in a decision
    age = { kind = "number", range = "?" }  `lexfed init --profile` a learned domain
    rounds = 10                             `lexfed tune` the chosen value

`tomlkit` keeps comments, order, blank lines and line ends. A new key goes below the
last key of its table, before comments that introduce what follows; a new table goes to
the end of the file. Every result is read again with `tomllib`: it must say what the
file said, with the new values, or the edit is refused with `ConfigError`.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import tomlkit
from tomlkit.container import Container
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, InlineTable, Item, Table, Whitespace

from lexfed.config.search_grid import SearchSetting, set_key, toml_value
from lexfed.config.text.positions import KeyPath
from lexfed.config.text.wording import dotted, listed, quoted
from lexfed.errors import ConfigError, Problem

_MARK = "\ufeff"
"""The byte order mark, which some editors put in front of UTF-8."""
_BARE_LINE_END = re.compile(r"(?<!\r)\n")


@dataclass(frozen=True)
class ColumnDecision:
    """The decision about a column, of a person or of a rule that nobody looked at."""

    tier: str
    category: str
    reason: str
    by: Literal["person", "rule"] = "person"

    def keys(self) -> dict[str, str]:
        """Return the keys that say it; that a person decided goes without saying.

        No more is said of a category that nobody stated.
        """
        unsaid = (("by", "person"), ("category", ""))
        return {k: value for k, value in vars(self).items() if (k, value) not in unsaid}

    def inline(self) -> str:
        """Return the decision as an inline table."""
        inner = ", ".join(f"{key} = {quoted(v)}" for key, v in self.keys().items())
        return f"{{ {inner} }}"


@dataclass(frozen=True)
class LearnedDomain:
    """The declaration of a column that a profile found: its range, or its values."""

    range: tuple[float, float] | None = None
    values: tuple[str, ...] | None = None

    @property
    def key(self) -> str:
        """The key of the column that is declared."""
        return "values" if self.range is None else "range"

    @property
    def written(self) -> str:
        """The value as TOML writes it."""
        if self.range is not None:
            return f"[{', '.join(repr(_short(end)) for end in self.range)}]"
        return f"[{', '.join(map(quoted, self.values or ()))}]"


def _short(number: float) -> float | int:
    """Return a whole number as one, where it is not too long to read."""
    return int(number) if number == int(number) and abs(number) < 1e15 else number


def with_decisions(
    text: str, decisions: Mapping[str, ColumnDecision], name: str
) -> str:
    """Return the text of a configuration, in which these columns are not decided yet.

    `name` stands for the file in messages.

    Guarantees:
        The result says what the text said, and the decisions.
        Every character outside `[law.columns]` stays.
    """
    values: dict[KeyPath, str] = {
        ("law", "columns", key): decision.inline()
        for key, decision in decisions.items()
    }
    lines = "; ".join(f"{dotted(path[2:])} = {v}" for path, v in values.items())
    what = "cannot add to `[law.columns]` as it is written here"
    hint = f"write it as a table `[law.columns]`, or add by hand: {lines}"
    return _edited(text, values, Problem(name, what, hint))


def with_learned_domains(
    text: str, learned: Mapping[str, LearnedDomain], profile: str, name: str
) -> str:
    """Return the text of a configuration with the domains that a profile learned.

    `profile` is the folder of the profile as the configuration should name it, `name`
    stands for the file in messages.

    Guarantees:
        The result says what the text said, and what was learned.
        Every character outside `[data]` and its columns stays.
    """
    values: dict[KeyPath, str] = {("data", "profile"): quoted(profile)}
    for column, domain in learned.items():
        values["data", "columns", column, domain.key] = domain.written
    what = "cannot add to `[data]` as it is written here"
    hint = "write `[data]` and `[data.columns]` as tables, or fill in by hand"
    return _edited(text, values, Problem(name, what, hint))


def with_setting(text: str, setting: SearchSetting) -> str:
    """Return the text of a configuration with the values of a setting.

    Guarantees:
        The result says what the text said, and the setting.
        Comments, order and layout of everything else stay.
    """
    names = listed(dotted(path) for path, _ in setting.values)
    what = f"cannot change {names} as the file is written"
    problem = Problem("configuration", what, f"write by hand: {setting}")
    return _edited(text, {path: toml_value(v) for path, v in setting.values}, problem)


def with_values(text: str, values: Mapping[KeyPath, str]) -> str:
    """Return the text of a configuration with values, as TOML writes them.

    Comments, order and layout of everything else stay where the file can be edited so;
    else it is written anew.

    Guarantees:
        The result says what the text said, and the values.
    """
    try:
        return _edited(text, values, Problem("configuration", "cannot be edited"))
    except ConfigError:
        tables = tomllib.loads(text.removeprefix(_MARK))
        for path, value in values.items():
            set_key(tables, path, tomllib.loads(f"value = {value}")["value"])
        return tomlkit.dumps(tables)


def _edited(text: str, values: Mapping[KeyPath, str], problem: Problem) -> str:
    """Return a text with values, written as TOML, at their paths, or raise the problem.

    Guarantees:
        The result says what the text said, and the values.
    """
    body = text.removeprefix(_MARK)
    try:
        wanted = tomllib.loads(body)
        for path, value in values.items():
            set_key(wanted, path, tomllib.loads(f"value = {value}")["value"])
        document = tomlkit.parse(body)
        if tomlkit.dumps(document) != body:
            raise ConfigError([problem])
        document = _with_headers(document, values)
        indents = list(_loosened(document))
        for path, value in values.items():
            _set(document, path, tomlkit.value(value))
        for table, indent in indents:
            table.trivia.indent = indent
        result = tomlkit.dumps(document)
        if "\r\n" in body and not _BARE_LINE_END.search(body):
            result = _BARE_LINE_END.sub("\r\n", result)
        if tomllib.loads(result) != wanted:
            raise ConfigError([problem])
    except (TOMLKitError, ValueError, AttributeError, TypeError) as error:
        # Not TOML any more, or a value stands where a table is needed.
        raise ConfigError([problem]) from error
    return text[: len(text) - len(body)] + result


def _with_headers(
    document: tomlkit.TOMLDocument, paths: Iterable[KeyPath]
) -> tomlkit.TOMLDocument:
    """Return a document with a header at its end for every table that it lacks.

    `tomlkit` would put `[law.columns]` right behind `[law]`, below comments that
    introduce the next table.
    """
    for path in paths:
        if _lacks(document, path):
            text = tomlkit.dumps(document)
            line_end = "" if text.endswith("\n") or not text else "\n"
            text += f"{line_end}\n[{dotted(path[:-1])}]\n"
            document = tomlkit.parse(text)
    return document


def _lacks(table: Any, path: KeyPath) -> bool:
    """Return True if a key is missing, and so is the table that would take it."""
    for number, part in enumerate(path, start=1):
        if part not in table:
            taken_inline = isinstance(table, InlineTable)
            return not taken_inline and (number < len(path) or _is_implicit(table))
        table = table[part]
    return False


def _is_implicit(table: Any) -> bool:
    """Return True if only headers of its sub-tables mention a table."""
    if isinstance(table, Table):
        return table.is_super_table() and all(
            isinstance(item, Table | AoT) and not key.is_dotted()
            for key, item in table.value.body
            if key is not None
        )
    # `tomlkit` has a type of its own for a table in several places of a file.
    return all(isinstance(item, Table | AoT) for item in table.values())


def _loosened(table: Container) -> Iterator[tuple[Table, str]]:
    """Let comments behind the last key of every table give way to new keys.

    `tomlkit` adds a key behind the comments that end a table, which speak of the next
    one, but before blank space; so they become blank space, which is written as it
    stands. It also puts an empty line between a new key and a table below: every table
    is yielded with the space before its header.
    """
    waiting: list[int] = []
    for number, (key, item) in enumerate(table.body):
        if key is None:
            waiting.append(number)
            continue
        if not isinstance(item, Table | AoT) or key.is_dotted():
            waiting.clear()
        for inner in item.body if isinstance(item, AoT) else [item]:
            if isinstance(inner, Table):
                yield inner, inner.trivia.indent
                yield from _loosened(inner.value)
    for number in waiting:
        table.body[number] = (None, Whitespace(table.body[number][1].as_string()))


def _set(table: Any, path: KeyPath, value: Item) -> None:
    """Set a key; a table on the way that is missing belongs to an inline one."""
    *above, key = path
    for part in above:
        if part not in table:
            _append(table, part, tomlkit.value("{}"))
        table = table[part]
    old = table.get(key)
    has_lines = isinstance(old, Mapping) and not isinstance(old, InlineTable)
    if isinstance(value, InlineTable) and has_lines:
        for inner, entry in value.items():
            entry.trivia.trail = "\n"
            old[inner] = entry
    elif old is None and isinstance(table, InlineTable):
        _append(table, key, value)
    else:
        table[key] = value


def _append(table: InlineTable, key: Any, value: Item) -> None:
    """Add to an inline table, spaced as TOML is written, before its closing space."""
    body = table.value.body
    closing = "" if table else " "
    while body and body[-1][0] is None:
        closing = body.pop()[1].as_string() or closing
    value.trivia.indent = " "
    table.append(key, value)
    body.append((None, Whitespace(closing)))
