# SPDX-License-Identifier: Apache-2.0
"""The noise that a budget asks for: the accountants, turned round.

Always on the safe side: what is returned has been priced and fits. The classical
formula sqrt(2 ln(1.25/delta))/epsilon is not used anywhere: it wastes a third of the
noise budget at small epsilon and is unsafe at large.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scipy.optimize import brentq

from lexfed import checks
from lexfed.errors import Refused
from lexfed.privacy.accountants import composition as price
from lexfed.privacy.accountants.gdp import (
    Step,
    gaussian_mu,
    merged_steps,
    mu_from,
    without_sampling,
)
from lexfed.terms import Accountant, Neighbours

TOLERANCE = 1e-4
"""Distance above the smallest factor at which a search without formula may stop."""

_TINY = 1e-300
_HIGHEST = math.log(1e6)
_LOWEST = math.log(1e-3)


def noise_multiplier(
    epsilon: float,
    delta: float,
    neighbours: Neighbours = "add-remove",
    releases: int = 1,
) -> float:
    """Return the multiplier at which that many unsampled releases fit the budget.

    Guarantees:
        `epsilon` of the releases is at most the budget, and equal to it to 1e-9.
    """
    target = PrivacyTarget(epsilon, delta, neighbours)
    return scale_to_budget([Step(1.0, 1.0, releases)], target)


@dataclass(frozen=True)
class PrivacyTarget:
    """A price that steps must not exceed: a positive epsilon at a delta up to 1."""

    epsilon: float
    delta: float
    neighbours: Neighbours = "add-remove"
    accountant: Accountant = "pld"

    def price(self, steps: Sequence[Step]) -> float:
        """Return the epsilon of steps, by the target's accountant."""
        return price.epsilon(steps, self.delta, self.neighbours, self.accountant)


def scale_to_budget(
    steps: Sequence[Step], target: PrivacyTarget, fixed: Sequence[Step] = ()
) -> float:
    """Return the smallest factor on the noise of `steps` that meets the target.

    Steps that are `fixed` are composed too, but not scaled. Refused where they cost at
    least the budget, or where the accountant proves nothing as small.

    Guarantees:
        The scaled and the fixed steps together cost at most the target.
        A factor smaller by 1e-9 (exact Gaussian) or 3e-4 (otherwise) does not fit.
        0 if there is nothing to scale.
    """
    epsilon, delta = target.epsilon, target.delta
    neighbours, accountant = target.neighbours, target.accountant
    checks.finite_positive(epsilon=epsilon)
    checks.in_range(5e-324, 1.0, delta=delta)
    moving = merged_steps(steps)
    if not moving:
        _require_room(fixed, target)
        return 0.0
    still = merged_steps(fixed)
    if accountant != "rdp" and without_sampling((*moving, *still)):
        return _exact_factor(moving, still, target)
    _require_room(still, target)

    def excess(log_factor: float, by: Accountant = accountant) -> float:
        louder = scaled_steps(moving, math.exp(log_factor))
        cost = price.epsilon((*louder, *still), delta, neighbours, by)
        return math.log(max(cost, _TINY) / epsilon)

    # Rényi accounting takes milliseconds and lies above the tight accountants, so
    # its answer is a feasible start from which they need few evaluations.
    start = _smallest(lambda x: excess(x, "rdp"), 0.0, width=1.0)
    if accountant == "rdp" and start is not None:
        return math.exp(start)
    tight = _smallest(excess, start or 0.0, width=0.15)
    if tight is None:
        raise Refused(
            f"{accountant.upper()} accounting proves no epsilon as small as "
            f"{epsilon:g} at delta {delta:g}, whatever the noise",
            "raise the budget, or choose another `accountant` where that is possible",
        )
    return math.exp(tight)


def scaled_steps(steps: Sequence[Step], factor: float) -> tuple[Step, ...]:
    """Return the steps with their noise multiplied by `factor`."""
    return tuple(
        Step(factor * step.noise_multiplier, step.sampling_rate, step.count)
        for step in steps
    )


def _exact_factor(
    moving: Sequence[Step], still: Sequence[Step], target: PrivacyTarget
) -> float:
    """Solve mu_moving^2/factor^2 + mu_still^2 = mu^2, rounded up."""
    # 1e-12 is above the rounding of the lines below and of pricing the result.
    mu = mu_from(target.epsilon, target.delta) * (1.0 - 1e-12)
    room = mu**2 - gaussian_mu(still, target.neighbours) ** 2
    if room <= 0.0:
        raise _no_room(target.epsilon)
    return gaussian_mu(moving, target.neighbours) / math.sqrt(room)


def _smallest(
    excess: Callable[[float], float], start: float, width: float
) -> float | None:
    """Return about the smallest x with excess(x) <= 0 for a decreasing function.

    By growing steps from `start`, Brent's method, and a last step to the safe side;
    None if there is no such x within reach.
    """
    low = high = start
    step = width
    if excess(start) > 0.0:
        while excess(high) > 0.0:
            if high > _HIGHEST:
                return None
            low, high, step = high, high + step, 2.0 * step
    else:
        while excess(low) <= 0.0:
            if low == _LOWEST:
                return low
            low, high, step = max(_LOWEST, low - step), low, 2.0 * step
    root: float = brentq(excess, low, high, xtol=TOLERANCE / 2.0)
    while excess(root) > 0.0:
        root += TOLERANCE / 2.0
    return root


def _require_room(fixed: Sequence[Step], target: PrivacyTarget) -> None:
    if target.price(fixed) > target.epsilon:
        raise _no_room(target.epsilon)


def _no_room(epsilon: float) -> Refused:
    return Refused(
        f"no amount of noise meets epsilon {epsilon:g}: what is fixed costs more",
        "raise the budget, or lower what is spent before training",
    )
