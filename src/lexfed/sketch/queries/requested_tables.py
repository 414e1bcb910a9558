# SPDX-License-Identifier: Apache-2.0
"""Tables that a federation is asked for, the cell of every value, and released tables.

A person's row falls into one cell of each row of a table; a person with several rows
counts a part of one for each. Hence one person moves a table by sqrt(depth) at most,
added or removed, and one site's table alone where every site has its own.

    doubles  any number, by sign and half octave, from below: ... [-s, -1) [-1, -1/s)
    ... s = sqrt(2); the middle cell holds all between -2^-32 and 2^-32; the outer ones
    all beyond 2^63.5      DOUBLES cells, missing
    bins     a number between two requested ends   below, bins of equal width, above,
    missing
    codes    one of a declared list, or a flag     values, other, missing
    letters  a text, two letters further than the requested prefixes
             PAIRS cells for each prefix, other, missing
    keys     the key of a person, by hashes        width cells, with signs
    chosen   a column of the model that a query names (`drift.WatchedColumn`)

Values come from files that nobody looked at, and ends and prefixes from a coordinator
that nobody need trust. So every function here is total, and gives a value exactly one
cell.
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

from lexfed import checks
from lexfed.arrays import Floats, Integers
from lexfed.data.letter_pairs import LEVELS, PAIRS
from lexfed.sketch.tables.shape import check_power_of_two

Domain = Literal["doubles", "bins", "codes", "letters", "keys", "chosen"]

LARGEST_SEED = 2**53 - 1
"""Programmes are JSON, in which larger integers are not safe."""

OCTAVES = (-32, 64)
HALVES = 2 * (OCTAVES[1] - OCTAVES[0])
"""Cells of the numbers of one sign, by half octaves."""

DOUBLES = 2 * HALVES + 1
"""Cells of all numbers; the one of zero is in the middle, at HALVES."""

BINS = 64
"""Bins between two ends."""

MOST_PREFIXES = 32
"""Most prefixes that are extended at once."""


@dataclass(frozen=True)
class RequestedTable:
    """One table of a stage.

    Attributes:
        column: whose values are counted; empty for the keys of persons.
        slots: where a unit's inputs hold the counted value; empty for keys and where a
            query says it. A text has one for each of its levels.
        width: cells of a row, those for other and missing values included.
        depth: rows, each with hashes of its own; 1 where cells are exact.
        sites: number of sites if each has a table of its own, else 0.
        ends: of the bins, where they are declared; None if they are found first.
    """

    column: str
    domain: Domain
    slots: tuple[int, ...]
    width: int
    depth: int = 1
    seed: int = 0
    sites: int = 0
    ends: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        checks.in_range(1, 2**24, width=self.width)
        checks.in_range(1, 64, depth=self.depth)
        checks.in_range(0, 2**16, sites=self.sites)
        checks.in_range(0, LARGEST_SEED, seed=self.seed)
        if self.domain == "keys":
            check_power_of_two(self.width)
        elif self.depth != 1:
            raise ValueError("expected `depth` 1 where cells are exact")
        if not self._fits():
            raise ValueError(f"expected slots and width of `{self.domain}`")
        if self.ends is not None and not (
            self.domain == "bins" and are_ends(*self.ends)
        ):
            raise ValueError("expected `ends` of bins, finite and rising")

    def _fits(self) -> bool:
        slots, width = len(self.slots), self.width
        if self.domain in ("keys", "chosen"):
            return slots == 0
        if self.domain == "doubles":
            return slots == 1 and width == DOUBLES + 1
        if self.domain == "bins":
            return slots == 1 and width >= 4
        if self.domain == "codes":
            return slots == 1 and width >= 3
        prefixes = 1 if slots == 1 else MOST_PREFIXES
        return 1 <= slots <= LEVELS and width == prefixes * PAIRS + 2

    @property
    def level(self) -> int:
        """Number of pairs of letters of a text that are looked at."""
        return len(self.slots)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Sites (1 if they share one table), rows and cells of a row."""
        return max(1, self.sites), self.depth, self.width

    @property
    def cells(self) -> int:
        """Number of cells in all."""
        return math.prod(self.shape)

    @property
    def clip(self) -> float:
        """Largest move of the table by one person at one site, added or removed."""
        return math.sqrt(self.depth)


def are_ends(low: float, high: float) -> bool:
    """Return True if bins fit between two numbers."""
    return math.isfinite(low) and math.isfinite(high - low) and low < high


@dataclass(frozen=True)
class ReleasedTable:
    """A requested table, noised; `asked` has ends of bins, prefixes, or nothing."""

    table: RequestedTable
    asked: Floats
    counts: Floats
    variance: float


@cache
def double_edges() -> Floats:
    """Return the rising edges of the cells of doubles; cell i begins with edge i.

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
    cells = np.searchsorted(double_edges()[1:-1], values, side="right")
    return np.where(np.isnan(values), DOUBLES, cells)


def bin_cells(values: Floats, low: float, high: float, width: int) -> Integers:
    """Return 0 below, bins from 1 (the last one closed), then above, then missing."""
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

    `pairs` are codes of a text's first pairs of letters, [..., level]; `prefixes` are
    [n, level - 1], one empty one at level 1. Of several that fit the first counts.
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
