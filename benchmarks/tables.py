# SPDX-License-Identifier: Apache-2.0
"""Public tables as configurations for the benchmarks of sketches.

The files are not part of the project; `LEXFED_DATA` names the folder that holds one
subfolder per table with a CSV file and a `schema.json`. Ranges and category lists are
those of the whole file, standing in for a documented codebook.
"""

import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

MISSING_DATA = """\
This benchmark needs public tables that are not part of this project.
Set LEXFED_DATA to a folder with german_credit/, heart_uci4/, eicu_demo/, adult/,
taiwan_default/ and support2/, each with a CSV file and a schema.json that names
`file`, `target`, `exclude_from_features` and `columns`. All are free to download: UCI
machine learning repository ids 144, 45, 2, 350 and 880; eICU demo from PhysioNet."""


@dataclass(frozen=True)
class Table:
    """One table: where it is, what is sensitive, what needs a codebook to know."""

    name: str
    sensitive: Sequence[str] | None
    categories: Sequence[str] = ()
    rows: int | None = None
    clean: Callable[[pd.DataFrame], pd.DataFrame] = lambda frame: frame


def data_folder() -> Path:
    """Return the folder of the tables, or say how to get them."""
    found = os.environ.get("LEXFED_DATA")
    if not found or not Path(found).is_dir():
        sys.exit(MISSING_DATA)
    return Path(found)


def write_table(table: Table, folder: Path) -> dict[str, Any]:
    """Write a cleaned CSV into a folder and return its `[data]` and `[law]` tables."""
    source = data_folder() / table.name
    schema = json.loads((source / "schema.json").read_text())
    frame = table.clean(pd.read_csv(source / schema["file"], low_memory=False))
    if table.rows is not None:
        order = np.random.default_rng(20240).permutation(len(frame))
        frame = frame.iloc[order[: table.rows]]
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
