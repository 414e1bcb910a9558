# SPDX-License-Identifier: Apache-2.0
"""Texts of `lexfed.toml` for small runs on synthetic data."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import tomlkit

SMALL_RUN = """\
version = 1

[run]
name = "small"
seed = 3
test = true

[data]
source = "synthetic:hospital"

[data.generator]
patients = 240
sites = 3

[budget]
epsilon = 3.0
delta = 1e-5

[federation]
rounds = 1
engine = "simulation"
"""


def configuration(changes: Mapping[str, object] = MappingProxyType({})) -> str:
    """Return `SMALL_RUN` with keys changed, such as `{"budget.epsilon": 1.0}`.

    None removes a key or a table. Every other line stays as it is.
    """
    document = tomlkit.parse(SMALL_RUN)
    for path, value in changes.items():
        *tables, key = path.split(".")
        table: Any = document
        for name in tables:
            table = table.setdefault(name, {})
        if value is None:
            del table[key]
        else:
            table[key] = value
    return tomlkit.dumps(document)


def columns(
    declared: Mapping[str, tuple[str, Sequence[float] | Sequence[str]]],
    **settings: object,
) -> dict[str, object]:
    """Return changes that declare columns, each by its tier and its values.

    `[0, 100]` is a number in this range, `["a", "b"]` a category; a word is a kind.
    Settings, such as `missing=False`, go to every column.
    """
    kinds: dict[str, object] = {}
    for name, (_, values) in declared.items():
        if isinstance(values, str):
            kinds[name] = {"kind": values, **settings}
        elif isinstance(values[0], str):
            kinds[name] = {"kind": "category", "values": values, **settings}
        else:
            kinds[name] = {"kind": "number", "range": values, **settings}
    tiers = {
        name: {"tier": tier, "reason": "a test"} for name, (tier, _) in declared.items()
    }
    return {"data.columns": kinds, "law.columns": tiers}
