# SPDX-License-Identifier: Apache-2.0
"""Signals of training in released vectors: sizes, distances, directions.

Everything is computed from values that were released already, so it costs nothing
(post-processing). Released vectors carry noise of a known strength, which makes them
longer than what they stand for. With independent noises of expected squared norm p,

    E|Y|^2          = |g|^2 + p
    E|Y_t - Y_s|^2  = |g_t - g_s|^2 + p_t + p_s,

so that much is taken off before the root, and nothing is left where noise is all.
"""

import math
from dataclasses import dataclass

import numpy as np

from lexfed.arrays import Floats


@dataclass(frozen=True)
class Signal:
    """A released mean.

    Attributes:
        vector: as released, in the unit of the model.
        power: expected squared norm of the noise in it.
    """

    vector: Floats
    power: float

    @property
    def square(self) -> float:
        """The squared norm without the noise's part; 0 where noise is all."""
        return max(0.0, float(self.vector @ self.vector) - self.power)

    def is_sound(self, longest: float) -> bool:
        """Return True if it is finite and no longer than honest sums can be."""
        with np.errstate(over="ignore", invalid="ignore"):
            norm = float(np.linalg.norm(self.vector))
        return norm <= longest


def distance(now: Signal, before: Signal) -> float:
    """Return the distance of what two releases stand for, the noise taken off."""
    apart = now.vector - before.vector
    return math.sqrt(max(0.0, float(apart @ apart) - now.power - before.power))


def cosine(now: Signal, before: Signal) -> float:
    """Return the cosine of two releases as they are; noise draws it to 0."""
    lengths = float(np.linalg.norm(now.vector) * np.linalg.norm(before.vector))
    return 0.0 if lengths == 0.0 else float(now.vector @ before.vector) / lengths
