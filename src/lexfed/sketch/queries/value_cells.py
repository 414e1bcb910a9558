# SPDX-License-Identifier: Apache-2.0
"""The cell of a table for a value: one for every value, whatever it is.

Values come from files that nobody looked at, and ends and prefixes from a coordinator
that nobody need trust. So every function here is total: what fits nowhere falls into
the cell for other values, what is no number into the one for missing ones. A value
never has two cells.

    doubles  sign and half octave, from below:  ... [-s, -1) [-1, -1/s) ... s = sqrt(2)
             the middle one holds all between -2^-32 and 2^-32; the outer ones all
             beyond 2^63.5
    bins     below, bins of equal width, above
    codes    values, other
    letters  prefix by prefix the next pair of letters, other

The cell for missing values is the last one of each.
"""

import math
from functools import cache

import numpy as np

from lexfed.arrays import Floats, Integers
from lexfed.data.letter_pairs import PAIRS

OCTAVES = (-32, 64)
HALVES = 2 * (OCTAVES[1] - OCTAVES[0])
"""Cells of the numbers of one sign, by half octaves."""

DOUBLES = 2 * HALVES + 1
"""Cells of all numbers; the one of zero is in the middle, at HALVES."""

BINS = 64
"""Bins between two ends."""

MOST_PREFIXES = 32
"""Most prefixes that are extended at once."""


@cache
def double_edges() -> Floats:
    """Return the edges of the cells of doubles, rising, [DOUBLES + 1].

    Cell i holds what is at least edge i and below edge i + 1; the outer ones also what
    lies beyond.

    Guarantees:
        The same bits on every machine: no power is computed.
    """
    halves = range(2 * OCTAVES[0], 2 * OCTAVES[1] + 1)
    positive = [math.ldexp(math.sqrt(2.0) if k % 2 else 1.0, k // 2) for k in halves]
    edges = np.array([*(-edge for edge in reversed(positive)), *positive])
    edges.flags.writeable = False
    return edges


def double_cells(values: Floats) -> Integers:
    """Return the cell of every number; DOUBLES where it is missing."""
    found = np.searchsorted(double_edges()[1:-1], values, side="right")
    return np.where(np.isnan(values), DOUBLES, found)


def bin_cells(values: Floats, low: float, high: float, width: int) -> Integers:
    """Return below = 0, the bins from 1, above = width - 2, missing = width - 1.

    Bins are [e_0, e_1), ..., [e_n-1, e_n], the last one closed.
    """
    bins = width - 3
    # Ends that are none make no bins, and still no value has a cell outside the table.
    with np.errstate(all="ignore"):
        part = np.nan_to_num((values - low) / (high - low), nan=0.0).clip(0.0, 1.0)
    cells = 1 + np.minimum((part * bins).astype(np.int64), bins - 1)
    cells = np.where(values < low, 0, np.where(values > high, width - 2, cells))
    return np.where(np.isnan(values), width - 1, cells)


def code_cells(values: Floats, width: int) -> Integers:
    """Return the position in the list, other = width - 2, missing = width - 1."""
    known = (values >= 0) & (values < width - 2) & (values == np.floor(values))
    cells = np.where(known, np.where(known, values, 0.0).astype(np.int64), width - 2)
    return np.where(np.isnan(values), width - 1, cells)


def letter_cells(pairs: Floats, prefixes: Floats) -> Integers:
    """Return prefix * PAIRS + next pair, then other, then missing.

    Args:
        pairs: codes of the first pairs of letters of each text, [..., level].
        prefixes: the prefixes to look at, [n, level - 1]; one empty one at level 1.
            A text that fits several is counted for the first.
    """
    *earlier, last = np.moveaxis(pairs, -1, 0)
    other = len(prefixes) * PAIRS
    fits = np.full(last.shape, -1, dtype=np.int64)
    for place in reversed(range(len(prefixes))):
        same = np.ones(last.shape, dtype=np.bool_)
        for pair, wanted in zip(earlier, prefixes[place], strict=True):
            same &= pair == wanted
        fits[same] = place
    known = (last >= 0) & (last < PAIRS) & (last == np.floor(last)) & (fits >= 0)
    code = np.where(known, last, 0.0).astype(np.int64)
    cells = np.where(known, fits * PAIRS + code, other)
    return np.where(np.isnan(pairs[..., 0]), other + 1, cells)
