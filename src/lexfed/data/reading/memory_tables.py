# SPDX-License-Identifier: Apache-2.0
"""Data frames of the calling program, read like files and written nowhere.

pandas, polars, PyArrow and whatever else narwhals knows. A frame has a name,
`frame:patients`, which stands where a configuration otherwise names a file; so logs
and ledgers say that the rows came from memory, and hold neither values nor a digest of
them: with a digest anyone could check a guess of the whole table.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lexfed.data.problems import Problems, refuse
from lexfed.data.reading.column_names import check_names
from lexfed.data.reading.frames import Frame, RawColumn, array_column
from lexfed.data.reading.parquet_files import arrow_column, single_valued
from lexfed.terms import FRAME

_HINT = "give a pandas, polars or PyArrow table, or the path of a file"


@dataclass(frozen=True)
class MemoryTable:
    """A data frame in memory, under its name in a configuration; made by `of`.

    Guarantees:
        Columns that nobody asks for are not converted.
        The frame is neither changed nor kept on disk.
    """

    name: str
    columns: tuple[str, ...]
    length: int
    index: tuple[str, ...] = ()
    frame: Any = field(default=None, repr=False)

    @classmethod
    def of(cls, given: object, name: str = f"{FRAME}table") -> "MemoryTable":
        """Return a frame under a name; `DataError` if it is no table with columns."""
        import narwhals as nw
        from narwhals.exceptions import NarwhalsError

        try:
            frame = nw.from_native(given, eager_only=True)  # type: ignore[call-overload]
        except (TypeError, NarwhalsError) as error:
            what, hint = f"is a `{type(given).__name__}`, not a table", _HINT
            if type(given).__name__ == "LazyFrame":
                hint = "collect it first: `frame.collect()`"
            elif type(error).__name__ == "DuplicateError":
                what, hint = "has two columns of one name", "rename one of them"
            raise refuse("frame-kind", what, file=name, hint=hint) from error
        for column in frame.columns:
            if not isinstance(column, str):
                raise refuse(
                    "header-kind",
                    f"has a column whose name is a `{type(column).__name__}`",
                    file=name,
                    hint="names are texts: `frame.columns = [...]`",
                )
        index = getattr(getattr(given, "index", None), "names", ())
        names = tuple(each for each in index if isinstance(each, str))
        return cls(name, tuple(frame.columns), len(frame), names, frame)

    def read(self, wanted: Collection[str] | None, problems: Problems) -> Frame:
        """Return the wanted columns (all of them for None); rows count from 1."""
        wanted = None if wanted is None else list(wanted)
        for column in [*(wanted or ())]:
            if column in self.index and column not in self.columns:
                what = "is the frame's index, which is not read"
                hint = "make it a column: `frame.reset_index()`"
                note = problems.add
                note("column-missing", what, file=self.name, column=column, hint=hint)
                wanted = [name for name in wanted or () if name != column]
        names = check_names(
            self.columns, wanted, self.name, problems, noun="data frame"
        )
        arrays = {name: self._array(name) for name in names}
        kinds = {name: each.type for name, each in arrays.items() if each is not None}
        of_all = wanted is None
        whole = {*single_valued(kinds, self.name, problems, of_all=of_all)}
        columns = {
            name: self._texts(name) if array is None else arrow_column(array)
            for name, array in arrays.items()
            if array is None or name in whole
        }
        rows = np.arange(1, self.length + 1, dtype=np.int64)
        ignored = tuple(name for name in self.columns if name not in columns)
        return Frame(self.name, columns, rows, ignored)

    def head(self, rows: int) -> Mapping[str, tuple[str, ...]]:
        """Return the first rows as texts, to be looked at; a gap is empty."""
        first = self.frame.head(rows)
        return {
            name: tuple("" if value is None else str(value) for value in first[name])
            for name in self.columns
        }

    def dtype(self, column: str) -> str:
        """Return the type of a column, as narwhals calls it."""
        return str(self.frame.schema[column])

    def _array(self, name: str) -> Any:
        """Return a column as Arrow has it; None for objects of several types."""
        import pyarrow as pa

        try:
            values = self.frame[name].to_arrow()
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            return None
        whole = isinstance(values, pa.ChunkedArray)
        return values if whole else pa.chunked_array([values])

    def _texts(self, name: str) -> RawColumn:
        """Return objects of several types as texts, as a file would have them."""
        return array_column(np.fromiter(self.frame[name], object, count=self.length))
