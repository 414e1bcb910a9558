# SPDX-License-Identifier: Apache-2.0
"""Two sketches of people: how many are in both, in either, and which shares.

The inner product of two tables is the size of the intersection in mean, with the
variance of `_variance`, exact since sets have counts of 0 and 1
(docs/theory/sketches.md#counts-and-products). Sums over many cells are nearly normal;
ratios have intervals by the delta method. A wider table is folded to the width of the
other one, which doubles its variance for each halving.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from lexfed.errors import DataError, Problem
from lexfed.privacy.accountants import gdp
from lexfed.privacy.noise.gaussian import delta_sampler
from lexfed.sketch.estimates.intervals import Estimate, from_variance, lost_in_noise
from lexfed.sketch.joining.offered_sketch import OfferedSketch


@dataclass(frozen=True)
class PeopleOverlap:
    """The comparison of two sketches; each interval holds the truth with 95 %."""

    left: Estimate
    right: Estimate
    both: Estimate
    either: Estimate
    jaccard: Estimate
    left_share: Estimate
    right_share: Estimate


def compare(
    left: OfferedSketch, right: OfferedSketch, where: str = "sketch"
) -> PeopleOverlap:
    """Return the overlap of two sketches.

    Other seeds or keys, one sketch twice, and sizes that noise hides are refused.

    Guarantees:
        Sizes, `both` and `either` are unbiased but for being cut to what is possible.
        Each interval covers the truth in 93 to 97 % of seeds and noises, and in up to
        98 % where it ends at what is possible: nobody shared, or everybody.
    """
    narrow = min(left.shape.width, right.shape.width)
    one, variance_one = _folded(left, narrow)
    two, variance_two = _folded(right, narrow)
    one.shape.check_same(two.shape, where)
    if np.array_equal(one.cells, two.cells):
        what = "it is the same sketch twice: its noise would be multiplied by itself"
        raise DataError([Problem(where, what, "compare sketches of two organisations")])
    first = _people(left, "the number of people on the left")
    second = _people(right, "the number of people on the right")
    product = float(one.cells @ two.cells)
    sizes, noises = (first.value, second.value), (variance_one, variance_two)
    variance = _variance(narrow, sizes, product, noises)
    both = from_variance(product, variance)
    total = first.value + second.value
    spread = first.variance + second.variance
    either = from_variance(total - product, spread + variance)
    union = max(either.value, first.value, second.value)
    ratio = product / union
    # d/dJ = (a + b)/u^2, d/da = d/db = -J/u^2.
    bend = (total**2 * variance + product**2 * spread) / union**4
    return PeopleOverlap(
        first,
        second,
        # Cut by public bounds only: those with noise of their own may be wrong.
        both.within(0.0, min(left.size, right.size)),
        either.within(0.0, left.size + right.size),
        from_variance(ratio, bend).within(0.0, 1.0),
        _share(both, first),
        _share(both, second),
    )


def combined_price(left: OfferedSketch, right: OfferedSketch) -> tuple[float, float]:
    """Return the price of both sketches for a person in both: epsilon and delta.

    Guarantees:
        The sum of pure epsilons if both are pure, and 0: pure as one sketch is, up to
        2^-120 a cell. Else the smaller of the sum of epsilons and the composition of
        their Gaussians, at the sum of the deltas; a pure sketch has that of its
        sampler. The error of both samplers is included.
    """
    sides = (left, right)
    plain = sum(side.epsilon for side in sides)
    if left.delta is None and right.delta is None:
        return plain, 0.0
    delta = sum(side.delta or 0.0 for side in sides)
    for side in sides:
        if side.delta is None:
            # So little that a float would lose it: the next float holds it.
            more = delta + delta_sampler(side.event.samples, side.epsilon)
            delta = math.nextafter(more, math.inf)
    mu = math.hypot(*(1.0 / side.event.noise_multiplier for side in sides))
    # At an epsilon above that which is found, if it is: never too little.
    sampler = delta_sampler(sum(side.event.samples for side in sides), plain)
    # Both hold; adding up epsilons is the better one for a pure and a Gaussian sketch.
    return min(plain, gdp.epsilon_from(mu, max(0.0, delta - sampler))), delta


def _folded(sketch: OfferedSketch, width: int) -> tuple[OfferedSketch, float]:
    variance = sketch.noise.variances[0]
    while sketch.shape.width > width:
        cells = sketch.cells[0::2] + sketch.cells[1::2]
        sketch = replace(sketch, shape=sketch.shape.folded(), cells=cells)
        variance *= 2
    return sketch, variance


def _people(sketch: OfferedSketch, name: str) -> Estimate:
    reach, variance = sketch.noise.count_reach, sketch.noise.variances[1]
    if sketch.people <= reach:
        raise lost_in_noise(name)
    value = sketch.people
    return Estimate(value, variance, value - reach, value + reach)


def _variance(
    width: int, sizes: tuple[float, float], both: float, noises: tuple[float, float]
) -> float:
    (left, right), (s, t) = sizes, noises
    # The truth lies between 0 and the smaller set; a variance below zero is none.
    shared = min(max(both, 0.0), left, right)
    collisions = max(left * right + shared**2 - 2 * shared, 0.0) / width
    return collisions + t * left + s * right + width * s * t


def _share(both: Estimate, part: Estimate) -> Estimate:
    value = both.value / part.value
    bend = both.variance / part.value**2 + value**2 * part.variance / part.value**2
    return from_variance(value, bend).within(0.0, 1.0)
