# SPDX-License-Identifier: Apache-2.0
"""The intercept that gives predictions the released rate on average.

A model whose logits spread by s around their mean does not predict the rate p on
average at an intercept of logit p: the logistic function bends towards a half. With
s squared = sum of w squared v over the released weights and variances, the intercept b
solves E sigmoid(b + s x) = p for a standard normal x; for classes likewise, with one
spread for each. It is a function of released values, and costs nothing.
"""

import numpy as np

from lexfed.arrays import Floats
from lexfed.models.losses import LossName
from lexfed.models.rule.estimates import RATE_GUESS, TargetEstimate

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(41)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_STEPS = 60


def calibrated_logits(
    loss: LossName, base: TargetEstimate, bought: bool, squares: Floats
) -> Floats:
    """Return the intercept where logits spread by the roots of `squares`.

    Where nobody bought the rate of a yes/no target, it is the public guess: then the
    more frequent answer is guessed right more often than by even odds.
    """
    if loss == "squared":
        return base.rate
    if loss == "logistic":
        rate = base.rate if bought else np.array([RATE_GUESS])
        return _of_two(float(rate[0]), float(np.sqrt(squares[0])))
    return _of_classes(base.rate, np.sqrt(squares))


def _of_two(rate: float, spread: float) -> Floats:
    low, high = -40.0 - 10.0 * spread, 40.0 + 10.0 * spread
    for _ in range(2 * _STEPS):
        middle = (low + high) / 2.0
        shown = _WEIGHTS @ (1.0 / (1.0 + np.exp(-(middle + spread * _NODES))))
        low, high = (middle, high) if shown < rate else (low, middle)
    return np.array([(low + high) / 2.0])


def _of_classes(rates: Floats, spreads: Floats) -> Floats:
    # A fixed set of made-up records: the average over several normals has no formula.
    made = np.random.default_rng(0).standard_normal((2048, len(rates))) * spreads
    logits = np.log(rates)
    for _ in range(_STEPS):
        shown = np.exp(made + logits - (made + logits).max(axis=1, keepdims=True))
        shown /= shown.sum(axis=1, keepdims=True)
        logits = logits + np.log(rates / shown.mean(axis=0))
    return np.asarray(logits - logits.mean())
