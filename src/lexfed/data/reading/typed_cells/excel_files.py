# SPDX-License-Identifier: Apache-2.0
"""Excel workbooks to frames: one sheet, names in its first row, a row below for each.

Numbers, truth values and dates keep their types, formulas count by their stored
results, and a percentage is the number that is shown before its sign. `openpyxl` (extra
`xlsx`) reads the cells one row after the other.
"""

import re
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import date, datetime, time
from decimal import Decimal
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from lexfed.data.file_format import FileFormat
from lexfed.data.problems import Problems
from lexfed.data.reading.column_names import check_names, numbered_names
from lexfed.data.reading.frames import Frame, RawColumn
from lexfed.data.reading.packed_files import DamagedArchive
from lexfed.data.reading.typed_cells.cell_columns import (
    cell_text,
    column_of_cells,
    joined_columns,
)
from lexfed.data.reading.typed_cells.workbook_check import (
    SheetCheck,
    check_sheet,
    listed_columns,
    require_workbook,
)
from lexfed.plain_files import plain_or_link
from lexfed.visible_text import visible

_BATCH = 5_000
"""Rows whose cells are in memory at once."""
_CURRENCY = re.compile(r"\[\$([^\]-]+)|([$€£¥₹₩₽₺]|zł|Kč)")
_NOT_SHOWN = re.compile(r'"[^"]*"|\\.|_.|\*.|\[[^\]]*\]')


def read_excel(
    path: Path,
    wanted: Collection[str] | None,
    problems: Problems,
    written: FileFormat,
) -> Frame | None:
    """Return the wanted columns (all that have a name for None), or note problems.

    Raises:
        DamagedArchive, OSError: if the file cannot be opened or unpacked.
    """
    try:
        import openpyxl
    except ImportError:
        what, hint = "needs openpyxl to be read", 'pip install "lexfed[xlsx]"'
        problems.add("file-library", what, file=str(path), hint=hint)
        return None
    with open(path, "rb", opener=plain_or_link) as file, warnings.catch_warnings():
        # Of styles and forms, which are not read.
        warnings.simplefilter("ignore")
        try:
            require_workbook(path, file)
            with closing(
                openpyxl.load_workbook(
                    file, read_only=True, data_only=True, keep_links=False
                )
            ) as book:
                return _Sheet.read(path, file, book, wanted, problems, written)
        except (DamagedArchive, OSError):
            raise
        except MemoryError:
            raise
        except Exception as error:
            # The library raises whatever comes of a part that is not as expected.
            raise DamagedArchive("is damaged, or no workbook of Excel") from error


class _Sheet:
    """The sheet of a workbook that is read."""

    @classmethod
    def read(
        cls,
        path: Path,
        file: IO[bytes],
        book: Any,
        wanted: Collection[str] | None,
        problems: Problems,
        written: FileFormat,
    ) -> Frame | None:
        """Return the columns of the sheet that the format names."""
        checks = {
            s.title: check_sheet(file, s._worksheet_path) for s in book.worksheets
        }
        name = _chosen(str(path), checks, written.sheet, problems)
        if name is None:
            return None
        sheet = book[name]
        sheet.reset_dimensions()  # what a file says of its size may be wrong
        if not _is_whole(str(path), checks[name], written, problems):
            return None
        rows = _numbered(sheet, written.header)
        found = checks[name]
        width = max(found.named if written.header else found.named | found.columns)
        header = numbered_names(width)
        if written.header:
            _, first = next(rows)
            header = [_name(cell) for cell in _padded(first, width)]
        return _frame(str(path), header, rows, wanted, problems, written)


def _chosen(
    file: str, checks: dict[str, SheetCheck], stated: str, problems: Problems
) -> str | None:
    """Return the sheet to read: the stated one, or the only one with cells."""
    full = [name for name, found in checks.items() if found.columns or found.named]
    note = partial(problems.add, file=file)
    listed = ", ".join(f"`{visible(name)}`" for name in (full or checks))
    if stated:
        if stated in full:
            return stated
        what = "is empty" if stated in checks else "is not in this workbook"
        note("sheet", f"sheet `{visible(stated)}` {what}", hint=f"there is {listed}")
        return None
    if len(full) == 1:
        return full[0]
    if not full:
        note("file-empty", "the workbook has no cells")
        return None
    hint = f"state one of {listed} as `sheet` under `[data]`; for `init`, as `--sheet`"
    note("sheet", f"has {len(full)} sheets with cells", hint=hint)
    return None


