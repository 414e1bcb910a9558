# SPDX-License-Identifier: Apache-2.0
"""Counts of single items.

Each row answers c sgn(x) S[h(x)] with centred rows S and the stretch c of `table`:

    Var = c / depth [ (|f|^2 - f_x^2) / w + s^2 ]

(Charikar, Chen and Farach-Colton 2002 for the collisions; for a Count-Min sketch c s^2
is exact: the own cell enters with 1 and each of the others with -1 / (w - 1).)
"""

import numpy as np

from lexfed.sketch.estimates.inner_products import moment_rows
from lexfed.sketch.estimates.intervals import (
    Estimate,
    RowEstimates,
    from_rows,
    from_variance,
)
from lexfed.sketch.estimates.noised_cells import HashedPlaces, Items, NoisedCells


def point_rows(table: NoisedCells, hashes: HashedPlaces, items: Items) -> RowEstimates:
    """Counts of items as each row estimates them, [depth, n]."""
    found = np.take_along_axis(table.centred, hashes.columns(items), axis=1)
    if table.signed:
        found = found * hashes.signs(items)
    rows: RowEstimates = table.stretch * found
    return rows


def point_variance(table: NoisedCells, moment: float, count: float) -> float:
    """Variance of a count, from the formula at the top.

    Args:
        table: only its shape and noise are used.
        moment: |f|^2.
        count: f_x.
    """
    collisions = max(moment - count**2, 0.0) / table.width
    return table.stretch * (collisions + table.noise_variance) / table.depth


def counts(table: NoisedCells, hashes: HashedPlaces, items: Items) -> list[Estimate]:
    """Return the count of each of some items.

    Guarantees:
        Each value is unbiased.
        Each interval, for an item named beforehand, covers the truth in 93 to 97 % of
        seeds on sets, skewed and correlated counts where the noise counts most. Where
        collisions with a few heavy items do, those of a Count-Sketch are too wide, not
        too narrow (up to 99 %).
    """
    rows = point_rows(table, hashes, items)
    if table.signed:
        return [from_rows(row) for row in rows.T]
    moment = float(moment_rows(table).mean())
    means = rows.mean(axis=0)
    return [
        from_variance(float(mean), point_variance(table, moment, float(mean)))
        for mean in means
    ]


def total_rows(table: NoisedCells) -> RowEstimates:
    """The sum of all counts as each row of a Count-Min sketch gives it.

    Raises:
        ValueError: if the table is a Count-Sketch, whose signs cancel.
    """
    if table.signed:
        raise ValueError("expected a Count-Min sketch: signed cells have no total")
    rows: RowEstimates = table.cells.sum(axis=1)
    return rows


def total(table: NoisedCells) -> Estimate:
    """The sum of all counts; of a set, its size.

    No collision touches it: the variance is that of the noise, w s^2 / depth. Sums and
    centred rows of Gaussian noise are independent, so a total and a product or a moment
    of the same table err independently.

    Guarantees:
        The value is unbiased, the variance exact, and the coverage 95 %.

    Raises:
        ValueError: if the table is a Count-Sketch, whose signs cancel.
    """
    value = float(total_rows(table).mean())
    return from_variance(value, table.width * table.noise_variance / table.depth)
