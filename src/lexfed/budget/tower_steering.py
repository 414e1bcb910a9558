# SPDX-License-Identifier: Apache-2.0
"""Adaptation along the way: its limits, and its steering by a tower's rounds.

`Adaptation` holds the public constants, fixed before the first round. `Steering` is the
state of one tower: a function of what that tower released, and of nothing else (no
clock, no randomness), so a lower tower's rounds cannot depend on a column of a tier
above (Theorem C), and a continued run goes on as if it had never stopped. What it
chooses stays within bounds that are part of the plan and of its price; whether a round
may run at all is for the envelope or filter to say (`privacy.filters`).

A released vector that honest sums cannot give (not finite, or longer than all units at
their clips and twenty deviations of noise) freezes the tower's adaptation: from then on
it has the most noise of its range, and the clip and step it had.

**The clip follows a quantile** of the contributions, paid for [ATMR21]. Contributions
are divided by a public radius c before they are clipped to the charged clip C, so in
effect they are clipped to c C while releases, noise and grid stay those of the plan.
Each unit also sends one bit, +1/2 where its contribution was not cut and -1/2 where it
was. The sum of bits is a group of its own in the same release, with clip 1/2 and noise
of its own, and is charged together with the rest (joint groups, `privacy.releases`).
From the released part b of units that were not cut

    c <- c exp(-rate (b - quantile)).

**Stopping early** (`Plateau`). When the moving average of the released vectors' size,
the noise taken off, has not fallen by a hundredth of its largest value for `patience`
rounds, the tower is done. That is a function of released values, so it is free. It
saves nothing either: the claim stays the price of the plan.
"""

import math
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lexfed.arrays import Floats
from lexfed.budget.noise_feedback import (
    MEMORY,
    TIER_WEIGHT,
    Feedback,
    Knob,
    Signal,
    convergence_bounds,
    convergence_factor,
    convergence_score,
    distance,
    linear_bounds,
    linear_factor,
    noise_limits,
)
from lexfed.privacy.releases import CLIP_BIT, MOST_SAMPLES, Release
from lexfed.terms import Guarantee
from lexfed.tiers import MODEL_TIERS, Tier

LEVELS = 64
"""Steps between the least and the most noise, always rounded to more. Accountants
price a few levels quickly, and engines whose sums differ in the last bit agree."""

NoiseRule = Literal["none", "convergence", "linear", "feedback"]
ClipRule = Literal["none", "quantile", "feedback"]
RateRule = Literal["none", "feedback"]

LEAST_GAIN = 0.01
"""Progress, as a part of the largest average, that counts as some."""

BIT_CLIP = 0.5
"""Bound on one unit's centred bit."""

BIT_SHARE = 0.05
"""Part of a round's square that the bits take."""

SMALLEST_RADIUS, LARGEST_RADIUS = 2.0**-10, 2.0**10
"""Bounds of the radius."""


@dataclass(frozen=True)
class Plateau:
    """The course of the average size; `best` is the average at the last progress."""

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
        return np.array(astuple(self), dtype=np.float64)

    @classmethod
    def from_array(cls, values: Floats) -> "Plateau":
        """Return the course that was kept."""
        average, largest, best, waited, rounds = values.tolist()
        return cls(average, largest, best, int(waited), int(rounds))


