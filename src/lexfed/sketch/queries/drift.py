# SPDX-License-Identifier: Apache-2.0
"""Drift: columns of a model as few cells, and a test whether their populations differ.

Which columns are looked at is known only once a tower is released, so a stage has
places for some columns, and a query says which. A column is counted by the slots that
training has: a number or flag by cells between public edges, those of a bought
profile's bins if there is one; a list by its values. One cell is for missing or other
ones.

The distance of two distributions is the root of the sum of squared differences; its
lower end is sound whatever the distributions are, up to the first order in noise over
total (docs/theory/sketches.md#decisions-from-released-tables). Large tables find
differences that matter to nobody: a warning needs `WORTH_A_WARNING`.
"""

import math
from dataclasses import dataclass

import numpy as np

from lexfed import checks
from lexfed.arrays import Floats, Integers
from lexfed.data.encoding import Encoding
from lexfed.sketch.queries.requested_tables import RequestedTable

ERROR = 0.05
"""Chance that a lower end is above the truth, over all comparisons made together."""

WORTH_A_WARNING = 0.1
"""Distance from which a drift is worth a word."""

TOTAL = 5.0
"""Deviations that a total must be above zero."""

CELLS = 16
"""Cells of a number, the one for missing values not counted."""

EVEN_EDGES = tuple(2.0 * edge / CELLS - 1.0 for edge in range(1, CELLS))
FLAG_EDGES = (0.5,)


@dataclass(frozen=True)
class NoisedHistogram:
    """Persons by cell, with independent noise of one variance on each."""

    counts: Floats
    variance: float

    def __post_init__(self) -> None:
        if self.counts.ndim != 1 or self.counts.size < 2:
            raise ValueError("expected `counts` to be a vector of at least 2 cells")
        if not np.isfinite(self.counts).all():
            raise ValueError("expected `counts` to be finite")
        checks.in_range(0, np.finfo(float).max, variance=self.variance)

    @property
    def is_lost(self) -> bool:
        """True if the number of persons cannot be told from nobody."""
        noise = math.sqrt(self.variance * self.counts.size)
        return float(self.counts.sum()) <= max(TOTAL * noise, 1.0)

    def parts(self) -> Floats:
        """Return the part of persons in each cell."""
        return np.asarray(self.counts / self.counts.sum())

    def covariance(self) -> Floats:
        """Return the covariance of the parts from noise and chance, to first order.

        With c = N p + e the parts are p + (e - p sum e) / N; chance adds
        (diag p - p p') / N, with p cut to what is possible.
        """
        total, parts = float(self.counts.sum()), self.parts()
        cells = len(parts)
        mixed = np.eye(cells) - np.outer(parts, np.ones(cells))
        possible = np.clip(parts, 0.0, None)
        possible /= possible.sum()
        chance = np.diag(possible) - np.outer(possible, possible)
        return np.asarray(self.variance / total**2 * mixed @ mixed.T + chance / total)


@dataclass(frozen=True)
class Drift:
    """The measured distance, noise included; its lower end is 0 if nothing is known."""

    distance: float
    at_least: float

    @property
    def warns(self) -> bool:
        """True if it is worth a warning."""
        return self.at_least > WORTH_A_WARNING


def drift(before: NoisedHistogram, now: NoisedHistogram, asked: int = 1) -> Drift:
    """Compare histograms of the same cells, independently noised, for one of `asked`.

    Guarantees:
        Where both are samples of one distribution, one of `asked` comparisons warns in
        at most 5 % of all cases.
    """
    checks.in_range(1, 2**30, asked=asked)
    if before.counts.size != now.counts.size:
        raise ValueError("expected two histograms of the same cells")
    if before.is_lost or now.is_lost:
        return Drift(0.0, 0.0)
    distance = float(np.linalg.norm(before.parts() - now.parts()))
    spread = np.linalg.eigvalsh(before.covariance() + now.covariance())
    reach = math.sqrt(_largest_square(np.clip(spread, 0.0, None), asked))
    return Drift(distance, max(0.0, distance - reach))


def _largest_square(spread: Floats, asked: int) -> float:
    """Return a bound that a sum of squares hardly exceeds [LM00, Lemma 1]."""
    x = math.log(asked / ERROR)
    deviation = math.sqrt(x * float(np.square(spread).sum()))
    return float(spread.sum()) + 2.0 * deviation + 2.0 * x * float(spread.max())


@dataclass(frozen=True)
class WatchedColumn:
    """A column that may be looked at.

    `slots` are where a unit's inputs hold it: a number, and where it is missing; or one
    for each value of a list. `edges` between the cells of a number rise; a list has
    none. `expected` are the persons in each cell as released before, with noise of
    `variance`, or empty.
    """

    name: str
    slots: tuple[int, ...]
    edges: tuple[float, ...] = ()
    expected: tuple[float, ...] = ()
    variance: float = 0.0

    def __post_init__(self) -> None:
        rising = all(a < b for a, b in zip(self.edges, self.edges[1:], strict=False))
        if not self.slots or (self.edges and len(self.slots) > 2) or not rising:
            raise ValueError(f"expected slots and rising edges of column {self.name}")
        if self.expected and len(self.expected) != self.cells:
            raise ValueError(f"expected one number for each cell of {self.name}")

    @property
    def cells(self) -> int:
        """Number of cells, the last one for missing values."""
        return (len(self.edges) + 1 if self.edges else len(self.slots)) + 1

    @property
    def before(self) -> NoisedHistogram | None:
        """The histogram that was released before; None if there is none."""
        if not self.expected:
            return None
        return NoisedHistogram(np.array(self.expected), self.variance)

    def cells_of(self, inputs: Floats) -> Integers:
        """Return the cell of every row of encoded slots, [..., slots].

        Guarantees:
            Every row has one cell, whatever its slots hold.
            No slot of another column is read.
        """
        held = inputs[..., list(self.slots)]
        missing = self.cells - 1
        if not self.edges:
            known = (held == 1.0).any(axis=-1)
            return np.where(known, (held == 1.0).argmax(axis=-1), missing)
        # Edges in the precision of the inputs: a value on an edge stays on its side.
        edges = np.asarray(self.edges, dtype=inputs.dtype)
        cells = np.searchsorted(edges, held[..., 0], side="right")
        if len(self.slots) == 1:
            return cells
        return np.where(held[..., 1] == 1.0, missing, cells)


def watched_columns(encoding: Encoding) -> tuple[WatchedColumn, ...]:
    """Return a model's columns, numbers in even cells, with nothing expected."""
    return tuple(_watched(encoding, name) for name in encoding.columns)


def _watched(encoding: Encoding, name: str) -> WatchedColumn:
    places = tuple(int(place) for place in encoding.slots_of_column(name))
    kind = encoding.slots[places[0]].kind
    if kind == "onehot":
        return WatchedColumn(name, places)
    return WatchedColumn(name, places, FLAG_EDGES if kind == "flag" else EVEN_EDGES)


def places_for(
    tier: str, columns: int, width: int, sites: int
) -> tuple[RequestedTable, ...]:
    """Return places for columns chosen later, each with a table for every site."""
    return tuple(
        RequestedTable(f"column {place} up to {tier}", "chosen", (), width, sites=sites)
        for place in range(1, columns + 1)
    )
