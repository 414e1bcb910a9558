# SPDX-License-Identifier: Apache-2.0
"""Sketches with Laplace noise: pure epsilon, charged to the same ledgers.

Integer cells get two-sided geometric noise of their table's scale. Tables that leave
together cost one person, added or removed, the sum of L1 sensitivity / scale, and twice
that if replaced. The law is pure: no delta, whatever the outcome. Samples are within
2^-120 of it a cell, as noise has a largest value: "pure" holds up to a delta of (1 +
e^epsilon) 2^-120 a cell. Ledgers charge the Gaussian that dominates the law
(`lexfed.privacy.pure_epsilon`), and the sampler by `samples`.

With one row and no delta to give Laplace is right; with several rows, or many releases,
`noised_sketch` is cheaper: L2 sensitivity grows with the root of depth.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lexfed import checks
from lexfed.arrays import Integers
from lexfed.errors import DataError, Problem
from lexfed.privacy.noise.laplace import (
    LARGEST_SCALE,
    LEAST_SCALE,
    kurtosis_of,
    two_sided_geometric,
    variance_of,
)
from lexfed.privacy.pure_epsilon import pure_release
from lexfed.privacy.releases import Release
from lexfed.privacy.run_ledger import Ledger
from lexfed.randomness import RandomSource
from lexfed.sketch.releases.noised_sketch import (
    NoisedSketch,
    NoisedTable,
    PlannedTable,
    check_tables,
    most_sensitive,
    person_moves,
)
from lexfed.terms import Neighbours

_LARGEST_CELL = 2**52
_ROUNDING = 1e-14  # above the rounding of a sum of quotients


@dataclass(frozen=True)
class LaplaceColumn(PlannedTable):
    """A table with noise of one scale; 1/scale is the epsilon of one count."""

    scale: float

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.in_range(LEAST_SCALE, LARGEST_SCALE, scale=self.scale)

    @property
    def variance(self) -> float:
        """Variance of the noise on every cell."""
        return variance_of(self.scale)

    @property
    def kurtosis(self) -> float:
        """Kurtosis of the noise, as estimates of second moments need it."""
        return kurtosis_of(self.scale)


@dataclass(frozen=True)
class LaplacePlan:
    """A joint release, named alike whenever it is repeated; public and fixed."""

    name: str
    columns: tuple[LaplaceColumn, ...]

    def __post_init__(self) -> None:
        if len({column.name for column in self.columns}) != len(self.columns):
            raise ValueError(f"release `{self.name}`: expected names to differ")
        self.event()

    def epsilon(self, neighbours: Neighbours) -> float:
        """Return the pure epsilon of everything together, of the law.

        Guarantees:
            Never below the exact value. A replacement costs twice.
            What is drawn has it up to (1 + e^epsilon) 2^-120 a cell.
        """
        exact = sum(
            person_moves([column.person], neighbours).l1 / column.scale
            for column in self.columns
        )
        return exact * (1.0 + _ROUNDING)

    def event(self) -> Release:
        """Return the event that one noised sketch is charged for.

        Guarantees:
            It is that of the pure epsilon under add/remove.
        """
        reads = most_sensitive(column.tier for column in self.columns)
        samples = sum(column.cells for column in self.columns)
        return pure_release(self.name, self.epsilon("add-remove"), reads, samples)


def release_laplace(
    plan: LaplacePlan, tables: Sequence[Integers], ledger: Ledger, source: RandomSource
) -> NoisedSketch:
    """Charge for a noised sketch, then draw the noise.

    `tables` are exact counts, int64 [depth, width], of persons bounded as the plan
    says.

    Guarantees:
        The ledger is charged `plan.event()` before a bit of noise is drawn.
        Nothing is charged for tables that do not fit, nothing drawn when refused.
        Every cell has its own fresh noise, and stays a whole number.
        The tables that are given stay what they are.
    """
    check_tables(plan.name, plan.columns, tables)
    if any(int(np.abs(table).max()) > _LARGEST_CELL for table in tables):
        what = "a count is larger than any honest one"
        raise DataError([Problem(f"sketch `{plan.name}`", what, "check the counts")])
    event = plan.event()
    ledger.charge(event)
    return NoisedSketch(add_noise(plan, tables, source), event, source.private)


def add_noise(
    plan: LaplacePlan, tables: Sequence[Integers], source: RandomSource
) -> tuple[NoisedTable, ...]:
    """Return checked tables with fresh noise; the caller has paid for it."""
    noised = []
    for column, table in zip(plan.columns, tables, strict=True):
        drawn = two_sided_geometric(source, column.scale, table.size)
        cells = (table + drawn.reshape(table.shape)).astype(np.float64)
        noised.append(NoisedTable(column.name, cells, column.variance))
    return tuple(noised)
