# SPDX-License-Identifier: Apache-2.0
"""Tasks for the processes of an evaluation, tables and results made up for tests.

They stand in a module of their own because another process must be able to import them.
"""

import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from lexfed.errors import DataError, Problem
from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.harness.tables import Job, ResultTable
from support.evaluation.small_dataset import small_dataset


def do(what: str, *given: Any) -> dict[str, Any]:
    """Do one of the tasks below."""
    tasks = {each.__name__: each for each in (square, threads, refuse, break_down)}
    return tasks[what](*given)


def square(number: int) -> dict[str, Any]:
    """Return a result."""
    return {"square": number * number}


def threads() -> dict[str, Any]:
    """Return how many threads libraries would use here."""
    import torch

    return {"torch": torch.get_num_threads(), "omp": os.environ["OMP_NUM_THREADS"]}


def refuse(what: str) -> dict[str, Any]:
    """Fail on purpose, in words."""
    raise DataError([Problem("table", what, "look")])


def break_down() -> dict[str, Any]:
    """Fail like a defect."""
    raise ZeroDivisionError("of ours")


def die() -> dict[str, Any]:
    """End as a process does that the kernel kills."""
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


def tell_and_stay(pipe: str) -> dict[str, Any]:
    """Write this process's number, then work for as long as it is let."""
    with open(pipe, "w") as file:
        file.write(f"{os.getpid()}\n")
    while True:
        time.sleep(60)


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
