# SPDX-License-Identifier: Apache-2.0
"""Values and how many persons have them: of a declared list, or found letter by letter.

A value is on a list that was found *because* its noised count exceeded a threshold, so
that is too large on average. Its answer is that of a normal law cut off at the
threshold (docs/theory/sketches.md#counts-of-profiles): exact for a value that is
listed, however near the threshold it is.
"""

import math
from collections.abc import Sequence

from lexfed.data.letter_pairs import LEVELS, PAIRS, is_ended, text_of
from lexfed.sketch.estimates.intervals import CONFIDENCE, Estimate, from_variance
from lexfed.sketch.profile.answers import ProfiledNumber, ValueCount
from lexfed.sketch.profile.cell_spread import Spread
from lexfed.sketch.queries.refinements import (
    ERROR,
    asked_prefixes,
    pooled,
    standing_out,
    threshold,
)
from lexfed.sketch.queries.requested_tables import ReleasedTable

_FAR = 10.0
"""Deviations of the noise that nothing is away from its count."""


def declared_values(
    released: ReleasedTable, values: Sequence[str], people: Estimate
) -> list[ValueCount]:
    """Return every value of a declared list, in its order.

    Guarantees:
        Each interval covers the true count in 95 % of seeds.
    """
    spread = Spread.of(released, people)
    if len(spread.noised) != len(values) + 2:
        raise ValueError(f"expected {len(spread.noised) - 2} values, got {len(values)}")
    return [
        ValueCount(value, ProfiledNumber.of(spread.of_cell(at).within(0.0, math.inf)))
        for at, value in enumerate(values)
    ]


def other_count(released: ReleasedTable, people: Estimate) -> ProfiledNumber:
    """Return the number of persons with a value that is not on a declared list."""
    spread = Spread.of(released, people)
    other = spread.of_cell(len(spread.noised) - 2)
    return ProfiledNumber.of(other.within(0.0, math.inf))


def found_values(tables: Sequence[ReleasedTable]) -> list[ValueCount]:
    """Return the values that were found, the most frequent first.

    Guarantees:
        The interval of a value that is listed covers its true count in 95 % of seeds.
        A value that nobody has is listed with probability ERROR at most.
    """
    listed = [
        ValueCount(text_of(pairs), count, whole=is_ended(pairs[-1]))
        for table in tables
        for pairs, count in _counted(table)
        if is_ended(pairs[-1]) or len(pairs) == LEVELS
    ]
    return sorted(listed, key=lambda item: (-item.count.value, item.value))


def unlisted_count(
    tables: Sequence[ReleasedTable], listed: Sequence[ValueCount], people: Estimate
) -> ProfiledNumber | None:
    """Return the number of persons with a value that was not found, if it is known."""
    if math.isinf(people.variance):
        return None
    first = Spread.of(tables[0], people)
    missing = first.of_cell(len(first.noised) - 1)
    rest = people.value - missing.value - sum(each.count.value for each in listed)
    _, variance = pooled(tables[0])
    spread = from_variance(rest, variance * (len(listed) + 1) + people.variance)
    return ProfiledNumber.of(spread.within(0.0, math.inf))


def _counted(released: ReleasedTable) -> list[tuple[tuple[int, ...], ProfiledNumber]]:
    """Return the cells that stand out, with counts corrected for their selection."""
    _, variance = pooled(released)
    cells = len(asked_prefixes(released)) * PAIRS
    least = threshold(max(cells, 1), variance, ERROR / LEVELS)
    deviation = math.sqrt(variance)
    return [
        (pairs, chosen_count(noised, least, deviation, noised + _FAR * deviation))
        for pairs, noised in standing_out(released)
    ]


def chosen_count(
    noised: float, least: float, deviation: float, most: float
) -> ProfiledNumber:
    """Return the count, up to `most`, of a cell listed since it came out above `least`.

    Guarantees:
        The interval covers the true count in 95 % of the seeds in which it is told.
    """
    if not deviation:
        exact = min(noised, most)
        return ProfiledNumber(exact, exact, exact)
    tail = (1 - CONFIDENCE) / 2
    low, value, high = (
        _count_with_tail(noised, least, deviation, most, share)
        for share in (tail, 0.5, 1 - tail)
    )
    return ProfiledNumber(value, low, high)


def _count_with_tail(
    noised: float, least: float, deviation: float, most: float, share: float
) -> float:
    """The count f in [0, most] for which P(Y >= noised | Y > least) is `share`."""
    low, high = 0.0, most
    for _ in range(60):
        middle = (low + high) / 2
        chosen = _tail((least - middle) / deviation)
        if _tail((noised - middle) / deviation) < share * chosen:
            low = middle
        else:
            high = middle
    return low


def _tail(deviations: float) -> float:
    return math.erfc(deviations / math.sqrt(2)) / 2
