# SPDX-License-Identifier: Apache-2.0
"""Sums that no honest sites can have made, found after they are opened.

What a site puts into a share or under a mask nobody sees, so nobody can check it
there. The opened sum of tables has properties that lies easily miss, and asking costs
nothing, since the sum is private already. With n people of at most o occurrences each,
and noise of deviation s on every cell of rows of w,

    every row of counts has the same total, from 0 to n o
    no cell of counts is below 0
    no cell at all is beyond n o

but for noise. Each is tested with room for the noise so that honest sums fail one of
all tests with probability 10^-6 at most: by Bernstein's inequality, which holds for
Skellam noise and for the narrower Gaussian, a sum of deviation d exceeds z d with
probability at most exp(-z^2 / (2 (1 + z/(3 d)))).

A site that lies within these bounds is not found: it can send any counts that it could
have. What its lie may do is bounded where answers are used.
"""

import math

import numpy as np

from lexfed.errors import Problem
from lexfed.sketch.releases.noised_sketch import (
    GaussianColumn,
    NoisedSketch,
    NoisedTable,
)
from lexfed.sketch.sharing.sum_plan import SharedPlan

FALSE_ALARM = 1e-6
"""Bound on the probability that a sum of honest sites is called implausible."""

_HINT = "a site sent what no data give: find it before this sum is used"


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
    for column, table, reach in zip(
        columns, sketch.tables, plan.masked.reach(), strict=True
    ):
        where = f"sketch `{plan.masked.plan.name}`, column `{column.name}`"
        found = _wrong(column, table, float(reach), chance)
        problems += [Problem(where, what, _HINT) for what in found]
    return tuple(problems)


def _wrong(
    column: GaussianColumn, table: NoisedTable, reach: float, chance: float
) -> list[str]:
    room = _room(table.variance, chance)
    cells, width = table.cells, column.width
    found = []
    if float(np.abs(cells).max()) > reach + room:
        found.append("a cell is beyond what all declared people can reach")
    if column.person.signed:
        return found
    if float(cells.min()) < -room:
        found.append("a count is below zero")
    totals = cells.sum(axis=1)
    sums = _room(width * table.variance, chance)
    if float(totals.min()) < -sums or float(totals.max()) > reach + sums:
        found.append("there are more or fewer items than the declared people can have")
    between = _room(2 * width * table.variance, chance)
    if float(totals.max() - totals.min()) > between:
        found.append("its rows count different numbers of items")
    return found


def _room(variance: float, chance: float) -> float:
    """Return the bound that noise of a variance exceeds with `chance` at most.

    z^2/2 = c (1 + z/(3 d)) with c = ln(1/chance), solved for z and times d.
    """
    deviation, needed = math.sqrt(variance), -math.log(chance)
    bend = needed / (3 * deviation)
    return deviation * (bend + math.sqrt(bend**2 + 2 * needed))
