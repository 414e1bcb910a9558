# SPDX-License-Identifier: Apache-2.0
"""Noised sketches: tables that may leave, and the event they are charged for.

All tables of a plan are built from the same people and leave together, so they are one
`Release` with one group for each table: its clip is what a person moves the table by
(`sensitivity`), its sigma the deviation of the noise on every cell. The release reads
the most sensitive tier of its columns. Its price is that of one Gaussian with the
multiplier of all groups together (`privacy.releases`); with one table of depth k, one
item per person and noise s it is rho = k/(2 s^2).

**Noise.** Cells are integers and the grid's step is a power of two of at most 1, so
cells lie on the grid: nothing is rounded before the noise, and the clip needs no room
for it. The noise is the rounded Gaussian of `privacy.noise.grids`, and what is released
is rounded once more, to the release step r. Rounding a Gaussian that is wide on its
grid adds r^2/12 to its variance (Sheppard's correction),

    variance of a cell = sigma^2 + r^2/12.

A cell beyond what `people` can reach is set to that bound, see `privacy.noise.grids`: a
projection moves no two tables further apart, and a refusal would tell something without
noise.

A noised sketch may be read and asked as often as anybody likes. A second one, of the
same data with new noise, is a second release: see `cadence`.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from lexfed import checks
from lexfed.arrays import Floats, Integers
from lexfed.errors import DataError, Problem
from lexfed.privacy.noise.grids import Grid
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.privacy.run_ledger import Ledger
from lexfed.randomness import RandomSource
from lexfed.sketch.releases.sensitivity import Contribution, person_moves
from lexfed.tiers import Tier

LEAST_MULTIPLIER = 1e-3
"""Less noise protects nobody, and `variance` would not be that of what is drawn."""

_FINENESS = 4000.0
_LARGEST_CELL = 2.0**52


@dataclass(frozen=True)
class GaussianColumn:
    """One table of a release.

    Attributes:
        name: of the column, or of one level of it.
        tier: of the column; None for who is there, which is no attribute of anybody.
        person: what one person may put into the table.
        width: cells of a row.
        sigma: deviation of the noise on every cell, in counts.
    """

    name: str
    tier: Tier | None
    person: Contribution
    width: int
    sigma: float

    def __post_init__(self) -> None:
        checks.in_range(1, 2**32, width=self.width)
        checks.finite_positive(sigma=self.sigma)
        checks.in_range(
            LEAST_MULTIPLIER, math.inf, noise_multiplier=self.sigma / self.clip
        )

    @property
    def clip(self) -> float:
        """The L2 sensitivity of the table under add/remove."""
        return person_moves([self.person], "add-remove").l2

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the table."""
        return self.person.depth, self.width

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.person.depth * self.width


@dataclass(frozen=True)
class NoisePlan:
    """A joint release; public, and fixed before anybody looks at data.

    Attributes:
        name: of the release; the same whenever it is repeated.
        columns: the tables.
        people: public bound on how many people are in one sum, over all sites.
    """

    name: str
    columns: tuple[GaussianColumn, ...]
    people: int

    def __post_init__(self) -> None:
        if len({column.name for column in self.columns}) != len(self.columns):
            raise ValueError(f"release `{self.name}`: expected names to differ")
        for column in self.columns:
            # Beyond this, floats are not integers any more, and one would move by two.
            checks.in_range(1.0, _LARGEST_CELL, counts=self.people * column.clip)
        # Grids refuse what they cannot hold; better now than after the charge.
        self.grids()
        self.event()

    def grids(self) -> tuple[Grid, ...]:
        """Return the grid of every table.

        Guarantees:
            Every integer is a point of every grid.
        """
        return tuple(
            Grid(
                clip=column.clip,
                sigma=column.sigma,
                dimension=column.cells,
                units=self.people,
                # So fine that the step is 1 or less.
                fineness=max(_FINENESS, column.clip / math.sqrt(column.cells)),
            )
            for column in self.columns
        )

    def event(self) -> Release:
        """Return the event that one noised sketch is charged for.

        Guarantees:
            The clips are the sensitivities of the tables, the sigmas the noise that
            `release_sketch` draws, `reads` the most sensitive tier of any column.

        Raises:
            ValueError: if there are no columns.
        """
        return Release(
            name=self.name,
            groups=tuple(
                ReleaseGroup(column.name, column.clip, column.sigma)
                for column in self.columns
            ),
            sampling_rate=1.0,
            reads=most_sensitive([column.tier for column in self.columns]),
            samples=sum(column.cells for column in self.columns),
        )

    def check(self, tables: Sequence[Integers]) -> None:
        """Refuse tables that are not those of the plan; tells shapes only.

        Raises:
            DataError: naming every table that does not fit.
        """
        check_tables(self.name, self.columns, tables)


