# SPDX-License-Identifier: Apache-2.0
"""Made-up rows under the declaration of a table, to choose settings on.

Choosing settings by looking at private rows is a query like any other. A twin has the
columns, ranges, lists, tiers and the public number of persons of a table, and nothing
of its rows: values are drawn from the declaration, the outcome from a random model. So
a search on it is free, and every method meets the same size and the same noise as on
the table itself.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lexfed.arrays import Floats
from lexfed.config.declarations import declared_column
from lexfed.config.tables.root import ColumnTable
from lexfed.config.text.repair import without_lists
from lexfed.data.encoding import unscaled_values
from lexfed.data.schema import Column
from lexfed.evaluate.datasets import Dataset

LARGEST = 20_000
"""Persons of a twin at most; beyond, noise hardly moves which setting is best."""

SPREAD = 1.5
"""Deviation of the logits: a linear model without noise reaches an AUC of about .8."""

RATE, MISSING = 0.35, 0.1
_PLACES = 0.35  # deviation of a number on the scale on which its range is [-1, 1]


def twin(dataset: Dataset, sites: int, folder: Path, seed: int = 0) -> Dataset:
    """Write made-up rows into a folder and return them as a data set.

    Args:
        dataset: whose declaration is used; its file is not opened.
        sites: how many sites the rows are dealt out to.
        folder: where to write.
        seed: of the rows and of the model behind them.

    Guarantees:
        The result depends on the declaration, the number of sites and the seed only.
    """
    data = dict(dataset.tables["data"])
    rows = min(int(data["units"]), LARGEST)
    generator = np.random.default_rng(seed)
    logits, columns = np.zeros(rows), {}
    for name, declared in data["columns"].items():
        if name == dataset.target:
            continue
        drawn = _drawn(_column(name, declared), rows, generator)
        columns[name] = drawn.values
        # Half of the columns say nothing, as in real tables.
        if generator.uniform() < 0.5:
            logits += generator.normal() * drawn.signal
    logits *= SPREAD / max(float(logits.std()), 1e-9)
    target = _column(dataset.target, data["columns"][dataset.target])
    columns[dataset.target] = _outcome(target, logits, generator)
    if data.get("person") is not None:
        columns[data["person"]] = np.arange(rows)
    data.update(source="table.csv", units=rows)
    data["sites"] = {"count": sites, "partition": "iid"}
    pd.DataFrame(columns).to_csv(folder / "table.csv", index=False)
    tables = {**dataset.tables, "data": data}
    return Dataset(f"twin of {dataset.name}", folder, tables, dataset.target, {}, "")


@dataclass(frozen=True)
class _Drawn:
    """Values of a column as a file has them, and what they add to the outcome."""

    values: Any
    signal: Floats


def _drawn(column: Column, rows: int, generator: np.random.Generator) -> _Drawn:
    if column.kind == "text":
        return _Drawn([f"t{number}" for number in range(rows)], np.zeros(rows))
    if column.kind == "category":
        levels = np.array(column.values)
        shares = generator.permutation(1.0 / np.arange(1.0, len(levels) + 1.0))
        codes = generator.choice(len(levels), rows, p=shares / shares.sum())
        effects = generator.normal(size=len(levels))[codes]
        return _Drawn(levels[codes], effects - effects.mean())
    if column.kind == "flag":
        flags = (generator.uniform(size=rows) < 0.3).astype(np.float64)
        return _Drawn(_with_gaps(column, flags, generator), flags - flags.mean())
    places = np.clip(generator.normal(0.0, _PLACES, rows), -1.0, 1.0)
    values = unscaled_values(column, places)
    return _Drawn(_with_gaps(column, values, generator), places / _PLACES)


def _with_gaps(
    column: Column, values: Floats, generator: np.random.Generator
) -> Floats:
    if not column.missing:
        return values
    return np.where(generator.uniform(size=len(values)) < MISSING, np.nan, values)


def _outcome(target: Column, logits: Floats, generator: np.random.Generator) -> Any:
    if target.kind == "number":
        noisy = logits / SPREAD + generator.normal(size=len(logits))
        return unscaled_values(target, np.clip(_PLACES * noisy, -1.0, 1.0), target=True)
    chance = 1.0 / (1.0 + np.exp(-(logits + np.log(RATE / (1.0 - RATE)))))
    codes = (generator.uniform(size=len(logits)) < chance).astype(np.int64)
    return codes if target.kind == "flag" else np.array(target.values)[codes]


def _column(name: str, declared: Any) -> Column:
    return declared_column(name, ColumnTable.model_validate(without_lists(declared)))
