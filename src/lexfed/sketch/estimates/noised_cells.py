# SPDX-License-Identifier: Apache-2.0
"""Estimates from noised hashed tables: counts, totals, products, moments and ratios.

A Count-Sketch is unbiased as it stands. A Count-Min row of w cells is made so by taking
away its mean and stretching the rest by w / (w - 1). With *centred* rows and this
*stretch* (1 for a Count-Sketch) every estimator and every variance has one formula for
both kinds (docs/theory/sketches.md#counts-and-products).

Ratios of rows, whose errors are dependent, have intervals by the jackknife. One whose
denominator may be lost in the noise is refused; where that happens often, the answers
that are given have a smaller coverage than stated (92 % where it is every third).
"""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lexfed import checks
from lexfed.arrays import Floats, Integers
from lexfed.sketch.estimates.intervals import (
    CONFIDENCE,
    Estimate,
    RowEstimates,
    from_rows,
    from_variance,
    jackknife,
    lost_in_noise,
    normal_quantile,
)

Items = NDArray[np.uint64]
"""Items as the integers that are hashed."""


class HashedPlaces(Protocol):
    """The places of items in a table; the seed is public."""

    def columns(self, items: Items) -> Integers:
        """Column of each item in each row, [depth, n]."""

    def signs(self, items: Items) -> Integers:
        """Sign of each item in each row, [depth, n], -1 or +1."""


@dataclass(frozen=True)
class NoisedCells:
    """Cells [depth, width] with independent noise of mean zero and known variance.

    A site's own table has variance 0. A signed table is a Count-Sketch, any other a
    Count-Min sketch. The kurtosis 3 is Gaussian; Laplace has more (`noise.laplace`).
    """

    cells: Floats
    noise_variance: float
    signed: bool
    kurtosis: float = 3.0

    def __post_init__(self) -> None:
        if self.cells.ndim != 2 or min(self.cells.shape) < 2:
            raise ValueError(
                "expected `cells` [depth, width] with at least 2 rows and 2 columns, "
                f"got shape: {self.cells.shape}"
            )
        if not np.isfinite(self.cells).all():
            raise ValueError("expected `cells` to be finite")
        checks.in_range(0, np.finfo(float).max, noise_variance=self.noise_variance)

    @property
    def depth(self) -> int:
        """Number of rows."""
        return len(self.cells)

    @property
    def width(self) -> int:
        """Number of cells in a row."""
        return len(self.cells[0])

    @property
    def stretch(self) -> float:
        """Factor that makes centred rows unbiased."""
        return 1.0 if self.signed else self.width / (self.width - 1)

    @property
    def centred(self) -> Floats:
        """Rows less their mean for a Count-Min sketch, as they are otherwise."""
        if self.signed:
            return self.cells
        means: Floats = self.cells.mean(axis=1, keepdims=True)
        return self.cells - means


def same_shape(left: NoisedCells, right: NoisedCells) -> None:
    """Raise unless two tables can be compared; their hash seeds must be equal too."""
    if left.cells.shape != right.cells.shape or left.signed != right.signed:
        raise ValueError(
            "expected two tables of one shape and kind, got: "
            f"{left.cells.shape} signed={left.signed} and "
            f"{right.cells.shape} signed={right.signed}"
        )


def point_rows(table: NoisedCells, hashes: HashedPlaces, items: Items) -> RowEstimates:
    """Counts of items as each row estimates them, [depth, n]."""
    cells = np.take_along_axis(table.centred, hashes.columns(items), axis=1)
    if table.signed:
        cells = cells * hashes.signs(items)
    rows: RowEstimates = table.stretch * cells
    return rows


def point_variance(table: NoisedCells, moment: float, count: float) -> float:
    """Variance of a count f_x, from shape and noise of the table; `moment` is |f|^2."""
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
    """The sum of all counts as each row of a Count-Min sketch gives it."""
    if table.signed:
        raise ValueError("expected a Count-Min sketch: signed cells have no total")
    rows: RowEstimates = table.cells.sum(axis=1)
    return rows


