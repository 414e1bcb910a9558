# SPDX-License-Identifier: Apache-2.0
"""The coordinator's estimates from a tower's noised means: all post-processing.

A `TowerState` is the memory between rounds; its `Geometry` has the scales and clips of
records in the next round and the expected size of weights. Every estimate is shrunk by
the known size of its noise. Rounds are averaged with the precision of their noise, and
the unknown size of the signal is averaged over a prior: a tower without evidence of
signal keeps quiet.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lexfed.arrays import Floats
from lexfed.models.losses import LossName
from lexfed.models.shape_functions import (
    BINS,
    FUNCTIONS,
    column_basis,
    learned_shares,
    public_shares,
)
from lexfed.models.tower_shapes import (
    BIN_WEIGHT,
    SQUARE_GUESS,
    RuleFacts,
    public_guess,
    statistics_clip,
)

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

VARIANCE_FLOOR = 0.02
LEAST_VARIANCE, LEAST_VARIANCES = 1.75, (0.01, 0.06)
"""Least variance of a function that is learned, times the root of units times budget,
and its bounds: the more signal there is, the finer the functions."""

SECANT_MARGIN, SECANT_ROUNDS = 1.1, 3
"""Factor on a curvature that two rounds have shown, and the last round that is looked
at: steps are small later, and what they show is noise."""

RATE_GUESS, RATE_SPREAD = 0.35, 0.2
"""Public guess of a positive rate and how far rates lie from it."""

LOWEST_RATE = 0.02

NUMBER_SPREAD, NUMBER_SQUARE = 0.4, 0.12
"""Spread of targets' means around mid-range, and a guess of a target's variance."""

SQUARE_DOUBT = 0.05
"""Variance of a number's mean square around its guess."""

SIGNAL_SIZE, SIGNAL_SPREAD = 0.15, 0.6
"""Median and log standard deviation of the signal, relative to the largest possible."""

FOCUS = (0.2, 4.0)
"""Bounds of the column weights that are learned between rounds."""


