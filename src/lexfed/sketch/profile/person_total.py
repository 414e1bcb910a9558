# SPDX-License-Identifier: Apache-2.0
"""How many persons were counted, from the sums of all tables of a profile.

Everybody is in one cell of each table, at each of their sites, so the sum of a table's
cells is the number of persons with noise. A table of few cells tells it well, and with
it the sum of every other table. The public number of persons is not used for that: it
may be rough, and a person at two sites is counted at both.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lexfed.sketch.estimates.intervals import Estimate, from_variance
from lexfed.sketch.queries.refinements import pooled
from lexfed.sketch.queries.requested_tables import ReleasedTable


@dataclass(frozen=True)
class PersonTotal:
    """The sums of tables, put together by their precision."""

    told: tuple[ReleasedTable, ...]

    @property
    def counted(self) -> Estimate:
        """How many persons there are, from all tables."""
        return _together(self.told)

    def without(self, told: ReleasedTable) -> Estimate:
        """How many there are, from all other tables: independent of this one.

        Returns:
            An estimate of infinite variance if there is no other table.
        """
        return _together([other for other in self.told if other is not told])


def _together(told: Sequence[ReleasedTable]) -> Estimate:
    sums = [_sum(table) for table in told]
    exact = [value for value, variance in sums if not variance]
    if exact:
        return from_variance(exact[0], 0.0)
    precision = sum(1 / variance for _, variance in sums)
    if not precision:
        return Estimate(0.0, math.inf, -math.inf, math.inf)
    value = sum(value / variance for value, variance in sums) / precision
    return from_variance(value, 1 / precision)


def _sum(told: ReleasedTable) -> tuple[float, float]:
    counts, variance = pooled(told)
    return float(counts.sum()), variance * counts.size
