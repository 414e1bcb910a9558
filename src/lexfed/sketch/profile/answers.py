# SPDX-License-Identifier: Apache-2.0
"""The answers of a profile: numbers with intervals that hold the truth in 95 %.

These classes are the content of `profile.json`, which comes from others: they check
themselves.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from lexfed.sketch.estimates.intervals import Estimate


def check(holds: bool, what: str) -> None:
    """Raise unless something holds."""
    if not holds:
        raise ValueError(f"expected {what}")


def all_finite(numbers: Iterable[float]) -> bool:
    """Return True if all of them are finite numbers."""
    return all(map(math.isfinite, numbers))


@dataclass(frozen=True)
class ProfiledNumber:
    """A number and its interval; an end that is None is not known at all."""

    value: float
    low: float | None
    high: float | None

    def __post_init__(self) -> None:
        given = [end for end in (self.low, self.value, self.high) if end is not None]
        check(all_finite(given), "finite numbers in an answer")
        check(given == sorted(given), "low <= value <= high in an answer")

    @classmethod
    def of(cls, estimate: Estimate) -> "ProfiledNumber":
        """Return an estimate without its variance."""
        return cls(estimate.value, estimate.low, estimate.high)


@dataclass(frozen=True)
class ProfiledQuantile:
    """The number up to which a share of all values lies."""

    share: float
    at: ProfiledNumber

    def __post_init__(self) -> None:
        check(0 < self.share < 1, "a share between 0 and 1")


@dataclass(frozen=True)
class ProfiledHistogram:
    """Persons by the size of a number, in bars of equal width or of half octaves.

    Noise may leave less than nobody in a bar. `reaches` are half the widths of the
    bars' intervals, `below` and `above` the persons outside the edges.
    """

    edges: tuple[float, ...]
    counts: tuple[float, ...]
    reaches: tuple[float, ...]
    below: ProfiledNumber
    above: ProfiledNumber
    by_size: bool = False

    def __post_init__(self) -> None:
        edges = self.edges
        check(all_finite((*edges, *self.counts, *self.reaches)), "finite bars")
        check(len(edges) == len(self.counts) + 1 > 1, "one more edge than bars")
        check(len(self.reaches) == len(self.counts), "an interval for each bar")
        check(list(edges) == sorted(set(edges)), "edges that rise")
        check(min(self.reaches) >= 0, "intervals around the counts")


@dataclass(frozen=True)
class ValueCount:
    """A value and its persons; not `whole` if only its beginning is known."""

    value: str
    count: ProfiledNumber
    whole: bool = True


@dataclass(frozen=True)
class SiteDistance:
    """The distance |p - q| of one column's distributions at two sites, 0 to 1.41."""

    left: str
    right: str
    distance: ProfiledNumber


@dataclass(frozen=True)
class SiteOverlap:
    """Persons that two sites share; the Jaccard index is None if lost in the noise."""

    left: str
    right: str
    persons: ProfiledNumber
    jaccard: ProfiledNumber | None


@dataclass(frozen=True)
class SiteDuplicates:
    """Persons of a site, and those of them at others, once for each other site."""

    site: str
    persons: ProfiledNumber
    elsewhere: ProfiledNumber