@dataclass(frozen=True)
class TargetEstimate:
    """The estimate of the target: rates of classes, or a number's mean and spread.

    `doubt` is the size of the error of `rate` as far as it matters for drift.
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


def _none() -> Floats:
    return np.zeros(0)


def unknown_target(loss: LossName, outputs: int) -> TargetEstimate:
    """Return the base before anything is bought: even rates, or the middle."""
    rate = {"logistic": 0.5, "softmax": 1.0 / outputs, "squared": 0.0}[loss]
    return TargetEstimate(np.full(outputs, rate), 0.4, 0.075)


@dataclass(frozen=True)
class TowerState:
    """The estimates from a tower's releases so far.

    Centre and variance are of slots, `weights` on centred and scaled slots, [slots,
    outputs], and `focus` weighs each slot's column in the next round. `moment` is the
    precision-weighted sum of `curvature * weights - gradient`, and `precision` the
    inverse variance of the noise on that, [slots].

    With shape functions "slots" are the coordinates of the tower, and there is more:

    Attributes:
        basis: values of the functions at the centres of bins, flat.
        slope: the column's standardised value in its functions; 0 for other slots.
        asked: precision-weighted sum of the weights at which gradients were taken.
        damping: the multiplier on the curvature, and the rounds that it rests on.
        last: weights, gradient and variance of its noise in the round before.
    """

    centre: Floats
    variance: Floats
    focus: Floats
    weights: Floats
    moment: Floats
    precision: Floats
    basis: Floats = field(default_factory=_none)
    slope: Floats = field(default_factory=_none)
    asked: Floats = field(default_factory=_none)
    damping: Floats = field(default_factory=_none)
    last: Floats = field(default_factory=_none)

    @classmethod
    def start(cls, facts: RuleFacts) -> "TowerState":
        """Return the state before the first release."""
        facts = facts.coordinates
        guess = public_guess(facts)
        flat = np.zeros((facts.size, facts.outputs))
        ones, zeros = np.ones(facts.size), np.zeros(facts.size)
        return cls(guess.centre, guess.variance, ones, flat, flat, zeros)

    @property
    def value(self) -> Floats:
        """The averaged release, in gradients; 0 where nothing is learned."""
        return self.moment / self.precision[:, None]

    def to_memory(self, tower: int) -> dict[str, Floats]:
        """Return the state as named arrays, for the run folder."""
        kept = {f.name: getattr(self, f.name) for f in fields(self)}
        return {f"{tower}.{name}": kept[name] for name in kept if kept[name].size}

    @classmethod
    def from_memory(
        cls, facts: RuleFacts, tower: int, memory: Mapping[str, NDArray[Any]]
    ) -> "TowerState":
        """Return the state kept in memory, or the first one."""
        if f"{tower}.centre" not in memory:
            return cls.start(facts)
        names = [f.name for f in fields(cls) if f"{tower}.{f.name}" in memory]
        return cls(**{name: memory[f"{tower}.{name}"] for name in names})


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
        damping: the factor on it that is in `curvature`.
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
    damping: float
    prior: Floats
    drift: Floats
    common: Floats

    def focus_radius(self, focus: Floats) -> float:
        """Return the clip of a record whose columns are weighted by the focus."""
        return float(RADIUS * np.sqrt((focus**2 * self.variance).sum()))


def geometry(
    facts: RuleFacts, base: TargetEstimate, state: TowerState, kappa: float, rounds: int
) -> Geometry:
    """Return the scales of the next round, by the `kappa` of all rounds of training."""
    facts = facts.coordinates
    total = state.variance.copy()
    for places in facts.shape.families:
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
    if state.damping.size:
        damping = max(damping, float(state.damping[0]))
    power = RADIUS * damping * bend
    curvature = variance[:, None] * power
    # A function that a column does not need has variance 0, and so has its prior.
    real = np.where(variance > 0.0, variance, 1.0)
    shape = curvature**2 / real[:, None] ** SPARSITY
    prior = shape / shape.sum(axis=0) * (radius * unit) ** 2
    away = (base.rate - reference) ** 2 + base.doubt**2
    shift = (DRIFT * radius) ** 2 * away
    drift = np.broadcast_to(shift * (variance / norm)[:, None], curvature.shape)
    toward = facts.tails / np.sqrt(real)
    if state.slope.size:
        functions = facts.mask("shape")
        toward[functions] *= (state.slope * np.sqrt(real) / scale)[functions]
    tails = curvature * toward[:, None]
    length = np.maximum(np.linalg.norm(tails, axis=0), 1e-12)
    return Geometry(
        scale=scale,
        variance=variance,
        radius=float(radius),
        reference=reference,
        residual=residual,
        curvature=curvature,
        damping=damping,
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


def learn_labels(
    facts: RuleFacts, before: TargetEstimate, mean: Floats, deviation: float
) -> TargetEstimate:
    """Return the estimate of the target by a released mean of the label's vector."""
    if facts.loss == "squared":
        return _learn_number(mean * np.sqrt(2.0), deviation * np.sqrt(2.0))
    guess = 1.0 / facts.outputs
    if facts.loss == "logistic":
        mean, deviation, guess = (mean + 1.0) / 2.0, deviation / 2.0, RATE_GUESS
    keep = RATE_SPREAD**2 / (RATE_SPREAD**2 + deviation**2)
    rate = keep * mean + (1.0 - keep) * guess
    rate = np.clip(rate, LOWEST_RATE, 1.0 - LOWEST_RATE)
    if facts.loss == "softmax":
        rate = rate / rate.sum()
    # With centres known, the mean of a record is about half of what DRIFT assumes.
    return TargetEstimate(rate, before.spread, float(np.sqrt(keep) * deviation / 2.0))


def _learn_number(mean: Floats, deviation: float) -> TargetEstimate:
    """Return mean and spread of a target mapped to [-1, 1], shrunk by their noise."""
    keep = NUMBER_SPREAD**2 / (NUMBER_SPREAD**2 + deviation**2)
    centre = np.clip(mean[:1], -0.95, 0.95)
    square = float((mean[1] + 1.0) / 2.0) - float(centre[0]) ** 2
    trust = 0.1**2 / (0.1**2 + (deviation / 2.0) ** 2)
    square = trust * square + (1.0 - trust) * NUMBER_SQUARE
    spread = float(np.sqrt(np.clip(square, 0.05**2, 0.6**2)))
    return TargetEstimate(keep * centre, spread, float(np.sqrt(keep) * deviation))


