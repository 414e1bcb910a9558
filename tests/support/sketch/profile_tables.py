# SPDX-License-Identifier: Apache-2.0
"""Released tables of known values, as sites would count them, with normal noise."""

from collections.abc import Sequence

import numpy as np

from lexfed.arrays import Floats
from lexfed.data.letter_pairs import LEVELS, PAIRS, pairs_of
from lexfed.sketch.estimates.intervals import Estimate, from_variance
from lexfed.sketch.queries.refinements import ends_after, prefixes_after
from lexfed.sketch.queries.requested_tables import (
    BINS,
    DOUBLES,
    MOST_PREFIXES,
    ReleasedTable,
    RequestedTable,
    bin_cells,
    code_cells,
    double_cells,
)
from lexfed.sketch.tables.shape import HashRows


def exactly(people: float) -> Estimate:
    """A number of persons that is known."""
    return from_variance(float(people), 0.0)


class Federation:
    """Draws tables with one deviation of noise, from one seed."""

    def __init__(self, noise: float, seed: int = 0) -> None:
        self.noise = noise
        self._rng = np.random.default_rng(seed)

    def told(
        self,
        table: RequestedTable,
        cells: Sequence[Floats],
        asked: Floats | None = None,
    ) -> ReleasedTable:
        """Add noise to the cells of each site, or of all together."""
        counts = np.stack(cells).reshape(table.shape)
        noised = counts + self._rng.normal(0, self.noise, table.shape)
        nothing = np.empty(0)
        return ReleasedTable(
            table, nothing if asked is None else asked, noised, self.noise**2
        )

    def doubles(self, column: str, values: Floats) -> ReleasedTable:
        """Half octaves of all sites together."""
        table = RequestedTable(column, "doubles", (0,), DOUBLES + 1)
        return self.told(table, [_counted(double_cells(values), DOUBLES + 1)])

    def bins(
        self,
        column: str,
        sites: Sequence[Floats],
        ends: tuple[float, float],
        bins: int = BINS,
    ) -> ReleasedTable:
        """Bins, of each site if there are several."""
        own = len(sites) if len(sites) > 1 else 0
        table = RequestedTable(column, "bins", (0,), bins + 3, sites=own)
        cells = [_counted(bin_cells(each, *ends, bins + 3), bins + 3) for each in sites]
        return self.told(table, cells, np.array(ends))

    def number(self, column: str, values: Floats) -> list[ReleasedTable]:
        """Half octaves, and the bins that follow from them."""
        sizes = self.doubles(column, values)
        ends = ends_after(sizes)
        return [sizes] if ends is None else [sizes, self.bins(column, [values], ends)]

    def codes(self, column: str, sites: Sequence[Floats], listed: int) -> ReleasedTable:
        """Positions in a declared list."""
        own = len(sites) if len(sites) > 1 else 0
        table = RequestedTable(column, "codes", (0,), listed + 2, sites=own)
        cells = [_counted(code_cells(each, listed + 2), listed + 2) for each in sites]
        return self.told(table, cells)

    def words(self, column: str, words: dict[str | None, int]) -> list[ReleasedTable]:
        """Letters, level after level, as long as there is something to follow."""
        tables: list[ReleasedTable] = []
        asked = np.empty(0)
        for level in range(1, LEVELS + 1):
            if level > 1:
                asked = prefixes_after(tables[-1], level)
                if asked[0] < 0:
                    break
            prefixes = asked.reshape(MOST_PREFIXES, -1).tolist() if level > 1 else [[]]
            width = len(prefixes) * PAIRS + 2
            cells = np.zeros(width)
            for word, count in words.items():
                cells[_letter_cell(word, level, prefixes)] += count
            table = RequestedTable(column, "letters", tuple(range(level)), width)
            tables.append(self.told(table, [cells], asked))
        return tables

    def keys(
        self, sites: Sequence[Floats], depth: int = 5, width: int = 256, seed: int = 1
    ) -> ReleasedTable:
        """A Count-Sketch of each site's persons."""
        rows = HashRows(seed, depth, width)
        table = RequestedTable(
            "", "keys", (), width, depth=depth, seed=seed, sites=len(sites)
        )
        cells: list[Floats] = []
        for persons in sites:
            items = persons.astype(np.uint64)
            columns, signs = rows.columns(items), rows.signs(items)
            own = np.zeros((depth, width))
            for row, (column, sign) in enumerate(zip(columns, signs, strict=True)):
                np.add.at(own[row], column, sign)
            cells.append(own)
        return self.told(table, cells)


def _counted(cells: np.ndarray, width: int) -> Floats:
    return np.bincount(cells, minlength=width).astype(np.float64)


def _letter_cell(word: str | None, level: int, prefixes: list[list[float]]) -> int:
    if word is None:
        return -1
    pairs = [float(pair) for pair in pairs_of(word)[:level]]
    if pairs[:-1] not in prefixes:
        return -2
    return prefixes.index(pairs[:-1]) * PAIRS + int(pairs[-1])
