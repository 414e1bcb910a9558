# SPDX-License-Identifier: Apache-2.0
"""Privacy loss distributions through dp-accounting: tight under sampling.

The library discretises the privacy loss of every step on a grid of width h, always to
the pessimistic side (connect the dots [DGK+22, Alg. 1]), and convolves. This module
decides what to hand it:

* Unsampled steps are merged into one Gaussian first, which is exact.
* Multipliers are floats, one Gaussian per release: an integer multiplier inside a
  composed event is taken for something else there and under-reports.
* Replace-one is passed on as such: for distributions (unlike its Rényi accountant)
  the library doubles the sensitivity itself.
* The width h. Connecting the dots adds a variance of about h^2/6 per step to a loss
  of variance v, so epsilon grows by about h^2/(12 v) of itself: h is the largest
  power of two times 1e-4 that keeps this below 0.2 %, but not finer than 1e-4, the
  library's own default: who checks a claim with that must never find it too small.
* More than 96 different sampled levels are rounded down to 96 (`levels`), which costs
  up to 1 %, or 2 % where rates grow while noise does.

Importing the library takes seconds, so it happens on first use.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from lexfed.privacy.accountants.noise_levels import round_down
from lexfed.privacy.accountants.steps import (
    Step,
    gaussian_mu,
    merged_steps,
    sensitivity,
)
from lexfed.terms import Neighbours

_LEVELS = 96
_UNIT = 1e-4
_COARSEST = 16 * _UNIT
_POINTS = 2.0**17  # grid points that one step may have
_TAIL = 10.0  # standard deviations of noise that the library keeps, rounded up
NUMERICAL_DELTA = 1e-13
"""Error of the convolutions' floats, taken off delta for each thousand steps."""


def composed_distribution(steps: Sequence[Step], neighbours: Neighbours) -> Any:
    """Return the library's distribution of the composed steps (at least one).

    Guarantees:
        Its (epsilon, delta) curve is never below the exact one.
    """
    steps = merged_steps(steps)
    full = [step for step in steps if step.sampling_rate == 1.0]
    sampled = [step for step in steps if step.sampling_rate < 1.0]
    parts = list(round_down(sampled, _LEVELS))
    if full:
        parts.append(Step(1.0 / gaussian_mu(full, "add-remove")))
    width = discretisation(parts, neighbours)
    result: Any = None
    for part in parts:
        one = _single(part.noise_multiplier, part.sampling_rate, width, neighbours)
        some = one.self_compose(part.count)
        result = some if result is None else result.compose(some)
    return result


def discretisation(steps: Sequence[Step], neighbours: Neighbours) -> float:
    """Return the width of the loss grid for these steps.

    Guarantees:
        1e-4 times a power of two, at least 1: grids nest, a coarser one is never below
        a finer one, so no price is below that of the library's default.
    """
    total = sum(step.count for step in steps)
    variance = sum(s.count * _loss_variance(s, neighbours) for s in steps) / total
    longest = max(_longest_loss(step, neighbours) for step in steps)
    width = _COARSEST
    while width < longest / _POINTS:
        width *= 2.0
    while width > max(_UNIT, longest / _POINTS):
        if width**2 / (12.0 * variance) <= 0.002:
            break
        width /= 2.0
    return width


def _loss_variance(step: Step, neighbours: Neighbours) -> float:
    """Return about the variance of the privacy loss of one step, without its tail."""
    square = sensitivity(neighbours) ** 2 / step.noise_multiplier**2
    if step.sampling_rate == 1.0:
        return square
    return step.sampling_rate**2 * math.expm1(min(square, 2.0))


def _longest_loss(step: Step, neighbours: Neighbours) -> float:
    """Return about the largest loss on the grid: ln(1 - q + q e^x)."""
    shift = sensitivity(neighbours) / step.noise_multiplier
    exponent = _TAIL * shift + shift**2 / 2.0
    if exponent > 500.0:
        return exponent
    return math.log1p(step.sampling_rate * math.expm1(exponent))


@lru_cache(maxsize=256)
def _single(
    multiplier: float, rate: float, width: float, neighbours: Neighbours
) -> Any:
    from dp_accounting import NeighboringRelation
    from dp_accounting.pld import privacy_loss_distribution

    relation = {
        "add-remove": NeighboringRelation.ADD_OR_REMOVE_ONE,
        "replace-one": NeighboringRelation.REPLACE_ONE,
    }[neighbours]
    return privacy_loss_distribution.from_gaussian_mechanism(
        float(multiplier),
        sampling_prob=float(rate),
        value_discretization_interval=width,
        neighboring_relation=relation,
    )
