# SPDX-License-Identifier: Apache-2.0
"""Noise in shares for sketches that are only ever seen as a masked sum.

Every site adds Skellam noise to its own integer tables before it masks them, sized so
that the shares of the honest sites in the sum are enough (`privacy.noise.shares`).
Cells are integers already, so the grid's step is 1: nothing is rounded, and Theorem D
there applies to what a person moves the cells by. The sum is charged as the Gaussian of
the planned sigma, by an accountant of Rényi divergences only.

A cell of a site's table beyond what all declared people can reach is set to that bound.
The sum of a cell then stays within

    people occurrences + 8 sqrt(2 L sites),

but for the probability of `shares.wrap_probability`, if the declared number of
people is right. If it is not, a sum may wrap: a wrong answer, no loss of privacy.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lexfed import checks
from lexfed.arrays import Integers
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
from lexfed.sketch.releases.noised_sketch import NoisedSketch, NoisedTable, NoisePlan

_DEVIATIONS = 8.0  # as `shares.wrap_probability` has it
_DISTANCE = 4  # a Skellam value counts as four Gaussian ones, see `releases.Release`


@dataclass(frozen=True)
class MaskedPlan:
    """A plan whose noise comes in shares; public, the same at every site.

    Attributes:
        plan: what leaves; its sigmas are what is charged.
        cohort: who adds noise, and what is assumed about them.

    Raises:
        ConfigError: if no ring holds the sums, or a share would be too loud.
    """

    plan: NoisePlan
    cohort: NoiseCohort

    def __post_init__(self) -> None:
        self.ring()

    def halves(self) -> list[int]:
        """Return half of the variance of a share, for every table.

        Guarantees:
            Shares of `cohort.honest` sites have at least the variance of Theorem D.
        """
        return [
            half_variance(column.sigma, 1.0, self.cohort)
            for column in self.plan.columns
        ]

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
    masked: MaskedPlan,
    tables: Sequence[Integers],
    ledger: Ledger,
    source: RandomSource,
) -> Integers:
    """Charge a site's ledger for the sum, then noise its tables, ready to be masked.

    Guarantees:
        The ledger is charged `masked.event()` before a bit of noise is drawn.
        Nothing is charged for tables that do not fit, nothing drawn when refused.
        Every cell has its own fresh share of noise.

    Returns:
        All cells of all tables behind each other.

    Raises:
        DataError: if the tables are not those of the plan.
        Refused: if a budget would be exceeded.
        ClaimError: if the ledger's accountant is not `rdp`.
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
    """Return the sum of shares as a noised sketch.

    Args:
        masked: what was agreed.
        total: the opened sum, as signed integers.
        present: how many sites' shares are in it.
        private: whether all of them drew noise that nobody can repeat.

    Guarantees:
        The stated variance is that of as many shares as are present.
        A sum of fewer sites than the noise is sized for is refused.

    Raises:
        SecAggError: if too few sites are in the sum.
        DataError: if the sum has another length.
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
        raise DataError(
            [
                Problem(
                    f"sketch `{masked.plan.name}`",
                    f"the sum has the shape {total.shape}",
                    "open the sum of the planned tables",
                )
            ]
        )
    ends = np.cumsum([column.cells for column in columns])[:-1]
    tables = tuple(
        NoisedTable(
            column.name,
            part.reshape(column.shape).astype(np.float64),
            float(2 * half * present),
        )
        for column, part, half in zip(
            columns, np.split(total, ends), masked.halves(), strict=True
        )
    )
    return NoisedSketch(tables, masked.event(), private)
