# SPDX-License-Identifier: Apache-2.0
"""Rényi accounting in closed form, vectorised over orders and steps.

**Add/remove.** The sampled Gaussian with R = 1/noise multiplier has at integer order
a, in both directions, [MTZ19, Sec. 3]

    (a-1) D_a = ln sum_k C(a,k) (1-q)^(a-k) q^k e^{k(k-1) t/2},     t = R^2,

which for q = 1 is a t/2. As a function of t the right-hand side is a log-sum-exp of
linear functions, hence **convex**: between two knots the chord lies above it. So a
schedule of thousands of different multipliers is priced at 129 knots, on the safe
side and within 1e-3.

**Replace-one.** The pair that dominates every replacement is P = (1-q)N(0,1) +
q N(R,1) against Q = (1-q)N(0,1) + q N(-R,1) (the two contributions opposite and
saturated), so D_a = ln E_Q[(P/Q)^a]/(a-1), a one-dimensional integral of a smooth
function, here by the trapezoid rule, whose error falls like exp(-2 pi d/h) with the
distance d = pi/R of the nearest singularity [TW14, Thm. 5.1]. D_a grows with R (a
smaller R is post-processing), so many multipliers are first rounded down to 64
levels. The library's own replace-one accountant must not be used for this: it takes
sigma/clip for sigma/(2 clip) and reports half.

**Conversion** [CKS20, Prop. 12]: epsilon = min_a D_a + ln((a-1)/a) -
(ln delta + ln a)/(a-1).

**Levels** (`round_down`). An accountant's work grows with the number of *different*
noise multipliers. Less noise is never more private, so a multiplier may be rounded
down; a higher sampling rate is never more private either (by joint convexity of
divergences), so a rate may be rounded up. A cell of steps takes the smallest multiplier
and the largest rate in it, and cells are cut in two, each time where it saves the most,
until there are as many as allowed.
"""

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from scipy.special import gammaln, logsumexp

from lexfed.arrays import Floats, Indices
from lexfed.privacy.accountants.gdp import Step, merged_steps, sensitivity
from lexfed.terms import Neighbours

ORDERS: tuple[int, ...] = (
    *range(2, 65),
    *(72, 80, 96, 112, 128, 160, 192, 256, 384, 512, 768, 1024, 2048, 4096),
)

_KNOTS = 129
_LEVELS = 64
_WINDOW = 12.0  # the normal density is below 1e-31 of its peak beyond
_REACH = 256.0  # longer windows are not integrated: such orders never win
_FLOATS = 1e-13  # added to every logarithm: above the rounding of its sum


def curve(
    steps: Sequence[Step], neighbours: Neighbours, orders: Sequence[int] = ORDERS
) -> Floats:
    """Return the Rényi divergence of the composed steps at each order.

    Guarantees:
        Never below the exact value.
        Unsampled steps are exact.
    """
    total = np.zeros(len(orders))
    alphas = np.array(orders, dtype=float)
    rates: dict[float, list[Step]] = {}
    for step in merged_steps(steps):
        rates.setdefault(step.sampling_rate, []).append(step)
    for rate, same in rates.items():
        if rate == 1.0:
            square = math.fsum(s.count / s.noise_multiplier**2 for s in same)
            total += alphas * square * sensitivity(neighbours) ** 2 / 2.0
        elif neighbours == "add-remove":
            total += _add_remove(rate, same, tuple(orders))
        else:
            total += _replace_one(rate, same, tuple(orders))
    return total


def epsilon_at(divergence: float, order: int, delta: float) -> float:
    """Return epsilon at `delta` of a mechanism with that divergence at that order."""
    return max(0.0, divergence + offset(order, delta))


def offset(order: int, delta: float) -> float:
    """Return the term that the conversion at that order adds to the divergence."""
    tail = (math.log(delta) + math.log(order)) / (order - 1)
    return math.log1p(-1.0 / order) - tail


def epsilon_from(divergences: Floats, delta: float) -> float:
    """Return the best epsilon over `ORDERS` for 0 < delta < 1."""
    return min(map(epsilon_at, divergences.tolist(), ORDERS, [delta] * len(ORDERS)))


def delta_from(divergences: Floats, epsilon: float) -> float:
    """Return the best delta over `ORDERS`."""
    alphas = np.array(ORDERS, dtype=float)
    logs = (alphas - 1.0) * (divergences - epsilon + np.log1p(-1.0 / alphas))
    return min(1.0, math.exp(min(0.0, float(np.min(logs - np.log(alphas))))))


