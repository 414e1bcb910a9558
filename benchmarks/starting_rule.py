# SPDX-License-Identifier: Apache-2.0
"""A simpler rule for uniform noise, as a peer: one clip on residual times slots.

It has the same budget and the same release (replace-one, full batch), equal steps from
kappa = n mu / (2 sqrt d), square-root preconditioning, an offset that is switched on
with kappa, and empirical-Bayes shrinkage over ten signal sizes. `paid` buys column
means with a part of the budget. The lexfed rule has to be no worse than the best of
its variants, cell by cell.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def train(
    slots: Floats, labels: Floats, number: NDArray[np.bool_], mu: float, paid: float
) -> Floats:
    """Return the weights of a model trained under a replace-one budget of mu."""
    generator = np.random.default_rng()
    n, d = slots.shape
    guess = np.where(number, 1.0, 0.12)
    spread = guess.sum()
    noise = generator.normal() / (mu * np.sqrt(0.02))
    rate = np.clip((labels.sum() + noise) / n, 0.01, 0.99)
    mu *= np.sqrt(0.98)
    if paid:
        clip = np.sqrt(spread)
        sd = 2 * clip / (mu * np.sqrt(paid))
        slots = slots - (_clip(slots, clip).sum(0) + sd * generator.normal(size=d)) / n
        mu *= np.sqrt(1 - paid)
    clip = 0.175 * np.sqrt(spread)
    kappa = n * mu / (2 * np.sqrt(d))
    rounds = int(np.clip(round(kappa / 4), 1, 8))
    offset = np.log(rate / (1 - rate)) * np.clip((kappa - 5) / 10, 0, 1)
    bend = _sigmoid(offset) * (1 - _sigmoid(offset))
    height = (1 if rounds == 1 else 2) * min(1.0, clip / (2 * bend * np.sqrt(spread)))
    curvature = height * bend * np.sqrt(guess) * spread / np.sqrt(guess).sum()
    prior = curvature**2 / np.sqrt(guess)
    prior *= clip**2 / prior.sum()
    sd = 2 * clip * np.sqrt(rounds) / (mu * n)
    weights = np.zeros(d)
    total = np.zeros(d)
    for number_of_round in range(1, rounds + 1):
        residual = _sigmoid(offset + slots @ weights) - labels
        gradient = _clip(residual[:, None] * slots, clip).sum(0) / n
        total += curvature * weights - gradient - sd * generator.normal(size=d)
        mean = total / number_of_round
        shrink = _shrinkage(mean, sd**2 / number_of_round, prior)
        weights = shrink * mean / curvature
    return weights


def _shrinkage(mean: Floats, noise: float, prior: Floats) -> Floats:
    sizes = np.logspace(np.log10(0.05), 0.0, 10)[:, None] ** 2
    total = sizes * prior + noise
    fit = -0.5 * (np.log(total) + mean**2 / total).sum(1)
    share = np.exp(fit - fit.max())
    share /= share.sum()
    return np.asarray((share[:, None] * sizes * prior / total).sum(0))


def _clip(rows: Floats, clip: float) -> Floats:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows * np.minimum(1.0, clip / np.maximum(norms, 1e-12)))


def _sigmoid(value: Floats) -> Floats:
    return np.asarray(0.5 * (1 + np.tanh(value / 2)))
