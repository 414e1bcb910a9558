# SPDX-License-Identifier: Apache-2.0
"""Effects of columns as runs state them, of one output and of several."""

import copy
import json
from typing import Any

from report.conftest import RESULT
from support.audit.worlds import FakeRun, fake_run

AGE: dict[str, Any] = {
    "column": "age", "tier": "personal", "kind": "curve", "at": [0, 50, 100],
    "along": [0.0, 0.5, 1.0], "strength": [0.5], "effect": [[-1.0], [0.0], [1.0]],
    "deviation": [[0.1], [0.1], [0.2]],
    "missing": {"effect": [0.25], "deviation": [0.05]},
}  # fmt: skip
WARD: dict[str, Any] = {
    "column": "ward", "tier": "non_personal", "kind": "levels", "levels": ["a", "b"],
    "strength": [0.7], "effect": [[0.7], [-0.7]], "deviation": [[0.1], [0.0]],
    "missing": None,
}  # fmt: skip
EFFECTS: dict[str, Any] = {
    "scale": "log-odds", "outputs": ["yes"], "factors": {"personal": 1.25},
    "columns": [AGE, WARD],
}  # fmt: skip


def explained(effects: object, **settings: Any) -> FakeRun:
    run = fake_run(**settings)
    run.files["result.json"] = json.dumps({**RESULT, "effects": effects}).encode()
    return run


def of_classes(count: int) -> dict[str, Any]:
    """Return the same effects for so many classes."""
    found = copy.deepcopy(EFFECTS)
    found |= {"scale": "score", "outputs": [f"class {n}" for n in range(count)]}
    for each in found["columns"]:
        each["strength"] = [each["strength"][0] * n for n in range(count)]
        for name in ("effect", "deviation"):
            each[name] = [[row[0] * n for n in range(count)] for row in each[name]]
    gone = found["columns"][0]["missing"]
    gone |= {name: gone[name] * count for name in gone}
    return found


def many_columns(effects: dict[str, Any]) -> dict[str, Any]:
    """Return forty columns like those of some effects, with long names."""
    names = ("c", "a_name_of_a_column_" * 3, "</svg>")
    columns = [
        {**effects["columns"][n % 2], "column": f"{n} {names[n % 3]}"}
        for n in range(40)
    ]
    return {**effects, "columns": columns}
