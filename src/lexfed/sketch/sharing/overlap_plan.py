# SPDX-License-Identifier: Apache-2.0
"""Overlaps of all pairs of sites: their price, the size of their noise, and estimates.

Every site has a Bloom filter of one hash of its keys, b_i in {0, 1}^m. Two aggregators
that hold shares of all filters compute shares of G_ij = <b_i, b_j>, i < j, and t_i =
<b_i, b_i>, add noise, and open; nothing but these counts is ever seen.

A person at p of n sites moves pairs by sqrt(p (n - p) + p (p - 1)/2) in L2 and sizes by
sqrt(p), because filters hold bits, which is tested on the shares (`beaver_triples`). An
aggregator knows its own noise, so each adds Skellam noise of the full variance (Theorem
D in `privacy.noise.shares`). docs/theory/sketch-sharing.md has the proof, and who sees
what; estimates are those of docs/theory/sketches.md#sets-from-flipped-bits.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lexfed import checks
from lexfed.arrays import Floats, Integers
from lexfed.canonical import digest
from lexfed.errors import DataError, Problem
from lexfed.privacy.noise.shares import NoiseCohort, half_variance, ring_bits
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.privacy.run_ledger import Ledger
from lexfed.sketch.estimates.intervals import Estimate, from_variance
from lexfed.sketch.releases.noised_sketch import root_above
from lexfed.sketch.tables.counts import BloomFilter
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
        sigma: deviation of the Gaussian noise that is charged, on every count.
        places: bound on the sites at which one unit of the ledger is.
        reads: the tier of the keys; None if only presence is revealed.
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
        moved = p * (n - p) + p * (p - 1) // 2
        pairs = ReleaseGroup("pairs", root_above(moved), self.sigma)
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
        """
        self.shape.check_same(filter_.shape, f"overlaps `{self.name}`")
        ledger.charge(self.event())
        return filter_.bits.astype("i8")


def width_for(people: int) -> int:
    """Return the number of bits for filters of sets up to that size.

    Eight places for each person bring the error of shared places below that of the
    noise at any modest budget; a wider filter costs time and bytes, but no privacy.
    """
    checks.in_range(1, 2**40, people=people)
    width = 1 << (_ROOM * people - 1).bit_length()
    if width > MOST_BITS:
        what = (
            f"sets of {people} need filters of {width} bits, "
            f"and {MOST_BITS} are the most"
        )
        hint = "compare a part of the keys that is chosen by their hash"
        raise DataError([Problem("overlaps", what, hint)])
    return width


@dataclass(frozen=True)
class CommonBits:
    """Opened counts of common bits, [sites, sites]; sizes on the diagonal.

    Every count has noise of one `variance`. The shares of sites `left_out` were not
    bits. It is `private` if nobody can predict or repeat the noise; tests can.
    """

    sites: tuple[str, ...]
    counts: Floats
    variance: float
    width: int
    left_out: tuple[str, ...]
    private: bool

    def overlap(self, left: str, right: str) -> Estimate:
        """Return the number of keys that two sites have in common.

        Guarantees:
            The bias is below a fifth of the standard deviation.
            The interval covers the truth in 93 to 97 % of seeds.
        """
        at = self._seat(left), self._seat(right)
        if left == right:
            raise ValueError("expected two sites; use `size` for one")
        return from_variance(float(self._all[0][at]), float(self._all[1][at]))

    def size(self, site: str) -> Estimate:
        """Return the number of keys of a site; guarantees as `overlap`."""
        at = self._seat(site)
        items, _, variance = self._sizes
        return from_variance(float(items[at]), float(variance[at]))

    def overlaps(self) -> tuple[Floats, Floats]:
        """Return all overlaps and variances, [sites, sites]; sizes on diagonals."""
        values, variances = (each.copy() for each in self._all)
        items, _, size_variances = self._sizes
        np.fill_diagonal(values, items)
        np.fill_diagonal(variances, size_variances)
        return values, variances

    def _seat(self, site: str) -> int:
        if site not in self.sites:
            raise ValueError(f"expected one of the sites, got: {site!r}")
        return self.sites.index(site)

    @cached_property
    def _sizes(self) -> tuple[Floats, Floats, Floats]:
        return self._counted(np.diagonal(self.counts), self.variance)

    @cached_property
    def _all(self) -> tuple[Floats, Floats]:
        """Overlaps and variances of all pairs; diagonals have no meaning."""
        set_bits = np.diagonal(self.counts)
        union_bits = set_bits[:, None] + set_bits[None, :] - self.counts
        # On the diagonal stands one count, not the union of two: no pair, no matter.
        np.fill_diagonal(union_bits, set_bits)
        items, slope, _ = self._sizes
        # Three counts, and the noise of each, are in the bits of a union.
        union, union_slope, _ = self._counted(union_bits, 3 * self.variance)
        value = items[:, None] + items[None, :] - union
        noise = self.variance * (
            (slope[:, None] - union_slope) ** 2
            + (slope[None, :] - union_slope) ** 2
            + union_slope**2
        )
        empty = 1 - set_bits / self.width
        both, pairs = 1 - union_bits / self.width, empty[:, None] * empty[None, :]
        places = (
            1 / both - 1 / empty[:, None] - 1 / empty[None, :] + 2 * both / pairs - 1
        )
        shared = self.width * np.maximum(places - value / self.width, 0.0)
        return value, noise + shared

    def _counted(self, ones: Floats, noise: float) -> tuple[Floats, Floats, Floats]:
        """Linear counting of set bits whose noise has a variance."""
        empty = 1 - ones / self.width
        if float(empty.min()) <= 0:
            what = "a filter is too full: larger sets would look the same"
            hint = "take filters of eight bits for each person, or less noise"
            raise DataError([Problem("overlaps", what, hint)])
        rate = -math.log1p(-1 / self.width)
        items = -np.log(empty) / rate
        slope = 1 / (self.width * empty * rate)
        # Noise can leave fewer set bits than none.
        places = self.width * np.maximum(1 / empty - 1 - items / self.width, 0.0)
        variance = slope**2 * noise + places
        return items - variance * rate / 2, slope, variance