def learn_moments(
    facts: RuleFacts,
    state: TowerState,
    mean: Floats,
    deviation: float,
    signal: float = math.inf,
) -> TowerState:
    """Return the state with centres and variances from a released mean.

    Centres are posterior means around the public guess; a number's statistics are
    divided by the share of records in which it has a value. `signal` is the bound of
    what the tower's training can see, over its noise: functions below it are left out.
    """
    clip = statistics_clip(facts)
    mean, deviation = mean * clip, deviation * clip
    if not facts.shape.is_additive:
        return _learn_slots(facts, state, mean, deviation)
    count = len(facts.shape.shaped)
    counts = mean[: count * BINS].reshape(count, BINS) / BIN_WEIGHT
    known = np.concatenate([np.zeros(count * FUNCTIONS), mean[count * BINS :]])
    state = _learn_slots(facts.coordinates, state, known, deviation)
    return _learn_functions(facts, state, counts, deviation / BIN_WEIGHT, signal)


def _learn_functions(
    facts: RuleFacts,
    state: TowerState,
    counts: Floats,
    deviation: float,
    signal: float,
) -> TowerState:
    """Return the state with the functions that released histograms give each number."""
    shape = facts.coordinates.shape
    least = float(np.clip(LEAST_VARIANCE / math.sqrt(signal), *LEAST_VARIANCES))
    bases, slope = [], np.zeros(facts.coordinates.size)
    centre, variance = state.centre.copy(), state.variance.copy()
    tails = facts.tails[facts.shape.shaped]
    families = [p for p in shape.families if shape.kinds[p[0]] == "shape"]
    for places, count, tail in zip(families, counts, tails, strict=True):
        same = np.array(shape.columns) == shape.columns[places[0]]
        flag = np.flatnonzero(same & facts.coordinates.mask("missing"))
        present = float(np.clip(1.0 - centre[flag].sum(), 0.03, 1.0))
        noise = (deviation / present) ** 2
        shares = learned_shares(count / present, noise, public_shares(float(tail)))
        functions, variances, line = column_basis(shares, least)
        bases.append(functions)
        centre[places], variance[places] = 0.0, present * variances
        slope[places] = line
    return replace(
        state,
        centre=centre,
        variance=variance,
        basis=np.concatenate([each.ravel() for each in bases]),
        slope=slope,
    )


def _learn_slots(
    facts: RuleFacts, state: TowerState, mean: Floats, deviation: float
) -> TowerState:
    guess, noise = public_guess(facts), deviation**2
    first, second = mean[: facts.size], mean[facts.size :]
    share = np.ones(facts.size)
    for number, flag in facts.shape.flagged:
        trust = guess.doubt[flag] / (guess.doubt[flag] + noise)
        missing = guess.centre[flag] + first[flag] * trust
        share[number] = np.clip(1.0 - missing, 0.03, 1.0)
    trust = guess.doubt / (guess.doubt + noise / share**2)
    centre = guess.centre + first / share * trust
    is_number = facts.mask("number")
    centre = np.clip(centre, np.where(is_number, -0.98, 0.004), 0.98)
    for places in facts.shape.categories:
        centre[places] /= centre[places].sum()
    number_share = share[is_number]
    trust = SQUARE_DOUBT / (SQUARE_DOUBT + noise / number_share**2)
    square = SQUARE_GUESS + second / number_share * trust
    variance = centre * (1.0 - centre)
    inner = np.clip(square - centre[is_number] ** 2, VARIANCE_FLOOR, 1.0)
    variance[is_number] = inner * number_share
    return replace(state, centre=centre, variance=np.maximum(variance, VARIANCE_FLOOR))


def learn_residuals(
    facts: RuleFacts,
    scales: Geometry,
    state: TowerState,
    mean: Floats,
    deviation: float,
) -> TowerState:
    """Return the state after one more round, with the scales that it was asked at."""
    size = facts.coordinates.size
    unit = scales.residual * scales.focus_radius(state.focus)
    noise = (deviation * unit / state.focus) ** 2
    gradient = mean.reshape(size, -1) * unit / state.focus[:, None]
    if facts.shape.is_additive:
        scales, state = _guarded(scales, state, gradient, noise)
    known = scales.curvature * state.weights
    moment = state.moment + (known - gradient) / noise[:, None]
    precision = state.precision + 1.0 / noise
    value = moment / precision[:, None]
    blur = np.broadcast_to((1.0 / precision)[:, None], value.shape) + scales.drift
    estimate, square = posterior(value, blur, scales.prior, scales.common)
    bend = np.where(scales.curvature > 0.0, scales.curvature, np.inf)
    power = (square / bend**2).sum(axis=1) * scales.variance
    return replace(
        state,
        weights=estimate / bend,
        moment=moment,
        precision=precision,
        focus=_focus(facts, scales, power),
    )


