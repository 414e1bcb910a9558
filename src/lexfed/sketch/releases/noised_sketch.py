# SPDX-License-Identifier: Apache-2.0
"""Noised sketches: sensitivity, the noise that hides it, and the event that is charged.

A person with n = items records occurrences moves a table by n depth in L1 and n
sqrt(depth) in L2 at most, reached by n items in one cell: seeds are public and anybody
may look for such items. Replacement moves it twice as far in L1; in L2 by sqrt(2) where
all cells count upwards, by 2 where items have signs. An event holds the sensitivity
under add/remove, and ledgers charge twice that for a replacement.

>>> person_moves([Contribution(depth=4, items=3)], "add-remove")
Sensitivity(l1=12, l2=6.0)

All tables of a plan leave together, so they are one `Release`; a second sketch of the
same data is a second one (`cadence`). Cells lie on the grid of the noise
(`privacy.noise.grids`), so nothing is rounded before it. A cell beyond what `people`
can reach is set to that bound: a projection moves no two tables further apart, and a
refusal would reveal something without noise. docs/theory/sketches.md#sensitivity has
the proofs.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import get_args

import numpy as np

from lexfed import checks
from lexfed.arrays import Floats, Integers
from lexfed.errors import DataError, Problem
from lexfed.privacy.noise.grids import Grid
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.privacy.run_ledger import Ledger
from lexfed.randomness import RandomSource
from lexfed.terms import Neighbours
from lexfed.tiers import Tier

LEAST_MULTIPLIER = 1e-3
"""Less noise protects nobody, and `variance` would not be that of the drawn noise."""

_FINENESS = 4000.0
_LARGEST_CELL = 2.0**52

MOST = 2**20
"""Bound on depth, items and records: products stay far below 2^63."""


@dataclass(frozen=True)
class Contribution:
    """A person's share in one table, which the builder of the table enforces.

    Attributes:
        depth: rows of the table; 1 for exact counts.
        items: items of one record, 1 unless the column is multi-valued.
        signed: whether items have signs, as in a Count-Sketch.
    """

    depth: int = 1
    items: int = 1
    records: int = 1
    signed: bool = False

    def __post_init__(self) -> None:
        checks.in_range(
            1, MOST, depth=self.depth, items=self.items, records=self.records
        )

    @property
    def occurrences(self) -> int:
        """Bound on what one person adds to one cell, and to one row in sum."""
        return self.items * self.records


@dataclass(frozen=True)
class Sensitivity:
    """The L1 and L2 distance between all tables of neighbouring data, L2 rounded up."""

    l1: int
    l2: float


def person_moves(tables: Iterable[Contribution], neighbours: Neighbours) -> Sensitivity:
    """Return the sensitivity to one person of tables that are released together.

    Guarantees:
        No person who keeps to the contributions moves them further, whatever the hash.
        Some person and some hash reach both bounds, but for the rounding of a root.
        No rounding leaves `l2` below the exact root.
    """
    known = tuple(tables)
    if not known:
        raise ValueError("expected at least one table")
    if neighbours not in get_args(Neighbours):
        raise ValueError(f"unknown `neighbours`, got: {neighbours!r}")
    replaced = neighbours == "replace-one"
    length = sum(table.occurrences * table.depth for table in known)
    square = sum(
        _squares(table.signed, replaced) * table.occurrences**2 * table.depth
        for table in known
    )
    return Sensitivity(2 * length if replaced else length, root_above(square))


def root_above(square: int) -> float:
    """Return a float that is not below the root, and at most one step above."""
    root = math.sqrt(square)
    # Fractions: the comparison must not round.
    if Fraction(root) ** 2 < square:
        return math.nextafter(root, math.inf)
    return root


def _squares(signed: bool, replaced: bool) -> int:
    """Return the square of how many persons' norms one table moves by."""
    if not replaced:
        return 1
    return 4 if signed else 2


@dataclass(frozen=True)
class PlannedTable:
    """One table of a release; the tier is None for presence, which is no attribute."""

    name: str
    tier: Tier | None
    person: Contribution
    width: int

    def __post_init__(self) -> None:
        checks.in_range(1, 2**32, width=self.width)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the table."""
        return self.person.depth, self.width

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.person.depth * self.width


@dataclass(frozen=True)
class GaussianColumn(PlannedTable):
    """A table with noise of deviation `sigma` on every cell, in counts."""

    sigma: float

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.finite_positive(sigma=self.sigma)
        checks.in_range(
            LEAST_MULTIPLIER, math.inf, noise_multiplier=self.sigma / self.clip
        )

    @property
    def clip(self) -> float:
        """The L2 sensitivity of the table under add/remove."""
        return person_moves([self.person], "add-remove").l2


@dataclass(frozen=True)
class NoisePlan:
    """A joint release; public, and fixed before anybody looks at data.

    It has the same `name` whenever it is repeated. `people` is a public bound on how
    many are in one sum, over all sites.
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
        """
        columns = self.columns
        return Release(
            name=self.name,
            groups=tuple(
                ReleaseGroup(each.name, each.clip, each.sigma) for each in columns
            ),
            sampling_rate=1.0,
            reads=most_sensitive([column.tier for column in columns]),
            samples=sum(column.cells for column in columns),
        )

    def check(self, tables: Sequence[Integers]) -> None:
        """Refuse tables that are not those of the plan."""
        check_tables(self.name, self.columns, tables)


@dataclass(frozen=True)
class NoisedTable:
    """The noised cells of a column, [depth, width], and the variance on each."""

    name: str
    cells: Floats
    variance: float


@dataclass(frozen=True)
class NoisedSketch:
    """A noised sketch that may leave; `private` if nobody can repeat its noise."""

    tables: tuple[NoisedTable, ...]
    event: Release
    private: bool


def release_sketch(
    plan: NoisePlan, tables: Sequence[Integers], ledger: Ledger, source: RandomSource
) -> NoisedSketch:
    """Charge for a noised sketch, then draw the noise.

    `tables` are exact sums, int64 [depth, width], of persons bounded as the plan says.

    Guarantees:
        The ledger is charged `plan.event()` before a bit of noise is drawn.
        Nothing is charged for tables that do not fit, nothing drawn when refused.
        Every cell has its own fresh noise, of the variance that is stated.
        The tables that are given stay what they are.
    """
    plan.check(tables)
    event = plan.event()
    ledger.charge(event)
    return NoisedSketch(add_noise(plan, tables, source), event, source.private)


def add_noise(
    plan: NoisePlan, tables: Sequence[Integers], source: RandomSource
) -> tuple[NoisedTable, ...]:
    """Return checked tables with fresh noise; the caller has paid for it."""
    noised = []
    for column, grid, table in zip(plan.columns, plan.grids(), tables, strict=True):
        exact = grid.encode(table.astype(np.float64).ravel())
        cells = grid.decode(exact + grid.noise(source)).reshape(column.shape)
        variance = grid.sigma**2 + grid.release_step**2 / 12.0
        noised.append(NoisedTable(column.name, cells, variance))
    return tuple(noised)


def check_tables(
    name: str, columns: Sequence[PlannedTable], tables: Sequence[Integers]
) -> None:
    """Refuse tables that are not those of a plan, naming each; reveals shapes only."""
    if len(tables) != len(columns):
        what = f"{len(tables)} tables, and {len(columns)} are planned"
        hint = "give one table for each column of the plan"
        raise DataError([Problem(f"sketch `{name}`", what, hint)])
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
