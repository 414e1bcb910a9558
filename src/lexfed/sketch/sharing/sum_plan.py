# SPDX-License-Identifier: Apache-2.0
"""Tables that are only ever opened as a sum: noise in shares, agreement, checks.

Every site adds Skellam noise to its own integer tables before it masks them, sized so
that the shares of the honest sites in the sum are enough: Theorem D in
`privacy.noise.shares` with a grid of step 1. The sum is charged as the Gaussian of the
planned sigma, by an accountant of Rényi divergences only. A sum of a cell stays within
people occurrences + 8 sqrt(2 L sites), but for `shares.wrap_probability`, if the
declared number of people is right. If it is not, a sum may wrap: a wrong answer, no
loss of privacy.

The digest of plan and shapes goes into the context of every mask, share and ciphertext,
so that sites with other plans do not understand each other. Nobody can check the
content of a share, so an opened sum is checked for what no honest sites can have sent
(docs/theory/sketches.md#plausible-sums).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lexfed import checks
from lexfed.arrays import Integers
from lexfed.canonical import digest
from lexfed.errors import DataError, Problem, SecAggError
from lexfed.privacy.noise.shares import (
    NoiseCohort,
    draw_share,
    half_variance,
    ring_bits,
    wrap_probability,
)
from lexfed.privacy.releases import Release
from lexfed.privacy.run_ledger import Ledger
from lexfed.randomness import RandomSource
from lexfed.sketch.releases.noised_sketch import (
    GaussianColumn,
    NoisedSketch,
    NoisedTable,
    NoisePlan,
)
from lexfed.sketch.sharing.packed_tables import pack_integers, unpack_integers
from lexfed.sketch.tables.counts import CountTable
from lexfed.sketch.tables.shape import HEADER_BYTES, SketchKind, SketchShape

_COUNTS = {
    SketchKind.COUNT_MIN: False,
    SketchKind.COUNT_SKETCH: True,
    SketchKind.EXACT: False,
}
"""True for kinds whose cells have signs; filters hold no counts."""
_SIZE = 4

_DEVIATIONS = 8.0  # as `shares.wrap_probability` has it
_DISTANCE = 4  # a Skellam value counts as four Gaussian ones, see `releases.Release`

FALSE_ALARM = 1e-6
"""Bound on the probability that a sum of honest sites is called implausible."""

_HINT = "a site sent what no data give: find it before this sum is used"


@dataclass(frozen=True)
class MaskedPlan:
    """A public plan whose noise comes in shares, and whose sigmas are charged."""

    plan: NoisePlan
    cohort: NoiseCohort

    def __post_init__(self) -> None:
        self.ring()

    def halves(self) -> list[int]:
        """Return half of the variance of a share, for every table.

        Guarantees:
            Shares of `cohort.honest` sites have at least the variance of Theorem D.
        """
        columns = self.plan.columns
        return [half_variance(column.sigma, 1.0, self.cohort) for column in columns]

    def event(self) -> Release:
        """Return the event that one opened sum is charged for, at every site.

        Guarantees:
            As `NoisePlan.event`, with Skellam noise, and with every value that any
            site draws counted four times.
        """
        event = self.plan.event()
        samples = _DISTANCE * self.cohort.sites * event.samples
        return replace(event, samples=samples, noise="skellam")

    def ring(self) -> int:
        """Return the bits of the smallest ring that holds the sums."""
        return ring_bits([self.bound()])

    def bound(self) -> int:
        """Return the bound on cells of an honest sum, but for `wrap_probability`."""
        return max(
            people + math.ceil(_DEVIATIONS * math.sqrt(2 * half * self.cohort.sites))
            for people, half in zip(self.reach(), self.halves(), strict=True)
        )

    def reach(self) -> list[int]:
        """Return the most that all declared people add to one cell of every table."""
        people = self.plan.people
        return [people * column.person.occurrences for column in self.plan.columns]

    def wrap_probability(self) -> float:
        """Return a bound on the probability that noise leaves the ring."""
        cells = [column.cells for column in self.plan.columns]
        return wrap_probability(self.halves(), cells, self.cohort)


def noised_share(
    masked: MaskedPlan, tables: Sequence[Integers], ledger: Ledger, source: RandomSource
) -> Integers:
    """Charge a site's ledger for the sum, then return all cells, noised, to be masked.

    Guarantees:
        The ledger is charged `masked.event()` before a bit of noise is drawn.
        Nothing is charged for tables that do not fit, nothing drawn when refused.
        Every cell has its own fresh share of noise.
    """
    masked.plan.check(tables)
    ledger.charge(masked.event())
    exact = [
        np.clip(table.ravel(), -most, most)
        for table, most in zip(tables, masked.reach(), strict=True)
    ]
    cells = [column.cells for column in masked.plan.columns]
    return np.concatenate(exact) + draw_share(source, masked.halves(), cells)


def opened_sketch(
    masked: MaskedPlan, total: Integers, present: int, private: bool
) -> NoisedSketch:
    """Return the opened sum of `present` sites; `private` if all drew secret noise.

    Guarantees:
        The stated variance is that of as many shares as are present.
        A sum of fewer sites than the noise is sized for is refused.
    """
    cohort, columns = masked.cohort, masked.plan.columns
    checks.in_range(0, cohort.sites, present=present)
    if present < cohort.least:
        raise SecAggError(
            f"sketch `{masked.plan.name}`: {present} sites are in the sum, and its "
            f"noise is sized for {cohort.least} or more",
            "give this sum up, and ask again when more sites answer",
        )
    if total.shape != (sum(column.cells for column in columns),):
        what = f"the sum has the shape {total.shape}"
        hint = "open the sum of the planned tables"
        raise DataError([Problem(f"sketch `{masked.plan.name}`", what, hint)])
    ends = np.cumsum([column.cells for column in columns])[:-1]
    tables = []
    parts = zip(columns, np.split(total, ends), masked.halves(), strict=True)
    for column, part, half in parts:
        cells = part.reshape(column.shape).astype(np.float64)
        tables.append(NoisedTable(column.name, cells, float(2 * half * present)))
    return NoisedSketch(tuple(tables), masked.event(), private)


@dataclass(frozen=True)
class SharedPlan:
    """A public plan of tables that are only opened as a sum, with the shape of each."""

    masked: MaskedPlan
    shapes: tuple[SketchShape, ...]

    def __post_init__(self) -> None:
        columns = self.masked.plan.columns
        if len(self.shapes) != len(columns):
            raise ValueError("expected one shape for each column of the plan")
        for column, shape in zip(columns, self.shapes, strict=True):
            signed = _COUNTS.get(shape.kind) == column.person.signed
            if not signed or column.shape != (shape.depth, shape.width):
                raise ValueError(
                    f"column `{column.name}`: expected a shape of the planned depth, "
                    "width and signs"
                )

    @property
    def length(self) -> int:
        """Number of cells of all tables."""
        return sum(shape.cells for shape in self.shapes)

    @property
    def digest(self) -> bytes:
        """SHA-256 over everything that sites must see alike, 32 bytes."""
        plan, cohort = self.masked.plan, self.masked.cohort
        columns = [
            {
                "name": column.name,
                "tier": None if column.tier is None else column.tier.label,
                "occurrences": column.person.occurrences,
                "sigma": column.sigma,
                "shape": shape.to_bytes().hex(),
            }
            for column, shape in zip(plan.columns, self.shapes, strict=True)
        ]
        content = {
            "lexfed-shared-sketch-v1": {
                "name": plan.name,
                "people": plan.people,
                "columns": columns,
                "cohort": [cohort.sites, cohort.colluders, cohort.dropouts],
            }
        }
        return bytes.fromhex(digest(content))

    def announced(self) -> bytes:
        """Return the shapes as bytes, for the other sites."""
        return b"".join(shape.to_bytes() for shape in self.shapes)

    def check_announced(self, headers: bytes, where: str) -> None:
        """Refuse a site whose tables cannot be added to ours, naming differences."""
        if len(headers) != HEADER_BYTES * len(self.shapes):
            what = f"expected {len(self.shapes)} tables, got {len(headers)} bytes"
            raise DataError([Problem(where, what, "plan the same tables everywhere")])
        for at, shape in enumerate(self.shapes):
            header = headers[at * HEADER_BYTES : (at + 1) * HEADER_BYTES]
            column = f"{where}, column `{self.masked.plan.columns[at].name}`"
            shape.check_same(SketchShape.from_bytes(header), column)

    def share(
        self, tables: Sequence[CountTable], ledger: Ledger, source: RandomSource
    ) -> Integers:
        """Charge a site's ledger, then return its noised cells, ready to be shared.

        Guarantees:
            As `noised_share`; tables of another shape are refused before the charge.
            No cell is beyond what the declared people can reach, noise aside.
        """
        cells = [table.cells for table in tables]
        self.masked.plan.check(cells)
        for shape, table in zip(self.shapes, tables, strict=True):
            shape.check_same(table.shape, f"sketch `{self.masked.plan.name}`")
        return noised_share(self.masked, cells, ledger, source)

    def opened(self, total: Integers, present: int, private: bool) -> NoisedSketch:
        """Return the opened sum as a noised sketch; see `opened_sketch`."""
        return opened_sketch(self.masked, total, present, private)

    def packed(self, total: Integers) -> bytes:
        """Return an opened sum in few bytes; each table has noise of its own size."""
        ends = np.cumsum([shape.cells for shape in self.shapes])[:-1]
        parts = [pack_integers(part) for part in np.split(total, ends)]
        sizes = (len(part).to_bytes(_SIZE, "big") for part in parts)
        return b"".join(size + part for size, part in zip(sizes, parts, strict=True))

    def unpacked(self, data: bytes, where: str) -> Integers:
        """Read an opened sum.

        Guarantees:
            What was packed is read to the bit, if no cell exceeds the plan's bound.
        """
        tables, at = [], 0
        for shape in self.shapes:
            start = at + _SIZE
            at = start + int.from_bytes(data[at:start], "big")
            part, bound = data[start:at], self.masked.bound()
            tables.append(unpack_integers(part, shape.cells, bound, where))
        if at != len(data):
            what = "there are bytes after the last table"
            raise DataError([Problem(where, what, "ask for the tables again")])
        return np.concatenate(tables)


def implausibilities(plan: SharedPlan, sketch: NoisedSketch) -> tuple[Problem, ...]:
    """Return the problems of an opened sum; none for nearly all honest ones.

    Guarantees:
        Honest sums have a problem with probability `FALSE_ALARM` at most.
    """
    columns = plan.masked.plan.columns
    # Three ends of every cell, two of every row, and rows against each other.
    depths = [column.person.depth for column in columns]
    tests = sum(3 * column.cells for column in columns)
    tests += sum(depth * (depth + 2) for depth in depths)
    chance = FALSE_ALARM / tests
    problems = []
    tables = zip(columns, sketch.tables, plan.masked.reach(), strict=True)
    for column, table, reach in tables:
        where = f"sketch `{plan.masked.plan.name}`, column `{column.name}`"
        wrong = _wrong(column, table, float(reach), chance)
        problems += [Problem(where, what, _HINT) for what in wrong]
    return tuple(problems)


def _wrong(
    column: GaussianColumn, table: NoisedTable, reach: float, chance: float
) -> list[str]:
    room = _room(table.variance, chance)
    cells, width = table.cells, column.width
    wrong = []
    if float(np.abs(cells).max()) > reach + room:
        wrong.append("a cell is beyond what all declared people can reach")
    if column.person.signed:
        return wrong
    if float(cells.min()) < -room:
        wrong.append("a count is below zero")
    totals = cells.sum(axis=1)
    sums = _room(width * table.variance, chance)
    if float(totals.min()) < -sums or float(totals.max()) > reach + sums:
        wrong.append("there are more or fewer items than the declared people can have")
    difference = _room(2 * width * table.variance, chance)
    if float(totals.max() - totals.min()) > difference:
        wrong.append("its rows count different numbers of items")
    return wrong


def _room(variance: float, chance: float) -> float:
    """Return the bound that noise of a variance exceeds with `chance` at most.

    z^2/2 = c (1 + z/(3 d)) with c = ln(1/chance), solved for z and times d.
    """
    deviation, needed = math.sqrt(variance), -math.log(chance)
    bend = needed / (3 * deviation)
    return deviation * (bend + math.sqrt(bend**2 + 2 * needed))
