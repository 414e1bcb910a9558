# SPDX-License-Identifier: Apache-2.0
"""Parquet files to frames: numbers, truth values, texts and dates.

A column of lists, structures or bytes has no cell that could be read. It is refused by
name where it is asked for, and left out where it is not.
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from lexfed.data.file_format import FileFormat
from lexfed.data.problems import Problems
from lexfed.data.reading.column_names import check_names
from lexfed.data.reading.frames import Frame, RawColumn, text_column


def read_parquet(
    path: Path,
    wanted: Collection[str] | None,
    problems: Problems,
    written: FileFormat,
) -> Frame | None:
    """Return the wanted columns (all that have a name for None), or note problems."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = str(path)
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as source:
            header = list(source.schema_arrow.names)
            names = check_names(header, wanted, file, problems)
            if len(set(names)) < len(names):
                return None
            kinds = {name: source.schema_arrow.field(name).type for name in names}
            names = single_valued(kinds, file, problems, of_all=wanted is None)
            table = source.read(columns=names)
        columns = {name: arrow_column(table.column(name)) for name in names}
    except (pa.ArrowException, UnicodeDecodeError):
        problems.add("file-parquet", "is not a Parquet file or is damaged", file=file)
        return None
    rows = np.arange(1, table.num_rows + 1, dtype=np.int64)
    ignored = tuple(name for name in header if name and name not in columns)
    unnamed = tuple(place for place, name in enumerate(header, 1) if not name)
    return Frame(file, columns, rows, ignored, written, unnamed)


def single_valued(
    kinds: Mapping[str, Any], file: str, problems: Problems, *, of_all: bool
) -> list[str]:
    """Return the columns that have cells, by their Arrow types; note the others."""
    import pyarrow.types as types

    nested = [name for name, kind in kinds.items() if types.is_nested(kind)]
    for name in nested:
        hint = "write each part of it as a column of its own"
        if of_all:
            hint += ", or leave the column out of the file"
        what = f"holds {_plural(kinds[name])}, not single values"
        problems.add("column-nested", what, file=file, column=name, hint=hint)
    return [name for name in kinds if name not in nested]


def _plural(kind: Any) -> str:
    import pyarrow.types as kinds

    if kinds.is_struct(kind):
        return "structures"
    return "maps" if kinds.is_map(kind) else "lists"


def arrow_column(column: Any) -> RawColumn:
    """Return an Arrow column; null is missing, NaN is a value (and refused later)."""
    import pyarrow as pa
    import pyarrow.types as kinds

    if kinds.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    missing = np.asarray(column.is_null().to_numpy(), dtype=bool)
    if kinds.is_boolean(column.type):
        return RawColumn("flag", column.fill_null(False).to_numpy(), missing)
    if kinds.is_integer(column.type) or kinds.is_floating(column.type):
        return RawColumn("number", column.fill_null(0).to_numpy(), missing)
    if kinds.is_decimal(column.type):
        numbers = [float(value or 0) for value in column.to_pylist()]
        return RawColumn("number", np.array(numbers, dtype=np.float64), missing)
    if kinds.is_date(column.type) or kinds.is_timestamp(column.type):
        # The clock on the wall counts, as in texts; finer than microseconds is cut.
        moments = column.cast(
            pa.timestamp("us", getattr(column.type, "tz", None)), safe=False
        )
        if getattr(column.type, "tz", None) is not None:
            moments = pa.compute.local_timestamp(moments)
        return RawColumn("date", moments.to_numpy().astype("datetime64[us]"), missing)
    if kinds.is_time(column.type):
        times = [
            str(value) if value is not None else "" for value in column.to_pylist()
        ]
        return text_column(times)
    if any(
        is_text(column.type)
        for is_text in (kinds.is_string, kinds.is_large_string, kinds.is_string_view)
    ):
        return text_column([value or "" for value in column.to_pylist()])
    if kinds.is_null(column.type):
        return text_column([""] * len(column))
    return RawColumn("other", np.zeros(len(column)), missing)
