# SPDX-License-Identifier: Apache-2.0
"""Which of many candidates occur often, with one error probability for the whole list.

With a thousand candidates some one shares a cell with a very frequent item, and the
mean of its rows is far off. The **median** of the rows is not, unless half of them are:
it leaves [f - r, f + r] on one side only if at least half of the rows do, which has
probability P(Binomial(depth, p) >= depth / 2), p the probability for one row (Charikar,
Chen and Farach-Colton 2002). So p need not be tiny for the list to be sound, and a
normal row is a good enough model: p is near 2 % for 5 rows and 1000 candidates. This
needs rows that err to both sides alike, which only a Count-Sketch has: medians of
Count-Min rows are too low.
"""

import math
from dataclasses import dataclass

import numpy as np

from lexfed import checks
from lexfed.sketch.estimates.inner_products import moment_rows
from lexfed.sketch.estimates.intervals import CONFIDENCE, Estimate, normal_quantile
from lexfed.sketch.estimates.item_counts import point_rows
from lexfed.sketch.estimates.noised_cells import HashedPlaces, Items, NoisedCells


@dataclass(frozen=True)
class HeavyHitter:
    """An item that occurs more often than a threshold.

    Attributes:
        item: as it was given among the candidates.
        count: median of the rows; its interval holds together with all others.
    """

    item: int
    count: Estimate


def heavy_hitters(
    table: NoisedCells, hashes: HashedPlaces, candidates: Items, threshold: float
) -> list[HeavyHitter]:
    """Candidates that surely occur more often than a threshold, the heaviest first.

    Guarantees:
        With 95 % or more no listed item occurs `threshold` times or less, and
        the intervals of all listed items hold at the same time.
        An item that occurs 2 r more often is listed with the same probability, r half
        the width of an interval.

    Raises:
        ValueError: if the table is a Count-Min sketch, or there are no candidates.
    """
    if not table.signed:
        raise ValueError(
            "expected a Count-Sketch: medians of noised Count-Min rows are biased"
        )
    checks.in_range(1, math.inf, candidates=len(candidates))
    moment = max(float(moment_rows(table).mean()), 0.0)
    row_variance = moment / table.width + table.noise_variance
    tail = row_tail((1 - CONFIDENCE) / (2 * len(candidates)), table.depth)
    reach = normal_quantile(1 - 2 * tail) * math.sqrt(row_variance)
    medians = np.median(point_rows(table, hashes, candidates), axis=0)
    # Of a normal law's median: pi / 2 times the variance of the mean, and less for few
    # rows.
    variance = math.pi / 2 * row_variance / table.depth
    order = np.argsort(-medians, kind="stable")
    return [
        HeavyHitter(
            int(candidates[place]), Estimate(value, variance, low, value + reach)
        )
        for place in order
        for value in [float(medians[place])]
        for low in [value - reach]
        if low > threshold
    ]


def row_tail(median_tail: float, depth: int) -> float:
    """The probability of one row that gives a median this probability, at most.

    Bisection of P(Binomial(depth, p) >= depth / 2), which grows with p.
    """
    half = (depth + 1) // 2
    low, high = 0.0, 0.5
    for _ in range(60):
        middle = (low + high) / 2
        at_least = sum(
            math.comb(depth, rows) * middle**rows * (1 - middle) ** (depth - rows)
            for rows in range(half, depth + 1)
        )
        if at_least < median_tail:
            low = middle
        else:
            high = middle
    return low
