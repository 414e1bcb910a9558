# SPDX-License-Identifier: Apache-2.0
"""How each kind of job is measured; this is what the processes of an evaluation run.

Whatever a measurement finds becomes plain JSON values with a status: `done`, or
`diverged` where a model's scores are no numbers.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

from lexfed.evaluate.comparison.metrics import measure as metrics_of
from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.harness.jobs import Job, JobKind
from lexfed.evaluate.harness.summary import OVERLAP
from lexfed.evaluate.measurement.attack_jobs import ATTACKS, audit_claims
from lexfed.evaluate.measurement.charged_search import measure_search
from lexfed.evaluate.measurement.overhead import measure_overhead
from lexfed.evaluate.measurement.plan_costs import measure_plan
from lexfed.evaluate.measurement.setting_search import TUNED
from lexfed.evaluate.methods import METHODS, Case, Method
from lexfed.evaluate.methods.ablations import ABLATIONS, DROPPED, MULTIPLIERS
from lexfed.evaluate.methods.noise_courses import COURSES
from lexfed.evaluate.methods.simple_uniform import SIMPLE

ALL_METHODS: Mapping[str, Method] = {
    **METHODS,
    **TUNED,
    **ABLATIONS,
    **MULTIPLIERS,
    **SIMPLE,
    **COURSES,
    **DROPPED,
}


def measure(job: Job, dataset: Dataset) -> dict[str, Any]:
    """Return `status`, `values` and `note` of a job, as JSON values."""
    return _KINDS[job.kind](job, dataset)


def case_of(job: Job) -> Case:
    """Return the cell that a job's settings describe, over the defaults."""
    own = {name: value for name, value in job.setting.items() if name in DEFAULTS}
    return Case(seed=job.seed, **{**DEFAULTS, **own})


DEFAULTS: Mapping[str, Any] = {
    "record_epsilon": 1.0,
    "attribute_epsilon": 0.1,
    "delta": 1e-5,
    "model": "logistic",
    "sites": None,
    "partition": "iid",
    "alpha": None,
    "equal": "attribute",
    "tiers": 4,
    "settings": {},
}
"""The base cell: natural sites, a linear model, the budgets of the comparison."""


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
    status = "diverged" if scores.diverged else "done"
    found = {**_plain(values), "path": path}
    return {"status": status, "values": found, "note": scores.note}


def split_overlap(dataset: Dataset) -> float:
    """Return test rows over training rows of a split of a table."""
    test = float(dataset.tables["data"].get("test_size", 0.2))
    return test / (1.0 - test)


def _plan(job: Job, dataset: Dataset) -> dict[str, Any]:
    values = measure_plan(dataset, case_of(job), job.method)
    return {"status": "done", "values": values, "note": ""}


def _attack(job: Job, dataset: Dataset) -> dict[str, Any]:
    attack = ATTACKS[job.setting["attack"]]
    values = attack(dataset, case_of(job), job.method)
    return {"status": "done", "values": _plain(values), "note": ""}


def _audit(job: Job, dataset: Dataset) -> dict[str, Any]:
    values = audit_claims(dataset, case_of(job), job.method)
    return {"status": "done", "values": _plain(values), "note": ""}


def _overhead(job: Job, dataset: Dataset) -> dict[str, Any]:
    values = measure_overhead(dataset, case_of(job), job.method)
    return {"status": "done", "values": values, "note": ""}


def _search(job: Job, dataset: Dataset) -> dict[str, Any]:
    values = measure_search(dataset, case_of(job))
    return {"status": "done", "values": values, "note": ""}


def _plain(
    values: Mapping[str, float | None] | Mapping[str, float],
) -> dict[str, float | None]:
    """JSON has no value for what is not a number; a reader finds null."""
    return {
        name: None if value is None or not math.isfinite(value) else value
        for name, value in values.items()
    }


_KINDS: Mapping[JobKind, Callable[[Job, Dataset], dict[str, Any]]] = {
    "train": _train,
    "plan": _plan,
    "attack": _attack,
    "audit": _audit,
    "overhead": _overhead,
    "search": _search,
}
