# SPDX-License-Identifier: Apache-2.0
"""How tables are put together: sets of data, cells, and the jobs they come to."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lexfed.evaluate.harness.jobs import Job, JobKind

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

WITHOUT_PRIVACY = frozenset({"none", "local-none", "boosted", "boosted-federated"})
"""Methods that no budget changes: one job serves every budget of a table."""
_BUDGETS = ("record_epsilon", "attribute_epsilon", "equal")


def jobs(
    sets: Iterable[DatasetSample],
    methods: Iterable[str],
    seeds: int,
    cells: Iterable[Mapping[str, Any]] = ({},),
    kind: JobKind = "train",
) -> tuple[Job, ...]:
    """Return every combination, each once.

    Args:
        sets: data sets.
        methods: who is measured.
        seeds: how many splits of each.
        cells: settings of the case, beside the base cell.
        kind: what is measured.
    """
    found: dict[str, Job] = {}
    for job in _all(tuple(sets), tuple(methods), seeds, tuple(cells), kind):
        found.setdefault(repr(sorted(job.facts.items(), key=str)), job)
    return tuple(found.values())


def _all(
    sets: tuple[DatasetSample, ...],
    methods: tuple[str, ...],
    seeds: int,
    cells: tuple[Mapping[str, Any], ...],
    kind: JobKind,
) -> Iterator[Job]:
    for name, rows in sets:
        for cell in cells:
            for method in methods:
                setting = dict(cell)
                if method in WITHOUT_PRIVACY:
                    for budget in _BUDGETS:
                        setting.pop(budget, None)
                for seed in range(seeds):
                    yield Job(kind, name, method, seed, rows, setting)


def record(epsilon: float, **more: Any) -> dict[str, Any]:
    """Return a cell in which all methods have the same epsilon for the whole record."""
    # No tier is capped; the attribute's epsilon is what comes out.
    cell = {"record_epsilon": epsilon, "attribute_epsilon": epsilon}
    return {**cell, "equal": "record", **more}


def attribute(epsilon: float, whole: float, **more: Any) -> dict[str, Any]:
    """Return a cell in which the most sensitive tier has the same epsilon."""
    cell = {"record_epsilon": whole, "attribute_epsilon": epsilon}
    return {**cell, "equal": "attribute", **more}
