# SPDX-License-Identifier: Apache-2.0
"""Strict reading of plain data (dicts and lists out of JSON or TOML).

What lexfed wrote it must read back exactly, and nothing else: an unknown, missing or
mistyped field is an error that names it, never a guess.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from lexfed.errors import ConfigError, Problem


def text(value: Any) -> str:
    """Return a string unchanged; raise `TypeError` for anything else."""
    if not isinstance(value, str):
        raise TypeError("expected text")
    return value


def texts(value: Any) -> tuple[str, ...]:
    """Return a list of strings as a tuple."""
    if not isinstance(value, list | tuple):
        raise TypeError("expected a list of texts")
    return tuple(text(item) for item in value)


def truth(value: Any) -> bool:
    """Return a truth value unchanged."""
    if not isinstance(value, bool):
        raise TypeError("expected true or false")
    return value


def pair(value: Any) -> tuple[float, float]:
    """Return two numbers as a tuple of floats."""
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise TypeError("expected two numbers")
    for item in value:
        if isinstance(item, bool) or not isinstance(item, int | float):
            raise TypeError("expected two numbers")
    return float(value[0]), float(value[1])


def items(value: Any) -> tuple[Any, ...]:
    """Return a list as a tuple."""
    if not isinstance(value, list | tuple):
        raise TypeError("expected a list")
    return tuple(value)


def mapping(value: Any) -> dict[str, Any]:
    """Return a table with text keys as a dict."""
    if not isinstance(value, Mapping) or not all(isinstance(k, str) for k in value):
        raise TypeError("expected a table")
    return dict(value)


def fields(
    plain: Any,
    known: Mapping[str, Callable[[Any], Any]],
    required: Collection[str],
    where: str,
) -> dict[str, Any]:
    """Return the fields of a plain table, each read by its own function.

    A field that is absent or null is left out, so that defaults stay in one place;
    `ConfigError` names every unknown, missing or mistyped one.
    """
    if not isinstance(plain, Mapping):
        raise ConfigError([Problem(where, "expected a table")])
    problems = [
        Problem(where, f"unknown field `{name}`") for name in plain if name not in known
    ]
    problems += [
        Problem(where, f"field `{name}` is missing")
        for name in required
        if plain.get(name) is None
    ]
    read: dict[str, Any] = {}
    for name, value in plain.items():
        if name in known and value is not None:
            try:
                read[name] = known[name](value)
            except (TypeError, ValueError) as error:
                problems.append(Problem(where, f"field `{name}`: {error}"))
    if problems:
        raise ConfigError(problems)
    return read
