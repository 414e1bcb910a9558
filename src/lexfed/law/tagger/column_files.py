# SPDX-License-Identifier: Apache-2.0
"""Columns from files: a list of columns, a data file with a sample, Parquet, SQL.

    schema CSV    header `table,column,description,dtype`; all but `column` may be
                  missing or empty
    data CSV      the header gives names; the first rows are a sample of values;
                  also compressed, as `.csv.gz` or in a `.zip`, and separated otherwise
    .parquet      names, types, descriptions in the metadata, a sample of values
    .xlsx         names and a sample of values, as of a table `sql:NAME` of a database
    .sql          `CREATE TABLE` statements, see `sql_schemas`

Values are read on this machine and stay in memory: they are never logged, printed or
sent.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from lexfed.data.file_format import (
    EXCEL_SUFFIXES,
    MARKS,
    PLAIN,
    FileFormat,
    SeparatorName,
)
from lexfed.data.problems import Problems
from lexfed.data.reading.column_names import numbered_names
from lexfed.data.reading.format_guess import guess_text_format
from lexfed.data.reading.packed_files import DamagedArchive, unpacked
from lexfed.data.reading.typed_cells.database_address import SQL, is_database_source
from lexfed.errors import ConfigError, DataError, Problem, system_reason
from lexfed.law.tagger.sql_schemas import columns_of_sql
from lexfed.law.tagger.suggestions import DescribedColumn
from lexfed.visible_text import hidden_in, visible

if TYPE_CHECKING:
    from lexfed.data.reading.typed_cells.database_tables import DatabaseTable

SAMPLE = 200
"""Rows of a data file that are looked at."""

_SAMPLE_BYTES = 16 * 1024 * 1024
_FIELDS = ("table", "column", "description", "dtype")
_MOST_PROBLEMS = 20
_ENDING = re.compile(
    r"\.((csv|tsv|txt)(\.gz|\.zip)?|zip|parquet|pq|xlsx)$", re.IGNORECASE
)
_WILD = re.compile(r"[-_ ]*([*?]|\[[^\]]*\])[-_ ]*")


def read_columns(
    source: "Path | DatabaseTable",
    sample: int = SAMPLE,
    written: FileFormat | None = None,
) -> tuple[DescribedColumn, ...]:
    """Return the columns of a source: a file, recognised by its name, or a table.

    Values are sampled from the first `sample` rows; with 0 columns have names only. How
    a file is `written` is guessed where nobody says it; of several files by a pattern
    the first one is looked at. A file without columns that could be tagged raises
    `DataError`; columns without a name are left out.
    """
    if not isinstance(source, Path):
        return _typed(source, sample, written)
    path = source
    if "*" in path.name or "?" in path.name:
        from lexfed.data.reading.table_sources import files_of

        path = next(iter(files_of(source)), source)
    kind = path.suffix.lower()
    if kind in EXCEL_SUFFIXES:
        return _typed(path, sample, written)
    if kind in (".parquet", ".pq"):
        return _parquet(path, sample)
    if kind in (".sql", ".ddl"):
        return columns_of_sql(read_text(path), str(path))
    return _table(path, sample, written or _guessed(path))


def read_schema(path: Path) -> tuple[DescribedColumn, ...]:
    """Return the columns that a schema file lists, in its order.

    `DataError` names every line without a column name or with one that was there.
    """
    if path.suffix.lower() in (".sql", ".ddl"):
        return columns_of_sql(read_text(path), str(path))
    rows = _rows(read_text(path), path, ",")
    header = [name.strip().lower() for name in next(rows, (1, []))[1]]
    if "column" not in header:
        what = "its first line names no field `column`"
        hint = (
            f"a schema has the fields {', '.join(_FIELDS)}; for a data file leave "
            "`--schema` out"
        )
        raise DataError([Problem(f"`{path}`", what, hint)])
    found = []
    for line, row in rows:
        if any(row):
            cells = dict(zip(header, row, strict=False))
            table, name, text, dtype = (cells.get(key, "").strip() for key in _FIELDS)
            column = DescribedColumn(table, name, text, dtype)
            found.append((column, f"{path}:{line}", ""))
    return _checked(found, path)


def checked_columns(
    columns: Sequence[DescribedColumn], where: str
) -> tuple[DescribedColumn, ...]:
    """Return columns that can be tagged; `DataError` names every other one."""
    return _checked([(column, where, "") for column in columns], where)


def table_name(path: PurePath) -> str:
    """Return the name of a source's table: the file's name without its ending."""
    name = path.name
    if is_database_source(name):
        return name.removeprefix(SQL).rpartition(".")[2]
    return _WILD.sub("", _ENDING.sub("", name))


def _problem(column: DescribedColumn, seen: set[tuple[str, str]]) -> str:
    if not column.name:
        return "a column without a name"
    key = (column.table, column.name)
    table = f" of table `{_short(column.table)}`" if column.table else ""
    hidden = hidden_in(column.name) or hidden_in(column.table)
    if hidden:
        return f"column `{_short(column.name)}`{table} has the hidden `{hidden}`"
    if key in seen:
        return f"column `{_short(column.name)}`{table} is there twice"
    seen.add(key)
    return ""


def _short(name: str) -> str:
    plain = visible(name)
    return plain if len(plain) <= 60 else f"{plain[:57]}..."


def _checked(
    found: Sequence[tuple[DescribedColumn, str, str]], path: Path | str
) -> tuple[DescribedColumn, ...]:
    """Return columns, or raise their problems; each has its place and field."""
    seen: set[tuple[str, str]] = set()
    problems = [
        Problem(where, f"{field}{problem}")
        for column, where, field in found
        if (problem := _problem(column, seen))
    ]
    if problems:
        more = len(problems) - _MOST_PROBLEMS
        tail = [Problem("", f"and {more} more")] if more > 0 else []
        raise DataError([*problems[:_MOST_PROBLEMS], *tail])
    if not found:
        raise DataError([Problem(f"`{path}`", "it has no columns")])
    return tuple(column for column, _, _ in found)


def _rows(text: str, path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        what = f"not CSV: {error}"
        raise DataError([Problem(f"{path}:{reader.line_num}", what)]) from error


def _guessed(path: Path) -> FileFormat:
    """Return how a file is written, for names and a sample: any reading will do."""
    text = read_text(path, _SAMPLE_BYTES, whole=False)
    try:
        return guess_text_format(path)
    except (ConfigError, OSError, DamagedArchive):
        first = text.partition("\n")[0]
        names: list[SeparatorName] = sorted(MARKS, key=lambda n: -first.count(MARKS[n]))
        return replace(PLAIN, separator=names[0])


def _table(path: Path, sample: int, written: FileFormat) -> tuple[DescribedColumn, ...]:
    text = read_text(path, _SAMPLE_BYTES, whole=False, written=written)
    rows = _rows(text, path, written.mark)
    first = next(rows, (1, []))[1]
    header = [name.strip() for name in first]
    # A ragged row says nothing about the others; what it has is taken.
    taken = [row for _, (_, row) in zip(range(sample), rows, strict=False)]
    if not written.header:
        header, taken = numbered_names(len(first)), [first, *taken][:sample]
    found = []
    for at, name in enumerate(header):
        if not name:
            continue
        values = tuple(row[at] for row in taken if at < len(row)) if sample else None
        column = DescribedColumn(table_name(path), name, "", "", values)
        found.append((column, f"{path}:1", f"field {at + 1}: "))
    return _checked(found, path)


def _typed(
    source: "Path | DatabaseTable", sample: int, written: FileFormat | None
) -> tuple[DescribedColumn, ...]:
    """Return the columns of a workbook or database, or raise their problems."""
    # Imported here, with NumPy: the tagger itself needs neither.
    from lexfed.data.reading.table_files import read_file
    from lexfed.data.reading.typed_cells.cell_columns import texts_of_cells

    problems = Problems()
    if isinstance(source, Path):
        frame = read_file(source, None, problems, written or PLAIN)
    else:
        frame = source.read(None, problems, written or PLAIN, sample or 1)
    problems.raise_if_any()
    if frame is None:
        return _checked([], str(source))
    table = table_name(PurePath(frame.name))
    return checked_columns(
        [
            DescribedColumn(
                table, name, "", "", texts_of_cells(raw)[:sample] if sample else None
            )
            for name, raw in frame.columns.items()
        ],
        frame.name,
    )


def _parquet(path: Path, sample: int) -> tuple[DescribedColumn, ...]:
    # Imported here: it takes more memory than the tagger itself.
    import pyarrow
    import pyarrow.parquet

    try:
        file = pyarrow.parquet.ParquetFile(path)
        schema = file.schema_arrow
        batch = next(file.iter_batches(batch_size=max(1, sample)), None)
        rows = batch.to_pydict() if sample and batch is not None else {}
    except (OSError, pyarrow.ArrowException) as error:
        what = "is not a Parquet file that can be read"
        raise DataError([Problem(f"`{path}`", what)]) from error
    found = []
    for field in schema:
        notes = field.metadata or {}
        text = notes.get(b"description", notes.get(b"comment", b""))
        described = (text.decode("utf-8", "replace"), str(field.type))
        values = None
        if field.name in rows:
            # A gap keeps its place: values in the same place belong to the same row.
            cells = rows[field.name]
            values = tuple("" if value is None else str(value) for value in cells)
        column = DescribedColumn(table_name(path), field.name, *described, values)
        found.append((column, f"`{path}`", ""))
    return _checked(found, path)


MAX_BYTES = 256 * 1024 * 1024
"""Most bytes of a schema; data files are read only as far as their sample."""

_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


def read_text(
    path: Path,
    limit: int = MAX_BYTES,
    whole: bool = True,
    written: FileFormat = PLAIN,
) -> str:
    """Return the text of a file, or raise `DataError` if it has none.

    In the encoding that it is written in; for UTF-8, a mark of UTF-16 is recognised and
    other bytes are read as Windows-1252, in which every name stays readable enough to
    be tagged. At most `limit` bytes are read. A longer file is an error if it has to be
    `whole`, and is cut at its last line end otherwise.
    """
    try:
        # Only so much is unpacked as is read: a small file may hold a large one.
        with unpacked(path) as text:
            content = text.read(limit + 1)
    except DamagedArchive as error:
        raise _not_text(path) from error
    except OSError as error:
        reason = system_reason(error)
        raise DataError([Problem(f"`{path}`", f"cannot be read: {reason}")]) from error
    if len(content) > limit:
        if whole:
            raise DataError([Problem(f"`{path}`", f"more than {limit} bytes")])
        content = content[: content.rfind(b"\n", 0, limit) + 1]
    if written.encoding != PLAIN.encoding:
        return content.decode(written.codec, "replace")
    encoding = next((e for mark, e in _MARKS.items() if content.startswith(mark)), "")
    if not encoding and b"\x00" in content:
        raise _not_text(path)
    try:
        return content.decode(encoding or "utf-8")
    except UnicodeDecodeError as error:
        if encoding:
            raise _not_text(path) from error
        return content.decode("cp1252", "replace")


def _not_text(path: Path) -> DataError:
    hint = "give a CSV or SQL file in UTF-8, or a `.parquet` file"
    return DataError([Problem(f"`{path}`", "is not a text file", hint)])
