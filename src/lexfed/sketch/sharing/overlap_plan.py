# SPDX-License-Identifier: Apache-2.0
"""Overlaps of all pairs of sites: their price, and the size of their noise.

Every site has a Bloom filter of one hash of its keys, b_i in {0, 1}^m. Two aggregators
that hold shares of all filters compute shares of

    G_ij = <b_i, b_j>, i < j    and    t_i = <b_i, b_i>,

add noise, and open. Nothing but these counts with noise is ever seen.

**Sensitivity.** A person who is added or removed has one key, so one place c of m. At
each of at most p sites where the person is, the filter changes in c at most, by one.

- Of two sites with the person, G_ij changes by one at most: p (p - 1) / 2 pairs.
- Of a site i with and a site j without, by b_j[c], which is 0 or 1: p (n - p) pairs.
- Of a site with the person, t_i changes by one: p sizes.

So pairs move by sqrt(p (n - p) + p (p - 1)/2) in L2, sizes by sqrt(p). With p = 1, a
person at one site, these are sqrt(n - 1) and 1. The bounds are attained, if all other
sites have place c set by other persons.

The factor b_j[c] is at most one because filters hold bits. In a table of counts it is
the number of persons who share the place, which nothing bounds. And a *site* that sent
1000 in place c would read place c of all other sites through the noise: that shares are
bits is part of the privacy of others, so it is tested on the shares (`beaver_triples`).

**Noise.** An aggregator knows the noise that it added. So each adds Skellam noise of
the full variance (Theorem D in `privacy.noise.shares`), and the charge holds against
either of them, and against whoever sees the *sum* of their shares. It says nothing of
one share alone: noise is small beside the words of a triple, and the dealer knows the
triple. That single shares are uniform to the dealer, and to everybody else, is the
work of a mask that the aggregators have in common.
"""

from dataclasses import dataclass

from lexfed import checks
from lexfed.arrays import Integers
from lexfed.canonical import digest
from lexfed.errors import DataError, Problem
from lexfed.privacy.noise.shares import NoiseCohort, half_variance, ring_bits
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.privacy.run_ledger import Ledger
from lexfed.sketch.releases.sensitivity import root_above
from lexfed.sketch.tables.bloom_filter import BloomFilter
from lexfed.sketch.tables.shape import SketchKind, SketchShape
from lexfed.tiers import Tier

AGGREGATORS = NoiseCohort(2, colluders=1)
"""Two that add noise, of which one may be curious about the other's."""

MOST_SITES = 2**12
MOST_BITS = 2**20
_MOST_WORDS = 2**28
"""Shares of all filters take a gibibyte, which one message still holds."""
_DISTANCE = 4  # a Skellam value counts as four Gaussian ones, see `releases.Release`
_DEVIATIONS = 8.0
_ROOM = 8


@dataclass(frozen=True)
class OverlapPlan:
    """The computation and its charge; public, the same for everybody.

    Attributes:
        name: of the release.
        sites: how many may take part.
        shape: of every site's filter.
        sigma: deviation of the Gaussian noise that is charged, on every count.
        places: bound on the sites at which one unit of the ledger is.
        reads: the tier of the keys; None if only being there is told.

    Raises:
        ValueError: if the shape is no filter, or something is out of range.
    """

    name: str
    sites: int
    shape: SketchShape
    sigma: float
    places: int = 1
    reads: Tier | None = None

    def __post_init__(self) -> None:
        checks.in_range(2, MOST_SITES, sites=self.sites)
        checks.in_range(1, self.sites, places=self.places)
        if self.shape.kind is not SketchKind.BLOOM:
            raise ValueError("expected a shape of kind `bloom`: counts have no bound")
        checks.in_range(2, MOST_BITS, width=self.shape.width)
        checks.in_range(1, _MOST_WORDS, all_bits=self.sites * self.shape.width)
        ring_bits([self.bound])

    @property
    def half(self) -> int:
        """Half of the variance of the noise that one aggregator adds."""
        return half_variance(self.sigma, 1.0, AGGREGATORS)

    @property
    def variance(self) -> float:
        """Of the noise of both on every count."""
        return 2.0 * self.half * AGGREGATORS.sites

    @property
    def bound(self) -> int:
        """Bound on honest counts, but for 8 deviations of the noise."""
        return self.shape.width + int(_DEVIATIONS * self.variance**0.5) + 1

    @property
    def counts(self) -> int:
        """Number of opened counts: all pairs and all sizes."""
        return self.sites * (self.sites + 1) // 2

    @property
    def digest(self) -> bytes:
        """SHA-256 over everything that all must see alike, 32 bytes."""
        content = {
            "name": self.name,
            "sites": self.sites,
            "shape": self.shape.to_bytes().hex(),
            "sigma": self.sigma,
            "places": self.places,
            "reads": None if self.reads is None else self.reads.label,
        }
        return bytes.fromhex(digest({"lexfed-shared-overlaps-v1": content}))

    def event(self) -> Release:
        """Return the event that one opening is charged for, at every site.

        Guarantees:
            The clips are the largest distances that a person moves pairs and sizes,
            attained, and never rounded down.
        """
        n, p = self.sites, self.places
        pairs = ReleaseGroup(
            "pairs", root_above(p * (n - p) + p * (p - 1) // 2), self.sigma
        )
        sizes = ReleaseGroup("sizes", root_above(p), self.sigma)
        return Release(
            name=self.name,
            groups=(pairs, sizes),
            sampling_rate=1.0,
            reads=self.reads,
            samples=_DISTANCE * AGGREGATORS.sites * self.counts,
            noise="skellam",
        )

    def share(self, filter_: BloomFilter, ledger: Ledger) -> Integers:
        """Charge a site's ledger, then return its bits, ready to be shared.

        Guarantees:
            The ledger is charged before the bits are given out; a filter of another
            shape is refused before the charge.

        Raises:
            DataError: if it has another shape.
            Refused: if a budget would be exceeded.
        """
        self.shape.check_same(filter_.shape, f"overlaps `{self.name}`")
        ledger.charge(self.event())
        return filter_.bits.astype("i8")


def width_for(people: int) -> int:
    """Return the number of bits for filters of sets up to that size.

    A wider filter costs time and bytes, but no privacy: eight places for each person
    bring the error of shared places below that of the noise at any modest budget.

    Raises:
        DataError: if no filter is wide enough.
    """
    checks.in_range(1, 2**40, people=people)
    width = 1 << (_ROOM * people - 1).bit_length()
    if width > MOST_BITS:
        raise DataError(
            [
                Problem(
                    "overlaps",
                    f"sets of {people} need filters of {width} bits, "
                    f"and {MOST_BITS} are the most",
                    "compare a part of the keys that is chosen by their hash",
                )
            ]
        )
    return width
