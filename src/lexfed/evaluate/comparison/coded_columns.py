# SPDX-License-Identifier: Apache-2.0
"""The columns behind the slots, for methods that bin values themselves."""

from dataclasses import dataclass

import numpy as np

from lexfed.arrays import Bools, Floats
from lexfed.data.schema import Column
from lexfed.evaluate.comparison.split_rows import SplitRows, SplitSide


@dataclass(frozen=True)
class CodedColumns:
    """Features as they are declared, a row of values for each row of a side.

    Attributes:
        columns: their declarations.
        values: [rows, columns]; a category is its place in the declared list. What is
            missing is not a number.
    """

    columns: tuple[Column, ...]
    values: Floats

    @property
    def is_category(self) -> Bools:
        """Which columns are categories."""
        return np.array([column.kind == "category" for column in self.columns])


def columns_of(rows: SplitRows, side: SplitSide) -> CodedColumns:
    """Return the columns that the model may read, of the rows of one side."""
    schema, names = rows.table.schema, rows.population.encoding.columns
    declared = tuple(schema.by_name(name) for name in names)
    values = np.empty((len(side.rows), len(names)))
    for place, column in enumerate(declared):
        read = rows.table.columns[column.name][side.rows].astype(np.float64)
        # Categories mark what is missing by -1.
        values[:, place] = np.where(read < 0, np.nan, read) if _coded(column) else read
    return CodedColumns(declared, values)


def _coded(column: Column) -> bool:
    return column.kind == "category"
