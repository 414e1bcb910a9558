# SPDX-License-Identifier: Apache-2.0
"""The integer grid a sum lives on, and what rounding costs in sensitivity.

A site sums its clipped contributions in float64 and puts that sum on a fine grid;
sums over sites and noise are exact integers. One unit more or less then moves the
integer sum, in units of the data, by at most

    clip_to (1 + 2e-6)        its contribution, with the rounding of the clip itself
    + 2 summation_error       the float sum is wrong by that much with and without it
    + sqrt(moved) step        both are rounded, each coordinate by half a step

and `clip_to` is chosen so that this is `clip`, the sensitivity that is charged. `moved`
is the dimension, unless a unit moves few coordinates and the float sums of all others
are the same to the bit with and without it: then those are rounded alike. The
noise is round(N(0, (sigma/step)^2)) on the same grid, hence post-processing of a
Gaussian mechanism with noise multiplier sigma/clip exactly (see `gaussian`).

A coordinate beyond what `units` contributions can reach (there are more units than
declared) is set to that bound. A refusal would reveal, without noise, that there are;
a projection on a box moves no two points further apart, and takes no rounding.

The noisy integer is rounded once more, to a coarser grid: that is post-processing, and
lets engines that add in another order agree to within one release step. Steps are
powers of two, so scaling is exact.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lexfed import checks
from lexfed.arrays import Floats, Integers
from lexfed.privacy.noise.gaussian import LARGEST_SCALE, rounded_gaussian
from lexfed.randomness import RandomSource

CLIP_ROUNDING = 2e-6
"""Relative excess over the clip of a norm clipped in single precision, at most."""

LEAST_FINENESS = 100.0
"""Coarser grids would take more than a hundredth of the clip."""

_RELEASE_BITS = 14


@dataclass(frozen=True)
class Grid:
    """The grid of one group.

    Attributes:
        clip: charged L2 sensitivity of the sum under add/remove.
        sigma: standard deviation of the noise on the sum.
        dimension: number of coordinates of the group.
        units: public bound on how many units enter one sum, over all sites.
        summation_error: bound on the L2 distance between a site's float sum and the
            exact sum of its clipped contributions.
        fineness: least clip/(sqrt(moved) step). Masked sums must fit a ring of 32
            bits, so their grids are coarser.
        moved: most coordinates that one unit moves, where all others stay the
            same to the bit; None for all of them.

    Guarantees:
        Integer sums of neighbouring inputs differ by at most `clip`, once descaled.
        Integer sums of `units` contributions and as many noises never overflow.
        Rounding takes at most 1/`fineness` of the clip, beside the summation error
        and 2e-6 for the clip itself.

    Raises:
        ValueError: if no grid is fine and short enough, or a value is out of range.
    """

    clip: float
    sigma: float
    dimension: int
    units: int
    summation_error: float = 0.0
    fineness: float = 4000.0
    moved: int | None = None

    def __post_init__(self) -> None:
        checks.finite_positive(clip=self.clip, sigma=self.sigma)
        checks.in_range(1, 2**40, dimension=self.dimension, units=self.units)
        checks.in_range(0.0, self.clip / 100.0, summation_error=self.summation_error)
        checks.in_range(LEAST_FINENESS, 2.0**20, fineness=self.fineness)
        if self.moved is not None:
            checks.in_range(1, self.dimension, moved=self.moved)
        if self.scale > LARGEST_SCALE:
            raise ValueError(
                f"expected `sigma` below about {LARGEST_SCALE * self.step:.3g} for "
                f"`clip` {self.clip:g} in {self.dimension} dimensions, "
                f"got: {self.sigma:g}"
            )
        # 16 sigma: a noise beyond has probability below 2^-190.
        if self.units * (self.clip + 16.0 * self.sigma) >= 2.0**62 * self.step:
            raise ValueError(f"expected fewer `units`, got: {self.units}")

    @property
    def step(self) -> float:
        """The fine grid: a power of two, sqrt(moved) step <= clip/fineness."""
        return _power_below(1.0 / self.fineness * self.clip / self._spread)

    @property
    def _spread(self) -> float:
        """Root of the number of coordinates that are rounded otherwise for one unit."""
        return math.sqrt(self.dimension if self.moved is None else self.moved)

    @property
    def release_step(self) -> float:
        """The grid of what is released: about max(clip, sigma) 2^-14, never finer."""
        coarse = _power_below(max(self.clip, self.sigma)) * 2.0**-_RELEASE_BITS
        return max(self.step, coarse)

    @property
    def scale(self) -> float:
        """Standard deviation of the integer noise before rounding."""
        return self.sigma / self.step

    @property
    def clip_to(self) -> float:
        """The real clip of contributions, so that all errors fit."""
        rounding = self._spread * self.step
        room = self.clip - rounding - 2.0 * self.summation_error
        return room / (1.0 + CLIP_ROUNDING) * (1.0 - 1e-12)

    def encode(self, total: Floats) -> Integers:
        """Put a site's float sum on the fine grid; see `GridVector.encode`."""
        return GridVector((self,)).encode(total)

    def noise(self, source: RandomSource) -> Integers:
        """Draw the noise of one release on the fine grid."""
        return rounded_gaussian(source, self.scale, self.dimension)

    def decode(self, noisy: Integers) -> Floats:
        """Round a noisy integer sum to the release grid and descale it."""
        return GridVector((self,)).decode(noisy)


