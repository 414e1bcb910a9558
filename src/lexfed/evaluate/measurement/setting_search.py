# SPDX-License-Identifier: Apache-2.0
"""The same effort for every method: six settings, each trained six times, on made rows.

A comparison in which one method was tuned and another was not compares the tuning. So
every method has `TRIALS` settings to choose from, each is trained `REPEATS` times with
fresh noise under the budget of the case on a twin of the table, and the best mean wins.
Methods with a rule for their steps try the rule and five fixed steps.

**Twins.** Choosing settings by looking at private rows is a query like any other. A
twin has the columns, ranges, lists, tiers and the public number of persons of a table,
and nothing of its rows: values are drawn from the declaration, the outcome from a
random model. So a search on it is free, and every method meets the same size and the
same noise as on the table itself.

**The charged search** of the product chooses among three steps on the rows themselves.
"""

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import product
from json import dumps, loads
from pathlib import Path
from statistics import fmean
from tempfile import NamedTemporaryFile, TemporaryDirectory
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from lexfed.arrays import Floats
from lexfed.canonical import digest
from lexfed.config.declarations import declared_columns
from lexfed.config.search_grid import parse_grid, searched_configs
from lexfed.config.tables.root import ColumnTable
from lexfed.config.text.repair import without_lists
from lexfed.data.encoding import unscaled_values
from lexfed.data.schema import Column
from lexfed.evaluate.comparison.case import Case, Method, plain_configuration
from lexfed.evaluate.comparison.metrics import Scores, measure
from lexfed.evaluate.comparison.split_rows import rows_of
from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.harness.tables import code_digest
from lexfed.evaluate.methods import METHODS
from lexfed.privacy.selection import Repetitions
from lexfed.randomness import SecureSource
from lexfed.run.tuning import plan_search, run_search

NAME = "charged-search"
RATES, ROUNDS = (0.02, 0.2, 2.0), 20
"""Steps that are searched, in runs of so many rounds."""
_LAW = Repetitions("poisson", 5.0)

TRIALS, REPEATS = 6, 6
"""Settings of every method, and trainings of each."""

TrialSetting = Mapping[str, Any]
_RATES = (0.03, 0.2, 1.0)


def _grid(**choices: tuple[Any, ...]) -> tuple[TrialSetting, ...]:
    combinations = product(*choices.values())
    return tuple(dict(zip(choices, values, strict=True)) for values in combinations)


_DESCENT = _grid(learning_rate=_RATES, rounds=(10, 40))
_RULE = ({}, *_DESCENT[1:])
_TREES = _grid(learning_rate=(0.03, 0.08), max_leaf_nodes=(4, 8, 31))
_EXACT = _grid(C=(0.003, 0.01, 0.03, 0.1, 0.3, 1.0))

GRIDS: Mapping[str, tuple[TrialSetting, ...]] = MappingProxyType(
    {
        "none": _EXACT,
        "local-none": _EXACT,
        "local": _RULE,
        "uniform": _RULE,
        "cascade": _RULE,
        "cascade-plain": _DESCENT,
        "fedsgd": _DESCENT,
        "time-adaptive": _DESCENT,
        "grouped-inverse": _DESCENT,
        "grouped-multiplier": _DESCENT,
        "grouped-noise-scale": _DESCENT,
        "grouped-caps": _DESCENT,
        "fedavg": _grid(learning_rate=_RATES, rounds=(2, 8)),
        "fedavg-clients": _grid(learning_rate=_RATES, rounds=(4, 20)),
        "dp-ftrl": tuple(
            {**one, **passes}
            for one in _grid(learning_rate=_RATES)
            for passes in ({"passes": 10, "batches": 4}, {"passes": 5, "batches": 2})
        ),
        "dp-ebm": _grid(max_rounds=(30, 100, 300), max_bins=(8, 32)),
        "boosted": _TREES,
        "boosted-federated": _TREES,
    }
)
"""The settings each method may choose from."""


@dataclass(frozen=True)
class SettingChoice:
    """The best settings, and their mean AUC on the twin, or minus their mean error."""

    settings: TrialSetting
    score: float

    @property
    def words(self) -> str:
        """A note on the way they were found."""
        chosen = ", ".join(f"{name} {value}" for name, value in self.settings.items())
        effort = f"best of {TRIALS} settings, {REPEATS} trainings each, on made-up rows"
        return f"{chosen or 'the rule'}: {effort}"


def tune(name: str, dataset: Dataset, case: Case) -> SettingChoice:
    """Choose the settings of a method for a case; the seed of the case plays no part.

    What a search found is kept beside the table, and the first that ends is the one:
    all seeds, processes and later calls of the same code share it.

    Guarantees:
        No row of the table has an influence on the choice.
        Every method has the same number of trials.
        A setting that diverges never wins over one that does not.
    """
    sites = case.sites or len(rows_of(dataset, case).population.sites)
    apart = replace(case, seed=0, sites=sites, partition="iid", alpha=None, settings={})
    public = dumps(dict(dataset.tables)), dumps(asdict(apart))
    kept = dataset.folder / f"tuned-{digest([name, *public, code_digest()])[:16]}.json"
    if not kept.exists():
        found = _searched(name, dataset.name, dataset.target, *public)
        _keep_first(kept, dumps(asdict(found)))
    return SettingChoice(**loads(kept.read_text()))


