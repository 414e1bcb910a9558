# SPDX-License-Identifier: Apache-2.0
"""The knowledge about a tower so far, and the scales that follow from it.

Both are functions of released and public values. A `TowerState` is the memory between
rounds; its `Geometry` has the scales and clips of records in the next round and the
expected size of weights.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lexfed.arrays import Floats
from lexfed.models.losses import LossName
from lexfed.models.towers.facts import RuleFacts, public_guess

VARIANCE_RIDGE = 0.03
"""Added to variances before scaling, so that a rare level is not blown up."""

MISSING_WEIGHT = 0.6
"""Weight of a missing flag against its column."""

RADIUS = 0.5
"""Records are clipped to this times their expected norm: a small clip gives the
largest signal per unit of noise."""

DAMPING = 2.5
"""Curvature multiplier, except for a class learned in one round."""

DRIFT = 0.6
"""Expected norm of the mean of a clipped record, relative to the clip."""

SPARSITY = 0.25
"""Prior variance of a slot's weight falls with its variance to this power."""

COMMON = 0.05
"""Prior size of the part of the signal that points to all long tails at once: where
large values are rare, they often go together with the outcome."""


@dataclass(frozen=True)
class TargetEstimate:
    """The estimate of the target's rates or mean.

    Attributes:
        rate: of each class, or the mean of a number.
        spread: standard deviation of a number.
        doubt: size of the error of `rate` as far as it matters for drift.
    """

    rate: Floats
    spread: float
    doubt: float

    def logits(self, loss: LossName) -> Floats:
        """Return the logits that predict the rates."""
        if loss == "squared":
            return self.rate
        if loss == "softmax":
            logs = np.log(self.rate)
            return np.asarray(logs - logs.mean())
        return np.asarray(np.log(self.rate / (1.0 - self.rate)))


def unknown_target(loss: LossName, outputs: int) -> TargetEstimate:
    """Return the base before anything is bought: even rates, or the middle."""
    rate = {"logistic": 0.5, "softmax": 1.0 / outputs, "squared": 0.0}[loss]
    return TargetEstimate(np.full(outputs, rate), 0.4, 0.075)


@dataclass(frozen=True)
class TowerState:
    """The estimates from a tower's releases so far.

    Attributes:
        centre: mean of each slot.
        variance: of each slot.
        focus: weight of each slot's column in the next round.
        weights: [slots, outputs] on centred and scaled slots.
        moment: precision-weighted sum of `curvature * weights - gradient`.
        precision: [slots] inverse variance of the noise on that sum.
    """

    centre: Floats
    variance: Floats
    focus: Floats
    weights: Floats
    moment: Floats
    precision: Floats

    @classmethod
    def start(cls, facts: RuleFacts) -> "TowerState":
        """Return the state before the first release."""
        guess = public_guess(facts)
        flat = np.zeros((facts.size, facts.outputs))
        ones, zeros = np.ones(facts.size), np.zeros(facts.size)
        return cls(guess.centre, guess.variance, ones, flat, flat, zeros)

    def to_memory(self, tower: int) -> dict[str, Floats]:
        """Return the state as named arrays, for the run folder."""
        return {f"{tower}.{f.name}": getattr(self, f.name) for f in fields(self)}

    @classmethod
    def from_memory(
        cls, facts: RuleFacts, tower: int, memory: Mapping[str, NDArray[Any]]
    ) -> "TowerState":
        """Return the state kept in memory, or the first one."""
        if f"{tower}.centre" not in memory:
            return cls.start(facts)
        return cls(**{f.name: memory[f"{tower}.{f.name}"] for f in fields(cls)})


@dataclass(frozen=True)
class Geometry:
    """Scales that follow from a state.

    Attributes:
        scale: factor of each centred slot.
        variance: of the scaled slots.
        radius: clip of a scaled record.
        reference: rates that residuals are taken against.
        residual: clip of the norm of a residual.
        curvature: [slots, outputs] expected second derivative of the loss.
        prior: [slots, outputs] prior variance of a gradient at signal size 1.
        drift: [slots, outputs] extra variance because reference and rate differ.
        common: [slots, outputs] direction of the long tails, as long as expected.
    """

    scale: Floats
    variance: Floats
    radius: float
    reference: Floats
    residual: float
    curvature: Floats
    prior: Floats
    drift: Floats
    common: Floats

    def focus_radius(self, focus: Floats) -> float:
        """Return the clip of a record whose columns are weighted by the focus."""
        return float(RADIUS * np.sqrt((focus**2 * self.variance).sum()))


def geometry(
    facts: RuleFacts, base: TargetEstimate, state: TowerState, kappa: float, rounds: int
) -> Geometry:
    """Return the scales of the next round.

    `kappa` is the bound of the signal over the norm of the noise, of all `rounds` of
    the tower's training.
    """
    total = state.variance.copy()
    for places in facts.categories():
        # A column weighs the same whatever the number of its levels.
        total[places] = state.variance[places].sum()
    weight = np.where(facts.mask("missing"), MISSING_WEIGHT, 1.0)
    scale = weight / np.sqrt(total + VARIANCE_RIDGE)
    variance = state.variance * scale**2
    norm = float(variance.sum())
    radius = RADIUS * np.sqrt(norm)
    if facts.loss == "squared":
        reference, residual = base.rate, 2.0 * base.spread
        bend, unit = np.ones(1), np.full(1, base.spread)
    else:
        reference = _reference(base.rate, kappa)
        residual = largest_residual(facts.loss, reference)
        bend = unit = base.rate * (1.0 - base.rate)
    damping = 1.0 if rounds == 1 and facts.loss != "squared" else DAMPING
    power = RADIUS * damping * bend
    curvature = variance[:, None] * power
    shape = curvature**2 / variance[:, None] ** SPARSITY
    prior = shape / shape.sum(axis=0) * (radius * unit) ** 2
    away = (base.rate - reference) ** 2 + base.doubt**2
    shift = (DRIFT * radius) ** 2 * away
    drift = np.broadcast_to(shift * (variance / norm)[:, None], curvature.shape)
    tails = curvature * (facts.tails / np.sqrt(variance))[:, None]
    length = np.maximum(np.linalg.norm(tails, axis=0), 1e-12)
    return Geometry(
        scale=scale,
        variance=variance,
        radius=float(radius),
        reference=reference,
        residual=residual,
        curvature=curvature,
        prior=prior,
        drift=drift,
        common=tails / length * (COMMON * radius * unit),
    )


def _reference(rate: Floats, kappa: float) -> Floats:
    """Return the rates to take residuals against, between the true ones and even ones.

    Residuals y - rate cancel the mean of the inputs, but leave the clip half empty for
    the frequent class; y - 1/2 fills it, but keeps the mean as drift. With two classes
    this minimises (1 - q)² / kappa² + (q - rate)² DRIFT² over q between rate and 1/2.
    """
    even = 1.0 / max(2, rate.size)
    low = float(rate.min())
    if rate.size == 1:
        low = min(low, 1.0 - low)
    room = even - low
    noise = 1.0 / kappa**2
    mix = noise / (noise + DRIFT**2)
    move = 1.0 if room <= 0.0 else min(1.0, mix * (1.0 - low) / room)
    return np.asarray(rate + move * (even - rate))


def largest_residual(loss: LossName, reference: Floats) -> float:
    """Return the largest norm of a residual of classes against these rates."""
    if loss == "logistic":
        return float(max(reference[0], 1.0 - reference[0]))
    return float(np.sqrt(1.0 - 2.0 * reference.min() + (reference**2).sum()))
