# SPDX-License-Identifier: Apache-2.0
"""How a delimited file is written, guessed from its bytes: encoding, separator, header.

A guess is made only where one reading fits. Where two do, `ConfigError` says which
option decides; what is stated is not guessed. Marks of numbers and orders of dates need
whole columns: `column_guesses.py`.
"""

import codecs
import csv
import io
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import IO

from lexfed.data.file_format import (
    MARKS,
    MISSING_WORDS,
    PLAIN,
    FileFormat,
    SeparatorName,
    TextEncoding,
)
from lexfed.data.reading.packed_files import unpacked
from lexfed.data.written_values import written_date, written_number
from lexfed.errors import ConfigError, Problem

SAMPLE_BYTES = 1 << 20
"""Bytes from which separator and header are guessed; the encoding takes all."""
SAMPLE_RECORDS = 500

_NUMBER_FORMATS = (
    FileFormat(thousands="comma"), FileFormat(decimal="comma", thousands="point"),
    FileFormat(decimal="comma", thousands="space"), FileFormat(thousands="space"),
    FileFormat(thousands="apostrophe"),
)  # fmt: skip

_WITH_MISSING = FileFormat(missing=MISSING_WORDS)


def guess_text_format(
    path: Path,
    separator: SeparatorName | None = None,
    encoding: TextEncoding | None = None,
    header: bool | None = None,
) -> FileFormat:
    """Return separator, encoding and header of a file; the rest is left at default.

    Raises:
        ConfigError: if two readings fit.
        OSError, DamagedArchive: if the file cannot be opened or unpacked.
    """
    with unpacked(path) as stream:
        start = stream.read(SAMPLE_BYTES)
        if encoding is None:
            encoding = _encoding(start, stream, path)
    written = replace(PLAIN, encoding=encoding)
    text = start.decode(written.codec, "replace")
    if (
        len(start) == SAMPLE_BYTES
    ):  # a record that is cut would look like one of another length
        text = text[: text.rfind("\n") + 1]
    if separator is None:
        separator = _separator(text, path)
    written = replace(written, separator=separator)
    if header is None:
        header = _has_header(_records(text, written.mark), path)
    return replace(written, header=header)


def common_text_format(
    paths: Sequence[Path],
    separator: SeparatorName | None = None,
    encoding: TextEncoding | None = None,
    header: bool | None = None,
) -> FileFormat:
    """Return the format of files that are one table; see `guess_text_format`.

    A file of plain letters is in every encoding that the others are in. Otherwise files
    that are written in different ways raise `ConfigError`, which names one.
    """
    found = {
        path: guess_text_format(path, separator, encoding, header) for path in paths
    }
    first = next(
        (p for p, written in found.items() if written.encoding != PLAIN.encoding),
        paths[0],
    )
    for path, written in found.items():
        for key in ("separator", "encoding", "header"):
            own, other = getattr(written, key), getattr(found[first], key)
            plain = key == "encoding" and own == PLAIN.encoding and _is_ascii(path)
            if own != other and not plain:
                what = f"its {key} is `{own}`, that of `{first.name}` is `{other}`"
                hint = "write all files of the table in one way"
                raise ConfigError([Problem(str(path), what, hint)])
    return found[first]


def _is_ascii(path: Path) -> bool:
    with unpacked(path) as stream:
        while chunk := stream.read(SAMPLE_BYTES):
            if not chunk.isascii():
                return False
    return True


def _unclear(path: Path, what: str, option: str, example: str) -> ConfigError:
    hint = f"state it with `{option}`, for example `{option} {example}`"
    return ConfigError([Problem(str(path), what, hint)])


def _encoding(start: bytes, rest: IO[bytes], path: Path) -> TextEncoding:
    if start.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        hint = "save the file as UTF-8"
        raise ConfigError([Problem(str(path), "is UTF-32 text", hint)])
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    zeros = start[1:200:2].count(0) - start[:200:2].count(0)
    if abs(zeros) > 20:  # letters of two bytes, one of them zero, and no mark
        return "utf-16-le" if zeros > 0 else "utf-16-be"
    utf_8 = codecs.getincrementaldecoder("utf-8")()
    western = codecs.getincrementaldecoder("cp1252")()
    foreign: list[str] = []
    fits, whole, odd = True, 0, 0
    chunk = start
    while chunk:
        if not chunk.isascii():
            letters = _LETTER.findall(chunk)
            whole += len(letters)
            odd += len(_HIGH_BYTE.findall(chunk)) - sum(map(len, letters))
        if fits:
            try:
                utf_8.decode(chunk)
            except UnicodeDecodeError:
                fits = False
        try:
            foreign += _odd_words(western.decode(chunk)) if not chunk.isascii() else []
        except UnicodeDecodeError:
            foreign.append("")
        chunk = rest.read(SAMPLE_BYTES)
    if fits and not utf_8.getstate()[0]:  # no letter is cut at the end
        return "utf-8"
    if whole > odd:
        return "utf-8"  # but for a few bytes: reading it says where
    if foreign:
        what = "is not UTF-8 text, nor Windows-1252 as far as its letters show"
        raise _unclear(path, what, "--encoding", "windows-1251")
    return "windows-1252"


