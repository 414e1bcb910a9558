# SPDX-License-Identifier: Apache-2.0
"""Tables that a federation is asked for, and what came back.

A `RequestedTable` is public and part of a programme: which column, which cells, how
many rows of hashes. A person's row falls into one cell of each row of the table; a
person with several rows counts a part of one for each, so that all of a person is one.
Hence

    one person moves a table by sqrt(depth) at most, added or removed,

and moves one site's table alone where every site has its own.

    doubles  any number, by sign and half octave        DOUBLES cells, missing
    bins     a number between two ends that are asked   below, bins, above, missing
    codes    one of a declared list, or a flag          values, other, missing
    letters  a text, two letters further than the       PAIRS cells for each prefix,
             prefixes that are asked                    other, missing
    keys     the key of a person, by hashes             width cells, with signs chosen
    a column of the model that a query names   as
    `lexfed.sketch.queries.watched_columns` says

Which cell a value has is said in `lexfed.sketch.queries.value_cells`.
"""

import math
from dataclasses import dataclass
from typing import Literal

from lexfed import checks
from lexfed.arrays import Floats
from lexfed.data.letter_pairs import LEVELS, PAIRS
from lexfed.sketch.queries.value_cells import DOUBLES, MOST_PREFIXES
from lexfed.sketch.tables.hashing import check_power_of_two

Domain = Literal["doubles", "bins", "codes", "letters", "keys", "chosen"]

LARGEST_SEED = 2**53 - 1
"""Programmes are JSON, in which larger integers are not safe."""


@dataclass(frozen=True)
class RequestedTable:
    """One table of a stage.

    Attributes:
        column: whose values are counted; empty for the keys of persons.
        domain: which cells there are.
        slots: where a unit's inputs hold what is counted; empty for keys and where a
            query says it. Of a text they are its first pairs of letters, so there are
            as many as its level.
        width: cells of a row, those for other and missing values included.
        depth: rows, each with hashes of its own; 1 where cells are exact.
        seed: of the hashes; public.
        sites: number of sites if each has a table of its own, else 0.
        ends: of the bins, where they are declared; None if they are found first.

    Raises:
        ValueError: if the numbers do not fit the domain.
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
    """A table with noise, as it was released.

    Attributes:
        table: what was asked.
        asked: the ends of the bins, or the prefixes; empty for other domains.
        counts: persons by cell, as `RequestedTable.shape`.
        variance: of the noise on every cell.
    """

    table: RequestedTable
    asked: Floats
    counts: Floats
    variance: float
