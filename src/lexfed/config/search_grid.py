# SPDX-License-Identifier: Apache-2.0
"""Settings of a search: which keys may be tried, with which values.

    federation.rounds=5,10,20
    federation.model=["logistic", "mlp:64,32"]      # TOML, where values have commas

Only keys that shape the training may be searched. Budget, unit, data and law decide
whom a guarantee is about, and are not a matter of accuracy.
"""

import copy
import itertools
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lexfed.config.examination import ConfigProblem, from_mapping
from lexfed.config.tables.root import Config
from lexfed.config.text.positions import KeyPath
from lexfed.config.text.wording import did_you_mean, dotted, quoted
from lexfed.errors import ConfigError, Problem

SEARCHABLE: tuple[KeyPath, ...] = (
    ("federation", "rounds"), ("federation", "sampling_rate"),
    ("federation", "local_steps"), ("federation", "learning_rate"),
    ("federation", "learning_rate_schedule"), ("federation", "momentum"),
    ("federation", "batch_size"), ("federation", "model"),
    ("privacy", "clip", "default"), ("privacy", "clip", "non_personal"),
    ("privacy", "clip", "personal"), ("privacy", "clip", "special"),
    ("budget", "allocation"), ("budget", "schedule"), ("budget", "alpha"),
)  # fmt: skip
MOST_SETTINGS = 1000
_EXAMPLE = "for example `--grid federation.rounds=5,10`"

SearchValue = bool | int | float | str


@dataclass(frozen=True)
class SearchSetting:
    """One value for each key of a grid."""

    values: tuple[tuple[KeyPath, SearchValue], ...]

    def to_json(self) -> dict[str, SearchValue]:
        """Return the values by the keys' names."""
        return {dotted(path): value for path, value in self.values}

    def __str__(self) -> str:
        """The setting as TOML writes it."""
        return ", ".join(f"{dotted(path)} = {toml_value(v)}" for path, v in self.values)


@dataclass(frozen=True)
class SearchGrid:
    """The values to try of each key; settings are all combinations."""

    axes: tuple[tuple[KeyPath, tuple[SearchValue, ...]], ...]

    def settings(self) -> tuple[SearchSetting, ...]:
        """Return every combination, the last key changing fastest."""
        paths = [path for path, _ in self.axes]
        return tuple(
            SearchSetting(tuple(zip(paths, values, strict=True)))
            for values in itertools.product(*(values for _, values in self.axes))
        )

    def to_json(self) -> dict[str, list[SearchValue]]:
        """Return the values of each key by its name."""
        return {dotted(path): list(values) for path, values in self.axes}


def toml_value(value: SearchValue) -> str:
    """Write a value the way TOML does."""
    if isinstance(value, bool):
        return str(value).lower()
    return quoted(value) if isinstance(value, str) else repr(value)


def parse_grid(texts: Sequence[str]) -> SearchGrid:
    """Read `KEY=V1,V2,...` of every key, or raise `ConfigError` with every mistake."""
    problems: list[Problem] = []
    axes: dict[KeyPath, tuple[SearchValue, ...]] = {}
    for text in texts:
        try:
            path, values = _axis(text)
            if path in axes:
                problems += _wrong(text, f"`{dotted(path)}` is given twice").problems
            axes[path] = values
        except ConfigError as error:
            problems += error.problems
    size = math.prod(map(len, axes.values()))
    if size > MOST_SETTINGS:
        what = f"{size} settings, more than {MOST_SETTINGS}"
        problems.append(Problem("--grid", what, "try fewer values"))
    if not axes and not problems:
        problems.append(Problem("--grid", "nothing to search", _EXAMPLE))
    if problems:
        raise ConfigError(problems)
    return SearchGrid(tuple(axes.items()))


def _axis(text: str) -> tuple[KeyPath, tuple[SearchValue, ...]]:
    key, equals, rest = text.partition("=")
    if not equals:
        raise _wrong(text, "expected `KEY=V1,V2,...`", _EXAMPLE)
    path: KeyPath = tuple(key.strip().split("."))
    if path not in SEARCHABLE:
        known = [dotted(other) for other in SEARCHABLE]
        hint = did_you_mean(key.strip(), known, "these can be:")
        raise _wrong(text, f"`{key.strip()}` cannot be searched", hint)
    values = _values(text, rest.strip())
    if len(set(map(repr, values))) < len(values):
        raise _wrong(text, "a value is given twice")
    return path, values


def _values(text: str, rest: str) -> tuple[SearchValue, ...]:
    if not rest.startswith("["):
        return tuple(_value(text, part.strip()) for part in rest.split(","))
    try:
        parsed = tomllib.loads(f"values = {rest}")["values"]
    except tomllib.TOMLDecodeError as error:
        hint = 'for example `\'federation.model=["logistic", "mlp:64,32"]\'`'
        raise _wrong(text, "not an array as TOML has it", hint) from error
    if not parsed or not all(isinstance(v, bool | int | float | str) for v in parsed):
        raise _wrong(text, "expected numbers or texts")
    return tuple(parsed)


def _value(text: str, part: str) -> SearchValue:
    if not part:
        raise _wrong(text, "a value is empty")
    try:
        parsed = tomllib.loads(f"value = {part}")["value"]
    except tomllib.TOMLDecodeError:
        try:  # TOML does not know a number such as .3, or a word without quotes
            return float(part)
        except ValueError:
            return part
    return parsed if isinstance(parsed, bool | int | float | str) else part


def _wrong(text: str, what: str, hint: str = "") -> ConfigError:
    return ConfigError([Problem(f"--grid {text[:80]}", what, hint)])


def searched_configs(
    tables: Mapping[str, Any], settings: Sequence[SearchSetting]
) -> tuple[Config, ...]:
    """Return the configuration of every setting, under all rules of the file.

    `ConfigError` has the problems of all settings together.
    """
    configs: list[Config] = []
    problems: list[Problem] = []
    for setting in settings:
        changed = copy.deepcopy(dict(tables))
        for path, value in setting.values:
            set_key(changed, path, value)
        try:
            configs.append(from_mapping(changed, f"with {setting}"))
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(list(_shortened(problems)))
    return tuple(configs)


def set_key(tables: dict[str, Any], path: KeyPath, value: Any) -> None:
    """Set a key in parsed tables; tables on the way are made."""
    inner: Any = tables
    for part in path[:-1]:
        inner = inner.setdefault(part, {})
    inner[path[-1]] = value


_MOST_LISTED = 5


def _shortened(problems: Sequence[Problem]) -> Iterator[Problem]:
    """List a mistake once, for the first setting that has it."""
    seen: dict[str, Problem] = {}
    for problem in problems:
        seen.setdefault(problem.what, problem)
    yield from itertools.islice(seen.values(), _MOST_LISTED)
    if len(seen) > _MOST_LISTED:
        yield ConfigProblem("--grid", f"and {len(seen) - _MOST_LISTED} more problems")
