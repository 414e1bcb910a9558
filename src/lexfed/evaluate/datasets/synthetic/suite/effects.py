# SPDX-License-Identifier: Apache-2.0
"""Curves by which a column moves the outcome, each of mean 0 and variance 1.

Numbers are in deviations from their usual value; beyond three deviations a curve is
flat, so that no outlier decides an outcome. Mean and variance are those under a
normal, not those of some rows: the same curve belongs to every size of a table.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from lexfed.arrays import Floats
from lexfed.evaluate.datasets.synthetic.suite.factors import Shape

REACH = 3.0
"""Deviations beyond which a curve is flat."""
_NORMAL = ndtri((np.arange(1000) + 0.5) / 1000)

_CURVES: Mapping[str, Callable[[Floats, float], Floats]] = {
    "linear": lambda u, _: u,
    "saturating": lambda u, turn: np.tanh(1.5 * (u - turn)),
    "u-shaped": lambda u, turn: (u - turn) ** 2,
    "threshold": lambda u, turn: (u > turn).astype(np.float64),
    "periodic": lambda u, turn: np.sin(2.5 * (u - turn)),
}
"""By shape; `turn` is where the curve turns, jumps or rises most."""


@dataclass(frozen=True)
class NumberCurve:
    """The effect of a number, of its value in deviations."""

    shape: str
    turn: float

    @classmethod
    def drawn(cls, rng: np.random.Generator, shape: Shape) -> "NumberCurve":
        """Return a curve of a shape, any shape if it is `mixed`."""
        drawn = str(rng.choice(list(_CURVES)))
        chosen = drawn if shape == "mixed" else shape
        return cls(chosen, float(rng.uniform(-0.8, 0.8)))

    def of(self, deviations: Floats) -> Floats:
        """Return the effect of every value."""
        usual = self._raw(_NORMAL)
        return np.asarray((self._raw(deviations) - usual.mean()) / usual.std())

    def _raw(self, deviations: Floats) -> Floats:
        inside = np.clip(deviations, -REACH, REACH)
        return np.asarray(_CURVES[self.shape](inside, self.turn))


def level_effects(rng: np.random.Generator, shares: Floats) -> Floats:
    """Return an effect for each level of a list with these shares."""
    drawn = rng.normal(size=len(shares))
    centred = drawn - shares @ drawn
    return np.asarray(centred / np.sqrt(shares @ centred**2))
