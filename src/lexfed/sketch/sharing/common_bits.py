# SPDX-License-Identifier: Apache-2.0
"""The keys that every two sites have in common, from counts of common bits.

With filters of m bits, t_A and t_B bits that are set and t_AB that both have set, the
union has t_U = t_A + t_B - t_AB, and by linear counting (Whang et al. 1990)

    n(t) = ln(1 - t/m) / ln(1 - 1/m),    I = n(t_A) + n(t_B) - n(t_U).

The variance has the two parts of `estimates.flipped_bits`. Keys that share places give

    m (1/q_U - 1/q_A - 1/q_B + 2 q_U/(q_A q_B) - 1 - I/m),    q = 1 - t/m.

Noise of variance v on every count gives, with slopes n' = 1/((m - t) ln(m/(m - 1))),

    v ((n'_A - n'_U)^2 + (n'_B - n'_U)^2 + n'_U^2).

n is convex, so its values are too large by half of Var / m, which is taken off.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lexfed.arrays import Floats
from lexfed.errors import DataError, Problem
from lexfed.sketch.estimates.intervals import Estimate, from_variance


@dataclass(frozen=True)
class CommonBits:
    """Opened counts of common bits; sizes on the diagonal.

    Attributes:
        sites: names, in the order of rows and columns.
        counts: [sites, sites], symmetric, with noise.
        variance: of the noise on every count.
        width: bits of a filter.
        left_out: sites whose shares were not bits.
        private: whether nobody can predict or repeat the noise; False in tests.
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

        Raises:
            DataError: if a filter is too full to tell.
            ValueError: for a site that is not there, or one site twice.
        """
        at = self._seat(left), self._seat(right)
        if left == right:
            raise ValueError("expected two sites; use `size` for one")
        return from_variance(float(self._all[0][at]), float(self._all[1][at]))

    def size(self, site: str) -> Estimate:
        """Return the number of keys of a site; guarantees and errors as `overlap`."""
        at = self._seat(site)
        items, _, variance = self._sizes
        return from_variance(float(items[at]), float(variance[at]))

    def overlaps(self) -> tuple[Floats, Floats]:
        """Return all overlaps and their variances, [sites, sites]; sizes on diagonals.

        Raises:
            DataError: if a filter is too full to tell.
        """
        values, variances = (each.copy() for each in self._all)
        items, _, own = self._sizes
        np.fill_diagonal(values, items)
        np.fill_diagonal(variances, own)
        return values, variances

    def _seat(self, site: str) -> int:
        if site not in self.sites:
            raise ValueError(f"expected one of the sites, got: {site!r}")
        return self.sites.index(site)

    @cached_property
    def _sizes(self) -> tuple[Floats, Floats, Floats]:
        """Items, slopes and variances of the sites."""
        return self._counted(np.diagonal(self.counts), self.variance)

    @cached_property
    def _all(self) -> tuple[Floats, Floats]:
        """Overlaps and variances of all pairs, without what stands on diagonals."""
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
            raise DataError(
                [
                    Problem(
                        "overlaps",
                        "a filter is too full: larger sets would look the same",
                        "take filters of eight bits for each person, or less noise",
                    )
                ]
            )
        rate = -math.log1p(-1 / self.width)
        items = -np.log(empty) / rate
        slope = 1 / (self.width * empty * rate)
        # Noise can leave fewer set bits than none.
        places = self.width * np.maximum(1 / empty - 1 - items / self.width, 0.0)
        variance = slope**2 * noise + places
        return items - variance * rate / 2, slope, variance