@dataclass(frozen=True)
class Adaptation:
    """The settings that adapt, and the constants of adaptation.

    Attributes:
        noise: signal that the noise follows.
        guarantee: whether the plan holds round by round, or in its sums.
        beta: largest part of the noise that is taken off.
        window: number of releases that the convergence score looks back on.
        clip: signal that the clip follows.
        quantile: part of the units that shall not be cut.
        clip_rate: speed of the clip towards the quantile.
        learning_rate: signal that the step length follows.
        patience: rounds without progress after which a tower is done; None: never.
        rounds_at_most: rounds of a tower under a filter; None: twice the planned.
        weights: of the tiers in the linear form, the least sensitive tier first.
    """

    noise: NoiseRule = "none"
    guarantee: Guarantee = "envelope"
    beta: float = 0.3
    decay: float = 0.1
    window: int = 10
    clip: ClipRule = "none"
    quantile: float = 0.5
    clip_rate: float = 0.2
    learning_rate: RateRule = "none"
    patience: int | None = None
    rounds_at_most: int | None = None
    weights: tuple[float, ...] = tuple(TIER_WEIGHT[tier] for tier in MODEL_TIERS)

    @property
    def active(self) -> bool:
        """True if anything adapts at all."""
        rules = (self.noise, self.clip, self.learning_rate)
        return any(rule != "none" for rule in rules) or self.patience is not None

    def most_rounds(self, planned: int) -> int:
        """Return the most rounds of a tower that has so many planned."""
        if self.guarantee == "envelope":
            return planned
        if self.rounds_at_most is None:
            return 2 * planned
        # More noise values than that are not paid for.
        return min(self.rounds_at_most, MOST_SAMPLES * planned)

    def noise_range(self, tier: Tier) -> tuple[float, float]:
        """Return the smallest and the largest factor on a tower's planned noise.

        Guarantees:
            Under an envelope the smallest is 1: never less noise than was planned.
        """
        low, high = self._bounds(tier)
        reference = self._reference(tier)
        return low / reference, high / reference

    def _bounds(self, tier: Tier) -> tuple[float, float]:
        if self.noise == "none":
            return 1.0, 1.0
        if self.noise == "linear":
            return linear_bounds(self.weights[tier])
        return convergence_bounds(self.beta)

    def _reference(self, tier: Tier) -> float:
        """Return the factor that is planned as 1."""
        low, high = self._bounds(tier)
        return low if self.guarantee == "envelope" else (low + high) / 2.0

    def start(self, tier: Tier) -> "Steering":
        """Return the state before a tower's first round: the most noise."""
        high = self._bounds(tier)[1]
        feedback = Feedback(Knob(high), Knob(1.0), Knob(1.0))
        return Steering(noise=high / self._reference(tier), feedback=feedback)

    def after(
        self, state: "Steering", seen: "ObservedRelease", tier: Tier
    ) -> "Steering":
        """Return the state after a release of the tower.

        Guarantees:
            The noise factor stays within `noise_range`, whatever was released.
            Once frozen it has the most noise, and clip and step stay.
        """
        if state.frozen:
            return state
        high = self.noise_range(tier)[1]
        if not seen.signal.is_sound(seen.longest):
            return replace(state, noise=high, frozen=True)
        limits = noise_limits(*self._bounds(tier))
        feedback = state.feedback.after(seen.signal, state.before, seen.clip, limits)
        distances = state.distances
        if state.before is not None:
            distances = (*distances, distance(seen.signal, state.before))
        distances = distances[-self.window :]
        score = convergence_score(distances, self.window, self.decay)
        wanted = self._wanted_radius(state, seen, feedback)
        rate = feedback.rate.value if self.learning_rate == "feedback" else 1.0
        return Steering(
            noise=self._level(self._factor(score, feedback, tier), tier),
            radius=_rung(wanted),
            wanted_radius=wanted,
            rate=_rung(rate),
            score=score,
            distances=distances,
            before=seen.signal,
            feedback=feedback,
            plateau=state.plateau.after(math.sqrt(seen.signal.square)),
        )

    def _level(self, factor: float, tier: Tier) -> float:
        """Return a factor as one on the planned noise, rounded up to a level."""
        low, high = self._bounds(tier)
        if factor > low:
            levels = math.ceil((factor - low) / (high - low) * LEVELS)
            factor = min(high, low + (high - low) * levels / LEVELS)
        return factor / self._reference(tier)

    def _factor(self, score: float, feedback: Feedback, tier: Tier) -> float:
        if self.noise == "convergence":
            return convergence_factor(score, self.beta)
        if self.noise == "linear":
            return linear_factor(score, self.weights[tier])
        return feedback.noise.value if self.noise == "feedback" else 1.0

    def _wanted_radius(
        self, state: "Steering", seen: "ObservedRelease", feedback: Feedback
    ) -> float:
        if self.clip == "quantile" and seen.bits is not None:
            return next_radius(
                state.wanted_radius, seen.bits, self.quantile, self.clip_rate
            )
        return feedback.clip.value if self.clip == "feedback" else 1.0

    def is_over(self, state: "Steering") -> bool:
        """Return True if a tower is done before its rounds are."""
        return self.patience is not None and state.plateau.is_over(self.patience)


