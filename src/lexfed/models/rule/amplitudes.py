# SPDX-License-Identifier: Apache-2.0
"""The last step of the rule: one factor for each tower, and an intercept.

Towers are trained one after the other, each shrunk by the noise of its own tier, and
mostly on targets that the towers below do not explain yet. Nothing says how loud one
should be beside another. So after the last tower two Newton steps fit

    logits = intercept + shift + sum over towers of a_k f_k

with `shift` and the factors a_k as unknowns. Let psi be the matrix of a record,
[outputs, unknowns], whose first columns are the identity and whose others are f_k over
s_k, the size of f_k that its released weights imply. The record contributes

    gradient   psi' r            r   the slope of the loss
    curvature  psi' S psi        S   its second derivative

psi is cut to a Frobenius norm of at most B = 1.5 sqrt(outputs + towers). So both are
bounded by B times the largest slope and B squared times the largest curvature, and a
record's vector has a norm of at most 1, whatever the loss. It reads every tower, so it
is charged to the most sensitive tier that one of them reads.

The estimate is the mean of a normal posterior: factors are 1 within `DOUBT`, and both
the noise of the release and the chance of the sample blur the gradient.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lexfed.arrays import Floats
from lexfed.models.losses import LossName

if TYPE_CHECKING:
    from lexfed.models.towers import Model

SHARE = 0.05
"""Part of the last tower's square that the factors take."""

ROUNDS = 2

RADIUS = 1.5
"""Bound of a record's matrix over the norm that it is expected to have."""

GRADIENT_PART = 0.7
"""Part of a record's squared vector that the gradient has at most."""

DOUBT = 0.5
"""Standard deviation of a factor around 1."""

SHIFT_DOUBT = 0.25
"""Standard deviation of the shift around the calibrated one, in the unit of logits."""

LARGEST_ERROR, USUAL_CURVATURE = 0.1, 0.15
"""Largest standard deviation of a shift for which the steps are bought, where the
second derivative of the loss is as usual."""

LEAST_SIZE = 0.02
"""Least size of a tower's logits: one that is shrunk to nothing has no factor."""

_LARGEST = {"logistic": (1.0, 0.25), "softmax": (np.sqrt(2.0), 0.5)}
"""Largest norm of a slope, and largest eigenvalue of a second derivative."""


@dataclass(frozen=True)
class AmplitudeBounds:
    """Bounds of a record's matrix, slope and second derivative: public or released."""

    matrix: float
    slope: float
    curvature: float

    @property
    def scales(self) -> tuple[float, float]:
        """The divisors of gradient and curvature in a record's vector."""
        gradient = self.matrix * self.slope / np.sqrt(GRADIENT_PART)
        curvature = self.matrix**2 * self.curvature / np.sqrt(1.0 - GRADIENT_PART)
        return float(gradient), float(curvature)


def bounds(loss: LossName, towers: int, outputs: int, spread: float) -> AmplitudeBounds:
    """Return the bounds; a number's residual is cut at twice its released `spread`."""
    slope, curvature = _LARGEST.get(loss, (2.0 * spread, 1.0))
    return AmplitudeBounds(RADIUS * (outputs + towers) ** 0.5, slope, curvature)


def dimension(towers: int, outputs: int) -> int:
    """Return the length of a record's vector."""
    unknowns = towers + outputs
    return unknowns + unknowns * (unknowns + 1) // 2


def factors_pay(towers: int, outputs: int, units: float, mu: float) -> bool:
    """Return True if factors are learned: of several towers, and well enough.

    `mu` is the last tower's budget, as replace-one Gaussian privacy of the noise that
    reaches the model. A shift that is noisier than the paid rate of the target implies
    already would make predictions worse.
    """
    noise = 2.0 / (units * mu * np.sqrt(SHARE))
    bound = RADIUS * np.sqrt((outputs + towers) / GRADIENT_PART)
    return towers > 1 and bool(noise * bound <= LARGEST_ERROR * USUAL_CURVATURE)


def amplitude_vectors(
    loss: LossName,
    parts: Floats,
    slopes: Floats,
    predicted: Floats,
    question: dict[str, Floats],
) -> Floats:
    """Return the vector of each record, of norm at most 1: [..., dimension].

    `parts` are the logits of each tower, [..., towers, outputs], `slopes` the
    derivatives of the loss at the asked factors and `predicted` its means, [...,
    outputs]. The question has the released `size` of each tower and a number's
    `spread`.
    """
    towers, outputs = parts.shape[-2:]
    most = bounds(loss, towers, outputs, float(question["spread"][0]))
    eye = np.broadcast_to(np.eye(outputs), (*parts.shape[:-2], outputs, outputs))
    sized = parts / question["size"][:, None]
    matrix = np.concatenate([eye, np.swapaxes(sized, -1, -2)], axis=-1)
    norm = np.sqrt((matrix**2).sum(axis=(-2, -1), keepdims=True))
    matrix = matrix / np.maximum(norm / most.matrix, 1.0)
    length = np.linalg.norm(slopes, axis=-1, keepdims=True)
    cut = slopes / np.maximum(length / most.slope, 1.0)
    gradient = np.einsum("...ou,...o->...u", matrix, cut)
    bent = _second_derivative(loss, predicted)
    curvature = np.einsum("...ou,...op,...pv->...uv", matrix, bent, matrix)
    rows, columns = np.triu_indices(matrix.shape[-1])
    weight = np.where(rows == columns, 1.0, np.sqrt(2.0))
    first, second = most.scales
    flat = curvature[..., rows, columns] * weight / second
    return np.concatenate([gradient / first, flat], axis=-1)


