# SPDX-License-Identifier: Apache-2.0
"""Tables that a federation is asked for, and what came back.

An `AskedTable` is public and part of a programme: which column, which cells, how many
rows of hashes. A person's row falls into one cell of each row of the table; a person
with several rows counts a part of one for each, so that all of a person is one. Hence

    one person moves a table by sqrt(depth) at most, added or removed,

and moves one site's table alone where every site has its own.

    doubles  any number, by sign and half octave        DOUBLES cells, missing
    bins     a number between two ends that are asked   below, bins, above, missing
    codes    one of a declared list, or a flag          values, other, missing
    letters  a text, two letters further than the       PAIRS cells for each prefix,
             prefixes that are asked                    other, missing
    keys     the key of a person, by hashes             width cells, with signs
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lexfed import checks

Domain = Literal["doubles", "bins", "codes", "letters", "keys"]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class AskedTable:
    """One table of a stage.

    Attributes:
        column: whose values are counted; empty for the keys of persons.
        domain: which cells there are.
        slots: where a unit's inputs hold what is counted; empty for keys.
        width: cells of a row, those for other and missing values included.
        depth: rows, each with hashes of its own; 1 where cells are exact.
        seed: of the hashes; public.
        sites: number of sites if each has a table of its own, else 0.
    """

    column: str
    domain: Domain
    slots: tuple[int, ...]
    width: int
    depth: int = 1
    seed: int = 0
    sites: int = 0

    def __post_init__(self) -> None:
        checks.in_range(1, 2**24, width=self.width)
        checks.in_range(1, 64, depth=self.depth)
        checks.in_range(0, 2**16, sites=self.sites)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Sites (1 if they share one table), rows and cells of a row."""
        return max(1, self.sites), self.depth, self.width

    @property
    def cells(self) -> int:
        """How many cells there are in all."""
        return math.prod(self.shape)

    @property
    def clip(self) -> float:
        """How far one person at one site moves the table, added or removed."""
        return math.sqrt(self.depth)


@dataclass(frozen=True)
class ToldTable:
    """A table with noise, as it was released.

    Attributes:
        table: what was asked.
        asked: the ends of the bins, or the prefixes; empty for other domains.
        counts: persons by cell, as `AskedTable.shape`.
        variance: of the noise on every cell.
    """

    table: AskedTable
    asked: Floats
    counts: Floats
    variance: float
