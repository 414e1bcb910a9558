# SPDX-License-Identifier: Apache-2.0
"""CSV and Parquet files to frames, reading only the columns that were asked for.

A file that cannot be read in full is a problem, never a shorter table: a truncated
archive, a line with the wrong number of fields, a byte that is not UTF-8.

`guess_columns` is a first guess at a file's columns, for a person to complete. It tells
names and kinds only: ranges and category lists copied from the data would be published
with the configuration, and tell that a person is 104 years old or has a rare disease.
"""

import csv
import gzip
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from lexfed.arrays import Floats
from lexfed.data.problems import Problems
from lexfed.data.reading.frames import Frame, RawColumn, text_column
from lexfed.data.schema import ColumnKind
from lexfed.plain_files import plain_or_link
from lexfed.visible_text import hidden_in, visible

SUFFIXES = (".csv", ".csv.gz", ".parquet", ".pq")


def is_parquet(path: Path) -> bool:
    """Return True if the file's name says Parquet."""
    return path.suffix.lower() in (".parquet", ".pq")


def read_file(
    path: Path, wanted: Collection[str] | None, problems: Problems
) -> Frame | None:
    """Return the wanted columns of a file (all of them for None).

    Every problem is noted in `problems`; without a usable header the result is None.
    """
    note = partial(problems.add, file=str(path))
    if not str(path).lower().endswith(SUFFIXES):
        note("file-kind", f"unknown kind of file, known: {', '.join(SUFFIXES)}")
        return None
    if path.is_dir():
        note("file-folder", "is a folder, not a file")
        return None
    try:
        # Libraries open it by its name, and would wait for a pipe.
        open(path, "rb", opener=plain_or_link).close()
        if is_parquet(path):
            return _read_parquet(path, wanted, problems)
        return _read_csv(path, wanted, problems)
    except FileNotFoundError:
        note("file-not-found", "file not found")
    except (EOFError, gzip.BadGzipFile, zlib.error):
        what = "the compressed file is damaged or ends early"
        note(
            "file-truncated", what, hint="copy it again; a part of a file is never read"
        )
    except OSError as error:
        note("file-unreadable", (error.strerror or "cannot be read").lower())
    return None


def open_text(path: Path) -> IO[str]:
    """Open a CSV file as text, unpacking it by its name."""
    if path.suffix.lower() == ".gz":
        return cast(IO[str], gzip.open(path, "rt", encoding="utf-8-sig", newline=""))
    return path.open(encoding="utf-8-sig", newline="")


def check_header(
    header: Collection[str],
    wanted: Collection[str] | None,
    file: str,
    problems: Problems,
) -> list[str]:
    """Return the columns to read; note duplicates and columns that are not there."""
    names, note = list(header), partial(problems.add, file=file)
    for name in names:
        if hidden_in(name):
            what = f"its name has the hidden character `{hidden_in(name)}`"
            hint = "rename the column: people decide by names, so they must show"
            note("header-hidden", what, column=visible(name), hint=hint)
    # Columns without a name, as spreadsheets leave them behind, cannot be declared.
    for name in sorted({name for name in names if name and names.count(name) > 1}):
        note("header-duplicate", "the header names it twice", column=name)
    if wanted is None:
        return names
    lone = len(names) == 1 and any(mark in names[0] for mark in ";\t|")
    others = [name for name in names if name not in wanted]
    for name in wanted:
        if name not in names:
            near, hint = get_close_matches(name, others, 1), ""
            if lone:
                hint = "separate columns with commas"
            elif near:
                hint = f"the file has `{near[0]}`; is that the one you mean?"
            note("column-missing", "is not in this file", column=name, hint=hint)
    return [name for name in names if name in wanted]