def _is_whole(
    file: str, found: SheetCheck, written: FileFormat, problems: Problems
) -> bool:
    """Return False, and note it, where a cell would be taken for a missing one."""
    note, before = partial(problems.add, file=file), len(problems.kept)
    if found.merged:
        what = f"has merged cells at {', '.join(found.merged[:5])}"
        hint = "unmerge them and fill each cell; only the first one has the value"
        note("cells-merged", what, hint=hint)
    hint = (
        "open the file in Excel or LibreOffice and save it, so that results are in it"
    )
    what = "a formula without a stored result"
    rows = list(dict.fromkeys(found.unstored))
    problems.add_rows("formula-unstored", what, rows, file=file, hint=hint)
    hint = "names stand in the first row; remove what stands above them"
    if written.header and not found.named:
        note("header-blank", "its first row is blank", row=1, hint=hint)
    elif written.header and (blank := found.columns - found.named - {1}):
        what = f"columns with values have no name: {listed_columns(blank)}"
        note("header-blank", what, row=1, hint=hint)
    return len(problems.kept) == before


def _numbered(sheet: Any, header: bool) -> Iterator[tuple[int, Sequence[Any]]]:
    """Yield the number and cells of every row that has one, and of a header."""
    for number, row in enumerate(sheet.iter_rows(), start=1):
        named = header and number == 1
        if named or any(cell.value not in (None, "") for cell in row):
            yield number, row


def _padded(row: Sequence[Any], width: int) -> list[Any]:
    values = [cell.value for cell in row[:width]]
    return values + [None] * (width - len(values))


def _name(cell: Any) -> str:
    if isinstance(cell, date | time):
        shown = cell.isoformat()
        return shown.removesuffix("T00:00:00") if isinstance(cell, datetime) else shown
    if isinstance(cell, float):
        return f"{cell:.15g}"
    return "" if cell is None else str(cell).strip()


def _frame(
    file: str,
    header: list[str],
    rows: Iterator[tuple[int, Sequence[Any]]],
    wanted: Collection[str] | None,
    problems: Problems,
    written: FileFormat,
) -> Frame | None:
    names = check_names(header, wanted, file, problems, noun="sheet")
    if len(set(names)) < len(names):
        return None
    places = [header.index(name) for name in names]
    parts: list[list[RawColumn]] = [[] for _ in names]
    units: list[set[str]] = [set() for _ in names]
    numbers: list[int] = []
    note = partial(problems.add, file=file)
    while batch := list(islice(rows, _BATCH)):
        for number, row in batch:
            if any(cell.value not in (None, "") for cell in row[len(header) :]):
                what = "has a cell to the right of the last name"
                hint = "name the column in the first row, or empty the cell"
                note("row-length", what, row=number, hint=hint)
        numbers += [number for number, _ in batch]
        for place, part, unit in zip(places, parts, units, strict=True):
            cells = [row[place] if place < len(row) else None for _, row in batch]
            part.append(_column([_cell(cell, unit) for cell in cells]))
    columns = {}
    for name, part, unit in zip(names, parts, units, strict=True):
        raw = joined_columns(part or [column_of_cells([])])
        currencies = unit - {"", "%"}
        if len(currencies) > 1 or ("%" in unit and len(unit) > 1):
            shown = " and ".join(sorted(each or "no unit" for each in unit))
            hint = "write the whole column in one unit, or without"
            what = f"has {shown} in one column"
            note("mixed-units", what, column=name, hint=hint)
        if raw.kind == "number" and not raw.unit:
            raw = replace(raw, unit=next(iter(currencies), ""))
        columns[name] = raw
    ignored = tuple(name for name in header if name and name not in columns)
    unnamed = tuple(place for place, name in enumerate(header, 1) if not name)
    return Frame(file, columns, np.array(numbers, np.int64), ignored, written, unnamed)


def _cell(cell: Any, units: set[str]) -> Any:
    """Return the value of a cell; a percentage is marked as `_Percentage`."""
    value = None if cell is None else cell.value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    unit = _unit(str(cell.number_format))
    units.add(unit)
    return _Percentage(Decimal(repr(value)) * 100) if unit == "%" else value


class _Percentage(Decimal):
    """The number before the sign of a percentage."""


def _column(cells: list[Any]) -> RawColumn:
    """Return a column; in one of texts a percentage keeps its sign."""
    percentages = [isinstance(cell, _Percentage) for cell in cells]
    if not any(percentages):
        return column_of_cells(cells)
    if all(is_one or c is None for c, is_one in zip(cells, percentages, strict=True)):
        numbers = column_of_cells(None if c is None else float(c) for c in cells)
        return replace(numbers, unit="%")
    return column_of_cells(
        f"{cell_text(Decimal(cell))}%" if is_one else cell
        for cell, is_one in zip(cells, percentages, strict=True)
    )


@cache
def _unit(shown: str) -> str:
    """Return the unit that a number format shows: `%`, a currency, or none."""
    if "%" in _NOT_SHOWN.sub("", shown):
        return "%"
    match = _CURRENCY.search(shown)
    return (match[1] or match[2]) if match else ""
