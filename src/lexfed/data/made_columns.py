# SPDX-License-Identifier: Apache-2.0
"""Columns made from one column of a table by public rules: parts of dates, buckets.

    x.days      days since 1970-01-01, with the time of day as a fraction
    x.year      the year
    x.month     one of twelve, x.weekday one of seven
    x.hour      hours since midnight
    buckets     a category whose values nobody knows: SHA-256 of the value, in any
                case, decides its bucket, so that the same value is in the same one at
                every site

Ranges and values follow from the declaration alone: the first and last day that a date
may have, the number of buckets. A part is as sensitive as its date.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import date

import numpy as np
from numpy.typing import NDArray

from lexfed.data.schema import Column, ColumnPart, DatePart
from lexfed.errors import ConfigError, Problem

USUAL_PARTS: tuple[DatePart, ...] = ("days", "month", "weekday")
MONTHS = tuple(str(month) for month in range(1, 13))
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MOST_BUCKETS = 1024

Moments = NDArray[np.datetime64]
_DAY = np.timedelta64(1, "D")
_HOUR = np.timedelta64(1, "h")


def date_columns(
    name: str,
    period: tuple[str, str],
    parts: Sequence[DatePart] = USUAL_PARTS,
    missing: bool = True,
) -> tuple[Column, ...]:
    """Return the columns that a date becomes; `period` has its first and last day.

    A period that is none, and a part that has one value in it, raise `ConfigError`.
    """
    first, last = (_day(name, text) for text in period)
    if first > last:
        raise _wrong(name, "`period` ends before it begins")
    epoch = date(1970, 1, 1)
    ranges: Mapping[DatePart, tuple[float, float]] = {
        "days": ((first - epoch).days, (last - epoch).days + 1),
        "year": (first.year, last.year),
        "hour": (0, 24),
    }
    made = []
    for part in parts:
        own, sources = f"{name}.{part}", (name,)
        if part in ("month", "weekday"):
            values = MONTHS if part == "month" else WEEKDAYS
            made.append(
                Column(
                    own, "category", values=values, sources=sources, missing=missing,
                    part=part,
                )
            )  # fmt: skip
            continue
        low, high = map(float, ranges[part])
        if low == high:
            raise _wrong(name, f"`period` has one {part}: leave out the part `{part}`")
        # Dates have no orders of magnitude, however far from 1970 they are.
        made.append(
            Column(
                own, "number", range=(low, high), scale="linear", sources=sources,
                missing=missing, part=part,
            )
        )  # fmt: skip
    return tuple(made)


def bucket_column(
    name: str, buckets: int, sources: tuple[str, ...] = (), missing: bool = True
) -> Column:
    """Return a category of so many buckets, for values that nobody knows."""
    values = tuple(f"bucket {number}" for number in range(1, buckets + 1))
    return Column(
        name, "category", values=values, sources=sources, missing=missing, part="bucket"
    )


def _day(name: str, text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        hint = 'write for example `period = ["2015-01-01", "2025-12-31"]`'
        raise _wrong(name, "`period` has a day that is none", hint) from None


def _wrong(column: str, what: str, hint: str = "") -> ConfigError:
    return ConfigError([Problem(f"column `{column}`", what, hint)])


def bucket_of(text: str, buckets: int) -> int:
    """Return the bucket of a value, from 0: a public function of it and their number.

    Guarantees:
        Values that differ in case alone share a bucket.
    """
    digest = hashlib.sha256(b"lexfed bucket\0" + text.casefold().encode()).digest()
    return int.from_bytes(digest[:8]) % buckets


def bucket_texts(column: Column, texts: Sequence[str]) -> list[str]:
    """Return the bucket of each text, by its name among the column's values."""
    names = column.values or ()
    known = {text: names[bucket_of(text, len(names))] for text in set(texts)}
    return [known[text] for text in texts]


def date_part(part: ColumnPart, moments: Moments) -> NDArray[np.generic]:
    """Return a part of each moment: floats, or texts that a column declares.

    Where there is no moment the result is arbitrary.
    """
    return _PARTS[part](np.where(np.isnat(moments), np.datetime64(0, "us"), moments))


def _year(moments: Moments) -> NDArray[np.generic]:
    return moments.astype("datetime64[Y]").astype(np.float64) + 1970.0


def _month(moments: Moments) -> NDArray[np.generic]:
    months = moments.astype("datetime64[M]").astype(np.int64) % 12
    return np.array(MONTHS, dtype=object)[months]


def _weekday(moments: Moments) -> NDArray[np.generic]:
    # 1970-01-01 was a Thursday.
    days = (moments.astype("datetime64[D]").astype(np.int64) + 3) % 7
    return np.array(WEEKDAYS, dtype=object)[days]


def _hours(moments: Moments) -> NDArray[np.generic]:
    return np.asarray((moments - moments.astype("datetime64[D]")) / _HOUR)


def _days(moments: Moments) -> NDArray[np.generic]:
    return np.asarray((moments - np.datetime64(0, "us")) / _DAY)


_PARTS: Mapping[ColumnPart, Callable[[Moments], NDArray[np.generic]]] = {
    "days": _days, "year": _year, "month": _month, "weekday": _weekday, "hour": _hours,
}  # fmt: skip
