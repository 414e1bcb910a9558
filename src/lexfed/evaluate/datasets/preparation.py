# SPDX-License-Identifier: Apache-2.0
"""From a name to a table that the product reads like any other file."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lexfed.errors import DataError, Problem
from lexfed.evaluate.datasets.public.cleaning import clean
from lexfed.evaluate.datasets.public.declarations import (
    TableDeclaration,
    load_declaration,
    public_names,
    unknown_dataset,
)
from lexfed.evaluate.datasets.public.source_folder import checksums, digest, read_source
from lexfed.evaluate.datasets.synthetic import MAKERS
from lexfed.evaluate.datasets.synthetic import digest as made_digest


@dataclass(frozen=True)
class Dataset:
    """A prepared table: its public facts, and the folder of its CSV file.

    Attributes:
        folder: holds `table.csv`, in the ordinary form that the product reads.
        tables: the `data` and `law` tables of a configuration: columns, ranges, tiers,
            sites, person, units. A table that somebody configured has `methods` too,
            the policies that are compared on it.
        target: the column to predict.
        groups: attribute of fairness (`sex`, `age`, `ethnicity`) -> column of the
            file, where the data has it. Such a column need not be an input.
        digest: SHA-256 of the source files, or of a synthetic table's parameters.
        site_from: the column that decides a person's site, where sites are made from
            one; None where sites are real, or nobody's values decide them.
    """

    name: str
    folder: Path
    tables: Mapping[str, Any]
    target: str
    groups: Mapping[str, str]
    digest: str
    site_from: str | None = None


def names() -> tuple[str, ...]:
    """Return the names of all data sets, the public ones first."""
    return (*public_names(), *MAKERS)


def prepare(
    name: str, into: Path, *, rows: int | None = None, seed: int = 0
) -> Dataset:
    """Write a data set into a folder as one CSV file and return its public facts.

    Guarantees:
        The same arguments write the same bytes. The declaration does not depend on
        the content of the rows.

    Args:
        name: one of `names()`.
        into: the folder; it is made if there is none.
        rows: use so many rows, drawn person after person; all if None. A synthetic
            table is made of about this size, where readings of a sensor count.
        seed: fixes the drawn rows, and everything in a synthetic table.

    Raises:
        DataError: if there is no such data set, its folder is missing, a checksum
            differs, its classes contradict the tiers, or it has too few rows.
    """
    if name not in names():
        raise unknown_dataset(name, names())
    into.mkdir(parents=True, exist_ok=True)
    if name in MAKERS:
        return _made(name, into, rows, seed)
    facts = load_declaration(name)
    frame = clean(name, read_source(facts))
    if rows is not None:
        _enough(name, facts.rows, rows)
        frame = _drawn(frame, facts, rows, seed)
    _write(facts, [frame], into / "table.csv")
    return _dataset(facts, into, rows or facts.rows, digest(checksums(facts)))


def _made(name: str, into: Path, rows: int | None, seed: int) -> Dataset:
    maker = MAKERS[name]
    size = maker.rows if rows is None else rows
    _enough(name, _MOST_MADE, size)
    facts = maker.facts(size)
    _write(facts, maker.frames(seed, size), into / "table.csv")
    return _dataset(facts, into, size, made_digest(name, size, seed))


# Ten million readings are the most that anybody asked for.
_MOST_MADE = 10_000_000


def _write(facts: TableDeclaration, frames: Iterable[pd.DataFrame], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        for place, frame in enumerate(frames):
            rows = frame[facts.written]
            rows.to_csv(file, index=False, header=place == 0, lineterminator="\n")


def _dataset(facts: TableDeclaration, folder: Path, rows: int, sha256: str) -> Dataset:
    return Dataset(
        name=facts.name,
        folder=folder,
        tables=_with_sites(facts.tables(rows), folder),
        target=facts.target,
        groups=facts.groups,
        digest=sha256,
        site_from=facts.site_from,
    )


def _with_sites(tables: dict[str, Any], folder: Path) -> dict[str, Any]:
    """List the sites of a table; it is public, so they may be read from it."""
    sites = tables["data"]["sites"]
    if "column" in sites:
        column = sites["column"]
        read = pd.read_csv(folder / "table.csv", usecols=[column], dtype=str)
        sites["names"] = sorted(read[column].str.strip().unique())
    return tables


def _enough(name: str, there: int, wanted: int) -> None:
    if not 1 <= wanted <= there:
        what = f"{wanted} rows cannot be drawn, there are {there}"
        raise DataError([Problem(name, what, f"ask for 1 to {there}, or for all")])


def _drawn(
    frame: pd.DataFrame, facts: TableDeclaration, rows: int, seed: int
) -> pd.DataFrame:
    """Return the rows of persons in a random order, until there are enough."""
    keys = frame[facts.person] if facts.person else pd.Series(range(len(frame)))
    person = pd.factorize(keys.to_numpy())[0]
    place = np.random.default_rng(seed).permutation(person.max() + 1)[person]
    order = np.argsort(place, kind="stable")
    return frame.iloc[np.sort(order[:rows])]
