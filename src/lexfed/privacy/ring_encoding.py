# SPDX-License-Identifier: Apache-2.0
"""Contributions as integers of a ring: rounded toward zero, so that no norm grows.

A contribution u with ||u|| <= clip becomes trunc(scale u), coordinate by coordinate.
Since |trunc(x)| <= |x| for every real x, its L2 norm is at most clip scale, and so is
each of its coordinates: **rounding costs no sensitivity**. Rounding to nearest would
add up to sqrt(d)/2 grid units. What it does cost is a bias toward zero of less than
one unit per coordinate, together less than sqrt(d) <= clip scale/`fineness`: at most
1 % of the clip at the least fineness that is allowed, 100.

Every tower has its own scale: with one for all, rounding would erase the tower with
the smallest clip. Scales are powers of two, so scaling floats is exact.

That is for contributions that are rounded one by one. Where clipped contributions are
never seen alone, because their sum has a closed form, a site rounds its float sum to
nearest, and pays as in `grid`: with one unit more the rounded sum moves by at most
clip_to (1 + 2e-6) + 2 summation_error + sqrt(d)/scale, so `clip_to_in_sums` leaves room
for the last two: again about 1 % of the clip, and the charged norms are the same.

**Ring.** The sum of `units` contributions and of n shares of standard deviation s is
below B = units clip scale + 8 sqrt(n) s on every coordinate, unless the noise exceeds 8
deviations. By Bernstein's inequality for Skellam variables of variance m = n s^2, whose
logarithmic moment is m (cosh h - 1) <= (m h^2/2)/(1 - h/3), that has probability at
most 2 exp(-32/(1 + 8/(3 sqrt(m)))) on a coordinate. A ring of b bits holds it if
2^b > 2 B. A wrap is a failed round; it is no loss of privacy.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lexfed import checks
from lexfed.errors import ConfigError, Problem
from lexfed.privacy.grid import CLIP_ROUNDING
from lexfed.privacy.skellam import l1_bound

FINENESS = 100.0
"""Least clip * scale / sqrt(dimension)."""

RING_BITS = (16, 24, 32)
"""The rings of masked sums; the same as in `secagg`, which is built on top of this."""

_DEVIATIONS = 8.0
_MARGIN = 1e-6  # of the norm: above the rounding of its sum of squares


@dataclass(frozen=True)
class Encoding:
    """The integers of one group of coordinates.

    Attributes:
        clip: charged L2 sensitivity under add/remove, in units of the data.
        dimension: coordinates of the group.
        fineness: least clip * scale / sqrt(dimension).

    Guarantees:
        No encoded contribution has an L2 norm above `l2` or an L1 norm above `l1`.
        Nor has the difference of encoded sums with and without one contribution.

    Raises:
        ValueError: if a value is out of range; a fineness below 100 is.
    """

    clip: float
    dimension: int
    fineness: float = FINENESS

    def __post_init__(self) -> None:
        checks.finite_positive(clip=self.clip)
        checks.in_range(1, 2**28, dimension=self.dimension)
        checks.in_range(FINENESS, 2.0**20, fineness=self.fineness)

    @property
    def scale(self) -> float:
        """Grid units per unit of the data: the smallest power of two that is enough."""
        wanted = self.fineness * math.sqrt(self.dimension) / self.clip
        fraction, exponent = math.frexp(wanted)
        return math.ldexp(1.0, exponent - (fraction == 0.5))

    @property
    def l2(self) -> float:
        """Largest L2 norm of an encoded contribution."""
        return self.clip * self.scale

    @property
    def l1(self) -> float:
        """Largest L1 norm of an encoded contribution."""
        return l1_bound(self.l2, self.dimension)

    @property
    def clip_to(self) -> float:
        """What contributions are really clipped to, in single precision."""
        return self.clip / (1.0 + CLIP_ROUNDING) * (1.0 - _MARGIN)

    def encode(self, contributions: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the integer sum of a site's contributions, one in each row.

        Raises:
            ValueError: if a row has another length, is not finite, or was not clipped.
        """
        if contributions.ndim != 2 or contributions.shape[1] != self.dimension:
            raise ValueError(f"expected rows of {self.dimension}, got another shape")
        with np.errstate(over="ignore", invalid="ignore"):
            rows = np.trunc(contributions * self.scale)
            squares = np.einsum("ij,ij->i", rows, rows)
        if not bool(np.all(squares <= self.l2**2 * (1.0 - _MARGIN / 5.0))):
            raise ValueError(f"a contribution is not finite or above {self.clip:g}")
        return np.asarray(rows.astype(np.int64).sum(axis=0))

    def clip_to_in_sums(self, summation_error: float) -> float:
        """Return what contributions are clipped to when their float sum is rounded.

        Args:
            summation_error: bound on the L2 distance between a site's float sum and
                the exact sum of its clipped contributions.
        """
        checks.in_range(0.0, self.clip / 100.0, summation_error=summation_error)
        rounding = math.sqrt(self.dimension) / self.scale
        room = self.clip - rounding - 2.0 * summation_error
        return room / (1.0 + CLIP_ROUNDING) * (1.0 - _MARGIN)

    def encode_sum(self, total: NDArray[np.float64], units: int) -> NDArray[np.int64]:
        """Round a site's float sum of contributions clipped to `clip_to_in_sums`.

        Raises:
            ValueError: if it has another length, is not finite, or is longer than
                `units` clipped contributions can be.
        """
        if total.shape != (self.dimension,):
            raise ValueError(
                f"expected a vector of {self.dimension}, got another shape"
            )
        with np.errstate(over="ignore", invalid="ignore"):
            length = float(np.linalg.norm(total))
        if not length <= units * self.clip:
            raise ValueError(
                f"the sum is not finite or longer than {units * self.clip:g}"
            )
        return np.asarray(np.rint(total * self.scale).astype(np.int64))

    def decode(self, total: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return a noisy integer sum in units of the data."""
        return total / self.scale

    def bound(self, units: int, deviation: float) -> int:
        """Return what a sum of so many units stays within, but for `wrap_probability`.

        Args:
            units: public bound on the contributions in one sum, over all sites.
            deviation: of the noise of all sites together, in grid units.
        """
        checks.in_range(1, 2**40, units=units)
        checks.finite_positive(deviation=deviation)
        return units * math.ceil(self.l2) + math.ceil(_DEVIATIONS * deviation)

    def wrap_probability(self, deviation: float) -> float:
        """Return a bound on the probability that noise leaves `bound` in a round."""
        checks.finite_positive(deviation=deviation)
        exponent = _DEVIATIONS**2 / 2.0 / (1.0 + _DEVIATIONS / (3.0 * deviation))
        return min(1.0, 2.0 * self.dimension * math.exp(-exponent))


def ring_bits(bound: int) -> int:
    """Return the smallest ring that holds signed sums up to `bound`.

    Raises:
        ConfigError: if none does.
    """
    for bits in RING_BITS:
        if 2**bits > 2 * bound:
            return bits
    raise ConfigError(
        [
            Problem(
                "secure aggregation",
                f"sums up to {bound} need {(2 * bound).bit_length()} bits, "
                f"and a ring has at most {RING_BITS[-1]}",
                "let fewer units enter one sum, or make `fineness` smaller, "
                f"down to {FINENESS:g}",
            )
        ]
    )
