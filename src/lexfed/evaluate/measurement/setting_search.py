# SPDX-License-Identifier: Apache-2.0
"""The same effort for every method: six settings, each trained six times, on made rows.

A comparison in which one method was tuned and another was not compares the tuning. So
every method has `TRIALS` settings to choose from, each is trained `REPEATS` times with
fresh noise under the budget of the case on a twin of the table (`twin.py`), and the
best mean wins. No row of the table is looked at, so the choice costs nothing.

Methods with a rule for their steps try the rule and five fixed steps.
"""

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from json import dumps, loads
from pathlib import Path
from statistics import fmean
from tempfile import NamedTemporaryFile, TemporaryDirectory
from types import MappingProxyType
from typing import Any

import lexfed
from lexfed.canonical import digest
from lexfed.evaluate.comparison.case import Case, Method
from lexfed.evaluate.comparison.metrics import measure
from lexfed.evaluate.comparison.scores import Scores
from lexfed.evaluate.comparison.split_rows import rows_of
from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.harness.jobs import code_digest
from lexfed.evaluate.measurement.declared_twin import twin
from lexfed.evaluate.methods import METHODS

TRIALS, REPEATS = 6, 6
"""Settings of every method, and trainings of each."""

TrialSetting = Mapping[str, Any]
_RATES = (0.03, 0.2, 1.0)


def _grid(**choices: tuple[Any, ...]) -> tuple[TrialSetting, ...]:
    found: list[TrialSetting] = [{}]
    for name, values in choices.items():
        found = [{**one, name: value} for one in found for value in values]
    return tuple(found)


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
"""What each method may choose from."""


@dataclass(frozen=True)
class SettingChoice:
    """What a search found.

    Attributes:
        settings: the best ones.
        score: their mean AUC on the twin, or minus their mean error for a number.
    """

    settings: TrialSetting
    score: float

    @property
    def words(self) -> str:
        """How they were found, for a note."""
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
    code = code_digest(Path(lexfed.__file__).parent)
    kept = dataset.folder / f"tuned-{digest([name, *public, code])[:16]}.json"
    if not kept.exists():
        found = _searched(name, dataset.name, dataset.target, *public)
        _keep_first(kept, dumps(asdict(found)))
    return SettingChoice(**loads(kept.read_text()))


def _keep_first(path: Path, content: str) -> None:
    """Write a file whole, unless somebody was faster."""
    with NamedTemporaryFile("w", dir=path.parent, suffix=".part") as file:
        file.write(content)
        file.flush()
        with suppress(FileExistsError):
            path.hardlink_to(file.name)


def _searched(
    name: str, table: str, target: str, tables: str, case: str
) -> SettingChoice:
    """Search on a twin. Rows cannot matter: whoever is here has none."""
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
