# SPDX-License-Identifier: Apache-2.0
"""Columns of a made-up table: names, kinds, public ranges and lists, tiers.

Everything here follows from the factors alone. A range is as professionals write one:
it holds every value that can be, reaches upwards far beyond what is usual, and never
below zero.
"""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import ceil, exp, floor, log10
from typing import Any

import numpy as np
from scipy.special import ndtri

from lexfed.arrays import Floats
from lexfed.evaluate.datasets.synthetic.ingredients import FLAG, ColumnKeys
from lexfed.evaluate.datasets.synthetic.suite.effects import REACH
from lexfed.evaluate.datasets.synthetic.suite.factors import Factors

_FILE = files("lexfed.evaluate.datasets.synthetic.suite") / "names.toml"
SIGMA = 0.8
"""Deviation of the logarithm of a log-normal number."""
_BULK = float(ndtri(0.99))
_ABOVE = 0.8
"""Part of the unused range that lies above the values."""
_PERSONAL = 0.6
"""Part of the columns that are not special, and about a person all the same."""
GROUP = 4
"""Numbers of one group of collinear columns."""


@dataclass(frozen=True)
class NumberColumn:
    """A number with its usual value, a usual deviation and its public range."""

    name: str
    tier: str
    middle: float
    spread: float
    low: float
    high: float
    log: bool

    def values(self, deviations: Floats) -> Floats:
        """Return values within the range of their deviations from the usual one."""
        if self.log:
            raw = self.middle * np.exp(SIGMA * deviations)
        else:
            raw = self.middle + self.spread * deviations
        places = max(0, 3 - floor(log10(self.spread)))
        return np.asarray(np.round(np.clip(raw, self.low, self.high), places))

    def deviations(self, values: Floats) -> Floats:
        """Return the deviations that values show; a zero is as low as any."""
        if self.log:
            with np.errstate(divide="ignore"):
                return np.asarray(np.log(values / self.middle) / SIGMA)
        return (values - self.middle) / self.spread

    def keys(self, missing: bool) -> ColumnKeys:
        """Return the declaration."""
        ends = [self.low, self.high]
        return {"kind": "number", "range": ends, "missing": missing}


@dataclass(frozen=True)
class ListColumn:
    """A list of levels, whose frequencies fall like 1/rank; two levels are a flag."""

    name: str
    tier: str
    levels: int

    @property
    def shares(self) -> Floats:
        """The frequency of each level."""
        falling = 1.0 / np.arange(1, self.levels + 1)
        return np.asarray(falling / falling.sum())

    @property
    def words(self) -> tuple[str, ...]:
        """The levels as they are written."""
        if self.levels == 2:
            return "0", "1"
        return tuple(f"{self.name}_{place:02d}" for place in range(self.levels))

    def keys(self, missing: bool) -> ColumnKeys:
        """Return the declaration."""
        if self.levels == 2:
            return {**FLAG, "missing": missing}
        return {"kind": "category", "values": list(self.words), "missing": missing}


MadeColumn = NumberColumn | ListColumn


@cache
def columns_of(factors: Factors) -> tuple[MadeColumn, ...]:
    """Return the columns of a table, tier after tier, the special ones first."""
    special = min(max(1, round(factors.sensitive * factors.columns)), factors.columns)
    others = factors.columns - special
    personal = ceil(_PERSONAL * others)
    sizes = {
        "special": special,
        "personal": personal,
        "non_personal": others - personal,
    }
    return tuple(
        column
        for tier, size in sizes.items()
        for column in _of_tier(tier, size, factors)
    )


def _of_tier(tier: str, size: int, factors: Factors) -> Iterator[MadeColumn]:
    lists = round(factors.categories * size)
    numbers = _numbered(list(_names()[tier]["numbers"]), size - lists)
    for name, base in numbers:
        middle, spread = _names()[tier]["numbers"][base]
        yield _number(name, tier, float(middle), float(spread), factors)
    words = _numbered(_names()[tier]["lists"]["categories"], lists)
    for place, (name, _) in enumerate(words):
        # From two levels to the most, evenly: every table has short and long lists.
        share = place / max(lists - 1, 1)
        yield ListColumn(name, tier, round(2 + share * (factors.levels - 2)))


def _numbered(names: list[str], count: int) -> list[tuple[str, str]]:
    """Return so many names with the ones they are made from, numbered where too few."""
    found = []
    for place in range(count):
        base = names[place % len(names)]
        again = place // len(names)
        found.append((f"{base}_{again + 1}" if again else base, base))
    return found


def _number(
    name: str, tier: str, middle: float, spread: float, factors: Factors
) -> NumberColumn:
    log = factors.tail == "log-normal"
    if log:
        bulk = middle * (exp(SIGMA * _BULK) - exp(-SIGMA * _BULK))
        low, high = 0.0, middle * exp(SIGMA * REACH)
    else:
        bulk = 2.0 * _BULK * spread
        low, high = middle - REACH * spread, middle + REACH * spread
    unused = max(0.0, factors.width * bulk - (high - low))
    low = max(0.0, low - (1.0 - _ABOVE) * unused)
    high = max(high, low + factors.width * bulk)
    # Round numbers, as people write them, that hold at least as much.
    step = 10.0 ** (floor(log10(high - low)) - 1)
    low, high = floor(low / step) * step, ceil(high / step) * step
    return NumberColumn(name, tier, middle, spread, round(low, 6), round(high, 6), log)


@cache
def _names() -> dict[str, Any]:
    return tomllib.loads(names_text())


def names_text() -> str:
    """Return the file of names as it is; a digest of a table covers it."""
    return _FILE.read_text(encoding="utf-8")
