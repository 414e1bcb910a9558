# SPDX-License-Identifier: Apache-2.0
"""Similarity of two sites: union, Jaccard, cosine and distance of distributions.

All are smooth functions of <f, g>, |f|^2 and |g|^2, which every row estimates with
dependent errors, so intervals are those of the jackknife over the rows. A ratio whose
denominator may be lost in the noise is refused; where that happens often, the answers
that are given have a smaller coverage than stated (92 % where it is every third).
"""

import math

import numpy as np

from lexfed.sketch.estimates import intervals, noised_cells
from lexfed.sketch.estimates.intervals import Estimate, RowEstimates
from lexfed.sketch.estimates.noised_cells import NoisedCells


def union_size(left: NoisedCells, right: NoisedCells) -> Estimate:
    """Size of the union of two sets, the sum of their sizes less J.

    Guarantees:
        The value is unbiased for 0/1 counts.
        The interval covers the truth in 93 to 97 % of seeds.
    """
    product, f, g = _set_rows(left, right).T
    return intervals.from_rows(f + g - product)


def jaccard(left: NoisedCells, right: NoisedCells) -> Estimate:
    """Jaccard index of two sets, J by the size of their union, cut to [0, 1].

    Guarantees:
        The interval covers the truth in 93 to 97 % of seeds.
    """

    def index(mean: RowEstimates) -> float:
        product, f, g = mean
        return float(product / (f + g - product))

    rows = _set_rows(left, right)
    _denominators("the union", rows[:, 1] + rows[:, 2] - rows[:, 0])
    return intervals.jackknife(rows, index).within(0.0, 1.0)


def cosine(left: NoisedCells, right: NoisedCells) -> Estimate:
    """Cosine of two count vectors, J / (|f| |g|), cut to [-1, 1].

    Guarantees:
        The interval covers the truth in 93 to 97 % of seeds on sets, skewed and
        correlated counts.
    """

    def angle(mean: RowEstimates) -> float:
        product, f, g = mean
        return float(product / math.sqrt(f * g))

    rows = _three_rows(left, right)
    _denominators("a second moment", rows[:, 1], rows[:, 2])
    return intervals.jackknife(rows, angle).within(-1.0, 1.0)


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
    for total in (left_total, right_total):
        if total.low <= 0:
            raise intervals.lost_in_noise("a total")
    big_f, big_g = left_total.value, right_total.value
    product, f, g = _three_rows(left, right).T
    rows = f / big_f**2 + g / big_g**2 - 2 * product / (big_f * big_g)
    known = intervals.from_rows(rows)
    # Derivatives by F and by G at the means.
    j, ff, gg = float(product.mean()), float(f.mean()), float(g.mean())
    by_f = 2 * (j / (big_f**2 * big_g) - ff / big_f**3)
    by_g = 2 * (j / (big_f * big_g**2) - gg / big_g**3)
    added = by_f**2 * left_total.variance + by_g**2 * right_total.variance
    reach = math.hypot(
        known.high - known.value,
        intervals.normal_quantile(intervals.CONFIDENCE) * added**0.5,
    )
    value = known.value
    return Estimate(value, known.variance + added, value - reach, value + reach)


def _set_rows(left: NoisedCells, right: NoisedCells) -> RowEstimates:
    """Sizes of the intersection and of both sets by each row, [depth, 3]."""
    size = noised_cells.moment_rows if left.signed else noised_cells.total_rows
    return np.stack(
        [noised_cells.product_rows(left, right), size(left), size(right)], axis=1
    )


def _three_rows(left: NoisedCells, right: NoisedCells) -> RowEstimates:
    """Inner product and both second moments by each row, [depth, 3]."""
    product = noised_cells.product_rows(left, right)
    return np.stack(
        [product, noised_cells.moment_rows(left), noised_cells.moment_rows(right)],
        axis=1,
    )


def _denominators(name: str, *rows: RowEstimates) -> None:
    """Raise unless each mean is above zero, also without any one row."""
    for each in rows:
        without = (each.sum() - each) / (len(each) - 1)
        if min(intervals.from_rows(each).low, without.min()) <= 0:
            raise intervals.lost_in_noise(name)
