# SPDX-License-Identifier: Apache-2.0
"""Labelled tables: those of the packs in the repository, or of a file given by path.

A file is a CSV with the fields `source, table, column, description, dtype,
label_tier, label_category, lang`.
"""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lexfed.law.tagger.metadata.packs import load_packs
from lexfed.law.tagger.suggestions import CATEGORIES, DescribedColumn
from lexfed.law.tagger.words.normalisation import squeeze


@dataclass(frozen=True)
class LabelledTable:
    """A table and the category of each of its columns.

    Attributes:
        source: the schema it comes from; no schema is both trained and judged on.
        language: of its names.
        columns: its columns.
        labels: the number of each column's category.
    """

    source: str
    language: str
    columns: tuple[DescribedColumn, ...]
    labels: tuple[int, ...]

    @property
    def family(self) -> str:
        """The group of related sources: parts of one standard share names."""
        return "_".join(self.source.partition("~")[0].split("_")[:2])


def pack_tables() -> list[LabelledTable]:
    """Return the tables of all packs."""
    return [
        table
        for name, pack in sorted(load_packs().packs.items())
        for table in _tables(
            (name, pack.language,
             DescribedColumn(row.table, row.column, row.description, row.dtype),
             row.category)
            for row in pack.rows
        )
    ]  # fmt: skip


def csv_tables(path: Path) -> list[LabelledTable]:
    """Return the tables of a file of labelled columns."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return _tables(
        (
            row["source"],
            row["lang"],
            DescribedColumn(
                row["table"], row["column"], row["description"], row["dtype"]
            ),
            row["label_category"],
        )
        for row in rows
    )


def strangers(
    tables: Sequence[LabelledTable], judged: Sequence[LabelledTable], most: float = 0.4
) -> list[LabelledTable]:
    """Return the tables of sources that share few names with every judged source.

    A pack of the same standard as a judged source would flatter the figures.
    """
    theirs = _names(judged)
    own = _names(tables)
    close = {
        source
        for source, names in own.items()
        for other in theirs.values()
        if len(other) > 5 and len(names & other) > most * len(other)
    }
    return [table for table in tables if table.source not in close]


def _names(tables: Iterable[LabelledTable]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for table in tables:
        names = {squeeze(column.name) for column in table.columns}
        found.setdefault(table.source, set()).update(names)
    return found


def _tables(
    rows: Iterable[tuple[str, str, DescribedColumn, str]],
) -> list[LabelledTable]:
    grouped: dict[tuple[str, str, str], list[tuple[DescribedColumn, int]]] = {}
    for source, language, column, category in rows:
        place = (source, language, column.table)
        grouped.setdefault(place, []).append((column, CATEGORIES.index(category)))
    return [
        LabelledTable(
            source,
            language,
            tuple(column for column, _ in members),
            tuple(label for _, label in members),
        )
        for (source, language, _), members in grouped.items()
    ]
