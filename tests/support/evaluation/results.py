# SPDX-License-Identifier: Apache-2.0
"""Small tables, data sets and lines of journals for tests of the evaluation."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.harness.tables import Job, ResultTable
from support.evaluation.small_dataset import small_dataset


def dataset_of(folder: Path, rows: int = 4) -> Dataset:
    """Return a small table of two columns."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["age,ill", *(f"{30 + n},{n % 2}" for n in range(rows))]
    (folder / "table.csv").write_text("\n".join(lines) + "\n")
    columns = {
        "age": {"kind": "number", "range": [0, 100]},
        "ill": {"kind": "flag", "missing": False},
    }
    data = {"source": "table.csv", "target": "ill", "columns": columns}
    return Dataset("small", folder, {"data": data, "law": {}}, "ill", {}, "0" * 64)


def table_of(*jobs: Job, **more: Any) -> ResultTable:
    """Return a table with lines by data set and method."""
    known: dict[str, Any] = {
        "name": "made-up",
        "title": "Made up",
        "question": "What?",
        "across": ("dataset", "method"),
        "shows": ("auc",),
    }
    return ResultTable(jobs=jobs, **{**known, **more})


def result_of(
    values: Mapping[str, Any], status: str = "done", note: str = ""
) -> dict[str, Any]:
    """Return a line of a journal."""
    return {"key": "", "job": {}, "status": status, "values": values, "note": note}


def prepare_small(name: str, into: Path, rows: int | None) -> Dataset:
    """Write a small table; that of `one-class` has one class only."""
    into.mkdir(parents=True, exist_ok=True)
    dataset = small_dataset(into, rows=rows or 200)
    if name == "one-class":
        path = into / "table.csv"
        frame = pd.read_csv(path).assign(ill=0)
        frame.to_csv(path, index=False)
    return dataset


SMALL = table_of(
    *(Job("train", "small", m, s) for m in ("none", "cascade") for s in (0, 1)),
    name="small",
    shows=("auc", "retention", "seconds"),
)
"""Two methods, two seeds."""
