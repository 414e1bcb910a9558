# SPDX-License-Identifier: Apache-2.0
"""Make a broken configuration whole enough for the rules to look at the rest.

Keys that are wrong are taken out, required ones get a stand-in, and every path touched
is remembered: findings that rest on one of those are dropped by the caller.
"""

import copy
from collections.abc import Collection, Mapping
from typing import Any

from pydantic import ValidationError

from lexfed.config.tables.root import Config
from lexfed.config.text.positions import KeyPath

_DEEPEST = 20
_STAND_INS: Mapping[KeyPath, Any] = {
    ("version",): 1,
    ("run",): {"name": "run"},
    ("run", "name"): "run",
    ("data",): {},
    ("budget",): {"epsilon": 1.0, "delta": 1e-300},
    ("budget", "epsilon"): 1.0,
    ("budget", "delta"): 1e-300,
}


def without_lists(value: Any, depth: int = 0) -> Any:
    """Return a copy with tuples for lists, because strict models convert nothing.

    Values nested deeper than any configuration needs raise `RecursionError`.
    """
    if depth > _DEEPEST:
        raise RecursionError
    if isinstance(value, Mapping):
        return {key: without_lists(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return tuple(without_lists(inner, depth + 1) for inner in value)
    return value


def without_keys(
    tables: Mapping[str, Any], paths: Collection[KeyPath]
) -> dict[str, Any]:
    """Return a copy of the tables without the keys at those paths."""
    copied: dict[str, Any] = copy.deepcopy(dict(tables))
    for path in paths:
        _mended(copied, path, missing=False)
    return copied


def repaired_config(raw: Mapping[str, Any]) -> tuple[Config | None, frozenset[KeyPath]]:
    """Return the configuration without its wrong keys, and the paths of those.

    It is `None` if it cannot be made whole.
    """
    tables: dict[str, Any] = copy.deepcopy(dict(raw))
    bad: set[KeyPath] = set()
    # A wrong required key is first taken out, then found missing; two turns suffice.
    for _ in range(3):
        try:
            return Config.model_validate(tables), frozenset(bad)
        except ValidationError as error:
            for details in error.errors(include_url=False):
                bad.add(_mended(tables, details["loc"], details["type"] == "missing"))
    return None, frozenset(bad)


def _mended(tables: dict[str, Any], path: KeyPath, missing: bool) -> KeyPath:
    """Take out the key at the path, or put its stand-in; return what was touched."""
    stand_in = copy.deepcopy(_STAND_INS.get(path)) if missing else None
    if missing and stand_in is None:
        path = path[:-1]  # a column without its kind is no column
    table = _table_at(tables, path[:-1])
    while table is None:
        path = path[:-1]  # an entry of an array goes with the whole array
        table = _table_at(tables, path[:-1])
    if stand_in is not None:
        table[path[-1]] = stand_in
    else:
        table.pop(path[-1], None)
    return path


def _table_at(tables: dict[str, Any], path: KeyPath) -> dict[Any, Any] | None:
    inner: Any = tables
    for part in path:
        inner = inner.get(part) if isinstance(inner, dict) else None
    return inner if isinstance(inner, dict) else None
