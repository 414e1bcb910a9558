# SPDX-License-Identifier: Apache-2.0
"""Texts of `lexfed.toml` for small runs on synthetic data."""

from collections.abc import Mapping
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
