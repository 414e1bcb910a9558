# SPDX-License-Identifier: Apache-2.0
"""The course of a run's noise over its rounds, fixed before the first one.

Early rounds find the direction and late rounds the place: a gradient is long at first,
so it bears more noise. A schedule gives the noise of every round relative to the least
noisy one (and, where it saves by sampling, the sampling rate relative to the highest),
and one factor on all of it meets the budget. It depends on the number of rounds alone.
So the guarantee is that of a plan (F0), priced by any accountant, tight ones included.

    constant        the same noise in every round
    geometric       falls by the same factor from round to round
    cosine          falls slowly, then fast, then slowly
    step            falls by the same factor at a few public rounds
    time-adaptive   save early, spend late [KKD+25]: in the first part of the rounds
                    the sampling rate is a fraction of the full one; without sampling,
                    contributions weigh only that fraction against the noise

>>> NoiseSchedule("geometric").noise(3)
(2.0, 1.414213562373095, 1.0)
>>> NoiseSchedule("step", ratio=4.0, drops=(0.5, 0.75)).noise(4)
(4.0, 4.0, 2.0, 1.0)
>>> saving = NoiseSchedule("time-adaptive", save=0.5, save_until=0.5)
>>> saving.noise(4), saving.noise(4, sampled=True), saving.rates(4)
((2.0, 2.0, 1.0, 1.0), (1.0, 1.0, 1.0, 1.0), (0.5, 0.5, 1.0, 1.0))
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from lexfed import checks

ScheduleName = Literal["constant", "geometric", "cosine", "step", "time-adaptive"]


@dataclass(frozen=True)
class NoiseSchedule:
    """The course of the noise over the rounds of a run.

    Attributes:
        ratio: noise of the first round over that of the last, for the falling curves.
        drops: for `step`: after which parts of the rounds the noise falls, ascending.
        save: for `time-adaptive`: fraction of the full sampling rate, or weight, that
            is spent while saving.
        save_until: for `time-adaptive`: part of the rounds that saves.
    """

    name: ScheduleName = "constant"
    ratio: float = 2.0
    drops: tuple[float, ...] = (0.5, 0.75)
    save: float = 0.5
    save_until: float = 0.5

    def __post_init__(self) -> None:
        checks.in_range(1.0, 1e6, ratio=self.ratio)
        checks.in_range(1e-6, 1.0, save=self.save)
        checks.in_range(0.0, 1.0, save_until=self.save_until)
        if not self.drops or list(self.drops) != sorted(set(self.drops)):
            raise ValueError(f"expected ascending `drops`, got: {self.drops}")
        checks.in_range(0.0, 1.0, first=self.drops[0], last=self.drops[-1])

    def noise(self, rounds: int, sampled: bool = False) -> tuple[float, ...]:
        """Return the relative noise of each round; saving by sampling needs none."""
        if self.name in ("geometric", "cosine"):
            return self._falling(rounds)
        if self.name == "step":
            return tuple(self._dropped(place / rounds) for place in range(rounds))
        if self.name == "time-adaptive" and not sampled:
            return tuple(1.0 / rate for rate in self.rates(rounds))
        return (1.0,) * rounds

    def rates(self, rounds: int) -> tuple[float, ...]:
        """Return the sampling rate of each round, relative to the highest one."""
        if self.name != "time-adaptive":
            return (1.0,) * rounds
        # The last round always spends: to save is to save for something.
        saving = min(math.floor(self.save_until * rounds), rounds - 1)
        return (self.save,) * saving + (1.0,) * (rounds - saving)

    def _falling(self, rounds: int) -> tuple[float, ...]:
        if rounds == 1:
            return (1.0,)
        if self.name == "geometric":
            values = np.exp(np.linspace(math.log(self.ratio), 0.0, rounds))
        else:
            angles = np.linspace(0.0, math.pi, rounds)
            values = 1.0 + (self.ratio - 1.0) * (1.0 + np.cos(angles)) / 2.0
        return tuple(float(value) for value in values)

    def _dropped(self, passed: float) -> float:
        """Return the noise after some part of the rounds: equal factors at drops."""
        ahead = sum(passed < drop for drop in self.drops)
        return math.pow(self.ratio, ahead / len(self.drops))
