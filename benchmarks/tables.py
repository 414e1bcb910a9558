# SPDX-License-Identifier: Apache-2.0
"""Public tables as configurations for the benchmarks of sketches: all of their rows.

The files are not part of the project; `LEXFED_DATA` names the folder that holds one
subfolder per table with a CSV file and a `schema.json`. Ranges and category lists are
those of the whole file, standing in for a documented codebook.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from lexfed.evaluate.datasets.source_folder import data_folder


@dataclass(frozen=True)
class Table:
    """One table: where it is, what is sensitive, what needs a codebook to know."""

    name: str
    sensitive: Sequence[str] | None
    categories: Sequence[str] = ()
    clean: Callable[[pd.DataFrame], pd.DataFrame] = lambda frame: frame


def write_table(table: Table, folder: Path) -> dict[str, Any]:
    """Write a cleaned CSV into a folder and return its `[data]` and `[law]` tables."""
    source = data_folder() / table.name
    schema = json.loads((source / "schema.json").read_text())
    frame = table.clean(pd.read_csv(source / schema["file"], low_memory=False))
    target = schema["target"]
    names = [
        name
        for name in frame.columns
        if name != target and name not in schema["exclude_from_features"]
    ]
    sensitive = table.sensitive or schema["columns"]["gdpr_art9_special_category"]
    columns: dict[str, Any] = {target: {"kind": "flag", "missing": False}}
    law: dict[str, Any] = {target: {"tier": "special", "reason": "the outcome"}}
    for name in names:
        declared = _declare(frame[name], name in table.categories)
        if declared is None:
            continue
        columns[name] = declared
        tier = "special" if name in sensitive else "non_personal"
        law[name] = {"tier": tier, "reason": "as in the benchmark's description"}
    path = folder / f"{table.name}.csv"
    frame[list(columns)].to_csv(path, index=False)
    return {
        "data": {
            "source": path.name,
            "target": target,
            "test_size": 0.3,
            "sites": {"count": 4, "partition": "iid"},
            "columns": columns,
        },
        "law": {"columns": law},
    }


def _declare(values: pd.Series, category: bool) -> dict[str, Any] | None:
    present = values.dropna()
    missing = bool(values.isna().any())
    if present.nunique() < 2:
        return None
    if pd.api.types.is_numeric_dtype(values) and not category:
        if set(present.unique()) == {0, 1}:
            return {"kind": "flag", "missing": missing}
        span = [float(present.min()), float(present.max())]
        return {"kind": "number", "range": span, "missing": missing}
    levels = sorted({_text(value) for value in present})
    return {"kind": "category", "values": levels}


def _text(value: Any) -> str:
    """Return a value as it stands in the CSV file."""
    return str(value).strip()
