# SPDX-License-Identifier: Apache-2.0
"""A look through a workbook before it is read: its size, and what would be lost.

A library that reads cells says nothing of merged cells, of which the first alone has
the value, nor of formulas whose result nobody has stored. Both would look like cells
that are missing. A file of a few bytes may also unpack to gigabytes, or name a row that
no sheet has.
"""

import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any
from xml.etree import ElementTree

from lexfed.data.reading.packed_files import MOST_PACKED, MOST_RATIO, DamagedArchive

MOST_ROWS, MOST_COLUMNS = 1 << 20, 1 << 14
"""Rows and columns that a sheet of Excel has at most."""
_LOCKED = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""How files of older versions begin, and those that are locked with a password."""
_PLACE = re.compile(r"([A-Z]{1,3})([1-9]\d{0,6})")


@dataclass(frozen=True)
class SheetCheck:
    """Properties of a sheet that its cells do not tell.

    Attributes:
        columns: numbers of the columns with a value below the first row, from 1.
        named: those with a value in the first row.
        merged: places of merged cells, such as `A1:C1`.
        unstored: rows of formulas without a stored result.
    """

    columns: frozenset[int]
    named: frozenset[int]
    merged: tuple[str, ...]
    unstored: tuple[int, ...]


def require_workbook(path: Path, file: IO[bytes]) -> None:
    """Raise `DamagedArchive` for a file that is no workbook, or a huge one."""
    if file.read(len(_LOCKED)) == _LOCKED:
        raise DamagedArchive("is locked with a password, or of an old version of Excel")
    file.seek(0)
    with zipfile.ZipFile(file) as archive:
        size = sum(member.file_size for member in archive.infolist())
        if size > max(MOST_PACKED, MOST_RATIO * path.stat().st_size):
            raise DamagedArchive("unpacks to far more than a table would")


def check_sheet(file: IO[bytes], part: str) -> SheetCheck:
    """Look through the cells of a sheet, which is a part of the workbook.

    Raises:
        DamagedArchive: for a cell outside of every sheet, or out of order.
        ElementTree.ParseError, KeyError, zipfile.BadZipFile: if it cannot be read.
    """
    columns: set[int] = set()
    named: set[int] = set()
    merged: list[str] = []
    unstored: list[int] = []
    last = 0
    with zipfile.ZipFile(file) as archive, archive.open(part) as stream:
        for element in _rows_and_merges(stream):
            if _tag(element) == "mergeCell":
                merged.append(element.get("ref", ""))
                continue
            row = int(element.get("r", last + 1))
            if not last < row <= MOST_ROWS:
                raise DamagedArchive("has a sheet whose rows are out of order")
            last = row
            for place, cell in _placed(element, row):
                parts = {_tag(each): each for each in cell}
                result = parts.get("v")
                stored = result is not None and bool(result.text)
                if "f" in parts and not stored and cell.get("t") != "str":
                    unstored.append(row)
                if stored or "is" in parts or "f" in parts:
                    (named if row == 1 else columns).add(place)
    return SheetCheck(
        frozenset(columns), frozenset(named), tuple(merged), tuple(unstored)
    )


def _rows_and_merges(stream: IO[bytes]) -> Iterator[Any]:
    """Yield rows and merged cells as they come, and forget them."""
    holder = None
    for event, element in ElementTree.iterparse(stream, ("start", "end")):  # noqa: S314 (its parser bounds what entities expand to)
        tag = _tag(element)
        if event == "start":
            holder = element if tag in ("sheetData", "mergeCells") else holder
        elif tag in ("row", "mergeCell"):
            yield element
            if holder is not None:
                holder.clear()


def _placed(row: Any, number: int) -> Iterator[tuple[int, Any]]:
    last = 0
    for cell in row:
        place = last + 1
        if "r" in cell.attrib:
            match = _PLACE.fullmatch(cell.attrib["r"])
            if match is None or int(match[2]) != number:
                raise DamagedArchive("has a cell that is in no row of its sheet")
            place = column_number(match[1])
        if not last < place <= MOST_COLUMNS:
            raise DamagedArchive("has a sheet whose columns are out of order")
        last = place
        yield place, cell


def column_number(letters: str) -> int:
    """Return the number of a column, from 1, by its letters."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number


def column_letters(number: int) -> str:
    """Return the letters of a column by its number, from 1."""
    letters = ""
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def listed_columns(numbers: frozenset[int]) -> str:
    """Return the letters of columns for a message, shortened."""
    letters = [column_letters(number) for number in sorted(numbers)]
    return ", ".join(chain(letters[:5], ["..."] if len(letters) > 5 else []))


def _tag(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]
