# SPDX-License-Identifier: Apache-2.0
"""Columns as a source gave them, before anything is checked against a schema."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lexfed.arrays import Bools, Integers
from lexfed.data.file_format import PLAIN, FileFormat

RawKind = Literal["text", "number", "flag", "date", "other"]


@dataclass(frozen=True)
class RawColumn:
    """Values of one column, and a mask of those that are missing.

    `kind` is the type that the source gives; a CSV file only knows text. Values are
    stripped texts, numbers, truth values or `datetime64`, arbitrary where missing
    (empty text, null). Numbers may have a unit that the source knows, such as `%`.
    """

    kind: RawKind
    values: NDArray[Any]
    missing: Bools
    unit: str = ""


@dataclass(frozen=True)
class Frame:
    """The columns read from one source, with row numbers as a person counts them there.

    `ignored` columns of the source were not asked for, `unnamed` ones, by their places
    from 1, could not be; `written` says how its texts are to be understood. `part_of`
    names the source of which this is one file of several.
    """

    name: str
    columns: Mapping[str, RawColumn]
    rows: Integers
    ignored: tuple[str, ...] = ()
    written: FileFormat = PLAIN
    unnamed: tuple[int, ...] = ()
    part_of: str = ""

    @property
    def source(self) -> str:
        """The name of the source: that of the file, or of the files together."""
        return self.part_of or self.name

    def __len__(self) -> int:
        return len(self.rows)


def text_column(values: list[str]) -> RawColumn:
    """Return a column of texts; an empty or blank one is missing."""
    stripped = np.array([value.strip() for value in values], dtype=object)
    return RawColumn("text", stripped, stripped == "")


def array_column(values: NDArray[Any]) -> RawColumn:
    """Return a column of a NumPy array; NaN and None are missing."""
    kind, none = values.dtype.kind, np.zeros(len(values), dtype=bool)
    if kind in "biu":
        return RawColumn("flag" if kind == "b" else "number", values, none)
    if kind == "f":
        return RawColumn("number", values, np.isnan(values))
    if kind == "M":
        return RawColumn("date", values, np.isnat(values))
    if kind in "OUT":
        # A missing value in an object array is None, NaN or pandas' NA: all of them
        # are unequal to themselves or None, and none of them is a text.
        return text_column(["" if _absent(v) else str(v) for v in values])
    return RawColumn("other", values, none)


def _absent(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def frame_of_arrays(name: str, columns: Mapping[str, NDArray[Any]]) -> Frame:
    """Return a frame of arrays of one length; rows are counted from 1."""
    read = {column: array_column(values) for column, values in columns.items()}
    length = len(next(iter(columns.values()))) if columns else 0
    return Frame(name, read, np.arange(1, length + 1, dtype=np.int64))
