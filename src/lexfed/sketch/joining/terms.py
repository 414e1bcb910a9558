# SPDX-License-Identifier: Apache-2.0
"""The public agreement of two organisations, and the noise that its budget buys.

Both are fixed before the organisations look at their keys. A person is one key, so
moves one cell of a table of one row by 1, and the number of people by 1. Both leave
together, at one price:

    laplace    scale t on the table, c on the count:     epsilon = 1/t + 1/c, pure
    gaussian   deviation t on the table, c on the count: mu^2 = 1/t^2 + 1/c^2

"Pure" is said of the law; samples are within 2^-120 of it a cell (`releases.laplace`).
How the price is parted, and why a larger table is worse:
docs/theory/sketches.md#counts-and-products. A budget under which nobody shared could
not be told from half of all is refused, with the smallest useful one.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from lexfed import checks
from lexfed.arrays import Integers
from lexfed.errors import ConfigError, Problem
from lexfed.privacy.accountants import gdp
from lexfed.privacy.noise.gaussian import delta_sampler, epsilon_with_sampler
from lexfed.privacy.noise.laplace import spread_within
from lexfed.privacy.releases import Release
from lexfed.privacy.scopes import up
from lexfed.randomness import RandomSource
from lexfed.sketch.estimates.intervals import CONFIDENCE, normal_quantile
from lexfed.sketch.joining.keys import FORM
from lexfed.sketch.releases import laplace, noised_sketch
from lexfed.sketch.releases.laplace import LaplaceColumn, LaplacePlan
from lexfed.sketch.releases.noised_sketch import (
    Contribution,
    GaussianColumn,
    NoisedTable,
    NoisePlan,
)
from lexfed.sketch.tables.shape import LARGEST_SEED, SketchKind, SketchShape

LEAST_WIDTH, MOST_WIDTH = 64, 2**20
MOST_PEOPLE = 10**9
LARGEST_EPSILON = 5.0
"""More protects hardly anybody, and sums of such rare noise are not nearly normal."""

_LEAST_EPSILON = 1e-6

JoiningNoiseKind = Literal["laplace", "gaussian"]

NAME = "people for joining"
COUNT_SHARE = 1 / 16

_KEYS = Contribution(depth=1, signed=True)
_COUNT = Contribution()
_ROOM = 1e-9  # relative room for rounding, within the budget


@dataclass(frozen=True)
class JoiningNoise:
    """The noise of a sketch: scale or deviation on each cell, and on the count."""

    kind: JoiningNoiseKind
    table: float
    count: float

    def __post_init__(self) -> None:
        checks.finite_positive(table=self.table, count=self.count)

    @classmethod
    def within(cls, epsilon: float, delta: float | None, cells: int) -> "JoiningNoise":
        """Return the noise that costs a person `epsilon`, added or removed.

        Without a delta it is Laplace, and epsilon pure; with one it is Gaussian, and
        delta pays for the sampler of all `cells`.

        Guarantees:
            `costs` is within the budget.
        """
        checks.finite_positive(epsilon=epsilon)
        if delta is None:
            room = epsilon * (1.0 - _ROOM)
            parts = ((1 - COUNT_SHARE) * room, COUNT_SHARE * room)
            return cls("laplace", 1.0 / parts[0], 1.0 / parts[1])
        checks.in_range(1e-15, 0.5, delta=delta)
        left = delta - delta_sampler(cells + 1, epsilon)
        mu = gdp.mu_from(epsilon, left) * (1.0 - _ROOM)
        roots = (math.sqrt(1 - COUNT_SHARE), math.sqrt(COUNT_SHARE))
        return cls("gaussian", 1.0 / (mu * roots[0]), 1.0 / (mu * roots[1]))

    def costs(self, delta: float | None, cells: int) -> float:
        """Return the epsilon of one person more or less, pure without a delta.

        Guarantees:
            Never below the exact value, the sampler's error included.
        """
        if self.kind == "laplace":
            return self._laplace(cells).epsilon("add-remove")
        mu = 1.0 / self.event(cells).noise_multiplier
        given = 0.0 if delta is None else delta
        return epsilon_with_sampler(partial(gdp.epsilon_from, mu), given, cells + 1)

    def event(self, cells: int) -> Release:
        """Return the event that a ledger is charged for."""
        if self.kind == "laplace":
            return self._laplace(cells).event()
        return self._gaussian(cells, 1).event()

    @property
    def variances(self) -> tuple[float, float]:
        """Variance on a cell of the table, and of the count."""
        if self.kind == "laplace":
            keys, count = self._laplace(1).columns
            return keys.variance, count.variance
        return self.table**2, self.count**2

    @property
    def count_reach(self) -> float:
        """The 95 % error of the count."""
        if self.kind == "laplace":
            return float(spread_within((self.count,), CONFIDENCE))
        return normal_quantile(CONFIDENCE) * self.count

    def add(
        self, tables: Sequence[Integers], people: int, source: RandomSource
    ) -> tuple[NoisedTable, ...]:
        """Return table and count, noised for up to `people`; the caller has paid."""
        cells = tables[0].shape[1]
        if self.kind == "laplace":
            plan = self._laplace(cells)
            noised_sketch.check_tables(NAME, plan.columns, tables)
            return laplace.add_noise(plan, tables, source)
        wide = self._gaussian(cells, people)
        wide.check(tables)
        return noised_sketch.add_noise(wide, tables, source)

    def _laplace(self, cells: int) -> LaplacePlan:
        keys = LaplaceColumn("keys", None, _KEYS, cells, self.table)
        count = LaplaceColumn("people", None, _COUNT, 1, self.count)
        return LaplacePlan(NAME, (keys, count))

    def _gaussian(self, cells: int, people: int) -> NoisePlan:
        keys = GaussianColumn("keys", None, _KEYS, cells, self.table)
        count = GaussianColumn("people", None, _COUNT, 1, self.count)
        return NoisePlan(NAME, (keys, count), people)


@dataclass(frozen=True)
class JoiningTerms:
    """The agreement of two sides of at most `size` people, and the price of one."""

    size: int
    seed: int
    epsilon: float
    delta: float | None = None

    def __post_init__(self) -> None:
        checks.in_range(1, MOST_PEOPLE, size=self.size)
        checks.in_range(0, LARGEST_SEED, seed=self.seed)
        checks.positive(epsilon=self.epsilon)
        checks.in_range(0.0, LARGEST_EPSILON, epsilon=self.epsilon)
        useful = partial(_is_useful, self.size, self.delta)
        require_useful(self.size, self.epsilon, _LEAST_EPSILON, useful)

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
        """Half the interval of an intersection of nobody, with this noise on both."""
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


def _is_useful(size: int, delta: float | None, epsilon: float) -> bool:
    noise = JoiningNoise.within(epsilon, delta, MOST_WIDTH)
    return 2 * _reach(size, noise) <= size


def require_useful(
    size: int, epsilon: float, least: float, is_useful: Callable[[float], bool]
) -> None:
    """Refuse a useless epsilon, naming the smallest useful one from `least` on."""
    if is_useful(epsilon):
        return
    hint = f"no ε up to {LARGEST_EPSILON:g} helps so few people"
    if is_useful(LARGEST_EPSILON):
        low, high = least, LARGEST_EPSILON
        while high > low * 1.0005:
            middle = math.sqrt(low * high)
            low, high = (low, middle) if is_useful(middle) else (middle, high)
        hint = f"allow ε = {min(up(high, 3), LARGEST_EPSILON):g} or more"
    what = (
        f"with ε = {epsilon:g} for at most {size} people the noise hides whether half "
        "of them are shared or none"
    )
    raise ConfigError([Problem("overlap", what, hint)])
