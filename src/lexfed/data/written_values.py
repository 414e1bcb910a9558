# SPDX-License-Identifier: Apache-2.0
"""Texts of cells as numbers and dates, under the format of their table.

    1.234,5     a number with its marks; groups of thousands must be whole
    5 %  $5     a number with a unit before or after it: 5
    14:30       a time of day, as hours: 14.5
    31.12.2020  a date, in the order of the format; 2020-12-31 under each
    3 May 2020  a date with the name of its month, in English

A column has one unit or none: 5 and 5 % side by side would be two scales. What has two
readings under a format has none here.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache

from lexfed.data.file_format import DateOrder, FileFormat

_GROUPS = {
    "comma": ",", "point": r"\.", "space": "[ \u00a0\u202f\u2009]",
    "apostrophe": "['\u2019]",
}  # fmt: skip
_CURRENCY = (
    r"[$€£¥₹₩₽₺]|(?:US|A|C|NZ|HK)\$|zł|Kč|kr|USD|EUR|GBP|CHF|JPY|SEK|NOK|DKK|PLN"
)
_SPACE = "[ \u00a0\u202f]*"
_TIME = re.compile(
    r"(\d{1,2}):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?(?: ?([AaPp])\.?[Mm]\.?)?"
)
_WORDS = re.compile(r"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)

TIME_OF_DAY = "time of day"
"""The unit of hours that are written as times."""


@dataclass(frozen=True)
class WrittenNumber:
    """A number, and its unit as it was written; empty if there was none."""

    value: float
    unit: str = ""


def written_number(text: str, written: FileFormat) -> WrittenNumber | None:
    """Return the number that a stripped text stands for, or None if it is none.

    The words for infinity and for no number are read, for the caller to refuse.
    """
    if written.decimal == "point" and "_" not in text:
        # Python reads 1_000 as a number; no author of a table means that.
        try:
            return WrittenNumber(float(text))
        except ValueError:
            pass
    if _WORDS.fullmatch(text):
        return WrittenNumber(float(text))
    if match := _pattern(written).fullmatch(text):
        digits = re.sub(_GROUPS.get(written.thousands, "(?!)"), "", match["digits"])
        sign = "-" if match["minus"] else ""
        value = float(sign + digits.replace(",", ".") + (match["power"] or ""))
        unit = match["before"] or match["after"] or ""
        both = match["before"] and match["after"]
        return None if both else WrittenNumber(value, unit)
    return _time(text)


@cache
def _pattern(written: FileFormat) -> re.Pattern[str]:
    point = "," if written.decimal == "comma" else r"\."
    whole = r"\d+"
    if written.thousands != "none":
        group = _GROUPS[written.thousands]
        whole = rf"(?:[1-9]\d{{0,2}}(?:{group}\d{{3}})+|\d+)"
    sign = "(?:[+]|(?P<minus>[-\u2212]))?"
    return re.compile(
        rf"{sign}{_SPACE}(?P<before>{_CURRENCY})?{_SPACE}"
        rf"(?P<digits>{whole}(?:{point}\d*)?|{point}\d+)(?P<power>[eE][+-]?\d+)?"
        rf"{_SPACE}(?P<after>[%‰]|{_CURRENCY})?",
        re.ASCII,
    )


def _time(text: str) -> WrittenNumber | None:
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    hours, half = int(match[1]), match[4]
    if half:
        if not 1 <= hours <= 12:
            return None
        hours = hours % 12 + (12 if half in "pP" else 0)
    if hours > 23:
        return None
    seconds = int(match[2]) * 60 + float(match[3] or 0)
    return WrittenNumber(hours + seconds / 3600, TIME_OF_DAY)


_CLOCK = (
    r"(?:[T ]+(?P<time>\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[AaPp]\.?[Mm]\.?)?)"
    r" ?(?:Z|UTC|[+-]\d{2}:?\d{2})?)?"
)
_YEAR_FIRST = re.compile(rf"(\d{{4}})([-/.])(\d{{1,2}})\2(\d{{1,2}}){_CLOCK}", re.ASCII)
_YEAR_LAST = re.compile(rf"(\d{{1,2}})([-/.])(\d{{1,2}})\2(\d{{4}}){_CLOCK}", re.ASCII)
_NAMED = (
    re.compile(
        rf"(?P<d>\d{{1,2}})[- .]+(?P<m>[A-Za-z]{{3,9}})[- .,]+(?P<y>\d{{4}}){_CLOCK}"
    ),
    re.compile(
        rf"(?P<m>[A-Za-z]{{3,9}})[- .]+(?P<d>\d{{1,2}}),?[- ]+(?P<y>\d{{4}}){_CLOCK}"
    ),
)
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august",
    "september", "october", "november", "december",
)  # fmt: skip


def written_date(text: str, order: DateOrder) -> datetime | None:
    """Return the date, and time, that a stripped text stands for, or None.

    Digits with points have the day first, whatever the order: nobody writes months
    first with points. A time zone is left aside: the clock on the wall counts.
    """
    if match := _YEAR_FIRST.fullmatch(text):
        return _moment(match[1], match[3], match[4], match["time"])
    if match := _YEAR_LAST.fullmatch(text):
        if match[2] == "." or order == "day-first":
            return _moment(match[4], match[3], match[1], match["time"])
        if order == "month-first":
            return _moment(match[4], match[1], match[3], match["time"])
        return None
    for form in _NAMED:
        if match := form.fullmatch(text):
            months = [m for m in _MONTHS if match["m"].lower() in (m, m[:3], m[:4])]
            if len(months) == 1:
                month = str(_MONTHS.index(months[0]) + 1)
                return _moment(match["y"], month, match["d"], match["time"])
    return None


def _moment(year: str, month: str, day: str, clock: str | None) -> datetime | None:
    try:
        start = datetime(int(year), int(month), int(day))
    except ValueError:
        return None
    if clock is None:
        return start
    time = _time(clock.replace(",", "."))
    if time is None:
        return None
    return start + timedelta(seconds=round(time.value * 3600, 6))


def units_of(numbers: Iterable[WrittenNumber]) -> set[str]:
    """Return the units among numbers; those that are none have no unit to differ in."""
    return {number.unit for number in numbers if math.isfinite(number.value)}