class GridVector:
    """The grids of several groups that stand behind each other in one vector.

    Guarantees:
        Every coordinate is treated by the grid of its own group alone.
    """

    def __init__(self, grids: Sequence[Grid]) -> None:
        self._sizes = [grid.dimension for grid in grids]
        self._dimension = sum(self._sizes)
        steps = [grid.step for grid in grids]
        ratios = [grid.release_step / grid.step for grid in grids]
        self._longest = self._spread([grid.units * grid.clip for grid in grids])
        # All powers of two: reciprocals and products are exact, quotients are shifts.
        self._fineness = self._spread([1.0 / step for step in steps])
        self._shifts = self._spread([math.frexp(ratio)[1] - 1 for ratio in ratios])
        self._halves = self._spread([int(ratio) // 2 for ratio in ratios])
        self._release = self._spread([grid.release_step for grid in grids])
        self._scales: dict[tuple[float, ...], Floats] = {}
        self._grid_steps = np.array(steps)

    def encode(self, total: Floats) -> Integers:
        """Put a site's float sum on the fine grids, within `units` clips.

        A sum that is not finite is refused: then nothing was clipped.
        """
        if total.shape != (self._dimension,):
            raise ValueError(
                f"expected a vector of {self._dimension}, got another shape"
            )
        if not bool(np.all(np.isfinite(total))):
            raise ValueError("the sum is not finite")
        result: Floats = np.clip(total, -self._longest, self._longest)
        result *= self._fineness
        return np.rint(result, out=result).astype(np.int64)

    def scales(self, sigmas: Sequence[float]) -> Floats:
        """Return the deviation of every coordinate's integer noise, or of all."""
        key = tuple(sigmas)
        if key not in self._scales:
            # Releases of a stage mostly have the same noise: the last one is enough.
            self._scales = {key: self._spread(np.asarray(sigmas) / self._grid_steps)}
        return self._scales[key]

    def decode(self, noisy: Integers) -> Floats:
        """Round a noisy integer sum to the release grids and descale it."""
        # An arithmetic shift rounds down for negative numbers too; by 0 bits it is
        # the identity.
        rounded = noisy + self._halves
        np.right_shift(rounded, self._shifts, out=rounded)
        return np.asarray(rounded * self._release)

    def _spread(self, values: ArrayLike) -> NDArray[Any]:
        """Repeat a group's value for each of its coordinates; one for all if equal."""
        each = np.asarray(values)
        if (each == each[0]).all():
            return np.asarray(each[0])
        return np.repeat(each, self._sizes)


def _power_below(value: float) -> float:
    """Return the largest power of two that is not above the value."""
    return math.ldexp(0.5, math.frexp(value)[1])
