# SPDX-License-Identifier: Apache-2.0
"""The public agreement of two organisations, made before they look at their keys.

**Size of the table.** For sets of n people each, noise of variance s^2 and m cells, the
size of an intersection of nobody has variance n^2/m + 2 n s^2 + m s^4 (`comparison`),
which is least at m = n/s^2: a larger table is worse. Widths are powers of two, so that
of two tables the wider one can be folded to the other.

**Too little to say anything.** If not even two such organisations without anybody in
common could be told from two that share half their people, the budget is refused, with
the smallest that is of use.
"""

import math
from dataclasses import dataclass

from lexfed import checks
from lexfed.errors import ConfigError, Problem
from lexfed.privacy.scopes import up
from lexfed.sketch.estimates.intervals import CONFIDENCE, normal_quantile
from lexfed.sketch.joining.keys import FORM
from lexfed.sketch.joining.noise import JoiningNoise
from lexfed.sketch.tables.hashing import LARGEST_SEED
from lexfed.sketch.tables.shape import SketchKind, SketchShape

LEAST_WIDTH, MOST_WIDTH = 64, 2**20
MOST_PEOPLE = 10**9
LARGEST_EPSILON = 5.0
"""More protects hardly anybody, and sums of such rare noise are not nearly normal."""

_LEAST_EPSILON = 1e-6


@dataclass(frozen=True)
class JoiningTerms:
    """The agreement of both sides, and the price that one of them pays.

    Attributes:
        size: no organisation has more people than this, as both know.
        seed: of the hashes; the same on both sides.
        epsilon: what one person pays, added or removed.
        delta: with it noise is Gaussian; None: Laplace, and epsilon is pure.

    Raises:
        ConfigError: for a budget too small to say anything, with the smallest useful.
        ValueError: for a number out of range.
    """

    size: int
    seed: int
    epsilon: float
    delta: float | None = None

    def __post_init__(self) -> None:
        checks.in_range(1, MOST_PEOPLE, size=self.size)
        checks.in_range(0, LARGEST_SEED, seed=self.seed)
        checks.positive(epsilon=self.epsilon)
        checks.in_range(0.0, LARGEST_EPSILON, epsilon=self.epsilon)
        if not _is_useful(self.size, self.epsilon, self.delta):
            least = _least_useful(self.size, self.delta)
            hint = (
                f"allow ε = {least:g} or more"
                if least is not None
                else f"no ε up to {LARGEST_EPSILON:g} helps so few people"
            )
            raise ConfigError(
                [
                    Problem(
                        "joining",
                        f"with ε = {self.epsilon:g} for at most {self.size} people the "
                        "noise hides whether half of them are shared or none",
                        hint,
                    )
                ]
            )

    @property
    def noise(self) -> JoiningNoise:
        """The noise that the budget buys."""
        return JoiningNoise.within(self.epsilon, self.delta, MOST_WIDTH)

    @property
    def width(self) -> int:
        """Cells of the table."""
        return _width(self.size, self.noise)

    @property
    def shape(self) -> SketchShape:
        """The shape of the table."""
        return SketchShape(SketchKind.COUNT_SKETCH, 1, self.width, self.seed, FORM)

    @property
    def reach(self) -> float:
        """Half the interval of an intersection of nobody; both sides with this noise.

        What `comparison` will find is of this size, and wider where many are shared.
        """
        return _reach(self.size, self.noise)


def _width(size: int, noise: JoiningNoise) -> int:
    best = size / noise.variances[0]
    # The nearest power of two on the scale of logarithms.
    width = 1 << round(math.log2(max(best, 1.0)))
    return min(max(width, LEAST_WIDTH), MOST_WIDTH)


def _reach(size: int, noise: JoiningNoise) -> float:
    variance, width = noise.variances[0], _width(size, noise)
    spread = size**2 / width + 2 * size * variance + width * variance**2
    return normal_quantile(CONFIDENCE) * math.sqrt(spread)


def _is_useful(size: int, epsilon: float, delta: float | None) -> bool:
    noise = JoiningNoise.within(epsilon, delta, MOST_WIDTH)
    return 2 * _reach(size, noise) <= size


def _least_useful(size: int, delta: float | None) -> float | None:
    """Return the smallest useful epsilon, rounded up; it exists if the largest is."""
    if not _is_useful(size, LARGEST_EPSILON, delta):
        return None
    low, high = _LEAST_EPSILON, LARGEST_EPSILON
    while high > low * 1.0005:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if _is_useful(size, middle, delta) else (middle, high)
    return min(up(high, 3), LARGEST_EPSILON)
