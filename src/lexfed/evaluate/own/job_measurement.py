# SPDX-License-Identifier: Apache-2.0
"""The measurement of a job of an own policy, as worker processes run it."""

import math
from typing import Any

from lexfed.evaluate.comparison.case import CONFIGURED, configuration, own_methods
from lexfed.evaluate.comparison.metrics import measure as metrics_of
from lexfed.evaluate.comparison.split_rows import rows_of
from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.empirical import audit
from lexfed.evaluate.harness.jobs import Job
from lexfed.evaluate.harness.summary import OVERLAP
from lexfed.evaluate.measurement.job_kinds import case_of, split_overlap
from lexfed.evaluate.measurement.job_kinds import measure as usual
from lexfed.evaluate.methods import Method
from lexfed.evaluate.methods.local_only import alone
from lexfed.evaluate.methods.product import through_the_product
from lexfed.evaluate.own.policies import LOCAL, NONE
from lexfed.run.pricing.priced_run import price


def measure(job: Job, dataset: Dataset) -> dict[str, Any]:
    """Return `status`, `values` and `note` of a job, as JSON values."""
    if job.kind == "audit":
        return {"status": "done", "values": _audited(job, dataset), "note": ""}
    if job.setting.get("attack") == "membership":
        return _calibrated(usual(job, dataset))
    if job.kind != "train" or _is_solved(job):
        return usual(job, dataset)
    scores = _method(job, dataset)(dataset, case_of(job))
    values = {
        **metrics_of(scores, None),
        "record_epsilon": scores.record_epsilon,
        "attribute_epsilon": scores.attribute_epsilon,
        "rounds": float(scores.rounds),
        "seconds": scores.seconds,
        OVERLAP: split_overlap(dataset),
    }
    plain = {
        name: value if value is not None and math.isfinite(value) else None
        for name, value in values.items()
    }
    status = "diverged" if scores.diverged else "done"
    return {"status": status, "values": plain, "note": scores.note}


def _is_solved(job: Job) -> bool:
    """Return True if a job's model is solved exactly: linear, and without noise."""
    return job.method == NONE and job.setting["model"] == "logistic"


def _calibrated(found: dict[str, Any]) -> dict[str, Any]:
    """Show the one of three attacks that finds most under noise (`membership.py`)."""
    values = found["values"]
    shown = {name: values[f"calibrated_{name}"] for name in ("auc", "low", "high")}
    return {**found, "values": {**values, **shown}}


def _audited(job: Job, dataset: Dataset) -> dict[str, float]:
    """Audit every claim; as `protection.audited`, with as many canaries as asked."""
    case = case_of(job)
    config = configuration(dataset, case, own_methods(dataset)[job.method])
    priced = price(config, rows_of(dataset, case).population, dataset.folder)
    found = audit(priced, job.setting["canaries"])
    values: dict[str, float] = {}
    for one in found:
        values[f"{one.claim}_claimed"] = one.epsilon
        values[f"{one.claim}_found"] = one.lower
    refuted = sum(one.refuted for one in found)
    return {**values, "refuted": float(refuted)}


def _method(job: Job, dataset: Dataset) -> Method:
    own = own_methods(dataset)
    if job.method == LOCAL:
        return alone(LOCAL, own[CONFIGURED])
    return through_the_product(job.method, own[job.method])
