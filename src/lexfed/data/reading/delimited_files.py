# SPDX-License-Identifier: Apache-2.0
"""CSV and its relatives to frames, as a declared format says that they are written.

A file that cannot be read in full is a problem, never a shorter table: a damaged
archive, a line with the wrong number of fields, a byte that is no text. A separator at
the end of every line makes no column.
"""

import csv
import io
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np

from lexfed.data.file_format import MARKS, FileFormat
from lexfed.data.problems import Place, Problems
from lexfed.data.reading.column_names import check_names, numbered_names
from lexfed.data.reading.frames import Frame, text_column
from lexfed.data.reading.packed_files import unpacked


@contextmanager
def opened_text(path: Path, written: FileFormat) -> Iterator[io.TextIOWrapper]:
    """Open a file as text of its format, unpacking it by its name."""
    with unpacked(path) as stream:
        yield io.TextIOWrapper(stream, written.codec, newline="")


def read_delimited(
    path: Path,
    wanted: Collection[str] | None,
    problems: Problems,
    written: FileFormat,
) -> Frame | None:
    """Return the wanted columns (all that have a name for None), or note problems."""
    note = partial(problems.add, file=str(path))
    lines: list[int] = []
    records: list[list[str]] = []
    longer: list[int] = []
    try:
        with opened_text(path, written) as stream:
            reader = csv.reader(stream, delimiter=written.mark, strict=True)
            first = next(reader, [])
            if not first:
                note("file-empty", "the file is empty")
                return None
            header = [name.strip() for name in first]
            if not written.header:
                header = numbered_names(len(first))
                lines, records = [reader.line_num], [first]
            hint = _other_separator(header, written)
            names = check_names(header, wanted, str(path), problems, hint)
            place_of: dict[str, int] = {}
            for place, name in enumerate(header):
                place_of.setdefault(name, place)
            places = [place_of[name] for name in names]
            records = [[record[place] for place in places] for record in records]
            for record in reader:
                line = reader.line_num
                if len(record) != len(header):
                    if len(record) == len(header) + 1 and not record[-1].strip():
                        longer.append(line)
                    elif record:
                        what = f"{len(record)} fields, the header has {len(header)}"
                        note("row-length", what, row=line, hint=_IN_QUOTES)
                        continue
                    else:
                        continue
                lines.append(line)
                records.append([record[place] for place in places])
    except UnicodeError:
        row = _first_undecodable(path, written)
        hint = (
            "state the file's `encoding` under `[data]`, such as `windows-1252`, or "
            "save it as UTF-8"
        )
        what = f"is not {written.encoding.upper()} text"
        note("file-encoding", what, row=row, hint=hint)
        return None
    except csv.Error:
        what = "cannot be read as CSV: a quote is not closed or a field is too long"
        note("file-csv", what, row=reader.line_num, hint=_IN_QUOTES)
        return None
    if not written.header and wanted is None and not any(r[-1] for r in records):
        # The separator at the end of every line; a column that is asked for stays.
        header, names = header[:-1], names[:-1]
    if len(longer) < len(lines) - (not written.header):
        what = f"{len(header) + 1} fields, the header has {len(header)}"
        where: Place = {"file": str(path), "hint": _IN_QUOTES}
        problems.add_rows("row-length", what, longer, **where)
    columns = {
        name: text_column([record[place] for record in records])
        for place, name in enumerate(names)
    }
    ignored = tuple(name for name in header if name and name not in columns)
    unnamed = tuple(place for place, name in enumerate(header, 1) if not name)
    rows = np.array(lines, dtype=np.int64)
    return Frame(str(path), columns, rows, ignored, written, unnamed)


def _other_separator(header: list[str], written: FileFormat) -> str:
    """Return what to do about a header of one name that has other separators in it."""
    if len(header) > 1:
        return ""
    for name, mark in MARKS.items():
        if mark != written.mark and mark in header[0]:
            return (
                f'state `separator = "{name}"` under `[data]` if the file is separated '
                f"by {_PLURALS[name]}"
            )
    return ""


_IN_QUOTES = (
    "a cell with a separator or line break in it must stand in quotes, and a quote "
    "in it be doubled"
)
_PLURALS = {
    "comma": "commas", "semicolon": "semicolons", "tab": "tabs", "pipe": "bars",
}  # fmt: skip


def _first_undecodable(path: Path, written: FileFormat) -> int | None:
    if written.encoding.startswith("utf-16"):
        return None  # its lines cannot be told from its bytes
    codec = written.codec
    with unpacked(path) as stream:
        for number, line in enumerate(stream, start=1):
            try:
                line.decode(codec)
            except UnicodeDecodeError:
                return number
    return None