@dataclass(frozen=True)
class NoisedTable:
    """The noised cells of a column, [depth, width], and the variance on each."""

    name: str
    cells: Floats
    variance: float


@dataclass(frozen=True)
class NoisedSketch:
    """A noised sketch that may leave, and the event that was charged for it.

    Attributes:
        tables: in the order of the plan.
        event: what was charged.
        private: whether nobody can predict or repeat the noise; False in tests.
    """

    tables: tuple[NoisedTable, ...]
    event: Release
    private: bool


def release_sketch(
    plan: NoisePlan, tables: Sequence[Integers], ledger: Ledger, source: RandomSource
) -> NoisedSketch:
    """Charge for a noised sketch, then draw the noise.

    `tables` are the exact sums, int64 [depth, width], each person in them bounded as
    the plan says.

    Guarantees:
        The ledger is charged `plan.event()` before a bit of noise is drawn.
        Nothing is charged for tables that do not fit, nothing drawn when refused.
        Every cell has its own fresh noise, of the variance that is stated.
        The tables that are given stay what they are.

    Raises:
        DataError: if the tables are not those of the plan.
        Refused: if a budget would be exceeded.
    """
    plan.check(tables)
    event = plan.event()
    ledger.charge(event)
    return NoisedSketch(add_noise(plan, tables, source), event, source.private)


def add_noise(
    plan: NoisePlan, tables: Sequence[Integers], source: RandomSource
) -> tuple[NoisedTable, ...]:
    """Return checked tables with fresh noise; whoever calls this has paid for it."""
    noised = []
    for column, grid, table in zip(plan.columns, plan.grids(), tables, strict=True):
        exact = grid.encode(table.astype(np.float64).ravel())
        cells = grid.decode(exact + grid.noise(source)).reshape(column.shape)
        noised.append(NoisedTable(column.name, cells, _variance(grid)))
    return tuple(noised)


class PlannedTable(Protocol):
    """One table of a plan, whatever its noise."""

    @property
    def name(self) -> str:
        """Of its column."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the table."""


def check_tables(
    name: str, columns: Sequence[PlannedTable], tables: Sequence[Integers]
) -> None:
    """Refuse tables that are not those of a plan; tells shapes only.

    Raises:
        DataError: naming every table that does not fit.
    """
    if len(tables) != len(columns):
        raise DataError(
            [
                Problem(
                    f"sketch `{name}`",
                    f"{len(tables)} tables, and {len(columns)} are planned",
                    "give one table for each column of the plan",
                )
            ]
        )
    problems = [
        Problem(
            f"sketch `{name}`, column `{column.name}`",
            f"the table is {table.shape} of {table.dtype}, "
            f"and {column.shape} of int64 is planned",
            "build the table with the planned depth and width",
        )
        for column, table in zip(columns, tables, strict=True)
        if table.shape != column.shape or table.dtype != np.int64
    ]
    if problems:
        raise DataError(problems)


def most_sensitive(tiers: Iterable[Tier | None]) -> Tier | None:
    """Return the most sensitive tier of columns, None if none has any."""
    return max((tier for tier in tiers if tier is not None), default=None)


def _variance(grid: Grid) -> float:
    return grid.sigma**2 + grid.release_step**2 / 12.0
