# SPDX-License-Identifier: Apache-2.0
"""The noise of a sketch for joining: on one table and one count, at one price.

A person is one key, so moves one cell of a table of one row by 1, and the number of
people by 1. Both leave together.

    laplace    scale t on the table, c on the count:     epsilon = 1/t + 1/c, pure
    gaussian   deviation t on the table, c on the count: mu^2 = 1/t^2 + 1/c^2

"Pure" is said of the law; samples are within 2^-120 of it a cell (`sketch.laplace`).

One sixteenth of the price goes to the count: it is so much more exact than what the
table says that more would be wasted, and the table loses 7 % of its epsilon at most.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from lexfed import checks
from lexfed.arrays import Integers
from lexfed.privacy.accountants import gdp
from lexfed.privacy.noise.gaussian import delta_sampler, epsilon_with_sampler
from lexfed.privacy.noise.laplace import spread_within
from lexfed.privacy.releases import Release
from lexfed.randomness import RandomSource
from lexfed.sketch.estimates.intervals import CONFIDENCE, normal_quantile
from lexfed.sketch.releases import laplace, noised_sketch
from lexfed.sketch.releases.laplace import LaplaceColumn, LaplacePlan
from lexfed.sketch.releases.noised_sketch import GaussianColumn, NoisedTable, NoisePlan
from lexfed.sketch.releases.sensitivity import Contribution

JoiningNoiseKind = Literal["laplace", "gaussian"]

NAME = "people for joining"
COUNT_SHARE = 1 / 16

_KEYS = Contribution(depth=1, signed=True)
_COUNT = Contribution()
_ROOM = 1e-9  # relative room for rounding, within the budget


@dataclass(frozen=True)
class JoiningNoise:
    """The noise of a sketch; public.

    Attributes:
        kind: its law.
        table: scale or deviation on every cell of the table.
        count: the same on the number of people.
    """

    kind: JoiningNoiseKind
    table: float
    count: float

    def __post_init__(self) -> None:
        checks.finite_positive(table=self.table, count=self.count)

    @classmethod
    def within(cls, epsilon: float, delta: float | None, cells: int) -> "JoiningNoise":
        """Return the noise that costs a person so much.

        Args:
            epsilon: what it may cost, added or removed.
            delta: with it noise is Gaussian; without it is Laplace, and epsilon pure.
            cells: of the table, whose sampler is paid for out of delta.

        Guarantees:
            `costs` is within the budget.

        Raises:
            ValueError: if a number is out of range.
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
        """Return table and count with fresh noise; whoever calls this has paid.

        Args:
            tables: the table, [1, cells], and the count, [1, 1].
            people: public bound on how many people there are.
            source: where the noise comes from.
        """
        cells = tables[0].shape[1]
        if self.kind == "laplace":
            plan = self._laplace(cells)
            noised_sketch.check_tables(NAME, plan.columns, tables)
            return laplace.add_noise(plan, tables, source)
        wide = self._gaussian(cells, people)
        wide.check(tables)
        return noised_sketch.add_noise(wide, tables, source)

    def _laplace(self, cells: int) -> LaplacePlan:
        return LaplacePlan(
            NAME,
            (
                LaplaceColumn("keys", None, _KEYS, cells, self.table),
                LaplaceColumn("people", None, _COUNT, 1, self.count),
            ),
        )

    def _gaussian(self, cells: int, people: int) -> NoisePlan:
        return NoisePlan(
            NAME,
            (
                GaussianColumn("keys", None, _KEYS, cells, self.table),
                GaussianColumn("people", None, _COUNT, 1, self.count),
            ),
            people,
        )
