# SPDX-License-Identifier: Apache-2.0
"""How a table is written: marks, missing words, encoding, order of dates.

A format is declared, as columns are: two readers of one declaration read the same
table. `PLAIN` is a comma-separated file in UTF-8 with a header, decimal points and
empty cells for missing values.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Literal, get_args

from lexfed.data import strict_fields
from lexfed.errors import ConfigError, Problem

SeparatorName = Literal["comma", "semicolon", "tab", "pipe"]
DecimalMark = Literal["point", "comma"]
ThousandsMark = Literal["none", "comma", "point", "space", "apostrophe"]
DateOrder = Literal["year-first", "day-first", "month-first"]
"""Of dates in digits; a date with its year first is read under each of them."""
TextEncoding = Literal[
    "utf-8", "utf-16", "utf-16-le", "utf-16-be", "windows-1252", "latin-1",
    "windows-1250", "windows-1251", "shift-jis", "gb18030",
]  # fmt: skip

MARKS: Mapping[SeparatorName, str] = {
    "comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|",
}  # fmt: skip

MISSING_WORDS = (
    "NA", "N/A", "n.a.", "#N/A", "<NA>", "NaN", "null", "none", "nil", "\\N", "?", "-",
    "--", "–", "—", ".",
)  # fmt: skip
"""Words that people and programs write for a missing value."""

TEXT_SUFFIXES = (".csv", ".tsv", ".txt")
PACKED_SUFFIXES = (*(f"{ending}.gz" for ending in TEXT_SUFFIXES), ".zip")
PARQUET_SUFFIXES = (".parquet", ".pq")
EXCEL_SUFFIXES = (".xlsx",)
SUFFIXES = (*TEXT_SUFFIXES, *PACKED_SUFFIXES, *PARQUET_SUFFIXES, *EXCEL_SUFFIXES)
"""Endings of files that can be read, in lower case."""


@dataclass(frozen=True)
class FileFormat:
    """The way in which a table is written.

    A format that contradicts itself raises `ConfigError`.

    Attributes:
        separator: between the fields of a line.
        decimal: before the fraction of a number.
        thousands: between groups of three digits; numbers without groups are read too.
        missing: words for a missing value beside the empty cell, in any case. A value
            that a column declares is that value all the same.
        encoding: of the text of a file.
        header: whether the first line has names; else columns are `column_1`, ...
        dates: what stands first in dates that are written in digits.
        sheet: the sheet of a workbook; empty for the only one.
    """

    separator: SeparatorName = "comma"
    decimal: DecimalMark = "point"
    thousands: ThousandsMark = "none"
    missing: tuple[str, ...] = ()
    encoding: TextEncoding = "utf-8"
    header: bool = True
    dates: DateOrder = "year-first"
    sheet: str = ""

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                known = ", ".join(f"`{choice}`" for choice in choices)
                raise _wrong(f"`{name}` is none of {known}")
        if self.thousands == self.decimal:
            raise _wrong("`decimal` and `thousands` are the same mark")
        if any(not word or word != word.strip() for word in self.missing):
            raise _wrong("`missing` has an empty or space-padded word")
        if len({word.casefold() for word in self.missing}) < len(self.missing):
            raise _wrong("`missing` has a word twice, apart from its case")

    @property
    def mark(self) -> str:
        """The character between two fields."""
        return MARKS[self.separator]

    @property
    def codec(self) -> str:
        """Python's name of the encoding; a mark in front of UTF-8 is no text."""
        return _CODECS.get(self.encoding, self.encoding)

    def is_missing(self, text: str) -> bool:
        """Return True if a stripped cell holds nothing, or a word for nothing."""
        return not text or text.casefold() in _folded(self.missing)

    def to_dict(self) -> dict[str, Any]:
        """Return the format as plain data, without fields left at default."""
        plain: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if value != field.default:
                plain[field.name] = list(value) if isinstance(value, tuple) else value
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "FileFormat":
        """Return the format of plain data; an unknown field is an error."""
        known: dict[str, Callable[[Any], Any]] = dict.fromkeys(
            _CHOICES, strict_fields.text
        )
        known |= {"missing": strict_fields.texts, "header": strict_fields.truth}
        known["sheet"] = strict_fields.text
        return cls(**strict_fields.fields(plain, known, (), "format"))


_CODECS = {
    "utf-8": "utf-8-sig", "windows-1250": "cp1250", "windows-1251": "cp1251",
    "windows-1252": "cp1252",
}  # fmt: skip
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "separator": get_args(SeparatorName),
    "decimal": get_args(DecimalMark),
    "thousands": get_args(ThousandsMark),
    "encoding": get_args(TextEncoding),
    "dates": get_args(DateOrder),
}


@cache
def _folded(words: tuple[str, ...]) -> frozenset[str]:
    return frozenset(word.casefold() for word in words)


def _wrong(what: str) -> ConfigError:
    return ConfigError([Problem("format of the table", what)])


PLAIN = FileFormat()
"""The format of a table that states none."""
