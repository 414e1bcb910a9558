# SPDX-License-Identifier: Apache-2.0
"""Overrides: values that a command line puts in the place of those of a file.

    --set federation.rounds=20
    --set 'data.columns.age.range=[0, 90]'
    --name second                               the same as --set run.name=second

Keys are dotted and values are TOML, both as in the file; a word that is no value of
TOML is text. What counts is the effective configuration: it is examined under all rules
of the file, hashed, logged, and kept in the run folder.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lexfed.config.examination import (
    ConfigProblem,
    Examination,
    config_text,
    examine_file,
    examine_tables,
)
from lexfed.config.text.positions import KeyPath, key_lines
from lexfed.config.text.repair import without_lists
from lexfed.config.text.wording import dotted, quoted
from lexfed.errors import ConfigError, Problem
from lexfed.toml_text import parse_toml

_EXAMPLE = "for example `--set federation.rounds=20`"


@dataclass(frozen=True)
class Override:
    """A value for a key, as TOML writes it, and the option that stated it."""

    option: str
    path: KeyPath
    written: str

    @property
    def value(self) -> Any:
        """The value."""
        return tomllib.loads(f"value = {self.written}")["value"]

    @property
    def words(self) -> tuple[str, str]:
        """The option as a command line has it, in the words of `--set`."""
        return "--set", f"{dotted(self.path)}={self.written}"


def run_overrides(
    settings: Sequence[str], name: str | None = None, seed: int | None = None
) -> tuple[Override, ...]:
    """Return the overrides of `--set KEY=VALUE`, `--name` and `--seed`, in that order.

    `ConfigError` has every mistake.
    """
    found: list[Override] = []
    problems: list[Problem] = []
    for text in settings:
        try:
            found.append(_parsed(text))
        except ConfigError as error:
            problems += error.problems
    if name is not None:
        found.append(Override("--name", ("run", "name"), quoted(name)))
    if seed is not None:
        found.append(Override("--seed", ("run", "seed"), str(seed)))
    paths = [override.path for override in found]
    for at, override in enumerate(found):
        if override.path in paths[:at]:
            what = f"`{dotted(override.path)}` is given twice"
            problems.append(Problem(override.option, what, "keep one of the two"))
    if problems:
        raise ConfigError(problems)
    return tuple(found)


def _parsed(text: str) -> Override:
    if not text.isprintable():
        raise _wrong(text, "expected visible characters on one line")
    for key, value in _splits(text):
        path = _path(key)
        if path is not None:
            return Override(f"--set {dotted(path)}", path, _written(text, value))
    raise _wrong(text, "expected `KEY=VALUE`, with the key dotted as TOML has it")


def _splits(text: str) -> Iterator[tuple[str, str]]:
    """Yield key and value at every `=`: a key in quotes may have one of its own."""
    at = text.find("=")
    while at >= 0:
        yield text[:at].strip(), text[at + 1 :].strip()
        at = text.find("=", at + 1)


def _path(key: str) -> KeyPath | None:
    """Return the path of a dotted key; None if it is none."""
    try:
        inner: Any = parse_toml(f"{key} = 0")
    except (ValueError, RecursionError):
        return None
    path: list[str] = []
    while isinstance(inner, dict) and inner:  # a comment has no key
        [(part, inner)] = inner.items()
        path.append(part)
    return tuple(path) or None


def _written(text: str, value: str) -> str:
    """Return a value as TOML writes it; a word without quotes is text."""
    if not value:
        raise _wrong(text, "the value is empty", 'an empty text is `""`')
    try:
        if list(parse_toml(f"value = {value}")) == ["value"]:
            return value
    except RecursionError:
        raise _wrong(text, "arrays or tables are nested too deeply") from None
    except ValueError as error:
        if value[0] in "[{\"'":
            hint = 'in a shell put quotes around it: `--set \'KEY=["a", "b"]\'`'
            raise _wrong(text, "not a value as TOML has it", hint) from error
    try:  # TOML does not know a number such as .5
        return repr(float(value))
    except ValueError:
        return quoted(value)


def _wrong(text: str, what: str, hint: str = _EXAMPLE) -> ConfigError:
    return ConfigError([Problem(f"--set {text[:80]}", what, hint)])


def examine_overridden(path: Path, overrides: Sequence[Override]) -> Examination:
    """Look at a file with overrides in place, as `examine_file` does.

    A problem of a key that an override states has the option for its place.
    """
    if not overrides:
        return examine_file(path)
    try:
        text = config_text(path)
        tables = parse_toml(text)
    except (OSError, ValueError, RecursionError):
        return examine_file(path)  # it says why
    wrong = _put(tables, overrides)
    if wrong:
        return Examination(None, wrong, ())
    lines = key_lines(text)
    found = examine_tables(without_lists(tables), str(path), lines)

    def placed(problems: tuple[ConfigProblem, ...]) -> tuple[ConfigProblem, ...]:
        return tuple(at_option(problem, overrides, lines) for problem in problems)

    return replace(found, problems=placed(found.problems), notes=placed(found.notes))


def at_option(
    problem: ConfigProblem, overrides: Sequence[Override], lines: Mapping[KeyPath, int]
) -> ConfigProblem:
    """Return a problem with its option for its place, if an override states its key.

    `lines` are those of the file: what is not in it is the override's.
    """
    written = {dotted(path) for path in lines}
    for override in overrides:
        key = dotted(override.path)
        within = problem.key == key or problem.key.startswith((f"{key}.", f"{key}["))
        above = key.startswith(f"{problem.key}.") and problem.key not in written
        if within or above:
            return replace(problem, where=override.option, line=None)
    return problem


def overridden_text(path: Path, overrides: Sequence[Override]) -> str:
    """Return the text of a file with overrides in place, comments and layout kept.

    Guarantees:
        The result says what the file says, and the overrides.
    """
    text = config_text(path)
    if not overrides:
        return text
    from lexfed.config.edits import with_values

    return with_values(text, {each.path: each.written for each in overrides})


def _put(
    tables: dict[str, Any], overrides: Sequence[Override]
) -> tuple[ConfigProblem, ...]:
    """Put values into parsed tables; return a problem for each that has no place."""
    problems = []
    for override in overrides:
        *above, key = override.path
        inner: Any = tables
        for number, part in enumerate(above, start=1):
            inner = inner.setdefault(part, {})
            if not isinstance(inner, dict):
                name = dotted(override.path[:number])
                kind = "a list" if isinstance(inner, list) else "a value"
                what = f"`{name}` is {kind} in the file, not a table with keys"
                hint = f"give it as a whole: `--set '{name}=...'`"
                problem = ConfigProblem(override.option, what, hint, key=name)
                problems.append(problem)
                break
        else:
            inner[key] = override.value
    return tuple(problems)
