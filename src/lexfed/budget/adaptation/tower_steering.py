# SPDX-License-Identifier: Apache-2.0
"""Adaptation along the way: its limits, and its steering by a tower's rounds.

`Adaptation` holds the public constants, fixed before the first round. `Steering` is the
state of one tower: a function of what that tower released, and of nothing else, so a
lower tower's rounds cannot depend on a column of a tier above (Theorem C). What it
chooses stays within bounds that are part of the plan; whether a round may run at all
is for the envelope or filter to say (`privacy.filters`).

A released vector that honest sums cannot give (not finite, or longer than all units at
their clips and twenty deviations of noise) freezes the tower's adaptation: from then on
it has the most noise of its range, and the clip and step it had.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lexfed.arrays import Floats
from lexfed.budget.adaptation import clip_quantile, convergence
from lexfed.budget.adaptation.feedback import Feedback, Knob, noise_limits
from lexfed.budget.adaptation.plateau import Plateau
from lexfed.budget.adaptation.release_signals import Signal, distance
from lexfed.privacy.releases import MOST_SAMPLES
from lexfed.terms import Guarantee
from lexfed.tiers import MODEL_TIERS, Tier

LEVELS = 64
"""Steps between the least and the most noise, always rounded to more. Accountants
price a few levels quickly, and engines whose sums differ in the last bit agree."""

NoiseRule = Literal["none", "convergence", "linear", "feedback"]
ClipRule = Literal["none", "quantile", "feedback"]
RateRule = Literal["none", "feedback"]


@dataclass(frozen=True)
class Adaptation:
    """The settings that adapt, and the constants of adaptation.

    Attributes:
        noise: signal that the noise follows.
        guarantee: inside which fence: the plan round by round, or its sum.
        beta: largest part of the noise that is taken off.
        decay: of the convergence score.
        window: releases that the score looks back on.
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
    weights: tuple[float, ...] = tuple(
        convergence.TIER_WEIGHT[tier] for tier in MODEL_TIERS
    )

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
            return convergence.linear_bounds(self.weights[tier])
        return convergence.convergence_bounds(self.beta)

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
        score = convergence.score(distances, self.window, self.decay)
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
            return convergence.convergence_factor(score, self.beta)
        if self.noise == "linear":
            return convergence.linear_factor(score, self.weights[tier])
        return feedback.noise.value if self.noise == "feedback" else 1.0

    def _wanted_radius(
        self, state: "Steering", seen: "ObservedRelease", feedback: Feedback
    ) -> float:
        if self.clip == "quantile" and seen.bits is not None:
            return clip_quantile.next_radius(
                state.wanted_radius, seen.bits, self.quantile, self.clip_rate
            )
        return feedback.clip.value if self.clip == "feedback" else 1.0

    def is_over(self, state: "Steering") -> bool:
        """Return True if a tower is done before its rounds are."""
        return self.patience is not None and state.plateau.is_over(self.patience)


def _rung(value: float) -> float:
    """Return the nearest step of a fine ladder; see `LEVELS`."""
    return math.exp2(round(math.log2(value) * 256) / 256)


@dataclass(frozen=True)
class ObservedRelease:
    """A release as steering looks at it.

    Attributes:
        signal: the released mean.
        clip: norm that a mean at the current clip may have.
        longest: norm that no honest sum exceeds.
        bits: released mean of the clip bits; None where there are none.
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
        score: of convergence.
        frozen: True once a release that cannot be honest has ended adaptation.
        distances: between successive releases, the latest last.
        before: the last release.
        feedback: state of the controller.
        plateau: the course of progress.
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