def _read_csv(
    path: Path, wanted: Collection[str] | None, problems: Problems
) -> Frame | None:
    note = partial(problems.add, file=str(path))
    lines: list[int] = []
    records: list[list[str]] = []
    try:
        with open_text(path) as stream:
            reader = csv.reader(stream, strict=True)
            header = [name.strip() for name in next(reader, [])]
            if not header:
                note("file-empty", "the file is empty")
                return None
            names = check_header(header, wanted, str(path), problems)
            places = [header.index(name) for name in names]
            for record in reader:
                if len(record) == len(header):
                    lines.append(reader.line_num)
                    records.append([record[place] for place in places])
                elif record:
                    what = f"{len(record)} fields, the header has {len(header)}"
                    note("row-length", what, row=reader.line_num)
    except UnicodeDecodeError:
        row, hint = _first_undecodable(path), "save the file as UTF-8"
        note("file-encoding", "is not UTF-8 text", row=row, hint=hint)
        return None
    except csv.Error:
        what = "cannot be read as CSV: a quote is not closed or a field is too long"
        note("file-csv", what, row=reader.line_num)
        return None
    columns = {
        name: text_column([record[place] for record in records])
        for place, name in enumerate(names)
    }
    ignored = tuple(name for name in header if name not in columns)
    return Frame(str(path), columns, np.array(lines, dtype=np.int64), ignored)


def _first_undecodable(path: Path) -> int | None:
    with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return None


def _read_parquet(
    path: Path, wanted: Collection[str] | None, problems: Problems
) -> Frame | None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = str(path)
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as source:
            header = list(source.schema_arrow.names)
            names = check_header(header, wanted, file, problems)
            if len(set(names)) < len(names):
                return None
            table = source.read(columns=names)
        columns = {name: _arrow_column(table.column(name)) for name in names}
    except (pa.ArrowException, UnicodeDecodeError):
        problems.add("file-parquet", "is not a Parquet file or is damaged", file=file)
        return None
    rows = np.arange(1, table.num_rows + 1, dtype=np.int64)
    ignored = tuple(name for name in header if name not in columns)
    return Frame(file, columns, rows, ignored)


def _arrow_column(column: Any) -> RawColumn:
    """Return an Arrow column; null is missing, NaN is a value (and refused later)."""
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
    if kinds.is_string(column.type) or kinds.is_large_string(column.type):
        return text_column([value or "" for value in column.to_pylist()])
    if kinds.is_null(column.type):
        return text_column([""] * len(column))
    return RawColumn("other", np.zeros(len(column)), missing)


_FEW = 20
_TRUTH = {"0", "1", "true", "false", "yes", "no"}
_NOTES: dict[ColumnKind, str] = {
    "number": "looks like a number: fill in its range from public knowledge",
    "flag": "looks like yes/no",
    "category": "looks like a category: list its values from public knowledge",
    "text": "looks like free text or a key: never a model input",
}


@dataclass(frozen=True)
class ColumnGuess:
    """A column's name and what it looks like.

    Guarantees:
        Holds no value of the data and nothing computed from values but the kind.
    """

    name: str
    kind: ColumnKind
    note: str


def guess_columns(path: Path) -> tuple[ColumnGuess, ...]:
    """Return a guess for every column of a CSV or Parquet file, in its order.

    `DataError` tells that the file cannot be read, or has no rows.
    """
    problems = Problems()
    frame = read_file(path, None, problems)
    if frame is not None and not len(frame):
        problems.add("no-rows", "there are no rows", file=str(path))
    problems.raise_if_any()
    columns = frame.columns if frame is not None else {}
    kinds = {name: _guess(raw) for name, raw in columns.items()}
    return tuple(ColumnGuess(name, kind, _NOTES[kind]) for name, kind in kinds.items())


def _guess(raw: RawColumn) -> ColumnKind:
    present = raw.values[~raw.missing]
    if raw.kind == "flag":
        return "flag"
    if raw.kind == "other":
        return "text"
    if raw.kind == "number":
        return _number_or_key(present.astype(np.float64))
    distinct = {str(value).lower() for value in present}
    if distinct and distinct <= _TRUTH:
        return "flag"
    numbers = _numbers(present.tolist())
    if distinct and numbers is not None:
        return _number_or_key(numbers)
    # A key has about as many values as rows, a category has few and repeats them.
    few = len(distinct) <= _FEW and len(distinct) < len(present)
    return "category" if few else "text"


def _number_or_key(present: Floats) -> ColumnKind:
    if len(present) and np.isin(present, (0.0, 1.0)).all():
        return "flag"
    different = len(np.unique(present)) == len(present) > _FEW
    whole = bool((np.floor(present) == present).all())
    return "text" if different and whole else "number"


def _numbers(texts: list[str]) -> Floats | None:
    try:
        return np.array([float(text) for text in texts])
    except ValueError:
        return None
