# SPDX-License-Identifier: Apache-2.0
"""Sites compared: persons they have in common, and how far their distributions lie.

Keys of each site are a Count-Sketch with noise of its own, so that products of two
tables, or of one and the sum of all others, are unbiased (`estimates.noised_cells`).
The squared distance of distributions is unbiased less its noise, and its interval that
of Rao's score test; the noise of numbers of persons is neglected, so there is no answer
where it is more than a tenth (docs/theory/sketches.md#counts-of-profiles).
"""

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from lexfed.arrays import Floats
from lexfed.errors import DataError
from lexfed.sketch.estimates.intervals import CONFIDENCE, Estimate, normal_quantile
from lexfed.sketch.estimates.noised_cells import (
    NoisedCells,
    inner_product,
    jaccard,
    second_moment,
)
from lexfed.sketch.profile.answers import (
    ProfiledNumber,
    SiteDistance,
    SiteDuplicates,
    SiteOverlap,
)
from lexfed.sketch.queries.requested_tables import ReleasedTable

_CLEAR = 10.0
"""Deviations of its noise that a site's number of persons must have."""


def overlaps(released: ReleasedTable, sites: Sequence[str]) -> tuple[SiteOverlap, ...]:
    """Return the overlap of every pair of sites.

    Guarantees:
        Intervals cover the truth in 93 to 97 % of seeds.
    """
    pairs = combinations(zip(sites, _tables(released, sites), strict=True), 2)
    return tuple(
        SiteOverlap(i, j, _count(inner_product(left, right)), _jaccard(left, right))
        for (i, left), (j, right) in pairs
    )


def elsewhere(
    released: ReleasedTable, sites: Sequence[str]
) -> tuple[SiteDuplicates, ...]:
    """Return the number of each site's persons at others; guarantees as `overlaps`."""
    tables = _tables(released, sites)
    total = released.counts.sum(axis=0)
    shared = []
    for name, table in zip(sites, tables, strict=True):
        noise = released.variance * (len(sites) - 1)
        rest = NoisedCells(total - table.cells, noise, signed=True)
        persons = _count(inner_product(table, rest))
        shared.append(SiteDuplicates(name, _count(second_moment(table)), persons))
    return tuple(shared)


def distances(
    released: ReleasedTable, people: Sequence[float | None], sites: Sequence[str]
) -> tuple[SiteDistance, ...]:
    """Return the distance of a column's distributions at every two sites of known size.

    Guarantees:
        Intervals cover the truth in 93 % of seeds at least.
    """
    return tuple(
        SiteDistance(sites[i], sites[j], _distance(released, i, j, left, right))
        for i, j in combinations(range(len(sites)), 2)
        if (left := people[i]) is not None and (right := people[j]) is not None
    )


def people_by_site(tables: Sequence[ReleasedTable]) -> list[float | None]:
    """Return the number of persons of each site, None where it is lost in the noise."""
    sums = np.mean([table.counts.sum(axis=(1, 2)) for table in tables], axis=0)
    cells = [table.variance * table.table.width for table in tables]
    deviation = math.sqrt(sum(cells)) / len(tables)
    return [float(each) if each > _CLEAR * deviation else None for each in sums]


def _distance(
    released: ReleasedTable, i: int, j: int, left: float, right: float
) -> ProfiledNumber:
    shares: Floats = released.counts[i] / left - released.counts[j] / right
    noise = released.variance * (1 / left**2 + 1 / right**2)
    squared = float((shares**2).sum())
    low, high = squared_interval(squared, noise, released.table.width)
    value = max(squared - released.table.width * noise, low)
    return ProfiledNumber(math.sqrt(value), math.sqrt(low), math.sqrt(high))


def squared_interval(squared: float, noise: float, cells: int) -> tuple[float, float]:
    """Return the squared distances x with (s - m t - x)^2 <= z^2 (4 t x + 2 m t^2)."""
    z = normal_quantile(CONFIDENCE)
    excess = squared - cells * noise
    half = excess + 2 * z**2 * noise
    under = half**2 - excess**2 + 2 * z**2 * cells * noise**2
    reach = math.sqrt(max(under, 0.0))
    return max(half - reach, 0.0), max(half + reach, 0.0)


def _tables(released: ReleasedTable, sites: Sequence[str]) -> list[NoisedCells]:
    if released.table.sites != len(sites):
        raise ValueError(f"expected tables of {len(sites)} sites")
    return [
        NoisedCells(each, released.variance, signed=True) for each in released.counts
    ]


def _jaccard(left: NoisedCells, right: NoisedCells) -> ProfiledNumber | None:
    try:
        return ProfiledNumber.of(jaccard(left, right))
    except DataError:
        return None


def _count(estimate: Estimate) -> ProfiledNumber:
    """A number of persons: not below nobody."""
    return ProfiledNumber.of(estimate.within(0.0, math.inf))