def _keep_first(path: Path, content: str) -> None:
    """Write a file whole, unless another process was faster."""
    with NamedTemporaryFile("w", dir=path.parent, suffix=".part") as file:
        file.write(content)
        file.flush()
        with suppress(FileExistsError):
            path.hardlink_to(file.name)


def _searched(
    name: str, table: str, target: str, tables: str, case: str
) -> SettingChoice:
    """Search on a twin; rows cannot matter, as there are none here."""
    declared = Dataset(table, Path(), loads(tables), target, {}, "")
    asked = Case(**loads(case))
    with TemporaryDirectory() as folder:
        made = twin(declared, asked.sites or 1, Path(folder))
        tried = [
            SettingChoice(setting, _score(name, made, replace(asked, settings=setting)))
            for setting in GRIDS[name]
        ]
    return max(tried, key=lambda one: one.score)


def _score(name: str, made: Dataset, case: Case) -> float:
    found = [measure(METHODS[name](made, case), None) for _ in range(REPEATS)]
    each = [one["auc"] if "auc" in one else -one["rmse"] for one in found]
    return fmean(each) if all(map(math.isfinite, each)) else -math.inf


def _with_search(name: str) -> Method:
    def method(dataset: Dataset, case: Case) -> Scores:
        found = tune(name, dataset, case)
        settings = {**found.settings, **case.settings}
        scores = METHODS[name](dataset, replace(case, settings=settings))
        note = f"{scores.note}; {found.words}"
        return replace(scores, method=f"{name}-tuned", note=note)

    return method


TUNED: Mapping[str, Method] = MappingProxyType(
    {f"{name}-tuned": _with_search(name) for name in METHODS}
)
"""Every method after its search; the time of the search is left out of `seconds`."""


LARGEST = 20_000
"""Persons of a twin at most; beyond, noise hardly moves which setting is best."""

SPREAD = 1.5
"""Deviation of the logits: a linear model without noise reaches an AUC of about .8."""

RATE, MISSING = 0.35, 0.1
_PLACES = 0.35  # deviation of a number on the scale on which its range is [-1, 1]


def twin(dataset: Dataset, sites: int, folder: Path, seed: int = 0) -> Dataset:
    """Write made-up rows into a folder and return them as a data set.

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
        columns[name], signal = _drawn(_column(name, declared), rows, generator)
        # Half of the columns say nothing, as in real tables.
        if generator.uniform() < 0.5:
            logits += generator.normal() * signal
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


def _drawn(
    column: Column, rows: int, generator: np.random.Generator
) -> tuple[Any, Floats]:
    """Return values of a column as a file has them, and their signal in the outcome."""
    if column.kind == "text":
        return [f"t{number}" for number in range(rows)], np.zeros(rows)
    if column.kind == "category":
        levels = np.array(column.values)
        shares = generator.permutation(1.0 / np.arange(1.0, len(levels) + 1.0))
        codes = generator.choice(len(levels), rows, p=shares / shares.sum())
        effects = generator.normal(size=len(levels))[codes]
        return levels[codes], effects - effects.mean()
    if column.kind == "flag":
        flags = (generator.uniform(size=rows) < 0.3).astype(np.float64)
        return _with_gaps(column, flags, generator), flags - flags.mean()
    places = np.clip(generator.normal(0.0, _PLACES, rows), -1.0, 1.0)
    values = unscaled_values(column, places)
    return _with_gaps(column, values, generator), places / _PLACES


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
    (column,) = declared_columns(
        name, ColumnTable.model_validate(without_lists(declared))
    )
    return column


def measure_search(dataset: Dataset, case: Case) -> dict[str, Any]:
    """Run one search with fresh coins; return a run's budget, and the choice."""
    keys: Mapping[str, Mapping[str, Any]] = {
        "federation": {"rounds": ROUNDS},
        "evaluation": {"metrics": "paid"},
    }
    tables = plain_configuration(dataset, case, keys)
    rates = ",".join(map(str, RATES))
    settings = parse_grid([f"federation.learning_rate={rates}"]).settings()
    population = rows_of(dataset, case).population
    configs = searched_configs(tables, settings)
    planned = plan_search(settings, configs, population, _LAW, dataset.folder)
    chosen = run_search(planned, SecureSource())
    winner = None if chosen is None else settings.index(chosen.setting)
    return {
        "part": planned.part,
        **{f"chose_{rate:g}": float(i == winner) for i, rate in enumerate(RATES)},
        "chose_nothing": float(winner is None),
    }
