# SPDX-License-Identifier: Apache-2.0
"""Rules that turn released vectors into noise, and clip and step of the next round.

Everything is computed from values that were released already, so it costs nothing
(post-processing). Released vectors carry noise of a known strength, which makes them
longer than what they stand for. With independent noises of expected squared norm p,

    E|Y|^2          = |g|^2 + p
    E|Y_t - Y_s|^2  = |g_t - g_s|^2 + p_t + p_s,

so that much is taken off before the root, and nothing is left where noise is all.

**Convergence** has less noise once successive releases agree:

    score = exp(-decay * sum over the window of |g_t - g_(t-1)|)
    sigma = sigma_tier * (1 - beta * score)                        `convergence`
    sigma = base * (2.0 * weight + 0.5 * (1 - min(score, 0.8)))    `linear`

Both factors have bounds that are known before the first round. Under an envelope the
lower one is what is planned and priced; under a filter the planned rounds fit exactly
at the middle of the two.

**Feedback** keeps exponential moving averages of the signals and turns three knobs:

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
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace

import numpy as np

from lexfed import checks
from lexfed.arrays import Floats
from lexfed.tiers import Tier

MEMORY = 0.8
"""Part of a moving average that the next round keeps."""

DAMPING, RECOVERY, SLOWEST = 0.5, 1.1, 1 / 16
"""A knob's pace after a change of direction, after going on, and at least."""

SIGNAL_TO_NOISE = 1.0
"""Power of the signal over that of the noise that the noise aims at."""

FILLED = 0.3
"""Part of the clip that the mean should fill."""

_FAR = 8.0  # an error that is beyond every band and every change

MOST_CONVERGED = 0.8
"""The linear form takes no higher score."""

LEAST_WEIGHT = 0.25
"""The linear form takes weights from this to 1."""

TIER_WEIGHT: Mapping[Tier, float] = {
    Tier.NON_PERSONAL: 0.25,
    Tier.PERSONAL: 0.5,
    Tier.SPECIAL: 1.0,
}
"""Weight of a tier in the linear form: the noise of a sensitive tier moves less."""


@dataclass(frozen=True)
class Signal:
    """A released mean, with the expected squared norm of the noise in it."""

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


def convergence_score(distances: Sequence[float], window: int, decay: float) -> float:
    """Return the convergence of a training, in [0, 1].

    `distances` are those between successive releases, the latest last, the noise taken
    off; `window` of them count. A window that is not full yet is taken to go on as it
    began; without any distance nothing is known, which is no convergence.
    """
    seen = distances[-window:]
    if not seen:
        return 0.0
    return math.exp(-decay * sum(seen) * window / len(seen))


def convergence_factor(score: float, beta: float) -> float:
    """Return the factor on a tier's noise: from 1 down to 1 - beta.

    Guarantees:
        The factor lies within `convergence_bounds`, whatever the score.
    """
    low, high = convergence_bounds(beta)
    return _between(low, 1.0 - beta * score, high)


def convergence_bounds(beta: float) -> tuple[float, float]:
    """Return the smallest and the largest factor; beta is at most 0.9: noise stays."""
    checks.in_range(0.0, 0.9, beta=beta)
    return 1.0 - beta, 1.0


def linear_factor(score: float, weight: float) -> float:
    """Return the factor on the base noise in the linear form.

    Guarantees:
        The factor lies within `linear_bounds`, whatever the score.
    """
    low, high = linear_bounds(weight)
    return _between(low, 2.0 * weight + 0.5 * (1.0 - min(score, MOST_CONVERGED)), high)


def linear_bounds(weight: float) -> tuple[float, float]:
    """Return the smallest and the largest factor, for a weight in [0.25, 1]."""
    checks.in_range(LEAST_WEIGHT, 1.0, weight=weight)
    return 2.0 * weight + 0.5 * (1.0 - MOST_CONVERGED), 2.0 * weight + 0.5


def _between(low: float, value: float, high: float) -> float:
    # What is not a number gets the most noise: comparisons with it are false.
    return max(low, value) if value <= high else high


@dataclass(frozen=True)
class KnobLimits:
    """The range and the speed of a knob.

    `change` is its largest relative change per round, `band` the error, as a logarithm,
    that is not worth a move.
    """

    low: float
    high: float
    change: float
    band: float


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

    The error is the logarithm of how far the value is too low; if it is not finite, the
    knob stays.

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
    """The controller's state: three knobs, and moving averages over its releases.

    `noise` and `rate` are factors, `clip` is the radius that contributions are divided
    by. Averages are those of the squared norms of signal and noise, and of the cosine.
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
        """Return the state after a release, given the one before it; None if first.

        `clip` is the norm that a mean at the current clip may have; `noise` limits the
        factor on the noise.
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
        return np.hstack(astuple(self)).astype(np.float64)

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


CLIP = KnobLimits(1 / 16, 16.0, change=0.1, band=math.log(2.0))
LEARNING_RATE = KnobLimits(1 / 8, 8.0, change=0.1, band=0.1)
