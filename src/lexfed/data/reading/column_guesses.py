# SPDX-License-Identifier: Apache-2.0
"""A guess at a table: its format and the kinds of its columns, for a first draft.

A guess at a column tells its name and kind only: ranges and category lists copied from
the data would be published with the configuration, and tell that a person is 104 years
old or has a rare disease. Where two readings of a table fit, none is chosen.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

from lexfed.arrays import Floats
from lexfed.data.file_format import (
    MISSING_WORDS,
    PACKED_SUFFIXES,
    PLAIN,
    TEXT_SUFFIXES,
    DateOrder,
    DecimalMark,
    FileFormat,
    SeparatorName,
    TextEncoding,
    ThousandsMark,
)
from lexfed.data.problems import Problems
from lexfed.data.reading.format_guess import common_text_format
from lexfed.data.reading.frames import Frame, RawColumn
from lexfed.data.reading.packed_files import DamagedArchive
from lexfed.data.reading.table_sources import TableSource, files_of, read_source
from lexfed.data.reading.typed_cells.cell_columns import joined_frame
from lexfed.data.reading.typed_cells.database_address import DEFAULT_DATABASE
from lexfed.data.schema import ColumnKind, DeclaredKind
from lexfed.data.written_values import written_date, written_number
from lexfed.errors import ConfigError, Problem

_TEXT = (*TEXT_SUFFIXES, *PACKED_SUFFIXES)
_FEW = 20
_OFTEN = 20
_TRUTH = {"0", "1", "true", "false", "yes", "no"}
_LETTERS_OF_TRUTH = ({"y", "n"}, {"t", "f"})
"""Both must be there: letters alone may be codes of something else."""
_NOTES: Mapping[DeclaredKind, str] = {
    "number": "looks like a number: fill in its range from public knowledge",
    "flag": "looks like yes/no",
    "category": "looks like a category: list its values from public knowledge",
    "text": "looks like free text or a key: never a model input",
    "date": "looks like a date: fill in the first and last day from public knowledge",
}


@dataclass(frozen=True)
class ColumnGuess:
    """A column's name and what it looks like.

    Guarantees:
        Holds no value of the data and nothing computed from values but the kind.
    """

    name: str
    kind: DeclaredKind
    note: str


@dataclass(frozen=True)
class TableGuess:
    """A table as it looks.

    Attributes:
        format: how it is written; its missing words are all common ones, whether they
            occur or not.
        columns: a guess for every column that has a name, in order.
        frame: the columns as they are. They are private, and for this machine only.
        notes: what was guessed or set aside, for the screen of who holds the data.
        database: where its database is, for a table of one.
    """

    format: FileFormat
    columns: tuple[ColumnGuess, ...]
    frame: Frame
    notes: tuple[str, ...]
    database: str = DEFAULT_DATABASE

    @property
    def keys(self) -> dict[str, Any]:
        """The keys of `[data]` that say where and how it is written."""
        keys = self.format.to_dict()
        if self.database != DEFAULT_DATABASE:
            keys["database"] = self.database
        return keys


def guess_table(
    source: TableSource,
    separator: SeparatorName | None = None,
    decimal: DecimalMark | None = None,
    dates: DateOrder | None = None,
    *,
    encoding: TextEncoding | None = None,
    header: bool | None = None,
    sheet: str = "",
) -> TableGuess:
    """Return a guess at a table; what is stated is not guessed.

    Raises:
        DataError: with every problem of the file; if it has no rows.
        ConfigError: with everything that two readings fit, and what decides it.
    """
    problems, written = Problems(), replace(PLAIN, header=header is not False)
    files = files_of(source) if isinstance(source, Path) else []
    texts = [file for file in files if str(file).lower().endswith(_TEXT)]
    if texts:
        with suppress(OSError, DamagedArchive):  # reading it says why
            written = common_text_format(texts, separator, encoding, header)
    frames = read_source(source, None, problems, replace(written, sheet=sheet))
    if frames and not any(map(len, frames)):
        problems.add("no-rows", "there are no rows", file=frames[0].source)
    problems.raise_if_any()
    return guess_frames(frames, replace(written, sheet=sheet), decimal, dates)


def guess_frames(
    frames: Sequence[Frame],
    written: FileFormat = PLAIN,
    decimal: DecimalMark | None = None,
    dates: DateOrder | None = None,
) -> TableGuess:
    """Return a guess at a table that has been read, in one part or in several.

    Raises:
        ConfigError: with everything that two readings fit, and what decides it.
    """
    frame = joined_frame(frames)
    written = _completed(frame, written, decimal, dates)
    frames = [replace(each, written=written) for each in frames]
    frame = replace(frame, written=written)
    kinds = {name: _kind(raw, written) for name, raw in frame.columns.items()}
    guesses = tuple(
        ColumnGuess(name, kind, _NOTES[kind]) for name, kind in kinds.items()
    )
    return TableGuess(written, guesses, frame, _notes(frames, kinds))


def _completed(
    frame: Frame,
    written: FileFormat,
    decimal: DecimalMark | None,
    dates: DateOrder | None,
) -> FileFormat:
    """Return the format with what only whole columns show."""
    texts = {
        name: {str(value) for value in raw.values[~raw.missing]}
        for name, raw in frame.columns.items()
        if raw.kind == "text"
    }
    if texts:
        # Whether a word occurs may depend on one row, so all of them are listed.
        written = replace(written, missing=MISSING_WORDS)
    known = {
        name: {each for each in values if not written.is_missing(each)}
        for name, values in texts.items()
    }
    unclear: list[Problem] = []
    marks = _marks(frame.name, known, written, decimal, unclear)
    order = _order(frame.name, known, dates, unclear)
    if unclear:
        raise ConfigError(unclear)
    return replace(written, decimal=marks[0], thousands=marks[1], dates=order)


Marks = tuple[DecimalMark, ThousandsMark]
_MARKS: tuple[Marks, ...] = (
    ("point", "none"), ("comma", "none"), ("point", "comma"), ("comma", "point"),
    ("point", "space"), ("comma", "space"), ("point", "apostrophe"),
    ("comma", "apostrophe"),
)  # fmt: skip


def _marks(
    file: str,
    columns: Mapping[str, set[str]],
    written: FileFormat,
    decimal: DecimalMark | None,
    unclear: list[Problem],
) -> Marks:
    """Return the marks under which all columns are numbers that are so under some."""
    allowed = [marks for marks in _MARKS if decimal in (None, marks[0])]
    fitting: dict[str, dict[Marks, tuple[float, ...]]] = {}
    for name, cells in columns.items():
        shapes = _shapes(cells)
        if not any(_MARKED.search(cell) for cell in shapes):
            continue  # the same under all of them
        readings = {
            marks: values
            for marks in allowed
            if (values := _values(shapes, _with(written, marks))) is not None
        }
        if readings:
            fitting[name] = readings
    common = [m for m in allowed if all(m in each for each in fitting.values())]
    if not common:
        first, second = _quarrel(fitting)
        what = f"columns `{first}` and `{second}` write numbers with different marks"
        hint = (
            "state the `--decimal` of the table, `point` or `comma`; a column that is "
            "written otherwise counts as text"
        )
        unclear.append(Problem(file, what, hint))
        return allowed[0]
    best = common[0]
    # A file that is plain otherwise has decimal points: nobody would take it else.
    plain = written.separator == "comma" and best == _MARKS[0]
    if decimal is None and not plain:
        for name, readings in fitting.items():
            if any(readings[marks] != readings[best] for marks in common):
                what = f"column `{name}`: a mark before three digits can be either"
                hint = (
                    "state it with `--decimal point` or `--decimal comma`: 1.234 and "
                    "1,234 are a thousand and more, or one and a fraction"
                )
                unclear.append(Problem(file, what, hint))
                break
    return best


def _with(written: FileFormat, marks: Marks) -> FileFormat:
    return replace(written, decimal=marks[0], thousands=marks[1])


_MARKED = re.compile("[.,' \u00a0\u202f\u2009\u2019]")
_DIGITS = str.maketrans("012345678", "999999999")
_MOST_STRAYS = 3
"""Different texts that a column of numbers may have by mistake."""


def _shapes(cells: Iterable[str]) -> list[str]:
    """Return one cell of each form that a column of numbers has; none for others."""
    shapes: dict[str, str] = {}
    strays = 0
    for cell in cells:
        if not any(map(str.isdigit, cell)):
            strays += 1
        elif ":" not in cell:  # times are the same under all marks
            zero = "0" if cell.lstrip("+-").startswith("0") else ""
            shapes.setdefault(zero + cell.translate(_DIGITS), cell)
        if strays > _MOST_STRAYS or len(shapes) > _MOST_SHAPES:
            return []
    return sorted(shapes.values())


_MOST_SHAPES = 2000


def _maybe_numbers(cells: Iterable[str]) -> bool:
    """Return False, soon, for columns of texts."""
    return all(re.search(r"\d", cell) and len(cell) < 60 for cell in cells)


def _values(cells: Iterable[str], written: FileFormat) -> tuple[float, ...] | None:
    found = []
    for cell in cells:
        number = written_number(cell, written)
        if number is None:
            return None
        found.append(number.value)
    return tuple(found)


def _quarrel(fitting: Mapping[str, Mapping[Marks, object]]) -> tuple[str, str]:
    names = list(fitting)
    for place, first in enumerate(names):
        for second in names[place + 1 :]:
            if not fitting[first].keys() & fitting[second].keys():
                return first, second
    return names[0], names[-1]


_ORDERS: tuple[DateOrder, ...] = ("year-first", "day-first", "month-first")


def _order(
    file: str,
    columns: Mapping[str, set[str]],
    dates: DateOrder | None,
    unclear: list[Problem],
) -> DateOrder:
    """Return the order under which all columns are dates that are so under some."""
    if dates is not None:
        return dates
    fitting = {
        name: orders
        for name, cells in columns.items()
        if cells and (orders := [o for o in _ORDERS if _are_dates(cells, o)])
    }
    common = [o for o in _ORDERS if all(o in each for each in fitting.values())]
    if common and (len(common) == 1 or common[0] == "year-first"):
        return common[0]
    unsure = next(n for n, orders in fitting.items() if "year-first" not in orders)
    what = (
        f"column `{unsure}`: day and month could be either way round"
        if common
        else "its columns write dates in different orders"
    )
    hint = "state it with `--dates day-first` or `--dates month-first`"
    unclear.append(Problem(file, what, hint))
    return "year-first"


def _are_dates(cells: Iterable[str], order: DateOrder) -> bool:
    return all(written_date(cell, order) is not None for cell in cells)


def _kind(raw: RawColumn, written: FileFormat) -> DeclaredKind:
    present = raw.values[~raw.missing]
    if raw.kind == "flag" or raw.kind == "date":
        return raw.kind
    if raw.kind == "other" or not len(present):
        return "text"
    if raw.kind == "number" and raw.unit:
        return "number"
    if raw.kind == "number":
        return _number_or_key(present.astype(np.float64))
    texts = list(map(str, present.tolist()))
    known = {text for text in set(texts) if not written.is_missing(text)}
    cells = [text for text in texts if text in known]
    distinct = {cell.lower() for cell in known}
    if (distinct and distinct <= _TRUTH) or distinct in _LETTERS_OF_TRUTH:
        return "flag"
    if distinct and _maybe_numbers(distinct):
        numbers = {cell: written_number(cell, written) for cell in known}
        values = [n.value for cell in cells if (n := numbers[cell]) is not None]
        if len(values) == len(cells):
            # A key has neither a unit nor marks between its digits.
            if any(n.unit for n in numbers.values() if n is not None):
                return "number"
            if any(_MARKED.search(cell) for cell in cells):
                return "number"
            return _number_or_key(np.array(values, dtype=np.float64))
        if _are_dates(known, written.dates):
            return "date"
    if distinct and _strays(cells, written):
        return "number"
    # A key has about as many values as rows, a category has few or repeats them.
    few = len(distinct) <= _FEW and len(distinct) < len(cells)
    return "category" if few or len(distinct) * _OFTEN <= len(cells) else "text"


def _strays(cells: list[str], written: FileFormat) -> set[str]:
    """Return the few texts in a column of numbers; none if it is no such column."""
    numbers = {cell: written_number(cell, written) is not None for cell in set(cells)}
    strays = {cell for cell, is_number in numbers.items() if not is_number}
    count = sum(not numbers[cell] for cell in cells)
    mostly = len(strays) <= _MOST_STRAYS and len(numbers) - len(strays) > len(strays)
    return strays if mostly and 20 * count <= len(cells) else set()


def _number_or_key(present: Floats) -> ColumnKind:
    if len(present) and np.isin(present, (0.0, 1.0)).all():
        return "flag"
    different = len(np.unique(present)) == len(present) > _FEW
    whole = bool((np.floor(present) == present).all())
    return "text" if different and whole else "number"


def _has_words(raw: RawColumn, written: FileFormat) -> bool:
    """Return True if a word for a missing value occurs."""
    return raw.kind == "text" and any(
        map(written.is_missing, {str(each) for each in raw.values[~raw.missing]})
    )


def _notes(
    frames: Sequence[Frame], kinds: Mapping[str, DeclaredKind]
) -> tuple[str, ...]:
    frame, notes = frames[0], []
    written = frame.written
    if frame.part_of:
        notes.append(f"{len(frames)} files, one below the other")
    for key in ("separator", "encoding", "decimal", "thousands", "dates", "sheet"):
        if getattr(written, key) != getattr(PLAIN, key):
            notes.append(f"{key}: {getattr(written, key)}")
    if not written.header:
        notes.append("no header: columns are called `column_1`, `column_2`, ...")
    cells = (raw for each in frames for raw in each.columns.values())
    if any(map(_has_words, cells, repeat(written))):
        notes.append("cells such as `NA`, `?` or `-` count as missing")
    notes += [f"column {place} has no name: left out" for place in frame.unnamed]
    for each in frames:
        notes += _stray_notes(each, kinds)
    return tuple(notes)


def _stray_notes(frame: Frame, kinds: Mapping[str, DeclaredKind]) -> Iterator[str]:
    """Yield a note for each column of numbers that has other texts."""
    written, file = frame.written, f" of `{frame.name}`" if frame.part_of else ""
    for name, raw in frame.columns.items():
        if kinds[name] != "number" or raw.kind != "text":
            continue
        texts = raw.values.tolist()
        strays = {
            text
            for text in set(texts)
            if not written.is_missing(text) and written_number(text, written) is None
        }
        found = zip(frame.rows, texts, strict=True) if strays else ()
        rows = [int(row) for row, text in found if text in strays]
        if rows:
            yield (
                f"column `{name}`: text among numbers, first in row {rows[0]}{file}; "
                "correct it, or list the word as `missing`"
            )
