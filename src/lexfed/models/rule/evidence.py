# SPDX-License-Identifier: Apache-2.0
"""Can what towers released be told from noise alone? A test on released values only.

Of each slot and output a tower has a precision-weighted mean of what its rounds
released (`estimates.TowerState`). If that is noise alone, it is Gaussian with a known
variance `blur`, the noise plus what an unknown rate of the target may add
(`Geometry.drift`). What chance has put into the rows is no noise in this sense: inputs
that tell nothing about the target are told from noise where people are many and noise
is small. Two statistics are compared with their laws under noise alone:

    whole    sum of value² / blur                       chi², one degree per entry
    tails    (sum of common value / blur)² / (sum of common² / blur)
                                                        chi², one degree per output

The second looks along one direction, the long tails of all inputs, where signal is
found first. Both over all towers, the smaller p-value is doubled (Bonferroni), so noise
alone is taken for signal in at most 5 % of runs. Nothing is spent: a function of
released values is covered by their price.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chdtrc

from lexfed.arrays import Floats
from lexfed.models.rule.estimates import (
    RATE_GUESS,
    RATE_SPREAD,
    Geometry,
    TargetEstimate,
    TowerState,
)

LEVEL = 0.05
"""Share of runs of noise alone that may be taken for signal."""


@dataclass(frozen=True)
class ReleasedEvidence:
    """Squares of released values over those of noise, and how many each sum has."""

    whole: float = 0.0
    entries: int = 0
    tails: float = 0.0
    directions: int = 0

    def __add__(self, other: "ReleasedEvidence") -> "ReleasedEvidence":
        """Return the evidence of two towers together; their noise is independent."""
        return ReleasedEvidence(
            self.whole + other.whole,
            self.entries + other.entries,
            self.tails + other.tails,
            self.directions + other.directions,
        )

    @property
    def p_value(self) -> float:
        """Chance that noise alone releases as much; 1 where nothing was released."""
        found = [
            float(chdtrc(count, square))
            for count, square in (
                (self.entries, self.whole),
                (self.directions, self.tails),
            )
            if count
        ]
        return min([1.0, *(len(found) * p for p in found)])

    @property
    def is_noise(self) -> bool:
        """True if it cannot be told from noise alone."""
        return self.p_value >= LEVEL


def unbought_target(base: TargetEstimate) -> TargetEstimate:
    """Return a target whose rate nobody bought, with the doubt of the public guess.

    Towers are trained with less doubt than that; a test must not take a wrong guess of
    the rate for signal.
    """
    doubt = np.hypot(base.rate - RATE_GUESS, RATE_SPREAD).max()
    return replace(base, doubt=float(doubt))


def released_evidence(scales: Geometry, state: TowerState) -> ReleasedEvidence:
    """Return the evidence of a tower that released at least one round."""
    real = scales.variance > 0.0
    value = (state.moment / state.precision[:, None])[real]
    blur = ((1.0 / state.precision)[:, None] + scales.drift)[real]
    scales = replace(scales, common=scales.common[real])
    length = _sum(scales.common**2 / blur)
    seen = length > 0.0
    along = _sum(scales.common * value / blur)[seen] ** 2 / length[seen]
    return ReleasedEvidence(
        whole=float((value**2 / blur).sum()),
        entries=value.size,
        tails=float(along.sum()),
        directions=int(seen.sum()),
    )


def _sum(entries: Floats) -> Floats:
    return np.asarray(entries.sum(axis=0))
