# SPDX-License-Identifier: Apache-2.0
"""The measurement of each kind of job, as plain JSON values with a status.

The status is `done`, or `diverged` where a model's scores are no numbers.
"""

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from lexfed.evaluate.comparison import plan_figures
from lexfed.evaluate.comparison.case import configuration
from lexfed.evaluate.comparison.metrics import measure as metrics_of
from lexfed.evaluate.comparison.split_rows import rows_of
from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.harness.summary import OVERLAP
from lexfed.evaluate.harness.tables import Job
from lexfed.evaluate.measurement.attack_jobs import ATTACKS, audit_claims
from lexfed.evaluate.measurement.overhead import measure_overhead
from lexfed.evaluate.measurement.setting_search import TUNED, measure_search
from lexfed.evaluate.methods import MECHANISMS, METHODS, Case, Method
from lexfed.evaluate.methods.ablations import ABLATIONS, COURSES, DROPPED, MULTIPLIERS
from lexfed.evaluate.methods.additive import REFERENCES
from lexfed.evaluate.methods.simple_uniform import SIMPLE
from lexfed.run.pricing.priced_run import price

ALL_METHODS: Mapping[str, Method] = {
    **METHODS,
    **TUNED,
    **ABLATIONS,
    **MULTIPLIERS,
    **SIMPLE,
    **COURSES,
    **DROPPED,
    **REFERENCES,
}
_CELL = frozenset(one.name for one in fields(Case))


def measure(job: Job, dataset: Dataset) -> dict[str, Any]:
    """Return `status`, `values` and `note` of a job, as JSON values."""
    cell, method = case_of(job), job.method
    values: Mapping[str, Any]
    match job.kind:
        case "train":
            return _train(job, dataset)
        case "plan":
            values = measure_plan(dataset, cell, method)
        case "attack":
            values = plain(ATTACKS[job.setting["attack"]](dataset, cell, method))
        case "audit":
            values = plain(audit_claims(dataset, cell, method))
        case "overhead":
            values = measure_overhead(dataset, cell, method)
        case "search":
            values = measure_search(dataset, cell)
    return {"status": "done", "values": values, "note": ""}


def case_of(job: Job) -> Case:
    """Return the cell that a job's settings describe, over the defaults."""
    own = {name: value for name, value in job.setting.items() if name in _CELL}
    return Case(seed=job.seed, **own)


def _train(job: Job, dataset: Dataset) -> dict[str, Any]:
    scores = ALL_METHODS[job.method](dataset, case_of(job))
    spent = scores.record_epsilon
    values = {
        **metrics_of(scores, None),
        **scores.noise,
        "record_epsilon": spent,
        "attribute_epsilon": scores.attribute_epsilon,
        "budget_per_round": None if spent is None else spent / scores.rounds,
        "rounds": scores.rounds,
        "seconds": scores.seconds,
        OVERLAP: split_overlap(dataset),
    }
    path = [list(point) for point in scores.path if math.isfinite(point.quality)]
    return {
        "status": "diverged" if scores.diverged else "done",
        "values": {**plain(values), "path": path},
        "note": scores.note,
    }


def split_overlap(dataset: Dataset) -> float:
    """Return test rows over training rows of a split, or less where few are trained on.

    The correction stands for training rows that splits share. Of a table that is mostly
    tested on they share a small part, which the ratio turned over says.
    """
    test = float(dataset.tables["data"].get("test_size", 0.2))
    return min(test / (1.0 - test), (1.0 - test) / test)


def plain(values: Mapping[str, float | None]) -> dict[str, float | None]:
    """Return values for JSON, which has none for what is not a number: null."""
    return {
        name: None if value is None or not math.isfinite(value) else value
        for name, value in values.items()
    }


def measure_plan(dataset: Dataset, case: Case, method: str) -> dict[str, Any]:
    """Return what a plan spends round by round, and the noise on every column."""
    config = configuration(dataset, case, MECHANISMS[method])
    priced = price(config, rows_of(dataset, case).population, dataset.folder)
    spent = plan_figures.spent_by_round(priced)
    noise = plan_figures.noise_by_column(priced)
    rounds, record = priced.programme.rounds, spent[plan_figures.RECORD][-1]
    return {
        "rounds_by_scope": spent,
        "noise": noise,
        "rounds": rounds,
        "record_epsilon": record,
        "budget_per_round": record / rounds,
        **plan_figures.noise_by_tier(priced, noise),
    }