_LETTER = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
"""A letter of several bytes, as UTF-8 has them."""
_HIGH_BYTE = re.compile(rb"[\x80-\xff]")
_WORD = re.compile(r"[^\W\d_]{2,}")
_HIGH = re.compile(r"[^\x00-\x7f]")


def _odd_words(text: str) -> list[str]:
    """Return words that no Western language has, as other encodings look like."""
    return [
        word
        for word in _WORD.findall(text)
        if _HIGH.search(word)
        and (
            re.search(r"[^\x00-\x7f]{4}", word)
            or any(
                not high.isascii() and high.isupper() and low.islower()
                for low, high in pairwise(word)
            )
        )
    ]


def _records(text: str, mark: str) -> list[list[str]]:
    """Return the first records; a quote that is not closed ends them."""
    records: list[list[str]] = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)
    try:
        for record in reader:
            if record:
                records.append([cell.strip() for cell in record])
            if len(records) == SAMPLE_RECORDS:
                break
    except csv.Error:
        pass
    return records


def _separator(text: str, path: Path) -> SeparatorName:
    fitting: dict[SeparatorName, list[list[str]]] = {}
    for name, mark in MARKS.items():
        records = _records(text, mark)
        lengths = {len(record) for record in records}
        trailing = max(lengths, default=0) - min(lengths, default=0)
        ends = all(not r[-1] for r in records if len(r) == max(lengths))
        if min(lengths, default=0) > 1 and (not trailing or (trailing == 1 and ends)):
            fitting[name] = records
    if len(fitting) > 1:
        # A separator that is left within cells is one only where a number has it.
        others = {name: [m for n, m in MARKS.items() if n in fitting and n != name]
                  for name in fitting}  # fmt: skip
        fitting = {
            name: records
            for name, records in fitting.items()
            if not any(
                mark in cell and not _is_number(cell)
                for record in records
                for cell in record
                for mark in others[name]
            )
        } or fitting
    if len(fitting) > 1:
        names = " and ".join(f"`{name}`" for name in fitting)
        what = f"could be separated by {names}: both readings fit"
        raise _unclear(path, what, "--separator", next(iter(fitting)))
    if fitting:
        return next(iter(fitting))
    # Ragged lines, or one column: reading the file will say where.
    first = text.lstrip("\ufeff").partition("\n")[0]
    return max(MARKS, key=lambda name: first.count(MARKS[name]))


def _is_number(cell: str) -> bool:
    return any(written_number(cell, each) is not None for each in _NUMBER_FORMATS)


def _is_value(cell: str) -> bool:
    """Return True for what no column is called: a number or a date."""
    return _is_number(cell) or any(
        written_date(cell, order) is not None for order in ("day-first", "month-first")
    )


def _has_header(records: Sequence[Sequence[str]], path: Path) -> bool:
    """Return whether the first record has names, by what stands below it."""
    if len(records) < 2:
        return True
    first, below = records[0], records[1:]
    valued = {
        place
        for place, cell in enumerate(first)
        if cell and _all_values([r[place] for r in below if len(r) > place])
    }
    named = {
        place
        for place in valued
        if not (_is_value(first[place]) or _WITH_MISSING.is_missing(first[place]))
    }
    if named or not valued:
        return True
    numbers = [written_number(first[place], PLAIN) for place in sorted(valued)]
    known = [number.value for number in numbers if number is not None]
    places = [float(place) for place in sorted(valued)]
    counted = [[place + start for place in places] for start in (0, 1, -1)]
    years = len(known) > 1 and all(1800 <= v <= 2200 and v % 1 == 0 for v in known)
    if len(known) == len(numbers) > 1 and (known in counted or years):
        what = "its first line could be names or values: it has numbers only"
        raise _unclear(path, what, "--header", "yes")
    return False


def _all_values(cells: Sequence[str]) -> bool:
    present = [c for c in cells if not _WITH_MISSING.is_missing(c)]
    return bool(present) and all(map(_is_value, present))
