# SPDX-License-Identifier: Apache-2.0
"""Three questions as tables of jobs, their omissions, and how a job is measured.

Splits are the seeds 0, 1, 2 and so on: each fixes the test rows. Attacks are tried on
the first split; their intervals are over models or persons, not over splits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lexfed.config import Config
from lexfed.evaluate.comparison.case import CONFIGURED, model_of, own_methods
from lexfed.evaluate.comparison.metrics import measure as metrics_of
from lexfed.evaluate.comparison.split_rows import rows_of
from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.harness.summary import OVERLAP
from lexfed.evaluate.harness.tables import Job, JobKind, ResultTable, asked
from lexfed.evaluate.measurement import job_kinds
from lexfed.evaluate.measurement.attack_jobs import audit_claims
from lexfed.evaluate.measurement.job_kinds import case_of, plain, split_overlap
from lexfed.evaluate.methods.product import alone, through_the_product
from lexfed.evaluate.own import policies

COST, TAILORING = "cost", "tailoring"
MEMBERSHIP, ATTRIBUTE, AUDIT = "membership", "attribute-inference", "audit"
CANARIES = 1000
"""Synthetic persons for each claim; `lexfed audit-privacy` takes more, and minutes."""

FEWEST = 100
"""Persons to train on below which the interval of an attack says nothing."""

QUALITY = (
    *("auc", "rmse", "accuracy", "majority", "worst_site_auc", "worst_site_rmse"),
    *("gap_auc_sex", "gap_auc_age", "gap_auc_ethnicity", "retention", "ap", "brier"),
    *("r2", "record_epsilon", "attribute_epsilon", "rounds", "seconds"),
)


@dataclass(frozen=True)
class Omission:
    """A part of the evaluation that is not done, with the reason."""

    part: str
    why: str


@dataclass(frozen=True)
class QuestionSet:
    """The tables to measure for a configuration, and the omissions."""

    tables: tuple[ResultTable, ...]
    left_out: tuple[Omission, ...]


def questions(dataset: Dataset, config: Config, seeds: int) -> QuestionSet:
    """Return the tables to measure, with comparisons on `seeds` splits."""
    tables: list[ResultTable] = [_cost(dataset, config, seeds)]
    left_out: list[Omission] = []
    if why := _not_alone(config):
        left_out.append(Omission("Every site alone", why))
    if policies.CASCADE in own_methods(dataset):
        tables.append(_tailoring(dataset, config, seeds))
    else:
        why = "the tier cascade cannot be planned for this configuration"
        left_out.append(Omission("What tailoring buys", why))
    sites = rows_of(dataset, policies.own_case(config)).population.sites
    persons = sum(len(site.train) for site in sites)
    if config.budget.unit == "client":
        why = "these attacks are on people, and the guarantee is about whole sites"
        left_out.append(Omission("Attacks and audit", why))
        return QuestionSet(tuple(tables), tuple(left_out))
    if persons < FEWEST:
        why = f"{persons} people to train on; below {FEWEST} an interval says nothing"
        left_out.append(Omission("Membership and attribute inference", why))
    else:
        tables.append(_membership(dataset, config))
        if model_of(dataset, policies.own_case(config)) == "linear":
            why = "the target is a number, and these attacks go by classes"
            left_out.append(Omission("Attribute inference", why))
        else:
            tables.append(_inference(dataset, config))
    return QuestionSet((*tables, _audit(dataset, config)), tuple(left_out))


def _not_alone(config: Config) -> str:
    """Return the reason why sites cannot run the policy alone; empty if they can."""
    if config.budget.unit == "client":
        return "the unit is a whole site, and a site alone has nobody to hide among"
    if config.budget.profiles or config.budget.clients:
        return "sites have budgets of their own in this policy"
    if config.privacy.trust == "distributed":
        return "noise in shares takes several sites"
    return ""


def _jobs(
    dataset: Dataset,
    config: Config,
    methods: Sequence[str],
    seeds: int,
    kind: JobKind = "train",
    **more: Any,
) -> tuple[Job, ...]:
    setting = policies.own_setting(config) | more
    return tuple(
        Job(kind, dataset.name, method, seed, None, setting)
        for method in methods
        for seed in range(seeds)
    )


def _attacks(dataset: Dataset, config: Config, attack: str) -> tuple[Job, ...]:
    methods = (policies.NONE, CONFIGURED)
    return _jobs(dataset, config, methods, 1, "attack", attack=attack)


def _cost(dataset: Dataset, config: Config, seeds: int) -> ResultTable:
    alone = () if _not_alone(config) else (policies.LOCAL,)
    return ResultTable(
        *asked(__package__, COST),
        jobs=_jobs(dataset, config, (policies.NONE, CONFIGURED, *alone), seeds),
        across=("method",),
        shows=QUALITY,
        against=policies.NONE,
    )


def _tailoring(dataset: Dataset, config: Config, seeds: int) -> ResultTable:
    uniform = (policies.UNIFORM_ATTRIBUTE, policies.UNIFORM_RECORD)
    configured = config.privacy.mechanism == policies.CASCADE
    tailored = CONFIGURED if configured else policies.CASCADE
    return ResultTable(
        *asked(__package__, TAILORING),
        jobs=_jobs(dataset, config, (tailored, *uniform), seeds),
        across=("method",),
        shows=QUALITY,
        against=tailored,
    )


def _membership(dataset: Dataset, config: Config) -> ResultTable:
    return ResultTable(
        *asked(__package__, MEMBERSHIP),
        jobs=_attacks(dataset, config, "membership"),
        across=("method",),
        shows=("auc", "low", "high", "bound", "strongest_low", "attempts", "seconds"),
    )


def _inference(dataset: Dataset, config: Config) -> ResultTable:
    return ResultTable(
        *asked(__package__, ATTRIBUTE),
        jobs=_attacks(dataset, config, "attribute"),
        across=("method",),
        shows=(
            *("auc", "low", "high", "bound", "imputation_auc", "gain", "gain_low"),
            *("excess", "columns", "seconds"),
        ),
    )


def _audit(dataset: Dataset, config: Config) -> ResultTable:
    claims = ("record", "special", "personal", "non_personal")
    return ResultTable(
        *asked(__package__, AUDIT, canaries=CANARIES),
        jobs=_jobs(dataset, config, (CONFIGURED,), 1, "audit", canaries=CANARIES),
        across=("method",),
        shows=(
            *(f"{claim}_{end}" for claim in claims for end in ("claimed", "found")),
            "refuted",
        ),
    )


def measure(job: Job, dataset: Dataset) -> dict[str, Any]:
    """Return `status`, `values` and `note` of a job, as JSON values."""
    own, case = own_methods(dataset), case_of(job)
    if job.kind == "audit":
        canaries = job.setting["canaries"]
        values = audit_claims(dataset, case, job.method, canaries)
        del values["canaries"]
        return {"status": "done", "values": values, "note": ""}
    if job.setting.get("attack") == "membership":
        # The one of three attacks that finds most under noise (`membership.py`).
        result = job_kinds.measure(job, dataset)
        found = result["values"]
        shown = {name: found[f"calibrated_{name}"] for name in ("auc", "low", "high")}
        return {**result, "values": {**found, **shown}}
    # A linear model without noise is solved exactly.
    is_solved = job.method == policies.NONE and job.setting["model"] == "logistic"
    if job.kind != "train" or is_solved:
        return job_kinds.measure(job, dataset)
    if job.method == policies.LOCAL:
        method = alone(policies.LOCAL, own[CONFIGURED])
    else:
        method = through_the_product(job.method, own[job.method])
    scores = method(dataset, case)
    metrics = {
        **metrics_of(scores, None),
        "record_epsilon": scores.record_epsilon,
        "attribute_epsilon": scores.attribute_epsilon,
        "rounds": float(scores.rounds),
        "seconds": scores.seconds,
        OVERLAP: split_overlap(dataset),
    }
    status = "diverged" if scores.diverged else "done"
    return {"status": status, "values": plain(metrics), "note": scores.note}
