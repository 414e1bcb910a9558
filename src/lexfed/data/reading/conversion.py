# SPDX-License-Identifier: Apache-2.0
"""One raw column against its declaration: values, counts, problems.

What lies outside the declared range is clamped and what is not in the declared list
becomes missing; both are counted, and both refuse the table in strict reading. A value
in another case than the declared one is that value, unless two are declared that differ
in case alone.

A profile looks for the range, so it reads the numbers in the file, as raw slots:

    number                     the number, not clamped
    flag                       0 or 1
    category with a list       place in the list, -1 for another value
    category without a list    LEVELS pairs of letters (`data.letter_pairs`)

A missing value is NaN; of a text the first slot is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from lexfed.arrays import Floats, Integers
from lexfed.data.letter_pairs import LEVELS, pairs_of
from lexfed.data.problems import Problems
from lexfed.data.reading.column_values import (
    ColumnPlace,
    Spelling,
    finite_numbers,
    flags_of,
    texts_of,
    without_words,
    wrong_type,
)
from lexfed.data.reading.frames import Frame, RawColumn
from lexfed.data.reading.raw_columns import raw_column
from lexfed.data.schema import Column, ColumnKind
from lexfed.data.table import ColumnValues


@dataclass(frozen=True)
class ConvertedColumn:
    """Values of a column that match its declaration, and counts of those bent.

    `unit` is that of its numbers as they are written, None where there is no number.
    """

    values: ColumnValues
    clamped: int = 0
    undeclared: int = 0
    unit: str | None = None


def convert_column(
    column: Column, frame: Frame, problems: Problems, *, strict: bool, target: bool
) -> ConvertedColumn:
    """Return the values of a declared column, not text, that the frame has.

    Strict reading refuses what would otherwise be clamped or made missing. A target
    may be neither missing nor of an undeclared class. A date that the column is a part
    of has been read (`with_dates`).
    """
    place = ColumnPlace(frame, column.name, problems)
    raw = raw_column(column, place)
    if raw.missing.any() and (target or not column.missing):
        what = "the target is missing" if target else "a value is missing"
        place.rows("value-missing", what, raw.missing)
    if column.kind == "category":
        return _category(column, raw, place, strict=strict or target)
    if column.kind == "flag":
        return ConvertedColumn(flags_of(raw, place))
    return _number(column, raw, place, strict=strict)


def plain_column(
    column: Column, frame: Frame, problems: Problems, *, listed: bool = True
) -> RawColumn:
    """Return a declared column, not text, as a table of plain format has it.

    Numbers are not clamped, and values that are not declared stay as they are; with
    `listed` False nothing is known of a category's values.
    """
    place = ColumnPlace(frame, column.name, problems)
    raw = raw_column(column, place, listed)
    if column.kind == "number":
        numbers, _ = finite_numbers(raw, place)
        return RawColumn("number", numbers, np.isnan(numbers))
    if column.kind == "flag":
        flags = flags_of(raw, place)
        return RawColumn("number", flags, np.isnan(flags))
    if raw.kind in ("date", "other"):
        wrong_type("category", raw, place)
        return RawColumn("text", np.full(len(frame), "", object), raw.missing)
    texts = texts_of(raw)
    if listed and column.values:
        spelling, values = Spelling(column.values), column.values
        places = {text: spelling.place(text) for text in set(texts)}
        texts = [values[places[t]] if places[t] >= 0 else t for t in texts]
    return RawColumn("text", np.array(texts, dtype=object), raw.missing)


def key_texts(name: str, frame: Frame, problems: Problems) -> list[str]:
    """Return a key column as texts; a missing key is a problem."""
    raw = without_words(frame.columns[name], frame.written)
    place = ColumnPlace(frame, name, problems)
    if raw.kind == "other":
        wrong_type("key", raw, place)
    if raw.missing.any():
        hint = ""
        if not frame.columns[name].missing[raw.missing].all():
            hint = "a key such as `NA` is one once `data.missing` does not list it"
        place.rows("key-missing", "the key is missing", raw.missing, hint)
    if raw.values.dtype.kind == "f":
        merged = ~raw.missing & (np.abs(raw.values) >= _INEXACT)
        if merged.any():
            what = "a number so large that floats do not tell it from its neighbours"
            hint = "store keys as texts or as whole numbers"
            place.rows("key-inexact", what, merged, hint)
    return texts_of(raw)


_INEXACT = 2.0**53
"""From here on two keys, and with them two people, may have one float."""


def plain_texts(name: str, frame: Frame, problems: Problems) -> list[str | None]:
    """Return a category column as it was read, None where missing."""
    raw = frame.columns[name]
    if raw.kind in ("date", "other"):
        wrong_type("category", raw, ColumnPlace(frame, name, problems))
        return [None] * len(frame)
    gone = raw.missing.tolist()
    return [None if m else t for t, m in zip(texts_of(raw), gone, strict=True)]


def _number(
    column: Column, raw: RawColumn, place: ColumnPlace, *, strict: bool
) -> ConvertedColumn:
    values, unit = finite_numbers(raw, place)
    low, high = column.range or (-np.inf, np.inf)
    known = ~np.isnan(values)
    outside = known & ((values < low) | (values > high))
    if strict and outside.any():
        hint = "correct the value, widen `range`, or read with `strict = false`"
        place.rows("out-of-range", "outside the declared range", outside, hint)
    clamped = np.where(known, np.clip(np.where(known, values, low), low, high), np.nan)
    return ConvertedColumn(clamped, clamped=int(outside.sum()), unit=unit)


def _category(
    column: Column, raw: RawColumn, place: ColumnPlace, *, strict: bool
) -> ConvertedColumn:
    if raw.kind in ("date", "other"):
        return ConvertedColumn(wrong_type("category", raw, place))
    spelling, texts = Spelling(column.values or ()), texts_of(raw)
    places = {text: spelling.place(text) for text in set(texts)}
    values: Integers = np.array([places[text] for text in texts], dtype=np.int64)
    values[raw.missing] = -1
    undeclared = (values < 0) & ~raw.missing
    if strict and undeclared.any():
        hint = "add it to `values` if it is public knowledge that it occurs"
        place.rows("undeclared-value", "not in the declared list", undeclared, hint)
    return ConvertedColumn(values, undeclared=int(undeclared.sum()))


class RawDeclaration(Protocol):
    """The part of a column's declaration that reading it needs."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def kind(self) -> ColumnKind: ...  # noqa: D102
    @property
    def values(self) -> tuple[str, ...] | None: ...  # noqa: D102


