# SPDX-License-Identifier: Apache-2.0
"""The price of a run: epsilon and delta of composed steps, by three accountants.

    gdp   exact; only without sampling
    rdp   closed form, always, 5-20 % above the truth
    pld   exact without sampling, else mostly within 1 % by dp-accounting's
          distributions

All three agree on what a step is and answer on the safe side.

>>> round(epsilon([Step(1.0)], 1e-5), 4)
4.3772

**Privacy loss distributions.** dp-accounting discretises the privacy loss of every step
on a grid of width h, always to the pessimistic side (connect the dots
[DGK+22, Alg. 1]), and convolves. This module decides what to hand it:

* Unsampled steps are merged into one Gaussian first, which is exact.
* Multipliers are floats: an integer one inside a composed event under-reports there.
* Replace-one is passed on as such: for distributions (unlike its Rényi accountant)
  the library doubles the sensitivity itself.
* The width h. Connecting the dots adds a variance of about h^2/6 per step to a loss
  of variance v, so epsilon grows by about h^2/(12 v) of itself: h is the largest
  power of two times 1e-4 that keeps this below 0.2 %, but not finer than 1e-4, the
  library's own default: a check of a claim with that must never find it too small.
* More than 96 different sampled levels are rounded down to 96, which costs up to 1 %,
  or 2 % where rates grow while noise does.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from lexfed import checks
from lexfed.privacy.accountants import gdp, rdp
from lexfed.privacy.accountants.gdp import (
    Step,
    gaussian_mu,
    merged_steps,
    sensitivity,
    without_sampling,
)
from lexfed.privacy.accountants.rdp import round_down
from lexfed.terms import Accountant, Neighbours

_LEVELS = 96
_UNIT = 1e-4
_COARSEST = 16 * _UNIT
_POINTS = 2.0**17  # grid points that one step may have
_TAIL = 10.0  # standard deviations of noise that the library keeps, rounded up

NUMERICAL_DELTA = 1e-13
"""Error of the convolutions' floats, taken off delta for each thousand steps."""


def epsilon(
    steps: Sequence[Step],
    delta: float,
    neighbours: Neighbours = "add-remove",
    accountant: Accountant = "pld",
) -> float:
    """Return epsilon of the composed steps at `delta`; `gdp` takes no sampled step.

    Guarantees:
        Never below the exact value.
        0 for no steps, for steps that say nothing, and for delta >= 1.
        Without sampling `gdp` and `pld` are exact to 1e-9.
        The order of the steps does not matter.
    """
    checks.in_range(0.0, math.inf, delta=delta)
    composed, exact = _composed(steps, neighbours, accountant)
    if not composed or delta >= 1.0:
        return 0.0
    if delta == 0.0:
        return math.inf
    if exact:
        return gdp.epsilon_from(gaussian_mu(composed, neighbours), delta)
    renyi = rdp.epsilon_from(rdp.curve(composed, neighbours), delta)
    if accountant == "rdp":
        return renyi
    usable = delta - _numerical_delta(composed)
    if usable <= 0.0:
        return renyi
    # Both are upper bounds; Rényi only wins where the loss grid is at its limit.
    return min(renyi, _distribution_epsilon(composed, neighbours, usable))


def delta(
    steps: Sequence[Step],
    epsilon: float,
    neighbours: Neighbours = "add-remove",
    accountant: Accountant = "pld",
) -> float:
    """Return delta of the composed steps at `epsilon`.

    Guarantees:
        Never below the exact value.
        0 for no steps and for steps that say nothing.
    """
    checks.in_range(0.0, math.inf, epsilon=epsilon)
    composed, exact = _composed(steps, neighbours, accountant)
    if not composed:
        return 0.0
    if exact:
        return gdp.delta_from(gaussian_mu(composed, neighbours), epsilon)
    renyi = rdp.delta_from(rdp.curve(composed, neighbours), epsilon)
    if accountant == "rdp":
        return renyi
    loss = composed_distribution(composed, neighbours)
    tight = float(loss.get_delta_for_epsilon(epsilon)) + _numerical_delta(composed)
    return min(renyi, tight)


def _composed(
    steps: Sequence[Step], neighbours: Neighbours, accountant: Accountant
) -> tuple[tuple[Step, ...], bool]:
    """Check the names, merge the steps and say whether they are exactly Gaussian."""
    sensitivity(neighbours)
    merged = merged_steps(steps)
    if accountant == "gdp":
        return merged, True
    if accountant == "pld":
        return merged, without_sampling(merged)
    if accountant == "rdp":
        return merged, False
    raise ValueError(f"unknown `accountant`, got: {accountant!r}")


def _numerical_delta(steps: Sequence[Step]) -> float:
    return NUMERICAL_DELTA * (1.0 + sum(step.count for step in steps) / 1000.0)


@lru_cache(maxsize=256)
def _distribution_epsilon(
    steps: tuple[Step, ...], neighbours: Neighbours, delta: float
) -> float:
    loss = composed_distribution(steps, neighbours)
    return float(loss.get_epsilon_for_delta(delta))


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
    # Importing the library takes seconds, so it happens on first use.
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
