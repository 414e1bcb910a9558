# SPDX-License-Identifier: Apache-2.0
"""Sharing of a total among sites: more epsilon to those who gain more from it.

What site i gains from its budget is taken to be 1 - exp(-gamma_i epsilon_i): much from
the first bit, little from the last. Wanted is

    maximise  sum_i (1 - exp(-gamma_i epsilon_i))
    so that   sum_i epsilon_i <= total  and  low_i <= epsilon_i <= high_i,

by projected ascent with momentum and the exact Euclidean projection on the feasible
set, which is clip(y - theta, low, high) for one number theta. The gains grow for ever,
so the total is used up unless all are at their highs, and then the optimum is where
marginal gains gamma_i exp(-gamma_i epsilon_i) are equal, but for sites at a bound. So
are their logarithms ln gamma_i - gamma_i epsilon_i. The ascent follows these: it ends
at the same point, and does not crawl where an exponential is flat.

The total is an agreement between the sites, not a guarantee: persons at different
sites are different persons, and each is protected by its own site's epsilon. All of
it is public and says nothing about data; a gamma taken from data would.

>>> [round(e, 3) for e in best_budgets([1.0, 2.0], [0.1, 0.1], [5.0, 5.0], 3.0)]
[1.769, 1.231]
"""

import math
from collections.abc import Sequence

import numpy as np

from lexfed import checks
from lexfed.arrays import Floats
from lexfed.errors import ConfigError, Problem

STEP = 0.01
MOMENTUM = 0.9

_STILL = 1e-13
"""The ascent ends when no budget moves by more than this part of the total."""

_MOST_STEPS = 200_000


def best_budgets(
    gammas: Sequence[float],
    lows: Sequence[float],
    highs: Sequence[float],
    total: float,
) -> tuple[float, ...]:
    """Return the epsilon of each site.

    Args:
        gammas: speed at which each site's gain saturates.
        lows: least epsilon of each.
        highs: most epsilon of each.
        total: the most that they may have together.

    Guarantees:
        Every epsilon lies between its bounds; the sum is never above the total.
        No other such budgets have a larger sum of gains, within 1e-9 of it.

    Raises:
        ConfigError: if no budgets meet the bounds and the total.
    """
    for rate, least in zip(gammas, lows, strict=True):
        checks.finite_positive(gamma=rate, low=least)
    _require_feasible(lows, highs, total)
    low, high = np.array(lows, dtype=float), np.array(highs, dtype=float)
    if math.fsum(highs) <= total:
        return tuple(high.tolist())
    # In units of the typical 1/gamma, so that one step size suits all.
    unit = 1.0 / float(np.mean(gammas))
    gamma = np.array(gammas, dtype=float) * unit
    before = here = project(np.full(len(low), total / len(low)), low, high, total)
    still = 0
    for _ in range(_MOST_STEPS):
        slope = np.log(gamma) - gamma * here / unit
        ahead = here + unit * STEP * slope + MOMENTUM * (here - before)
        # A constant in all slopes changes nothing on the plane of the total, and this
        # one keeps the ascent there, where the logarithms tell the optimum.
        ahead += float((high - ahead).max())
        before, here = here, project(ahead, low, high, total)
        # Once may be momentum against a bound; the second time it is none.
        moved = float(np.abs(here - before).max()) > _STILL * total
        still = 0 if moved else still + 1
        if still == 2:
            break
    return tuple(here.tolist())


def project(point: Floats, low: Floats, high: Floats, total: float) -> Floats:
    """Return the nearest point with coordinates in bounds and a sum of at most `total`.

    The sum of clip(point - theta, low, high) falls piecewise linearly in theta, and
    its kinks are at point - low and point - high: theta is found by sorting them.

    The bounds from below, `low`, must have a sum of at most `total`.

    Guarantees:
        The sum, correctly rounded, is never above `total`.
    """
    clipped = np.clip(point, low, high)
    if math.fsum(clipped) <= total:
        return clipped
    kinks = np.sort(np.concatenate([point - high, point - low]))
    kinks = kinks[kinks > 0.0]
    # The last kink puts every coordinate at its low, hence the sum at most the total.
    first, last = 0, len(kinks) - 1
    while first < last:
        middle = (first + last) // 2
        if math.fsum(np.clip(point - kinks[middle], low, high)) > total:
            first = middle + 1
        else:
            last = middle
    right = float(kinks[first])
    left = float(kinks[first - 1]) if first else 0.0
    return _on_the_plane(point, low, high, total, (left, right))


def _on_the_plane(
    point: Floats, low: Floats, high: Floats, total: float, kinks: tuple[float, float]
) -> Floats:
    """Interpolate between two neighbouring kinks, and round the sum down."""
    left, right = kinks
    above = math.fsum(np.clip(point - left, low, high)) - total
    below = total - math.fsum(np.clip(point - right, low, high))
    # Where rounding leaves nothing between the two, either will do.
    part = above / (above + below) if above + below > 0.0 else 1.0
    theta = left + (right - left) * part
    found = np.clip(point - theta, low, high)
    while (excess := math.fsum(found) - total) > 0.0:
        # Rounding only: what is too much comes off where there is most room.
        place = int(np.argmax(found - low))
        found[place] = max(low[place], np.nextafter(found[place] - excess, -np.inf))
    return found


def _require_feasible(
    lows: Sequence[float], highs: Sequence[float], total: float
) -> None:
    problems = []
    for low, high in zip(lows, highs, strict=True):
        if not low <= high:
            problems.append(
                Problem(
                    "`budget.clients`",
                    f"a site would need at least {low:g} and at most {high:g}",
                    "lower `low`, or raise `high`",
                )
            )
            break
    if math.fsum(lows) > total:
        problems.append(
            Problem(
                "`budget.clients.total`",
                f"{len(lows)} sites with at least their `low` need "
                f"{math.fsum(lows):g} together, the total is {total:g}",
                "raise `total`, or lower `low`",
            )
        )
    if problems:
        raise ConfigError(problems)
