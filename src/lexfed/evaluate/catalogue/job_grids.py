# SPDX-License-Identifier: Apache-2.0
"""The parts of tables: sets of data, cells, and the jobs of their combinations."""

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

from lexfed.evaluate.harness.tables import Job, JobKind

DatasetSample = tuple[str, int | None]
"""A data set and how many of its rows are used; all if None."""

HEART: DatasetSample = ("heart_uci4", None)
GERMAN: DatasetSample = ("german_credit", None)
EICU: DatasetSample = ("eicu_demo", None)
SUPPORT: DatasetSample = ("support2", None)
ADULT: DatasetSample = ("adult", 5714)
TAIWAN: DatasetSample = ("taiwan_default", 5714)
SMALL = (GERMAN, HEART, EICU)
COMPARED = (*SMALL, ADULT, TAIWAN, SUPPORT)
"""The six tables that methods are compared on, as large as in the figures of DP-EBM.

Of the two largest 5,714 rows: 70 % of them, 4,000, are learned from."""
WHOLE: tuple[DatasetSample, ...] = (
    *(HEART, GERMAN, EICU, SUPPORT, ("adult", None), ("taiwan_default", None)),
    *(("diabetes130", 20000), ("creditcard_fraud_sample", None), ("synthea", None)),
)
"""Every public table with all of its rows; of the largest, 20,000."""

WITHOUT_PRIVACY = frozenset(
    {
        *("none", "local-none", "boosted", "boosted-federated"),
        *("additive", "truth"),
    }
)
"""Methods that no budget changes: one job serves every budget of a table."""
_BUDGETS = ("record_epsilon", "attribute_epsilon", "personal_epsilon", "equal")


def jobs(
    sets: Iterable[DatasetSample],
    methods: Iterable[str],
    seeds: int,
    cells: Iterable[Mapping[str, Any]] = ({},),
    kind: JobKind = "train",
) -> tuple[Job, ...]:
    """Return every combination of data sets, cells, methods and splits, each once."""
    unique: dict[str, Job] = {}
    for (name, rows), cell, method in product(sets, cells, methods):
        dropped = _BUDGETS if method in WITHOUT_PRIVACY else ()
        setting = {fact: value for fact, value in cell.items() if fact not in dropped}
        for seed in range(seeds):
            job = Job(kind, name, method, seed, rows, setting)
            unique.setdefault(repr(sorted(job.facts.items(), key=str)), job)
    return tuple(unique.values())


def record(epsilon: float, **more: Any) -> dict[str, Any]:
    """Return a cell in which all methods have the same epsilon for the whole record."""
    # No tier is capped; the attribute's epsilon is what comes out.
    cell = {"record_epsilon": epsilon, "attribute_epsilon": epsilon}
    return {**cell, "equal": "record", **more}


def attribute(epsilon: float, whole: float, **more: Any) -> dict[str, Any]:
    """Return a cell in which the most sensitive tier has the same epsilon."""
    cell = {"record_epsilon": whole, "attribute_epsilon": epsilon}
    return {**cell, "equal": "attribute", **more}


CELL = attribute(0.3, 2.0)
"""The cell of most tables at equal protection of the sensitive attribute."""
