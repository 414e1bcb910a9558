# SPDX-License-Identifier: Apache-2.0
"""Noisy gradient descent for towers that have no rule of their own (MLP, CNN, yours).

Everything here is a function of released values and public constants, so it costs no
privacy.
"""

import math
from dataclasses import dataclass

from lexfed.arrays import Floats
from lexfed.terms import Mechanism, StepSchedule, Unit

FLOOR = 0.1
"""A cosine schedule ends at this part of the first step, as published (.01 to .001)."""


@dataclass(frozen=True)
class Descent:
    """Public constants of a tower's descent; `momentum` is heavy ball, in [0, 1)."""

    learning_rate: float
    momentum: float
    schedule: StepSchedule
    rounds: int

    def rate(self, step: int) -> float:
        """Return the step length of round `step` = 0, 1, ..."""
        if self.schedule == "constant" or self.rounds == 1:
            return self.learning_rate
        # Rounds beyond the planned ones keep the last length.
        part = min(step, self.rounds - 1) / (self.rounds - 1)
        wave = (1 + math.cos(math.pi * part)) / 2
        return self.learning_rate * (FLOOR + (1 - FLOOR) * wave)

    def step(
        self, parameters: Floats, velocity: Floats, gradient: Floats, step: int
    ) -> tuple[Floats, Floats]:
        """Return parameters and velocity after one released mean gradient."""
        if self.momentum:
            gradient = self.momentum * velocity + gradient
        return parameters - self.rate(step) * gradient, gradient


DEFAULT_CLIP = 1.0
"""Norm that one unit's gradient or update is clipped to."""


def default_rounds(mechanism: Mechanism) -> int:
    """Return the number of rounds of a tower."""
    return 200 if mechanism == "none" else 40


def default_learning_rate(unit: Unit) -> float:
    """Return the first step length."""
    return 1.0 if unit == "record" else 0.1
