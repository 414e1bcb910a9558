# SPDX-License-Identifier: Apache-2.0
"""A profile in words: numbers with as many digits as their intervals bear."""

import math
from collections.abc import Mapping

from lexfed.report.markup.escaping import visible
from lexfed.sketch.profile.answers import ProfiledNumber
from lexfed.sketch.profile.federation_profile import ColumnNote, ColumnProfile

NOTES: Mapping[ColumnNote, str] = {
    "nothing-seen": "nothing stands out of the noise: pay more to see it",
    "no-range": "no range stands out of the noise: declare one, or pay more",
    "no-values": "no value stands out of the noise: declare a list, or pay more",
    "long-values": "some values are longer than can be told; only their beginnings "
    "are known, and they cannot be declared from here",
    "many-values": "more beginnings of values stood out than could be followed: the "
    "list may lack some",
}

_WORD = 30  # longer values are cut where several stand together
_SMALLEST, _LARGEST = -4, 7  # powers of ten between which numbers are written out


def number(value: float, precision: float) -> str:
    """Return a number rounded to what its uncertainty leaves of it.

    Two digits of the uncertainty if the first is a one, otherwise one digit; and two
    digits of the number in any case.

    >>> number(1234.56, 130.0), number(0.1234, 0.032), number(899.2, 9.8)
    ('1,230', '0.12', '899')
    >>> number(3e12, 1e10), number(0.0, 0.0), number(52.0, 0.0), number(-2e5, 1e18)
    ('3.000e+12', '0', '52', '-200,000')
    """
    if not value or not precision:
        return exact(value)
    size = math.floor(math.log10(abs(value)))
    spread = math.floor(math.log10(precision))
    bears = 1 - spread if precision < 2 * 10.0**spread else -spread
    places = min(max(bears, 1 - size), 7 - size)
    if not _SMALLEST <= size < _LARGEST:
        return f"{value:.{size + places}e}"
    return f"{round(value, places):,.{max(places, 0)}f}"


def exact(value: float) -> str:
    """Return a number as it is declared.

    >>> exact(18.0), exact(-0.05), exact(1e6), exact(2.5e19)
    ('18', '-0.05', '1,000,000', '2.5e+19')
    """
    text = f"{value:,.12g}"
    return text if "e" not in text else f"{value:.12g}"


def reach(answer: ProfiledNumber) -> float:
    """Half of the width of an interval, as far as its ends are known."""
    low = answer.value if answer.low is None else answer.low
    high = answer.value if answer.high is None else answer.high
    return (high - low) / 2


def interval(answer: ProfiledNumber) -> str:
    """Return the interval of an answer.

    >>> interval(ProfiledNumber(52.3, 51.02, 53.4))
    '51.0 to 53.4'
    >>> interval(ProfiledNumber(90.0, 81.0, None))
    '81 or more'
    """
    half = reach(answer)
    low = None if answer.low is None else number(answer.low, half)
    high = None if answer.high is None else number(answer.high, half)
    if low is not None and high is not None:
        return f"{low} to {high}"
    if low is not None:
        return f"{low} or more"
    return "not known" if high is None else f"{high} or less"


def value_text(answer: ProfiledNumber) -> str:
    """Return the value of an answer."""
    return number(answer.value, reach(answer))


def percent(answer: ProfiledNumber) -> ProfiledNumber:
    """Return a share in hundredths."""
    low = None if answer.low is None else 100 * answer.low
    high = None if answer.high is None else 100 * answer.high
    return ProfiledNumber(100 * answer.value, low, high)


def percent_text(answer: ProfiledNumber) -> str:
    """Return a share in hundredths, with its interval."""
    share = percent(answer)
    return f"{value_text(share)} % ({interval(share)})"


def persons(people: float) -> str:
    """Return a number of persons in words.

    >>> persons(4000.0), persons(1.0)
    ('4,000 people', '1 person')
    """
    return f"{people:,.0f} {'person' if people == 1 else 'people'}"


def gist(column: ColumnProfile, most: int = 6) -> str:
    """Return the declaration that a column needs, with at most so many values."""
    if column.range is not None:
        low, high = column.range
        return f"{exact(low)} to {exact(high)}"
    if column.values:
        shown = [_named(each.value, each.whole) for each in column.values[:most]]
        more = len(column.values) - len(shown)
        return ", ".join(shown) + (f" and {more} more" if more else "")
    return "not known"


def _named(value: str, whole: bool) -> str:
    shown = visible(value)
    return shown if whole and len(shown) <= _WORD else f"{shown[:_WORD]}…"
