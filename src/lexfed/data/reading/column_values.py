# SPDX-License-Identifier: Apache-2.0
"""Values of one raw column: numbers, truth values, texts, and the problems with them.

An empty value is missing. A number that is written out as `nan`, `inf` or `1e400` is a
mistake in the source and refuses the table, and so does text among numbers, or a unit
that only some numbers have.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lexfed.arrays import Bools, Floats
from lexfed.data.file_format import DecimalMark, FileFormat, ThousandsMark
from lexfed.data.problems import Problems
from lexfed.data.reading.frames import Frame, RawColumn
from lexfed.data.written_values import written_number

TRUTH = {
    **dict.fromkeys(("0", "false", "no", "0.0", "n", "f"), 0.0),
    **dict.fromkeys(("1", "true", "yes", "1.0", "y", "t"), 1.0),
}
"""Texts of a flag, in lower case."""

_OTHER_MARKS: Mapping[str, tuple[DecimalMark, ThousandsMark]] = {
    'decimal = "comma"': ("comma", "none"),
    'thousands = "comma"': ("point", "comma"),
    'decimal = "comma"` and `thousands = "point"': ("comma", "point"),
    'decimal = "comma"` and `thousands = "space"': ("comma", "space"),
    'decimal = "point"': ("point", "none"),
    'thousands = "space"': ("point", "space"),
    'thousands = "apostrophe"': ("point", "apostrophe"),
}  # fmt: skip


@dataclass(frozen=True)
class ColumnPlace:
    """The place of a column, for the problems that name it."""

    frame: Frame
    column: str
    problems: Problems

    def whole(self, kind: str, what: str, hint: str = "") -> None:
        """Note a problem of the whole column."""
        file = self.frame.name
        self.problems.add(kind, what, file=file, column=self.column, hint=hint)

    def rows(self, kind: str, what: str, wrong: Bools, hint: str = "") -> None:
        """Note a problem at some rows."""
        rows, file = self.frame.rows[wrong].tolist(), self.frame.name
        self.problems.add_rows(
            kind, what, rows, file=file, column=self.column, hint=hint
        )


class Spelling:
    """Declared values, and the texts that stand for them: also in another case.

    Guarantees:
        A text that is declared stands for itself.
        A text in another case stands for a value only if no other differs from that in
            its case alone; a whole number with `.0` for the one without.
    """

    def __init__(self, values: Sequence[str]) -> None:
        self._exact = {value: place for place, value in enumerate(values)}
        self._folded: dict[str, int] = {}
        for place, value in enumerate(values):
            folded = value.casefold()
            self._folded[folded] = -1 if folded in self._folded else place

    def place(self, text: str) -> int:
        """Return the place of the value that a text stands for, or -1."""
        place = self._exact.get(text, -1)
        if place < 0:
            place = self._folded.get(text.casefold(), -1)
        if place < 0 and (match := _WHOLE.fullmatch(text)):
            place = self._exact.get(match[1], -1)
        return place


_WHOLE = re.compile(r"(-?[1-9]\d*|0)\.0+", re.ASCII)


def without_words(
    raw: RawColumn, written: FileFormat, kept: Spelling | None = None
) -> RawColumn:
    """Return the column with its missing words marked, but for values to be kept."""
    if raw.kind != "text" or not written.missing:
        return raw
    texts = raw.values.tolist()
    words = {
        text
        for text in set(texts)
        if written.is_missing(text) and (kept is None or kept.place(text) < 0)
    }
    gone = np.array([text in words for text in texts], dtype=bool)
    return replace(raw, missing=raw.missing | gone)


def texts_of(raw: RawColumn) -> list[str]:
    """Return the values as texts, whatever they are where missing."""
    if raw.kind == "number":
        # A column of whole numbers with gaps is often stored as floats: 3.0 is "3".
        whole = np.isfinite(raw.values) & (raw.values == np.floor(raw.values))
        return [
            str(int(value)) if is_whole else repr(float(value))
            for value, is_whole in zip(raw.values.tolist(), whole, strict=True)
        ]
    if raw.kind == "date":
        return [str(value).removesuffix("T00:00:00.000000") for value in raw.values]
    return [str(value) for value in raw.values.tolist()]


def wrong_type(declared: str, raw: RawColumn, place: ColumnPlace) -> Floats:
    """Note that a column holds something else throughout; return it as missing."""
    held = "another type" if raw.kind == "other" else raw.kind
    what = f"holds {held} here, declared as {declared}"
    hint = "write it the same way at every site"
    if declared == "number" and raw.kind == "text":
        hint = _other_marks(raw, place.frame.written) or hint
    place.whole("column-type", what, hint)
    return np.full(len(raw.values), np.nan)


def _other_marks(raw: RawColumn, written: FileFormat) -> str:
    """Return which marks would make numbers of a column, as a hint."""
    texts = {str(text) for text in raw.values[~raw.missing]}
    for keys, marks in _OTHER_MARKS.items():
        other = replace(written, decimal=marks[0], thousands=marks[1])
        if other != written and all(written_number(text, other) for text in texts):
            return f"state `{keys}` under `[data]` if that is how numbers are written"
    return ""


def finite_numbers(raw: RawColumn, place: ColumnPlace) -> tuple[Floats, str | None]:
    """Return the numbers of a column, NaN where there is none, and their unit.

    The unit is None where there is no number.
    """
    unit: str | None = ""
    if raw.kind == "number":
        values, unit = raw.values.astype(np.float64), raw.unit
    elif raw.kind == "text":
        values, unreadable, units = _parsed(raw, place.frame.written)
        if unreadable.any():
            if unreadable[~raw.missing].all() and unreadable.sum() > 1:
                return wrong_type("number", raw, place), None
            what = "expected a number, found text"
            hint = "correct it; a word for a missing value goes into `data.missing`"
            place.rows("not-a-number", what, unreadable, hint)
            values[unreadable] = 0.0
        unit = _one_unit(units, ~raw.missing & ~unreadable, place)
    else:
        return wrong_type("number", raw, place), None
    endless = ~np.isfinite(values) & ~raw.missing
    if endless.any():
        hint = "leave a missing value empty"
        place.rows("not-finite", "not a finite number", endless, hint)
    known = np.isfinite(values) & ~raw.missing
    return np.where(known, values, np.nan), unit if known.any() else None


def _one_unit(units: list[str] | None, known: Bools, place: ColumnPlace) -> str | None:
    if units is None:
        return ""
    present = [unit for unit, is_known in zip(units, known, strict=True) if is_known]
    counts = {unit: present.count(unit) for unit in dict.fromkeys(present)}
    if len(counts) > 1:
        usual = max(counts, key=lambda unit: counts[unit])
        named = " and ".join(unit or "no unit" for unit in sorted(counts))
        other = np.array([unit != usual for unit in units]) & known
        hint = "write the whole column in one unit, or without"
        place.rows("mixed-units", f"has {named} in one column", other, hint)
    return next(iter(counts), "")


def _parsed(
    raw: RawColumn, written: FileFormat
) -> tuple[Floats, Bools, list[str] | None]:
    """Return numbers, where a present text is none, and units where one has any."""
    texts = [
        "" if gone else text
        for text, gone in zip(raw.values.tolist(), raw.missing.tolist(), strict=True)
    ]
    if written.decimal == "point":
        try:
            values = np.array([float(text) if text else np.nan for text in texts])
        except ValueError:
            pass
        else:
            # Python reads 1_000 as a number; no author of a table means that.
            odd = np.array(["_" in text for text in texts], dtype=bool)
            return values.astype(np.float64), odd, None
    read = {text: written_number(text, written) for text in set(texts)}
    numbers = [read[text] for text in texts]
    values = np.array([np.nan if n is None else n.value for n in numbers])
    unreadable = np.array([n is None for n in numbers], dtype=bool) & ~raw.missing
    units = ["" if n is None else n.unit for n in numbers]
    return values.astype(np.float64), unreadable, units


def flags_of(raw: RawColumn, place: ColumnPlace) -> Floats:
    """Return truth values as 0 and 1, NaN where missing."""
    if raw.kind in ("date", "other"):
        return wrong_type("flag", raw, place)
    texts = [text.lower() for text in texts_of(raw)]
    values = np.array([TRUTH.get(text, np.nan) for text in texts], dtype=np.float64)
    wrong = np.isnan(values) & ~raw.missing
    if wrong.sum() > 1 and wrong[~raw.missing].all():
        return wrong_type("flag", raw, place)
    if wrong.any():
        hint = "write yes/no, true/false or 1/0"
        place.rows("not-a-flag", "neither yes nor no", wrong, hint)
    values[raw.missing] = np.nan
    return values