@dataclass(frozen=True)
class ObservedRelease:
    """A release as steering looks at it: the released mean, and the mean clip bits.

    `clip` is the norm that a mean at the current clip may have, `longest` the norm that
    no honest sum exceeds.
    """

    signal: Signal
    clip: float
    longest: float
    bits: float | None = None


@dataclass(frozen=True)
class Steering:
    """The state of a tower's adaptation.

    Attributes:
        noise: factor on the planned noise of the next round.
        radius: divisor of contributions of the next round.
        wanted_radius: the same before it was rounded.
        rate: factor on its learning rate.
        frozen: True once a release that cannot be honest has ended adaptation.
        distances: between successive releases, the latest last.
    """

    noise: float
    feedback: Feedback
    radius: float = 1.0
    wanted_radius: float = 1.0
    rate: float = 1.0
    score: float = 0.0
    frozen: bool = False
    distances: tuple[float, ...] = ()
    before: Signal | None = None
    plateau: Plateau = field(default_factory=Plateau)

    def to_memory(self, tower: int) -> dict[str, NDArray[Any]]:
        """Return the state as vectors of a run's memory."""
        before = np.zeros(0) if self.before is None else self.before.vector
        power = 0.0 if self.before is None else self.before.power
        numbers = (self.noise, self.radius, self.wanted_radius, self.rate, self.score)
        return {
            f"{tower}.steer": np.array([*numbers, float(self.frozen), power]),
            f"{tower}.steer.before": before,
            f"{tower}.steer.distances": np.array(self.distances, dtype=np.float64),
            f"{tower}.steer.feedback": self.feedback.to_array(),
            f"{tower}.steer.plateau": self.plateau.to_array(),
        }

    @classmethod
    def from_memory(
        cls, tower: int, memory: Mapping[str, NDArray[Any]]
    ) -> "Steering | None":
        """Return the state that was kept; None before a tower's first release."""
        kept = memory.get(f"{tower}.steer")
        if kept is None:
            return None
        noise, radius, wanted, rate, score, frozen, power = kept.tolist()
        before: Floats = memory[f"{tower}.steer.before"]
        return cls(
            noise=noise,
            radius=radius,
            wanted_radius=wanted,
            rate=rate,
            score=score,
            frozen=bool(frozen),
            distances=tuple(memory[f"{tower}.steer.distances"].tolist()),
            before=Signal(before, power) if before.size else None,
            feedback=Feedback.from_array(memory[f"{tower}.steer.feedback"]),
            plateau=Plateau.from_array(memory[f"{tower}.steer.plateau"]),
        )


def has_clip_bits(release: Release | None) -> bool:
    """Return True if a release holds bits beside its own vector."""
    return release is not None and release.groups[-1].name == CLIP_BIT


def bit_weight(weight: float) -> float:
    """Return the weight of the bits in a release whose other groups weigh `weight`.

    Squares of weights are shares of the round's square.
    """
    return weight * math.sqrt(BIT_SHARE / (1.0 - BIT_SHARE))


def next_radius(radius: float, bits: float, quantile: float, rate: float) -> float:
    """Return the radius of the next round.

    `bits` is the released mean of the centred bits, `quantile` the part of the units
    that shall not be cut, `rate` the speed of the radius.

    Guarantees:
        The radius stays within its bounds, and by noise alone it moves by no more
        than the factor exp(rate) in a round.
        What is not a number moves nothing.
    """
    if math.isnan(bits):
        return radius
    uncut = min(1.0, max(0.0, bits + 0.5))
    return min(
        LARGEST_RADIUS,
        max(SMALLEST_RADIUS, radius * math.exp(-rate * (uncut - quantile))),
    )


def _rung(value: float) -> float:
    """Return the nearest step of a fine ladder; see `LEVELS`."""
    return math.exp2(round(math.log2(value) * 256) / 256)