def raw_places(columns: Sequence[RawDeclaration]) -> dict[str, tuple[int, ...]]:
    """Return the slots of each column, from its declaration alone."""
    places: dict[str, tuple[int, ...]] = {}
    start = 0
    for column in columns:
        stop = start + (LEVELS if _is_open(column) else 1)
        places[column.name] = tuple(range(start, stop))
        start = stop
    return places


def raw_slots(
    columns: Sequence[RawDeclaration], frame: Frame, problems: Problems
) -> Floats:
    """Return the slots of all columns, [rows, slots]; none is a key or a text.

    The frame is of plain format, and its categories are spelled as declared.

    Guarantees:
        A slot depends on its own column's value in its own row alone.
    """
    parts = [np.empty((len(frame), 0))]
    for column in columns:
        raw = frame.columns[column.name]
        place = ColumnPlace(frame, column.name, problems)
        if column.kind == "number":
            parts.append(finite_numbers(raw, place)[0][:, None])
        elif column.kind == "flag":
            parts.append(flags_of(raw, place)[:, None])
        else:
            texts = plain_texts(column.name, frame, problems)
            parts.append(_letters(texts) if _is_open(column) else _codes(column, texts))
    return np.concatenate(parts, axis=1)


def _is_open(column: RawDeclaration) -> bool:
    return column.kind == "category" and column.values is None


def _codes(column: RawDeclaration, texts: Sequence[str | None]) -> Floats:
    codes: dict[str | None, float] = {None: np.nan}
    codes.update({value: float(at) for at, value in enumerate(column.values or ())})
    return np.array([codes.get(text, -1.0) for text in texts]).reshape(-1, 1)


def _letters(texts: Sequence[str | None]) -> Floats:
    # A column has far fewer different texts than rows.
    known = list(dict.fromkeys(texts))
    place = {text: at for at, text in enumerate(known)}
    pairs = [(np.nan,) * LEVELS if text is None else pairs_of(text) for text in known]
    rows = np.fromiter(map(place.__getitem__, texts), np.int64, len(texts))
    return np.array(pairs, dtype=np.float64).reshape(-1, LEVELS)[rows]
