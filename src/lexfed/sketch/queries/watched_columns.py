# SPDX-License-Identifier: Apache-2.0
"""Columns of a model as few cells, for a look at what the model leans on.

Which columns are looked at is known only once a tower is released, so a stage has
places for some columns, and a query says which. A column is counted by the slots that
training has anyway:

    number, flag   cells between edges, and one for missing values
    list           one cell for each value, and one for all others

Edges are public. Where a profile was bought they are edges of its bins, so that both
count the same persons, and `expected` is what the profile found.
"""

from dataclasses import dataclass

import numpy as np

from lexfed.arrays import Floats, Integers
from lexfed.data.encoding import Encoding
from lexfed.sketch.queries.drift import NoisedHistogram
from lexfed.sketch.queries.requested_tables import RequestedTable

CELLS = 16
"""Cells of a number, the one for missing values not counted."""

EVEN_EDGES = tuple(2.0 * edge / CELLS - 1.0 for edge in range(1, CELLS))
FLAG_EDGES = (0.5,)


@dataclass(frozen=True)
class WatchedColumn:
    """A column that may be looked at.

    Attributes:
        name: of the column.
        slots: where a unit's inputs hold it: a number, and where it is missing; or one
            for each value of a list.
        edges: between the cells of a number, rising; empty for a list.
        expected: persons in each cell, as they were released before; or empty.
        variance: of the noise on each of them.

    Raises:
        ValueError: if slots, edges and cells do not fit together.
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
        """Return the cell of every row.

        Args:
            inputs: encoded slots of rows, [..., slots], in any precision.

        Guarantees:
            Every row has one cell, whatever its slots hold.
            No slot of another column is read.
        """
        own = inputs[..., list(self.slots)]
        missing = self.cells - 1
        if not self.edges:
            known = (own == 1.0).any(axis=-1)
            return np.where(known, (own == 1.0).argmax(axis=-1), missing)
        # Edges in the precision of the inputs: a value on an edge stays on its side.
        edges = np.asarray(self.edges, dtype=inputs.dtype)
        cells = np.searchsorted(edges, own[..., 0], side="right")
        if len(self.slots) == 1:
            return cells
        return np.where(own[..., 1] == 1.0, missing, cells)


def watched_columns(encoding: Encoding) -> tuple[WatchedColumn, ...]:
    """Return the columns of a model as they are watched where nothing is expected.

    Numbers have cells of equal width in the unit of the model.
    """
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
