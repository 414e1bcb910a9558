# SPDX-License-Identifier: Apache-2.0
"""Few noise levels instead of many, on the safe side.

An accountant's work grows with the number of *different* noise multipliers. Less
noise is never more private, so a multiplier may be rounded down; a higher sampling
rate is never more private either (by joint convexity of divergences), so a rate may
be rounded up. Which steps become one level decides how much that costs: a cell of
steps takes the smallest multiplier and the largest rate in it, and cells are cut in
two, each time where it saves the most, until there are as many as allowed.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from lexfed.arrays import Floats, Indices
from lexfed.privacy.accountants.steps import Step, merged_steps


def round_down(steps: Sequence[Step], limit: int) -> tuple[Step, ...]:
    """Return steps with at most `limit` different (multiplier, rate) pairs.

    Guarantees:
        Every step is replaced by one that is at least as costly.
        Nothing changes if there are no more than `limit` different pairs.
    """
    steps = merged_steps(steps)
    if len(steps) <= limit:
        return steps
    columns = [
        np.array([getattr(step, name) for step in steps], dtype=float)
        for name in ("noise_multiplier", "sampling_rate", "count")
    ]
    cells = [_Cell.of(*columns)]
    # A cell of two different steps can always be cut, and there are enough of them.
    while len(cells) < limit:
        first, second = heapq.heappop(cells).halves()
        heapq.heappush(cells, first)
        heapq.heappush(cells, second)
    return merged_steps(cell.level for cell in cells)


def _variance(multipliers: Floats, rates: Floats) -> Floats:
    """Return about the variance of the privacy loss of one step, add/remove."""
    squares = np.minimum(multipliers**-2.0, 50.0)
    found: Floats = rates**2 * np.expm1(squares)
    return found


@dataclass(frozen=True, order=True)
class _Cell:
    """Steps that become one level, and the best place to cut them in two.

    Attributes:
        saved: variance that the cut saves, negative: the smallest is cut first, and
            a single step, which cannot be cut, never.
        order: of the steps, by multiplier or by rate.
        place: first of the second half, in that order.
    """

    saved: float
    multipliers: Floats = field(compare=False)
    rates: Floats = field(compare=False)
    counts: Floats = field(compare=False)
    order: Indices = field(compare=False)
    place: int = field(compare=False)

    @classmethod
    def of(cls, multipliers: Floats, rates: Floats, counts: Floats) -> "_Cell":
        best: tuple[float, Indices, int] = (np.inf, np.arange(len(counts)), 0)
        whole = counts.sum() * _variance(multipliers.min(), rates.max())
        for key in (multipliers, rates) if len(counts) > 1 else ():
            order = np.argsort(key, kind="stable")
            z, q, n = multipliers[order], rates[order], counts[order]
            low = n.cumsum()[:-1] * _variance(
                np.minimum.accumulate(z)[:-1], np.maximum.accumulate(q)[:-1]
            )
            high = n[::-1].cumsum()[::-1][1:] * _variance(
                np.minimum.accumulate(z[::-1])[::-1][1:],
                np.maximum.accumulate(q[::-1])[::-1][1:],
            )
            cost = low + high - whole
            place = int(np.argmin(cost))
            if cost[place] < best[0]:
                best = (float(cost[place]), order, place + 1)
        return cls(best[0], multipliers, rates, counts, best[1], best[2])

    def halves(self) -> tuple["_Cell", "_Cell"]:
        first, second = self.order[: self.place], self.order[self.place :]
        return self._some(first), self._some(second)

    def _some(self, places: Indices) -> "_Cell":
        return _Cell.of(
            self.multipliers[places], self.rates[places], self.counts[places]
        )

    @property
    def level(self) -> Step:
        return Step(
            float(self.multipliers.min()),
            float(self.rates.max()),
            int(self.counts.sum()),
        )
