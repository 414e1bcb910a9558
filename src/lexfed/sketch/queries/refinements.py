# SPDX-License-Identifier: Apache-2.0
"""The next queries, from released tables: ends of bins, and prefixes of texts.

Both are functions of released tables alone, so choosing costs nothing. A cell *stands
out* if it is above s sqrt(2 ln(m / a)), s the standard deviation of its noise and m the
number of cells: noise exceeds that in any of them with probability a at most. How ends
are widened and rounded: docs/theory/sketches.md#decisions-from-released-tables.
"""

import math

import numpy as np

from lexfed.arrays import Floats
from lexfed.data.letter_pairs import LEVELS, PAIRS, is_ended, is_pair
from lexfed.sketch.queries.requested_tables import (
    BINS,
    DOUBLES,
    HALVES,
    MOST_PREFIXES,
    ReleasedTable,
    double_edges,
)

ERROR = 0.05
"""Chance that the noise alone lets anything stand out, for a whole column."""

_NEAR_ZERO = 8
"""An end this many times smaller than the other one is taken for zero."""

_ROUND = (1, 2, 4, 5, 10, 20)
"""Widths of bins, times a power of ten."""


def pooled(released: ReleasedTable) -> tuple[Floats, float]:
    """Cells of all sites together, [depth, width], and the variance of their noise."""
    return released.counts.sum(axis=0), released.variance * len(released.counts)


def threshold(cells: int, variance: float, error: float) -> float:
    """Return the level that noise exceeds in any cell with chance `error` at most."""
    return math.sqrt(2 * variance * math.log(cells / error))


def ends_after(released: ReleasedTable) -> tuple[float, float] | None:
    """Return the range of a column to look into, or None if nothing stands out.

    Guarantees:
        Where there is nothing but noise, it is None with probability 1 - ERROR.
        Every half octave that stands out lies between the ends.
        The ends are finite, and the first is the smaller one.
    """
    _check_domain(released, "doubles")
    counts, variance = pooled(released)
    occupied = np.flatnonzero(counts[0, :DOUBLES] > threshold(DOUBLES, variance, ERROR))
    if not len(occupied):
        return None
    low, high = _widened(int(occupied[0]), int(occupied[-1]))
    return _rounded(low, high)


def _widened(first: int, last: int) -> tuple[float, float]:
    """Edges of the cells beside these two, except that no end moves across zero."""
    edges = double_edges()
    if first == last == HALVES:
        return 0.0, 1.0
    low = 0.0 if first == HALVES else float(edges[max(first - 1, 0)])
    high = 0.0 if last == HALVES else float(edges[min(last + 2, DOUBLES)])
    if first > HALVES and low <= high / _NEAR_ZERO:
        low = 0.0
    if last < HALVES and high >= low / _NEAR_ZERO:
        high = 0.0
    return low, high


def _rounded(low: float, high: float) -> tuple[float, float]:
    """The narrowest range of BINS round widths around another one."""
    if high <= 0:
        low, high = _rounded(-high, -low)
        return -high, -low
    power = math.floor(math.log10((high - low) / BINS))
    return next(
        (_written(first, power), _written(first + BINS * digit, power))
        for digit in _ROUND
        if (first := math.floor(low / (digit * 10.0**power)) * digit) + BINS * digit
        >= high / 10.0**power
    )


def _written(whole: int, power: int) -> float:
    """A whole number times a power of ten, as it would be written: rounded once."""
    return float(f"{whole}e{power}")


def prefixes_after(released: ReleasedTable, level: int) -> Floats:
    """Return the prefixes to request at a level, from the level before it.

    There are MOST_PREFIXES of level - 1 pairs each, the largest first; -1 where there
    are no more.

    Guarantees:
        Where there is nothing but noise, no prefix is found at any level of a column
        with probability 1 - ERROR.
        No prefix has ended, and each is one that was asked and a pair that a text can
        have.
    """
    found = [prefix for prefix, _ in standing_out(released)]
    prefixes = [prefix for prefix in found if not is_ended(prefix[-1])]
    following = released.table.level + 1
    if level != following:
        raise ValueError(f"expected level {following} next, got: {level}")
    kept = np.full((MOST_PREFIXES, level - 1), -1.0)
    for at, prefix in enumerate(prefixes[:MOST_PREFIXES]):
        kept[at] = prefix
    return kept.reshape(-1)


def standing_out(released: ReleasedTable) -> list[tuple[tuple[int, ...], float]]:
    """Return prefixes with one pair more that stand out, the largest first."""
    _check_domain(released, "letters")
    requested = asked_prefixes(released)
    counts, variance = pooled(released)
    cells = counts[0, : len(requested) * PAIRS].reshape(-1, PAIRS)
    # Each of the levels has its part of the error.
    least = threshold(max(cells.size, 1), variance, ERROR / LEVELS)
    rows = [
        ((*requested[at], pair), float(cells[at, pair]))
        for at, pair in np.argwhere(cells > least).tolist()
        if is_pair(pair)
    ]
    return sorted(rows, key=lambda item: (-item[1], item[0]))


def asked_prefixes(released: ReleasedTable) -> list[tuple[int, ...]]:
    """Return the requested prefixes; at the first level it is the empty one."""
    pairs = released.table.level - 1
    if len(released.asked) != MOST_PREFIXES * pairs:
        raise ValueError(f"expected {MOST_PREFIXES} prefixes of {pairs} pairs")
    if not pairs:
        return [()]
    rows = released.asked.reshape(MOST_PREFIXES, pairs).astype(np.int64).tolist()
    return [tuple(row) for row in rows if row[0] >= 0]


def _check_domain(released: ReleasedTable, domain: str) -> None:
    if released.table.domain != domain:
        raise ValueError(f"expected a table of {domain}, got: {released.table.domain}")
