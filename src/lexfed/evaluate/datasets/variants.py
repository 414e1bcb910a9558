# SPDX-License-Identifier: Apache-2.0
"""Tables made from prepared ones: other columns, other tiers, another outcome.

`heart-flamby` is the heart table as FLamby uses it: without slope, ca and thal,
which most hospitals did not record, and without the rows that miss anything else.
`german-four` and `eicu-four` have columns in all four tiers under a stricter policy.
`adni-without-genetics` leaves out the columns that are genetic data (GDPR Art. 9).
`iot-next-hour` predicts a sensor's next reading, a number.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from lexfed.evaluate.datasets import Dataset, prepare
from lexfed.evaluate.datasets.synthetic.iot_table import NEXT_LEVEL

FLAMBY = "heart-flamby"
GERMAN_FOUR, EICU_FOUR = "german-four", "eicu-four"
NO_GENETICS = "adni-without-genetics"
NEXT_HOUR = "iot-next-hour"


def prepare_variant(name: str, into: Path, rows: int | None = None) -> Dataset:
    """Prepare a data set, or make a derived one.

    Raises:
        DataError: as `datasets.prepare` does.
    """
    if name not in DERIVED:
        return prepare(name, into, rows=rows)
    source, change = DERIVED[name]
    return replace(change(prepare(source, into, rows=rows)), name=name)


def _flamby(heart: Dataset) -> Dataset:
    smaller = _without(heart, ("slope", "ca", "thal"))
    path = heart.folder / "table.csv"
    frame = pd.read_csv(path, dtype=str)
    inputs = [name for name in smaller.tables["data"]["columns"] if name in frame]
    frame = frame.dropna(subset=inputs)
    frame.to_csv(path, index=False, lineterminator="\n")
    data = dict(smaller.tables["data"])
    data["columns"] = {
        name: {**column, "missing": False} if column["kind"] != "text" else column
        for name, column in data["columns"].items()
    }
    data["units"] = len(frame)
    return replace(smaller, tables={**smaller.tables, "data": data})


def _without(dataset: Dataset, left_out: Iterable[str]) -> Dataset:
    """Return a data set whose declaration does not know some columns."""
    gone = frozenset(left_out)
    data, law = dict(dataset.tables["data"]), dict(dataset.tables["law"])
    for table in (data, law):
        kept = {n: one for n, one in table["columns"].items() if n not in gone}
        table["columns"] = kept
    return replace(dataset, tables={**dataset.tables, "data": data, "law": law})


def _retagged(tiers: Mapping[str, tuple[str, str]]) -> Callable[[Dataset], Dataset]:
    """Return a function that gives columns another tier: column -> tier and reason."""

    def change(dataset: Dataset) -> Dataset:
        law: dict[str, Any] = dict(dataset.tables["law"])
        tags = {n: {"tier": tier, "reason": why} for n, (tier, why) in tiers.items()}
        law["columns"] = {**law["columns"], **tags}
        return replace(dataset, tables={**dataset.tables, "law": law})

    return change


def _no_genetics(people: Dataset) -> Dataset:
    names = people.tables["data"]["columns"]
    return _without(people, [n for n in names if n == "apoe4" or n.startswith("snp_")])


def _next_hour(sensors: Dataset) -> Dataset:
    """Predict the next level; a reading after which none came is no example."""
    path = sensors.folder / "table.csv"
    frame = pd.read_csv(path, dtype=str).dropna(subset=[NEXT_LEVEL])
    frame.to_csv(path, index=False, lineterminator="\n")
    smaller = _without(sensors, [sensors.target])
    data, law = dict(smaller.tables["data"]), dict(smaller.tables["law"])
    level = {"kind": "number", "range": [-6.0, 6.0], "missing": False}
    data["columns"] = {**data["columns"], NEXT_LEVEL: level}
    data["target"] = NEXT_LEVEL
    tag = {"tier": "personal", "reason": "the outcome"}
    law["columns"] = {**law["columns"], NEXT_LEVEL: tag}
    tables = {**smaller.tables, "data": data, "law": law}
    return replace(smaller, tables=tables, target=NEXT_LEVEL)


_LOAN = ("non_personal", "about the loan")
_HOSPITAL = ("non_personal", "about the hospital")
DERIVED: Mapping[str, tuple[str, Callable[[Dataset], Dataset]]] = {
    FLAMBY: ("heart_uci4", _flamby),
    GERMAN_FOUR: (
        "german_credit",
        _retagged(
            {
                "telephone": ("identifier", "its class; a policy may leave it out"),
                **dict.fromkeys(("duration", "credit_amount"), _LOAN),
                **dict.fromkeys(("installment_rate", "other_debtors"), _LOAN),
            }
        ),
    ),
    EICU_FOUR: (
        "eicu_demo",
        _retagged(
            {
                "age": ("identifier", "above 89 an identifier, 45 CFR 164.514(b)(2)"),
                **dict.fromkeys(("region", "unittype"), _HOSPITAL),
            }
        ),
    ),
    NO_GENETICS: ("adni_like", _no_genetics),
    NEXT_HOUR: ("iot_like", _next_hour),
}
"""By name: the prepared table it is made from, and how."""
