# SPDX-License-Identifier: Apache-2.0
"""A small made-up table as a data set of the evaluation; it needs no file of others.

Two classes, four sites, numbers, a flag and a category; a person may have two rows.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.methods import Case

_TIERS = {
    "dose": "non_personal",
    "ward": "non_personal",
    "age": "personal",
    "marker": "special",
    "smoker": "special",
    "ill": "special",
}


def small_dataset(folder: Path, *, rows: int = 600, number: bool = False) -> Dataset:
    """Write the table and return it; with `number` the target is one."""
    generator = np.random.default_rng(5)
    dose, marker = generator.uniform(-1, 1, (2, rows))
    age = generator.integers(20, 90, rows)
    smoker = generator.integers(0, 2, rows)
    logit = 2.5 * dose + 2.0 * marker + smoker - 0.5
    ill = (generator.uniform(size=rows) < 1 / (1 + np.exp(-logit))).astype(int)
    frame = pd.DataFrame(
        {
            "person": np.arange(rows) // 2 if rows % 2 == 0 else np.arange(rows),
            "clinic": generator.choice(["a", "b", "c", "d"], rows)[
                np.arange(rows) // 2 * 2
            ],
            "dose": dose,
            "ward": generator.choice(["x", "y"], rows),
            "age": age,
            "marker": np.where(generator.uniform(size=rows) < 0.1, np.nan, marker),
            "smoker": smoker,
            "ill": np.clip(logit / 6, -1, 1) if number else ill,
            "band": np.where(age < 55, "young", "old"),
        }
    )
    frame.to_csv(folder / "table.csv", index=False)
    columns: dict[str, Any] = {
        "dose": {"kind": "number", "range": [-1, 1]},
        "ward": {"kind": "category", "values": ["x", "y"]},
        "age": {"kind": "number", "range": [0, 120]},
        "marker": {"kind": "number", "range": [-1, 1]},
        "smoker": {"kind": "flag"},
        "ill": {"kind": "number", "range": [-1, 1]} if number else {"kind": "flag"},
    }
    columns["ill"]["missing"] = False
    data = {
        "source": "table.csv",
        "target": "ill",
        "person": "person",
        "records_per_person": 2,
        "test_size": 0.3,
        "units": rows // 2,
        "sites": {"column": "clinic", "names": ["a", "b", "c", "d"]},
        "columns": columns,
    }
    law = {name: {"tier": tier, "reason": "made up"} for name, tier in _TIERS.items()}
    tables = {"data": data, "law": {"columns": law}}
    return Dataset("small", folder, tables, "ill", {"age": "band"}, "0" * 64)


def small_case(**changed: Any) -> Case:
    """Return a cell of two hundred persons at epsilon 8, with some fields changed."""
    usual: dict[str, Any] = {
        "seed": 0,
        "record_epsilon": 8.0,
        "attribute_epsilon": 2.0,
        "delta": 1e-5,
        "model": "logistic",
        "sites": None,
        "partition": "iid",
        "alpha": None,
        "equal": "record",
        "tiers": 4,
        "settings": {},
    }
    return Case(**{**usual, **changed})
