# SPDX-License-Identifier: Apache-2.0
"""Arithmetic with the dates and times of entries, which may be of no calendar."""

from datetime import UTC, date, datetime, timedelta


def years_after(day: str, years: int, months: int = 0) -> tuple[int, int, int]:
    """Return year, month and day so much later; compare with `parts`.

    >>> years_after("2026-11-15", 6), years_after("2026-11-15", 0, 6)
    ((2032, 11, 15), (2027, 5, 15))
    """
    year, month, rest = parts(day)
    total = (month - 1) + months
    return year + years + total // 12, total % 12 + 1, rest


def parts(day: str) -> tuple[int, int, int]:
    """Return year, month and day as numbers."""
    year, month, rest = day.split("-")
    return int(year), int(month), int(rest)


def days_between(start: str, end: str) -> int | None:
    """Return the number of days from `start` to `end`; None if one is no day."""
    try:
        return (date.fromisoformat(end) - date.fromisoformat(start)).days
    except ValueError:
        return None


def time_between(start: str, end: str) -> timedelta | None:
    """Return the time from one to the other; None if one is no time."""
    try:
        first, last = (
            datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
            for text in (start, end)
        )
    except ValueError:
        return None
    return last - first
