# SPDX-License-Identifier: Apache-2.0
"""Ways to read a table wrongly, each noticed by files written in many ways."""

import csv
import re
from dataclasses import replace
from typing import Any

from lexfed.data import file_format, written_values
from lexfed.data.file_format import FileFormat, TextEncoding
from lexfed.data.reading import column_values, format_guess, raw_columns
from lexfed.data.reading.format_guess import guess_text_format
from support.mutant import Mutant, Patch, both_tests
from support.table_reading import outcomes_of

FILES = range(25, 85)


def files_are_read_as_written() -> None:
    found = outcomes_of(FILES)
    assert not found.wrong
    assert not found.counts["refused"]


def _marks_are_confused(patch: Patch) -> None:
    real = written_values.written_number

    def read(text: str, written: FileFormat) -> Any:
        return real(text.replace(",", ""), replace(written, decimal="point"))

    patch.setattr(column_values, "written_number", read)


def _words_have_one_case(patch: Patch) -> None:
    def is_missing(self: FileFormat, text: str) -> bool:
        return not text or text in self.missing

    patch.setattr(FileFormat, "is_missing", is_missing)


def _categories_have_one_case(patch: Patch) -> None:
    def place(self: Any, text: str) -> int:
        return int(self._exact.get(text, -1))

    patch.setattr(column_values.Spelling, "place", place)


def _the_mark_stays(patch: Patch) -> None:
    patch.setitem(file_format._CODECS, "utf-8", "utf-8")


def _quotes_are_letters(patch: Patch) -> None:
    real = csv.reader

    def reader(stream: Any, delimiter: str, strict: bool) -> Any:
        return real(stream, delimiter=delimiter, quoting=csv.QUOTE_NONE)

    patch.setattr(csv, "reader", reader)


def _western_text_is_taken_for_granted(patch: Patch) -> None:
    def guess(path: Any, separator: Any, encoding: Any, header: Any) -> FileFormat:
        known: TextEncoding = encoding or "windows-1252"
        return guess_text_format(path, separator, known, header)

    patch.setattr(format_guess, "guess_text_format", guess)


def _a_header_is_taken_for_granted(patch: Patch) -> None:
    def guess(path: Any, separator: Any, encoding: Any, header: Any) -> FileFormat:
        return guess_text_format(path, separator, encoding, True)

    patch.setattr(format_guess, "guess_text_format", guess)


def _short_lines_are_filled(patch: Patch) -> None:
    real: Any = csv.reader

    class Filled:
        def __init__(self, *given: Any, **named: Any) -> None:
            self._inner, self._width = real(*given, **named), 0

        @property
        def line_num(self) -> int:
            return int(self._inner.line_num)

        def __iter__(self) -> "Filled":
            return self

        def __next__(self) -> list[str]:
            record = next(self._inner)
            self._width = self._width or len(record)
            padded = [*record, *[""] * self._width]
            return padded[: self._width] if record else record

    patch.setattr(csv, "reader", Filled)


def _units_do_not_count(patch: Patch) -> None:
    real = column_values._parsed

    def parsed(raw: Any, written: FileFormat) -> Any:
        values, unreadable, _ = real(raw, written)
        return values, unreadable, None

    patch.setattr(column_values, "_parsed", parsed)


def _months_come_first(patch: Patch) -> None:
    real = written_values.written_date

    def read(text: str, order: Any) -> Any:
        swapped = re.sub(r"^(\d{1,2})([./])(\d{1,2})", r"\3\2\1", text)
        return real(swapped, order) or real(text, order)

    patch.setattr(raw_columns, "written_date", read)


MUTANTS = [
    Mutant(apply.__name__.replace("_", " ").strip(), apply, files_are_read_as_written)
    for apply in (
        _marks_are_confused, _words_have_one_case, _categories_have_one_case,
        _the_mark_stays, _quotes_are_letters, _western_text_is_taken_for_granted,
        _a_header_is_taken_for_granted, _short_lines_are_filled, _units_do_not_count,
        _months_come_first,
    )
]  # fmt: skip

test_the_real_code_passes, test_a_mutant_is_caught = both_tests(MUTANTS)
