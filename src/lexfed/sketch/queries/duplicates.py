# SPDX-License-Identifier: Apache-2.0
"""Duplicates: a site's persons that are at other sites too, from tables of keys.

The inner product of a site's table with the sum of all others counts its persons
elsewhere, once for each other site, without bias and with a known variance
(`estimates.noised_cells`). Decisions use the lower end, below the truth **at all sites
at once** with probability 95 %: each site has a bound at 5 % by the number of sites.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from lexfed.arrays import Floats
from lexfed.sketch.estimates import noised_cells
from lexfed.sketch.estimates.noised_cells import NoisedCells
from lexfed.sketch.queries.requested_tables import ReleasedTable

ERROR = 0.05
"""Chance that the lower end of some site is above the truth."""

_HONEST = 2.0**53
"""No honest sum has larger cells; they say nothing."""


@dataclass(frozen=True)
class DuplicateShare:
    """The estimated part of a site's persons elsewhere, 0 if noise hides the site."""

    part: float
    at_least: float


def duplicate_shares(released: ReleasedTable) -> tuple[DuplicateShare, ...]:
    """Return for each site the share of its persons that are seen elsewhere.

    Guarantees:
        Where no two sites share a person, some `at_least` is above zero in at most 5 %
        of all cases.
        Whatever the cells are, both numbers are in [0, 1].
    """
    if released.table.domain != "keys" or released.table.sites < 2:
        raise ValueError("expected a table of keys for each of several sites")
    cells = released.counts.reshape(released.table.shape)
    if not bool((np.abs(cells) <= _HONEST).all()):
        return (DuplicateShare(0.0, 0.0),) * released.table.sites
    total = cells.sum(axis=0)
    return tuple(_of_site(site, total - site, released) for site in cells)


def persons_by_site(released: ReleasedTable) -> Floats:
    """Return the number of persons of each site, as its table of keys shows it.

    Guarantees:
        Whatever the cells are, every number is finite and at least 0.
    """
    cells = released.counts.reshape(released.table.shape)
    if not bool((np.abs(cells) <= _HONEST).all()):
        return np.zeros(len(cells))
    tables = (NoisedCells(site, released.variance, signed=True) for site in cells)
    sizes = (float(noised_cells.moment_rows(table).mean()) for table in tables)
    return np.array([max(0.0, size) for size in sizes])


def noise_of_overlap(cells: int, square: float, site: float, rest: float) -> float:
    """Return the standard deviation of an overlap before anything is released.

    As in `estimates.noised_cells.best_cells`, with square = 2 rho, for a table of
    `cells` per site and public numbers of persons at the site and at the rest.
    """
    return math.sqrt(site * rest / cells + (site + rest) / square + cells / square**2)


def reach(sites: int) -> float:
    """Return the distance of a site's lower end in deviations, for so many sites."""
    return NormalDist().inv_cdf(1.0 - ERROR / (2 * sites))


def _of_site(site: Floats, others: Floats, released: ReleasedTable) -> DuplicateShare:
    sites = released.table.sites
    left = NoisedCells(site, released.variance, signed=True)
    right = NoisedCells(others, (sites - 1) * released.variance, signed=True)
    size = float(noised_cells.moment_rows(left).mean())
    rest = float(noised_cells.moment_rows(right).mean())
    common = float(noised_cells.product_rows(left, right).mean())
    far = reach(sites)
    spread = math.sqrt(noised_cells.moment_variance(left, size))
    if size <= far * spread:
        return DuplicateShare(0.0, 0.0)
    largest = size + far * spread
    variance = noised_cells.product_variance(left, right, size, max(rest, 0.0), common)
    low = common - far * math.sqrt(variance)
    return DuplicateShare(_part(common / size), _part(low / largest))


def _part(value: float) -> float:
    return min(1.0, max(0.0, value))
