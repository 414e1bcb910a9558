# SPDX-License-Identifier: Apache-2.0
"""From a name to a table that the product reads like any other file.

Variants are made from prepared tables: other columns, other tiers, another outcome.
`heart-flamby` is the heart table as FLamby uses it: without slope, ca and thal,
which most hospitals did not record, and without the rows that miss anything else.
`german-four` and `eicu-four` have columns in all four tiers under a stricter policy.
`adni-without-genetics` leaves out the columns that are genetic data (GDPR Art. 9).
`iot-next-hour` predicts a sensor's next reading, a number.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lexfed.errors import DataError, Problem
from lexfed.evaluate.datasets.cleaning import clean
from lexfed.evaluate.datasets.declarations import (
    TableDeclaration,
    load_declaration,
    public_names,
    unknown_dataset,
)
from lexfed.evaluate.datasets.source_folder import checksums, digest, read_source
from lexfed.evaluate.datasets.synthetic import MAKERS, SUITE
from lexfed.evaluate.datasets.synthetic import digest as made_digest
from lexfed.evaluate.datasets.synthetic.iot import NEXT_LEVEL

FLAMBY = "heart-flamby"
GERMAN_FOUR, EICU_FOUR = "german-four", "eicu-four"
NO_GENETICS = "adni-without-genetics"
NEXT_HOUR = "iot-next-hour"
_MOST_MADE = 10_000_000
"""Rows of a synthetic table at most."""


@dataclass(frozen=True)
class Dataset:
    """A prepared table: its public facts, and the folder of its `table.csv`.

    Attributes:
        tables: the `data` and `law` tables of a configuration. A user's own table has
            `methods` too, the policies that are compared on it.
        groups: attribute of fairness (`sex`, `age`, `ethnicity`) -> column of the file,
            where the data has it. Such a column need not be an input.
        digest: SHA-256 of the source files, or of a synthetic table's parameters.
        site_from: the column that decides a person's site, where sites are made from
            one; None where sites are real, or no values decide them.
    """

    name: str
    folder: Path
    tables: Mapping[str, Any]
    target: str
    groups: Mapping[str, str]
    digest: str
    site_from: str | None = None

    def with_columns(
        self, table: str, columns: Mapping[str, Any], **other: Any
    ) -> "Dataset":
        """Return the data set with other columns and keys in one of its tables."""
        changed = {**self.tables[table], **other, "columns": columns}
        return replace(self, tables={**self.tables, table: changed})


def names() -> tuple[str, ...]:
    """Return the names of all data sets, the public ones first."""
    return (*public_names(), *MAKERS, *SUITE)


def prepare(
    name: str, into: Path, *, rows: int | None = None, seed: int = 0
) -> Dataset:
    """Write a data set into a folder as one CSV file and return its public facts.

    `rows` are drawn person after person, all if None; a synthetic table is made of
    about this size.

    Guarantees:
        The same arguments write the same bytes. The declaration does not depend on the
        content of the rows.

    Raises:
        DataError: if there is no such data set, its folder is missing, a checksum
            differs, its classes contradict the tiers, or it has too few rows.
    """
    if name not in names():
        raise unknown_dataset(name, names())
    into.mkdir(parents=True, exist_ok=True)
    made = {**MAKERS, **SUITE}
    if name in made:
        maker = made[name]
        size = maker.rows if rows is None else rows
        _require_rows(name, _MOST_MADE, size)
        facts = maker.facts(size)
        _write(facts, maker.frames(seed, size), into / "table.csv")
        return _dataset(facts, into, size, made_digest(name, size, seed))
    facts = load_declaration(name)
    frame = clean(name, read_source(facts))
    if rows is not None:
        _require_rows(name, facts.rows, rows)
        frame = _drawn(frame, facts, rows, seed)
    _write(facts, [frame], into / "table.csv")
    return _dataset(facts, into, rows or facts.rows, digest(checksums(facts)))


def _write(facts: TableDeclaration, frames: Iterable[pd.DataFrame], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        for place, frame in enumerate(frames):
            rows = frame[facts.written]
            rows.to_csv(file, index=False, header=place == 0, lineterminator="\n")


def _dataset(facts: TableDeclaration, folder: Path, rows: int, sha256: str) -> Dataset:
    tables = facts.tables(rows)
    sites = tables["data"]["sites"]
    if "column" in sites:  # the list is public, so it may be read from the rows
        column = sites["column"]
        read = pd.read_csv(folder / "table.csv", usecols=[column], dtype=str)
        sites["names"] = sorted(read[column].str.strip().unique())
    return Dataset(
        name=facts.name,
        folder=folder,
        tables=tables,
        target=facts.target,
        groups=facts.groups,
        digest=sha256,
        site_from=facts.site_from,
    )


def _require_rows(name: str, present: int, wanted: int) -> None:
    if not 1 <= wanted <= present:
        what = f"{wanted} rows cannot be drawn, there are {present}"
        raise DataError([Problem(name, what, f"ask for 1 to {present}, or for all")])


def _drawn(
    frame: pd.DataFrame, facts: TableDeclaration, rows: int, seed: int
) -> pd.DataFrame:
    """Return the rows of persons in a random order, until there are enough."""
    keys = frame[facts.person] if facts.person else pd.Series(range(len(frame)))
    person = pd.factorize(keys.to_numpy())[0]
    place = np.random.default_rng(seed).permutation(person.max() + 1)[person]
    order = np.argsort(place, kind="stable")
    return frame.iloc[np.sort(order[:rows])]


def prepare_variant(name: str, into: Path, rows: int | None = None) -> Dataset:
    """Prepare a data set or a variant; raises as `prepare` does."""
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
    columns = {
        name: {**column, "missing": False} if column["kind"] != "text" else column
        for name, column in smaller.tables["data"]["columns"].items()
    }
    return smaller.with_columns("data", columns, units=len(frame))


def _without(dataset: Dataset, left_out: Collection[str]) -> Dataset:
    """Return a data set whose declaration does not know some columns."""
    for table in ("data", "law"):
        columns = dataset.tables[table]["columns"]
        kept = {name: one for name, one in columns.items() if name not in left_out}
        dataset = dataset.with_columns(table, kept)
    return dataset


def _retagged(tiers: Mapping[str, tuple[str, str]]) -> Callable[[Dataset], Dataset]:
    """Return a function that gives columns another tier: column -> tier and reason."""

    def change(dataset: Dataset) -> Dataset:
        tags = {n: {"tier": tier, "reason": why} for n, (tier, why) in tiers.items()}
        known = dataset.tables["law"]["columns"]
        return dataset.with_columns("law", {**known, **tags})

    return change


def _no_genetics(people: Dataset) -> Dataset:
    names = people.tables["data"]["columns"]
    return _without(people, [n for n in names if n == "apoe4" or n.startswith("snp_")])


def _next_hour(sensors: Dataset) -> Dataset:
    """Predict the next level; the last reading of a sensor is no example."""
    path = sensors.folder / "table.csv"
    frame = pd.read_csv(path, dtype=str).dropna(subset=[NEXT_LEVEL])
    frame.to_csv(path, index=False, lineterminator="\n")
    smaller = _without(sensors, [sensors.target])
    columns, tags = (smaller.tables[table]["columns"] for table in ("data", "law"))
    level = {"kind": "number", "range": [-6.0, 6.0], "missing": False}
    tag = {"tier": "personal", "reason": "the outcome"}
    later = smaller.with_columns(
        "data", {**columns, NEXT_LEVEL: level}, target=NEXT_LEVEL
    ).with_columns("law", {**tags, NEXT_LEVEL: tag})
    return replace(later, target=NEXT_LEVEL)


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