def _second_derivative(loss: LossName, predicted: Floats) -> Floats:
    if loss == "logistic":
        return np.asarray((predicted * (1.0 - predicted))[..., None])
    eye = np.eye(predicted.shape[-1])
    if loss == "squared":
        return np.broadcast_to(eye, (*predicted.shape, predicted.shape[-1]))
    own = predicted[..., None] * eye
    return np.asarray(own - predicted[..., None] * predicted[..., None, :])


@dataclass(frozen=True)
class AmplitudeEstimate:
    """Shift and factors, and the sums that they rest on.

    `first` is the shift before the first round. `pull` is the sum of curvature times
    asked unknowns less gradient, `bend` that of curvatures, over `rounds` rounds: means
    over records, in unknowns of psi.
    """

    first: Floats
    shift: Floats
    factors: Floats
    pull: Floats
    bend: Floats
    rounds: int

    @classmethod
    def from_memory(
        cls, model: "Model", memory: Mapping[str, NDArray[Any]]
    ) -> "AmplitudeEstimate":
        """Return the estimate kept in memory, or the towers as they were trained."""
        shift, towers = model.shift(len(model.towers)), len(model.towers)
        size = towers + len(shift)
        if "factors.pull" not in memory:
            start = np.zeros(size), np.zeros((size, size))
            return cls(shift, shift, np.ones(towers), *start, 0)
        kept = {name: memory[f"factors.{name}"] for name in ("first", "pull", "bend")}
        rounds = int(memory["factors.rounds"][0])
        return cls(shift=shift, factors=model.factors, rounds=rounds, **kept)

    def to_memory(self) -> dict[str, Floats]:
        """Return what the next round needs beside the model, as named arrays."""
        return {
            "factors.first": self.first,
            "factors.pull": self.pull,
            "factors.bend": self.bend,
            "factors.rounds": np.array([float(self.rounds)]),
        }


def learn_amplitudes(
    before: AmplitudeEstimate,
    most: AmplitudeBounds,
    size: Floats,
    mean: Floats,
    deviation: float,
    units: float,
    usual: float,
) -> AmplitudeEstimate:
    """Return the estimate after a released mean over `units` records.

    `usual` is the second derivative at the released rate, which curvatures are shrunk
    to by their noise, as if towers did not overlap.
    """
    outputs = len(before.shift)
    count = outputs + len(size)
    first, second = most.scales
    gradient = mean[:count] * first
    rows, columns = np.triu_indices(count)
    weight = np.where(rows == columns, 1.0, np.sqrt(2.0))
    bend = np.zeros((count, count))
    bend[rows, columns] = mean[count:] * second / weight
    bend[columns, rows] = bend[rows, columns]
    doubt, blur = (usual / 2.0) ** 2, (deviation * second) ** 2
    guess = usual * np.eye(count)
    bend = guess + doubt / (doubt + blur) * (bend - guess)
    values, vectors = np.linalg.eigh(bend)
    bend = (vectors * np.maximum(values, usual / 20.0)) @ vectors.T
    asked = np.concatenate([before.shift, before.factors * size])
    rounds = before.rounds + 1
    after = replace(
        before,
        pull=before.pull + bend @ asked - gradient,
        bend=before.bend + bend,
        rounds=rounds,
    )
    gain, precision = _posterior(after, size, deviation * first, units)
    centre = np.concatenate([before.first, size])
    prior = _prior(outputs, size)
    found = np.linalg.solve(precision, gain @ (after.pull / rounds) + prior * centre)
    factors = np.clip(found[outputs:] / size, 0.0, None)
    return replace(after, shift=found[:outputs], factors=factors)


def factor_deviations(
    estimate: AmplitudeEstimate,
    most: AmplitudeBounds,
    size: Floats,
    deviation: float,
    units: float,
) -> Floats:
    """Return the posterior deviation of each factor, once a round was released."""
    noise = deviation * most.scales[0]
    _, precision = _posterior(estimate, size, noise, units)
    variance = np.diag(np.linalg.inv(precision))[len(estimate.first) :]
    return np.asarray(np.sqrt(variance) / size)


def _prior(outputs: int, size: Floats) -> Floats:
    """Return the precisions of the unknowns before anything is released."""
    return np.concatenate([np.full(outputs, SHIFT_DOUBT**-2.0), (DOUBT * size) ** -2.0])


def _posterior(
    estimate: AmplitudeEstimate, size: Floats, noise: float, units: float
) -> tuple[Floats, Floats]:
    """Return the gain of what was seen, and the precision of the unknowns after it.

    What was seen, `pull`, is on average `bend` times the unknowns, blurred by the noise
    on gradients and by the sample.
    """
    average = estimate.bend / estimate.rounds
    count = len(average)
    spread = average / units + noise**2 / estimate.rounds * np.eye(count)
    gain = average @ np.linalg.inv(spread)
    prior = _prior(len(estimate.first), size)
    return gain, gain @ average + np.diag(prior)
