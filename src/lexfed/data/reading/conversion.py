# SPDX-License-Identifier: Apache-2.0
"""One raw column against its declaration: values, counts, problems.

An empty value is missing. A number that is written out as `nan`, `inf` or `1e400`
is a mistake in the source and refuses the table. What lies outside the declared
range is clamped and what is not in the declared list becomes missing; both are
counted, and both refuse the table in strict reading.

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

from lexfed.arrays import Bools, Floats, Integers
from lexfed.data.letter_pairs import LEVELS, pairs_of
from lexfed.data.problems import Problems
from lexfed.data.reading.frames import Frame, RawColumn
from lexfed.data.schema import Column, ColumnKind
from lexfed.data.table import ColumnValues

_TRUTH = {
    **dict.fromkeys(("0", "false", "no", "0.0"), 0.0),
    **dict.fromkeys(("1", "true", "yes", "1.0"), 1.0),
}


@dataclass(frozen=True)
class ConvertedColumn:
    """Values of a column that match its declaration, and counts of those bent."""

    values: ColumnValues
    clamped: int = 0
    undeclared: int = 0


@dataclass(frozen=True)
class _Place:
    """The place of a column, for the problems that name it."""

    frame: Frame
    column: str
    problems: Problems

    def whole(self, kind: str, what: str, hint: str = "") -> None:
        file = self.frame.name
        self.problems.add(kind, what, file=file, column=self.column, hint=hint)

    def rows(self, kind: str, what: str, wrong: Bools, hint: str = "") -> None:
        rows, file = self.frame.rows[wrong].tolist(), self.frame.name
        self.problems.add_rows(
            kind, what, rows, file=file, column=self.column, hint=hint
        )


def convert_column(
    column: Column, frame: Frame, problems: Problems, *, strict: bool, target: bool
) -> ConvertedColumn:
    """Return the values of a declared column, not text, that the frame has.

    Strict reading refuses what would otherwise be clamped or made missing. A target
    may be neither missing nor of an undeclared class.
    """
    raw = frame.columns[column.name]
    place = _Place(frame, column.name, problems)
    if raw.missing.any() and (target or not column.missing):
        what = "the target is missing" if target else "a value is missing"
        place.rows("value-missing", what, raw.missing)
    if column.kind == "category":
        return _category(column, raw, place, strict=strict or target)
    if column.kind == "flag":
        return ConvertedColumn(_flag(raw, place))
    return _number(column, raw, place, strict=strict)


def key_texts(name: str, frame: Frame, problems: Problems) -> list[str]:
    """Return a key column as texts; a missing key is a problem."""
    raw = frame.columns[name]
    place = _Place(frame, name, problems)
    if raw.missing.any():
        place.rows("key-missing", "the key is missing", raw.missing)
    return _texts(raw)


def plain_texts(name: str, frame: Frame, problems: Problems) -> list[str | None]:
    """Return a category column as it was read, None where missing."""
    raw = frame.columns[name]
    if raw.kind in ("date", "other"):
        _wrong_type("category", raw, _Place(frame, name, problems))
        return [None] * len(frame)
    gone = raw.missing.tolist()
    return [None if m else t for t, m in zip(_texts(raw), gone, strict=True)]


def _texts(raw: RawColumn) -> list[str]:
    if raw.kind == "number":
        # A column of whole numbers with gaps is often stored as floats: 3.0 is "3".
        whole = np.isfinite(raw.values) & (raw.values == np.floor(raw.values))
        return [
            str(int(value)) if is_whole else repr(float(value))
            for value, is_whole in zip(raw.values.tolist(), whole, strict=True)
        ]
    return [str(value) for value in raw.values.tolist()]


def _wrong_type(declared: str, raw: RawColumn, place: _Place) -> Floats:
    held = "another type" if raw.kind == "other" else raw.kind
    what = f"holds {held} here, declared as {declared}"
    place.whole("column-type", what, "write it the same way at every site")
    return np.full(len(raw.values), np.nan)


def _number(
    column: Column, raw: RawColumn, place: _Place, *, strict: bool
) -> ConvertedColumn:
    values = _finite(raw, place)
    low, high = column.range or (-np.inf, np.inf)
    known = ~np.isnan(values)
    outside = known & ((values < low) | (values > high))
    if strict and outside.any():
        hint = "correct the value, widen `range`, or read with `strict = false`"
        place.rows("out-of-range", "outside the declared range", outside, hint)
    clamped = np.where(known, np.clip(np.where(known, values, low), low, high), np.nan)
    return ConvertedColumn(clamped, clamped=int(outside.sum()))


def _finite(raw: RawColumn, place: _Place) -> Floats:
    """Return the numbers of a column; NaN where there is none, or no finite one."""
    if raw.kind == "number":
        values = raw.values.astype(np.float64)
    elif raw.kind == "text":
        values, unreadable = _parse(raw)
        if unreadable.any():
            if unreadable[~raw.missing].all() and unreadable.sum() > 1:
                return _wrong_type("number", raw, place)
            place.rows("not-a-number", "text where a number is declared", unreadable)
            values[unreadable] = 0.0
    else:
        return _wrong_type("number", raw, place)
    endless = ~np.isfinite(values) & ~raw.missing
    if endless.any():
        hint = "leave a missing value empty"
        place.rows("not-finite", "not a finite number", endless, hint)
    return np.where(np.isfinite(values) & ~raw.missing, values, np.nan)


def _parse(raw: RawColumn) -> tuple[Floats, Bools]:
    """Return the numbers in a column of texts, and where a text is not a number."""
    texts = raw.values.tolist()
    try:
        values = np.array([float(text) if text else np.nan for text in texts])
        unreadable = np.zeros(len(texts), dtype=bool)
    except ValueError:
        parsed = [_float_or_none(text) for text in texts]
        unreadable = np.array([value is None for value in parsed], dtype=bool)
        values = np.array([0.0 if value is None else value for value in parsed])
    # Python reads 1_000 as a number; no author of a table means that.
    unreadable |= np.array(["_" in text for text in texts], dtype=bool)
    return values.astype(np.float64), unreadable


def _float_or_none(text: str) -> float | None:
    try:
        return float(text) if text else np.nan
    except ValueError:
        return None


def _flag(raw: RawColumn, place: _Place) -> Floats:
    if raw.kind in ("date", "other"):
        return _wrong_type("flag", raw, place)
    texts = [text.lower() for text in _texts(raw)]
    values = np.array([_TRUTH.get(text, np.nan) for text in texts], dtype=np.float64)
    wrong = np.isnan(values) & ~raw.missing
    if wrong.sum() > 1 and wrong[~raw.missing].all():
        return _wrong_type("flag", raw, place)
    if wrong.any():
        hint = "write yes/no, true/false or 1/0"
        place.rows("not-a-flag", "neither yes nor no", wrong, hint)
    values[raw.missing] = np.nan
    return values


def _category(
    column: Column, raw: RawColumn, place: _Place, *, strict: bool
) -> ConvertedColumn:
    if raw.kind in ("date", "other"):
        return ConvertedColumn(_wrong_type("category", raw, place))
    codes = {value: code for code, value in enumerate(column.values or ())}
    places = [codes.get(text, -1) for text in _texts(raw)]
    values: Integers = np.array(places, dtype=np.int64)
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

    Guarantees:
        A slot depends on its own column's value in its own row alone.
    """
    parts = [np.empty((len(frame), 0))]
    for column in columns:
        raw, place = frame.columns[column.name], _Place(frame, column.name, problems)
        if column.kind == "number":
            parts.append(_finite(raw, place)[:, None])
        elif column.kind == "flag":
            parts.append(_flag(raw, place)[:, None])
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