def total(table: NoisedCells) -> Estimate:
    """The sum of all counts of a Count-Min sketch; of a set, its size.

    Under Gaussian noise it errs independently of the table's products and moments.

    Guarantees:
        The value is unbiased, the variance exact, and the coverage 95 %.
    """
    value = float(total_rows(table).mean())
    return from_variance(value, table.width * table.noise_variance / table.depth)


def product_rows(left: NoisedCells, right: NoisedCells) -> RowEstimates:
    """The inner product as each row estimates it; noises must be independent."""
    same_shape(left, right)
    if left.cells is right.cells:
        raise ValueError(
            "expected two tables with independent noise, got one table twice; "
            "use `second_moment`"
        )
    rows = np.einsum("rc,rc->r", left.centred, right.centred)
    return np.asarray(left.stretch * rows)


def moment_rows(table: NoisedCells) -> RowEstimates:
    """The second moment |f|^2 as each row estimates it, less that of the noise."""
    centred = table.centred
    squares: RowEstimates = table.stretch * np.einsum("rc,rc->r", centred, centred)
    return squares - table.width * table.noise_variance


def inner_product(left: NoisedCells, right: NoisedCells) -> Estimate:
    """Inner product of two count vectors; of two sets, the size of the intersection.

    A site learns its overlap with all others from the released sum alone: `left` is its
    own table without noise, `right` the sum less that table.

    Guarantees:
        The value is unbiased.
        The interval covers the truth in 93 to 97 % of seeds on sets, skewed and
        correlated counts. It is too wide, 97 to 98.5 %, where one item holds nearly
        everything and there is hardly any noise, and for a Count-Min sketch of
        correlated skewed counts: sum f^2 g^2 is not known, so it is not taken off.
    """
    rows = product_rows(left, right)
    if left.signed:
        return from_rows(rows)
    # Rows of a Count-Min sketch are skewed where a few items are heavy: most rows miss
    # the rare collision together, and their spread does not show it.
    f, g = (float(moment_rows(table).mean()) for table in (left, right))
    value = float(rows.mean())
    return from_variance(value, product_variance(left, right, f, g, value))


def product_variance(
    left: NoisedCells,
    right: NoisedCells,
    left_moment: float,
    right_moment: float,
    product: float,
    fourth: float = 0.0,
) -> float:
    """Variance of the inner product; `fourth`, sum f^2 g^2, is 0 for an upper bound."""
    f, g = max(left_moment, 0.0), max(right_moment, 0.0)
    s, t = left.noise_variance, right.noise_variance
    collisions = max(f * g + product**2 - 2 * fourth, 0.0) / left.width
    noise = t * f + s * g + left.width * s * t
    return left.stretch * (collisions + noise) / left.depth


def second_moment(table: NoisedCells) -> Estimate:
    """Sum of squared counts; for a set, its size.

    Guarantees:
        The value is unbiased.
        The interval covers the truth in 93 to 97 % of seeds on sets and skewed counts,
        and in up to 99 % where one item holds nearly everything.
    """
    rows = moment_rows(table)
    if table.signed:
        return from_rows(rows)
    value = float(rows.mean())
    return from_variance(value, moment_variance(table, value))


def moment_variance(table: NoisedCells, moment: float, fourth: float = 0.0) -> float:
    """Variance of the `moment` |f|^2; `fourth`, sum f^4, is 0 for an upper bound."""
    square, noise = max(moment, 0.0), table.noise_variance
    collisions = 2 * max(square**2 - fourth, 0.0) / table.width
    added = 4 * noise * square + (table.kurtosis - 1) * table.width * noise**2
    return table.stretch * (collisions + added) / table.depth


