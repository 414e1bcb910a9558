# SPDX-License-Identifier: Apache-2.0
"""Tables of an own evaluation with made-up figures, for answers and pages."""

from typing import Any

from lexfed.evaluate.harness.summary import Summary, summarise
from lexfed.evaluate.harness.tables import Job, ResultTable
from lexfed.evaluate.own.questions import (
    ATTRIBUTE,
    AUDIT,
    COST,
    MEMBERSHIP,
    QUALITY,
    TAILORING,
)

ATTACK = {"auc": 0.51, "low": 0.5, "high": 0.52, "bound": 0.6, "strongest_low": 0.5}
INFERENCE = {
    "imputation_auc": 0.55,
    "gain": -0.01,
    "gain_low": -0.03,
    "excess": -0.1,
    "columns": 2.0,
}
CLAIMED = {
    "record_claimed": 2.0,
    "record_found": 0.4,
    "refuted": 0.0,
    "special_claimed": 0.3,
    "special_found": 0.1,
}


def summary(name: str, against: str, **values: list[dict[str, Any]]) -> Summary:
    """A whole table: for each method the values of its splits; {} was refused."""
    jobs = {
        (method, seed): Job("train", "own", method, seed)
        for method, found in values.items()
        for seed in range(len(found))
    }
    shows = (*QUALITY, *ATTACK, *INFERENCE, *CLAIMED)
    table = ResultTable(
        name, f"Title of {name}", "?", tuple(jobs.values()), ("method",),
        tuple(dict.fromkeys(shows)), against=against,
    )  # fmt: skip

    def find(job: Job) -> dict[str, Any]:
        found = values[job.method][job.seed]
        status = "done" if found else "refused"
        note = "" if found else "too few rows"
        own = {"status": status, "values": found, "note": note}
        return {"key": f"{job.method}{job.seed}", "job": job.facts, **own}

    return summarise(table, find)


def aucs(*values: float, **more: float) -> list[dict[str, Any]]:
    return [{"auc": value, **more} for value in values]


def measured(**changed: Summary) -> dict[str, Summary]:
    policy = aucs(0.79, 0.80, 0.81, attribute_epsilon=0.3)
    strict = aucs(0.74, 0.75, 0.76, attribute_epsilon=0.3)
    loose = aucs(0.80, 0.81, 0.82, attribute_epsilon=4.2)
    uniform = {"uniform-attribute": strict, "uniform-record": loose}
    cost = {"none": aucs(0.81, 0.821, 0.832), "local": aucs(0.7, 0.7, 0.7)}
    return {
        COST: summary(COST, "none", configured=policy, **cost),
        TAILORING: summary(TAILORING, "configured", configured=policy, **uniform),
        MEMBERSHIP: summary(MEMBERSHIP, "", configured=[ATTACK], none=[ATTACK]),
        ATTRIBUTE: summary(ATTRIBUTE, "", configured=[{**ATTACK, **INFERENCE}]),
        AUDIT: summary(AUDIT, "", configured=[CLAIMED]),
    } | changed
