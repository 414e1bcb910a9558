# SPDX-License-Identifier: Apache-2.0
"""A table that matches its schema: every value checked, clamped and counted.

Numbers and flags are floats with NaN for missing; categories are codes into the
declared list with -1 for missing. Which rows there are, in which order, of whom and
from where never depends on a value of a feature: a row with an odd value is kept
and the value is clamped, or the whole table is refused (isolation of tiers).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from lexfed.arrays import Bools, Floats, Integers
from lexfed.data.schema import Schema

ColumnValues = Floats | Integers


@dataclass(frozen=True)
class BentValues:
    """Numbers of values that were bent to fit the declarations, by column.

    Exact facts about rows: for the people who hold them, never for others.
    """

    clamped: Mapping[str, int] = field(default_factory=dict)
    undeclared: Mapping[str, int] = field(default_factory=dict)

    def lines(self, rows: int | None = None) -> list[str]:
        """Return them in words, as parts of so many rows where that is known."""

        def values(count: int) -> str:
            of = "" if rows is None else f" of {rows}"
            return "1 value" + of if count == 1 else f"{count} values{of}"

        return [
            f"column `{name}`: {values(count)} outside the declared range, clamped"
            for name, count in self.clamped.items()
        ] + [
            f"column `{name}`: {values(count)} not in the declared list, taken as "
            "missing"
            for name, count in self.undeclared.items()
        ]


@dataclass(frozen=True)
class Table:
    """Rows that were read under a schema.

    Attributes:
        columns: values of each feature read, and of the target where there is one.
        persons: each row's person as a code; a code per row without a person key.
        person_keys: the key behind each code. Kept for stable splits; never shown.
        sites: each row's site as a code, an index into `site_names`.
        rows: row number in the source, as `DataProblem` counts it.
        file_codes: each row's source, an index into `files`.
        clamped: number of values of a column outside its declared range. Like
            `undeclared`, a fact about private rows: for the people who hold the
            data, never for a claim, a model or others.
        undeclared: number of values of a column that are not in its declared list.
        ignored: columns of the sources that are not declared; they were not read.
        file_sources: the source of each file, where one source has several.
    """

    schema: Schema
    columns: Mapping[str, ColumnValues]
    persons: Integers
    person_keys: tuple[str, ...]
    sites: Integers
    site_names: tuple[str, ...]
    rows: Integers
    file_codes: Integers
    files: tuple[str, ...]
    clamped: Mapping[str, int] = field(default_factory=dict)
    undeclared: Mapping[str, int] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()
    file_sources: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def bent(self) -> BentValues:
        """The values that were bent to fit the declarations."""
        return BentValues(self.clamped, self.undeclared)

    @property
    def has_target(self) -> bool:
        """True if the target was read (it is not, for prediction)."""
        return self.schema.target in self.columns

    def numbers(self, name: str) -> Floats:
        """Return a number or flag column: floats, NaN where missing."""
        return np.asarray(self.columns[name], dtype=np.float64)

    def codes(self, name: str) -> Integers:
        """Return a category column: positions in the declared list, -1 if missing."""
        return np.asarray(self.columns[name], dtype=np.int64)

    def missing(self, name: str) -> Bools:
        """Return a mask of a column's missing values (undeclared categories too)."""
        if self.schema.by_name(name).kind == "category":
            return self.codes(name) < 0
        return np.isnan(self.numbers(name))

    def person_count(self) -> int:
        """Return the number of persons with at least one row here."""
        return len(np.unique(self.persons))

    def take(self, rows: Integers) -> "Table":
        """Return the table of these row positions, in this order.

        Codes keep their meaning; the counts stay those of the whole source.
        """
        return replace(
            self,
            columns={name: values[rows] for name, values in self.columns.items()},
            persons=self.persons[rows],
            sites=self.sites[rows],
            rows=self.rows[rows],
            file_codes=self.file_codes[rows],
        )