def union_size(left: NoisedCells, right: NoisedCells) -> Estimate:
    """Size of the union of two sets, the sum of their sizes less J.

    Guarantees:
        The value is unbiased for 0/1 counts.
        The interval covers the truth in 93 to 97 % of seeds.
    """
    product, f, g = _rows(left, right, sets=True).T
    return from_rows(f + g - product)


def jaccard(left: NoisedCells, right: NoisedCells) -> Estimate:
    """Jaccard index of two sets, J by the size of their union, cut to [0, 1].

    Guarantees:
        The interval covers the truth in 93 to 97 % of seeds.
    """

    def index(mean: RowEstimates) -> float:
        product, f, g = mean
        return float(product / (f + g - product))

    rows = _rows(left, right, sets=True)
    _denominators("the union", rows[:, 1] + rows[:, 2] - rows[:, 0])
    return jackknife(rows, index).within(0.0, 1.0)


def cosine(left: NoisedCells, right: NoisedCells) -> Estimate:
    """Cosine of two count vectors, J / (|f| |g|), cut to [-1, 1].

    Guarantees:
        The interval covers the truth in 93 to 97 % of seeds on sets, skewed and
        correlated counts.
    """

    def angle(mean: RowEstimates) -> float:
        product, f, g = mean
        return float(product / math.sqrt(f * g))

    rows = _rows(left, right)
    _denominators("a second moment", rows[:, 1], rows[:, 2])
    return jackknife(rows, angle).within(-1.0, 1.0)


def distance(
    left: NoisedCells, right: NoisedCells, left_total: Estimate, right_total: Estimate
) -> Estimate:
    """Squared distance of two distributions, |f / F - g / G|^2.

    The totals F and G come from a release of their own, independent of the tables, or
    are public with variance 0; the variance that they add is that of the delta method.

    Guarantees:
        The value is unbiased where the totals are public.
        The interval covers the truth in 93 to 97 % of seeds on sets, skewed and
        correlated counts.
    """
    for each in (left_total, right_total):
        if each.low <= 0:
            raise lost_in_noise("a total")
    big_f, big_g = left_total.value, right_total.value
    product, f, g = _rows(left, right).T
    rows = f / big_f**2 + g / big_g**2 - 2 * product / (big_f * big_g)
    known = from_rows(rows)
    # Derivatives by F and by G at the means.
    j, ff, gg = float(product.mean()), float(f.mean()), float(g.mean())
    by_f = 2 * (j / (big_f**2 * big_g) - ff / big_f**3)
    by_g = 2 * (j / (big_f * big_g**2) - gg / big_g**3)
    added = by_f**2 * left_total.variance + by_g**2 * right_total.variance
    reach = math.hypot(
        known.high - known.value, normal_quantile(CONFIDENCE) * added**0.5
    )
    value = known.value
    return Estimate(value, known.variance + added, value - reach, value + reach)


def _rows(left: NoisedCells, right: NoisedCells, sets: bool = False) -> RowEstimates:
    """Inner product and both second moments, or sizes of `sets`, by row, [depth, 3]."""
    size = total_rows if sets and not left.signed else moment_rows
    return np.stack([product_rows(left, right), size(left), size(right)], axis=1)


def _denominators(name: str, *rows: RowEstimates) -> None:
    """Raise unless each mean is above zero, also without any one row."""
    for each in rows:
        without = (each.sum() - each) / (len(each) - 1)
        if min(from_rows(each).low, without.min()) <= 0:
            raise lost_in_noise(name)


def best_cells(rho: float, left_norm: float, right_norm: float) -> float:
    """Cells, depth times width, that make an inner product most exact.

    `rho` is the price in zero-concentrated differential privacy if one person changes
    one cell in each row; for a set, a norm is the root of its size. **A larger sketch
    is worse under noise** (docs/theory/sketches.md#counts-and-products).
    """
    checks.finite_positive(rho=rho, left_norm=left_norm, right_norm=right_norm)
    return 2 * rho * left_norm * right_norm