def _guarded(
    scales: Geometry, state: TowerState, gradient: Floats, noise: Floats
) -> tuple[Geometry, TowerState]:
    """Return scales and state with the curvature that the last two rounds show.

    Columns that tell the same add up their effects, so that the curvature along the
    last step is larger than expected, and steps would overshoot ever more. A secant
    shows it: the change of the gradient along the step, less its own noise. What was
    averaged so far is restated for the larger curvature.
    """
    rows = np.broadcast_to(noise[:, None], gradient.shape)
    before, rounds = state.damping.tolist() if state.damping.size else (DAMPING, 0.0)
    damping = before
    asked = state.asked if state.asked.size else np.zeros_like(gradient)
    if 0 < rounds < SECANT_ROUNDS:
        weights, earlier, blur = state.last
        step = state.weights - weights
        flat = (step**2 * scales.curvature).sum() / damping
        seen = (step * (gradient - earlier)).sum()
        seen -= np.sqrt((step**2 * (rows + blur)).sum())
        if flat > 0.0:
            damping = max(damping, SECANT_MARGIN * seen / flat)
    grown = scales.curvature * (damping / before)
    state = replace(
        state,
        moment=state.moment + (grown - scales.curvature) * asked,
        asked=asked + state.weights / rows,
        damping=np.array([damping, rounds + 1.0]),
        last=np.stack([state.weights, gradient, rows]),
    )
    return replace(scales, curvature=grown, damping=damping), state


def _focus(facts: RuleFacts, scales: Geometry, power: Floats) -> Floats:
    """Return weights by which columns without evidence give up norm to the others."""
    facts = facts.coordinates
    focus = np.ones(facts.size)
    for places in facts.shape.by_column:
        size = scales.variance[places].sum()
        focus[places] = np.sqrt(power[places].sum() / size) if size > 0.0 else 0.0
    norm = np.sqrt((focus**2 * scales.variance).sum() / scales.variance.sum())
    return np.asarray(np.clip(focus / norm, *FOCUS))


def posterior(
    value: Floats, blur: Floats, prior: Floats, common: Floats
) -> tuple[Floats, Floats]:
    """Return mean and second moment of a signal seen as value = signal + N(0, blur).

    The signal is a common + N(0, size² prior): one unknown size for the whole tower,
    averaged over a log-normal prior on a grid by its likelihood (empirical Bayes), and
    one unknown a ~ N(0, 1) for each output.
    """
    z = np.linspace(-2.2, 2.6, 12)
    size = (SIGNAL_SIZE * np.exp(SIGNAL_SPREAD * z))[:, None, None] ** 2
    total = size * prior + blur
    along = (common * value / total).sum(axis=1, keepdims=True)
    length = (common**2 / total).sum(axis=1, keepdims=True)
    part = along / (1.0 + length) * common
    fit = -0.5 * (np.log(total) + value**2 / total).sum(axis=(1, 2)) - 0.5 * z**2
    fit += 0.5 * (along**2 / (1.0 + length) - np.log1p(length)).sum(axis=(1, 2))
    share = np.exp(fit - fit.max())
    share = (share / share.sum())[:, None, None]
    keep = size * prior / total
    mean = part + keep * (value - part)
    return (share * mean).sum(axis=0), (share * (mean**2 + keep * blur)).sum(axis=0)


def weights_and_bias(
    facts: RuleFacts, scales: Geometry, state: TowerState
) -> tuple[Floats, Floats]:
    """Return weights [inputs, outputs] and bias [outputs] on the tower's inputs.

    Centring is linear in the encoded slots, so it is folded into the weights: where a
    value is missing, or a category is none of its levels, nothing is subtracted. Of
    the functions of a number remains their sum at the centre of each bin.
    """
    shaped, facts = facts.shape, facts.coordinates
    folded = scales.scale[:, None] * state.weights
    shift = state.centre[:, None] * folded
    for places in facts.shape.categories:
        folded[places] -= shift[places].sum(axis=0)
    for number, flag in facts.shape.flagged:
        folded[flag] += shift[number]
    bias = 0.0 - shift[~facts.mask("onehot")].sum(axis=0)
    if not shaped.is_additive:
        return folded, bias
    basis = state.basis.reshape(-1, BINS, FUNCTIONS)
    count = len(basis) * FUNCTIONS
    parts = folded[:count].reshape(len(basis), FUNCTIONS, -1)
    curves = np.einsum("cbf,cfo->cbo", basis, parts)
    curves = curves.reshape(len(basis) * BINS, -1)
    return np.concatenate([curves, folded[count:]]), bias
