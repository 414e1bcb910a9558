# SPDX-License-Identifier: Apache-2.0
"""A feedback controller for noise, clip and learning rate, driven by releases alone.

It keeps exponential moving averages of what `signals` tells and turns three knobs:

    noise           up where the signal stands out of the noise, down where it drowns
    clip            up where the mean gradient fills the clip, down where it is far off
    learning rate   up where successive releases point the same way, down where they
                    point back

A knob moves within absolute bounds, by a limited part per round, not at all inside a
band around its target, and slower after each change of direction, so that two rounds
that contradict each other do not make it swing. State in, state out: no clock, no
randomness, so a run that is continued goes on as if it had never stopped.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from lexfed.arrays import Floats
from lexfed.budget.adaptation.release_signals import Signal, cosine

MEMORY = 0.8
"""Part of a moving average that the next round keeps."""

DAMPING, RECOVERY, SLOWEST = 0.5, 1.1, 1 / 16
"""A knob's pace after a change of direction, after going on, and at least."""

SIGNAL_TO_NOISE = 1.0
"""Power of the signal over that of the noise that the noise aims at."""

FILLED = 0.3
"""Part of the clip that the mean should fill."""

_FAR = 8.0  # an error that is beyond every band and every change


@dataclass(frozen=True)
class KnobLimits:
    """The range and the speed of a knob.

    Attributes:
        low: smallest value.
        high: largest value.
        change: largest relative change per round.
        band: error, as a logarithm, that is not worth a move.
    """

    low: float
    high: float
    change: float
    band: float


CLIP = KnobLimits(1 / 16, 16.0, change=0.1, band=math.log(2.0))
LEARNING_RATE = KnobLimits(1 / 8, 8.0, change=0.1, band=0.1)


def noise_limits(low: float, high: float) -> KnobLimits:
    """Return the limits of a noise factor within its bounds."""
    return KnobLimits(low, high, change=0.05, band=0.2)


@dataclass(frozen=True)
class Knob:
    """A value, the direction it moved in last (-1, 0, 1), and its pace."""

    value: float
    direction: float = 0.0
    pace: float = 1.0


def turned_knob(knob: Knob, error: float, limits: KnobLimits) -> Knob:
    """Return the knob after a round.

    Args:
        knob: before it.
        error: logarithm of how far the value is too low; not finite: stay.
        limits: of this knob.

    Guarantees:
        The value stays within its bounds and moves by at most `change` of itself.
        Inside the band nothing moves.
        After a change of direction the largest move is halved.
    """
    if not math.isfinite(error) or abs(error) <= limits.band:
        return knob
    direction = math.copysign(1.0, error)
    if direction == -knob.direction:
        pace = max(SLOWEST, knob.pace * DAMPING)
    else:
        pace = min(1.0, knob.pace * RECOVERY)
    length = min(abs(error) - limits.band, pace * math.log1p(limits.change))
    value = knob.value * math.exp(direction * length)
    return Knob(min(limits.high, max(limits.low, value)), direction, pace)


@dataclass(frozen=True)
class Feedback:
    """The controller's state.

    Attributes:
        noise: factor on the noise.
        clip: radius that contributions are divided by.
        rate: factor on the learning rate.
        size: average of the signal's squared norm.
        power: average of the noise's.
        agreement: average cosine of successive releases.
        rounds: releases seen.
    """

    noise: Knob
    clip: Knob
    rate: Knob
    size: float = 0.0
    power: float = 0.0
    agreement: float = 0.0
    rounds: int = 0

    def after(
        self, now: Signal, before: Signal | None, clip: float, noise: KnobLimits
    ) -> "Feedback":
        """Return the state after a release.

        Args:
            now: the release.
            before: the one before it; None for the first.
            clip: norm that a mean at the current clip may have.
            noise: limits of the noise factor.
        """
        size = self._average(self.size, now.square)
        power = self._average(self.power, now.power)
        agreement = self.agreement
        if before is not None:
            agreement = self._average(agreement, cosine(now, before))
        return replace(
            self,
            noise=turned_knob(
                self.noise, _log(size, SIGNAL_TO_NOISE * power) / 2, noise
            ),
            clip=turned_knob(self.clip, _log(size, (FILLED * clip) ** 2) / 2, CLIP),
            rate=turned_knob(self.rate, agreement, LEARNING_RATE),
            size=size,
            power=power,
            agreement=agreement,
            rounds=self.rounds + 1,
        )

    def _average(self, average: float, value: float) -> float:
        return value if self.rounds == 0 else MEMORY * average + (1 - MEMORY) * value

    def to_array(self) -> Floats:
        """Return the state as one vector, for the memory of a run."""
        knobs = [
            part
            for knob in (self.noise, self.clip, self.rate)
            for part in (knob.value, knob.direction, knob.pace)
        ]
        rest = [self.size, self.power, self.agreement, float(self.rounds)]
        return np.array([*knobs, *rest])

    @classmethod
    def from_array(cls, values: Floats) -> "Feedback":
        """Return the state that was kept."""
        flat = values.tolist()
        noise, clip, rate = (Knob(*flat[place : place + 3]) for place in (0, 3, 6))
        size, power, agreement, rounds = flat[9:]
        return cls(noise, clip, rate, size, power, agreement, int(rounds))


def _log(value: float, target: float) -> float:
    """Return log(value / target), cut where there is none or too much of either."""
    if value <= 0.0 or target <= 0.0:
        return math.copysign(_FAR, value - target)
    return max(-_FAR, min(_FAR, math.log(value) - math.log(target)))
