# SPDX-License-Identifier: Apache-2.0
"""The coordinator's estimates from a tower's noised means: all post-processing.

Every estimate is shrunk by the known size of its noise. Rounds are averaged with the
precision of their noise, and the size of the signal, which nobody knows, is averaged
over a prior: a tower without evidence of signal keeps quiet.
"""

from dataclasses import replace

import numpy as np

from lexfed.arrays import Floats
from lexfed.models.rule.state import Geometry, TargetEstimate, TowerState
from lexfed.models.towers.facts import (
    SQUARE_GUESS,
    RuleFacts,
    public_guess,
    statistics_clip,
)

VARIANCE_FLOOR = 0.02
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
    facts: RuleFacts, state: TowerState, mean: Floats, deviation: float
) -> TowerState:
    """Return the state with centres and variances from a released mean.

    Centres are posterior means around the public guess; a number's statistics are
    divided by the share of records in which it has a value.
    """
    guess = public_guess(facts)
    clip = statistics_clip(facts)
    mean, noise = mean * clip, (deviation * clip) ** 2
    first, second = mean[: facts.size], mean[facts.size :]
    there = np.ones(facts.size)
    for number, flag in facts.flagged():
        trust = guess.doubt[flag] / (guess.doubt[flag] + noise)
        missing = guess.centre[flag] + first[flag] * trust
        there[number] = np.clip(1.0 - missing, 0.03, 1.0)
    trust = guess.doubt / (guess.doubt + noise / there**2)
    centre = guess.centre + first / there * trust
    is_number = facts.mask("number")
    centre = np.where(
        is_number, np.clip(centre, -0.98, 0.98), np.clip(centre, 0.004, 0.98)
    )
    for places in facts.categories():
        centre[places] /= centre[places].sum()
    here = there[is_number]
    trust = SQUARE_DOUBT / (SQUARE_DOUBT + noise / here**2)
    square = SQUARE_GUESS + second / here * trust
    variance = centre * (1.0 - centre)
    inner = np.clip(square - centre[is_number] ** 2, VARIANCE_FLOOR, 1.0)
    variance[is_number] = inner * here
    return replace(state, centre=centre, variance=np.maximum(variance, VARIANCE_FLOOR))


def learn_residuals(
    facts: RuleFacts,
    scales: Geometry,
    state: TowerState,
    mean: Floats,
    deviation: float,
) -> TowerState:
    """Return the state after one more round.

    `scales` are the geometry of the round that was released, `mean` that of vectors
    of norm at most 1, `deviation` that of its noise.
    """
    unit = scales.residual * scales.focus_radius(state.focus)
    noise = (deviation * unit / state.focus) ** 2
    gradient = mean.reshape(facts.size, -1) * unit / state.focus[:, None]
    moment = (
        state.moment + (scales.curvature * state.weights - gradient) / (noise[:, None])
    )
    precision = state.precision + 1.0 / noise
    value = moment / precision[:, None]
    blur = np.broadcast_to((1.0 / precision)[:, None], value.shape) + scales.drift
    estimate, square = posterior(value, blur, scales.prior, scales.common)
    power = (square / scales.curvature**2).sum(axis=1) * scales.variance
    return replace(
        state,
        weights=estimate / scales.curvature,
        moment=moment,
        precision=precision,
        focus=_focus(facts, scales, power),
    )


def _focus(facts: RuleFacts, scales: Geometry, power: Floats) -> Floats:
    """Return weights by which columns without evidence give up norm to the others."""
    focus = np.ones(facts.size)
    for places in facts.columns():
        share = power[places].sum() / scales.variance[places].sum()
        focus[places] = np.sqrt(share)
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
    """Return weights [slots, outputs] and bias [outputs] on encoded slots.

    Centring is linear in the encoded slots, so it is folded into the weights: where a
    value is missing, or a category is none of its levels, nothing is subtracted.
    """
    weights = scales.scale[:, None] * state.weights
    shift = state.centre[:, None] * weights
    bias = np.zeros(facts.outputs)
    folded = weights.copy()
    one_hot = facts.mask("onehot")
    for places in facts.categories():
        folded[places] -= shift[places].sum(axis=0)
    for number, flag in facts.flagged():
        folded[flag] += shift[number]
    bias -= shift[~one_hot].sum(axis=0)
    return folded, bias
