# SPDX-License-Identifier: Apache-2.0
"""The noise of a schedule and a budget, in one call.

The course of the noise is in `noise_schedule`; here is the one factor that meets the
budget.

>>> steps = calibrated(NoiseSchedule("geometric"), 3, epsilon=2.0, delta=1e-6)
>>> [round(step.noise_multiplier, 3) for step in steps]
[5.901, 4.173, 2.951]
"""

from lexfed.budget.noise_schedule import NoiseSchedule
from lexfed.privacy.accountants.calibration import (
    PrivacyTarget,
    scale_to_budget,
    scaled_steps,
)
from lexfed.privacy.accountants.gdp import Step
from lexfed.terms import Accountant, Neighbours


def calibrated(
    schedule: NoiseSchedule,
    rounds: int,
    epsilon: float,
    delta: float,
    neighbours: Neighbours = "add-remove",
    rate: float = 1.0,
    accountant: Accountant = "pld",
) -> tuple[Step, ...]:
    """Return the rounds of a schedule, with as little noise as the budget allows.

    Args:
        schedule: the course of the noise.
        rounds: their number.
        epsilon: the budget of all rounds together, with `delta`.
        delta: of the budget.
        neighbours: the relation of the budget.
        rate: the highest sampling rate.
        accountant: by which the steps are priced.

    Guarantees:
        All steps together cost at most the budget under that accountant; noise less
        by 1e-9 (full batch) or 3e-4 (sampled) would not.
        Noise multipliers and rates have the proportions of the schedule.
    """
    sampled = rate < 1.0
    noise = schedule.noise(rounds, sampled)
    rates = schedule.rates(rounds) if sampled else (1.0,) * rounds
    steps = [Step(z, rate * part) for z, part in zip(noise, rates, strict=True)]
    # More than a few levels of noise are rounded down to 64 by the accountant itself.
    target = PrivacyTarget(epsilon, delta, neighbours, accountant)
    factor = scale_to_budget(steps, target)
    return scaled_steps(steps, factor)