def _add_remove(rate: float, steps: Sequence[Step], orders: tuple[int, ...]) -> Floats:
    squares = np.array([step.noise_multiplier**-2 for step in steps])
    counts = np.array([step.count for step in steps], dtype=float)
    if len(steps) <= _KNOTS:
        return counts @ _closed_form(rate, squares, orders)
    # Equal steps in R: the chord error is proportional to the step in t squared.
    knots = np.linspace(math.sqrt(squares.min()), math.sqrt(squares.max()), _KNOTS) ** 2
    knots[0], knots[-1] = squares.min(), squares.max()
    values = _closed_form(rate, knots, orders)
    cell = np.clip(np.searchsorted(knots, squares, side="right") - 1, 0, _KNOTS - 2)
    share = (squares - knots[cell]) / (knots[cell + 1] - knots[cell])
    weights = np.zeros(_KNOTS)
    np.add.at(weights, cell, counts * (1.0 - share))
    np.add.at(weights, cell + 1, counts * share)
    return weights @ values


def _closed_form(rate: float, squares: Floats, orders: tuple[int, ...]) -> Floats:
    """Return D_a for every R^2 (rows) and order (columns)."""
    result = np.empty((len(squares), len(orders)))
    for column, order in enumerate(orders):
        fixed, slope = _terms(order, rate)
        logs = logsumexp(fixed + squares[:, None] * slope, axis=1)
        result[:, column] = _rounded_up(logs) / (order - 1)
    return result


@lru_cache(maxsize=512)
def _terms(order: int, rate: float) -> tuple[Floats, Floats]:
    k = np.arange(order + 1, dtype=float)
    binomial = gammaln(order + 1) - gammaln(k + 1) - gammaln(order - k + 1)
    return binomial + k * math.log(rate) + (order - k) * math.log1p(-rate), (
        k * (k - 1.0) / 2.0
    )


def _replace_one(rate: float, steps: Sequence[Step], orders: tuple[int, ...]) -> Floats:
    total = np.zeros(len(orders))
    for step in round_down(steps, _LEVELS):
        shift = 1.0 / step.noise_multiplier
        total += step.count * np.array([_pair(rate, shift, order) for order in orders])
    return total


@lru_cache(maxsize=65536)
def _pair(rate: float, shift: float, order: int) -> float:
    # P^a Q^(1-a) peaks between 0 and (2a-1) R, where both tails are Gaussian.
    reach = (2 * order - 1) * shift
    if reach > _REACH:
        return 2.0 * order * shift**2  # without sampling, which costs at least as much
    step = 1.0 / (8.0 * max(1.0, shift))
    x = np.arange(-shift - _WINDOW, reach + _WINDOW, step)
    stay, move = math.log1p(-rate), math.log(rate)
    first = np.logaddexp(stay, move + shift * x - shift**2 / 2.0)
    second = np.logaddexp(stay, move - shift * x - shift**2 / 2.0)
    log_values = order * first - (order - 1) * second - x * x / 2.0
    integral = logsumexp(log_values) + math.log(step) - 0.5 * math.log(2.0 * math.pi)
    return float(_rounded_up(integral)) / (order - 1)


def _rounded_up(logs: Floats) -> Floats:
    # The integral is at least 1 (Jensen), its floats need not be.
    return np.maximum(logs, 0.0) * (1.0 + _FLOATS) + _FLOATS


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
        for half in heapq.heappop(cells).halves():
            heapq.heappush(cells, half)
    return merged_steps(cell.level for cell in cells)


@dataclass(frozen=True, order=True)
class _Cell:
    """Steps that become one level, and the best place to cut them in two.

    Attributes:
        saved: variance that the cut saves, negative: the smallest is cut first, and
            a single step, which cannot be cut, never.
        order: places of the steps, sorted by multiplier or by rate.
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

    def halves(self) -> "Iterator[_Cell]":
        for part in (self.order[: self.place], self.order[self.place :]):
            yield _Cell.of(self.multipliers[part], self.rates[part], self.counts[part])

    @property
    def level(self) -> Step:
        multiplier, rate = float(self.multipliers.min()), float(self.rates.max())
        return Step(multiplier, rate, int(self.counts.sum()))


def _variance(multipliers: Floats, rates: Floats) -> Floats:
    """Return about the variance of the privacy loss of one step, add/remove."""
    squares = np.minimum(multipliers**-2.0, 50.0)
    return np.asarray(rates**2 * np.expm1(squares))
