# SPDX-License-Identifier: Apache-2.0
"""Stopping early where releases show no more progress.

Watched is a moving average of the released vectors' size, the noise taken off. When
it has not fallen by a hundredth of its largest value for `patience` rounds, the tower
is done. A function of released values, so it is free. It earns nothing either: the
claim stays the price of the plan, because who stops early on what was seen cannot say
beforehand that less would be spent.
"""

from dataclasses import dataclass

import numpy as np

from lexfed.arrays import Floats

MEMORY = 0.8
"""Part of the moving average that the next round keeps."""

LEAST_GAIN = 0.01
"""Progress, as a part of the largest average, that counts as some."""


@dataclass(frozen=True)
class Plateau:
    """The course of the size so far.

    Attributes:
        average: moving average of the size.
        largest: the largest average.
        best: the average at the last progress.
        waited: rounds since then.
        rounds: rounds seen.
    """

    average: float = 0.0
    largest: float = 0.0
    best: float = 0.0
    waited: int = 0
    rounds: int = 0

    def after(self, size: float) -> "Plateau":
        """Return the course after a round with that size."""
        first = self.rounds == 0
        average = size if first else MEMORY * self.average + (1 - MEMORY) * size
        largest = max(self.largest, average)
        progress = first or average < self.best - LEAST_GAIN * largest
        return Plateau(
            average,
            largest,
            average if progress else self.best,
            0 if progress else self.waited + 1,
            self.rounds + 1,
        )

    def is_over(self, patience: int) -> bool:
        """Return True if progress has been missing for that many rounds."""
        return self.waited >= patience

    def to_array(self) -> Floats:
        """Return it as one vector, for the memory of a run."""
        return np.array(
            [self.average, self.largest, self.best, self.waited, self.rounds],
            dtype=np.float64,
        )

    @classmethod
    def from_array(cls, values: Floats) -> "Plateau":
        """Return the course that was kept."""
        average, largest, best, waited, rounds = values.tolist()
        return cls(average, largest, best, int(waited), int(rounds))
