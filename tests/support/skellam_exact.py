# SPDX-License-Identifier: Apache-2.0
"""Exact numbers about Skellam variables, by a way that the package does not use.

Probabilities e^-m I_k(m) come from the recurrence I_{k-1} = (2k/m) I_k + I_{k+1}, run
downwards, where it is stable (Miller's algorithm), and are normalised by their sum.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

Floats = NDArray[np.float64]


def log_probabilities(variance: float, reach: int) -> Floats:
    """Return ln P[X = k] for k = -reach..reach, to about 1e-13."""
    ratios = np.empty(reach)
    ratio = 0.0
    for k in range(2 * reach + 50, -1, -1):
        ratio = 1.0 / (2.0 * (k + 1) / variance + ratio)  # I_{k+1}/I_k
        if k < reach:
            ratios[k] = ratio
    right = np.concatenate([[0.0], np.cumsum(np.log(ratios))])
    both = np.concatenate([right[:0:-1], right])
    return np.asarray(both - logsumexp(both))


def divergence(first: Floats, second: Floats, order: int) -> float:
    """Return the larger Rényi divergence of the two directions."""
    there = logsumexp(order * first + (1 - order) * second)
    back = logsumexp(order * second + (1 - order) * first)
    return float(max(there, back)) / (order - 1)


def laws(variance: float, shift: int, order: int) -> tuple[Floats, Floats, Floats]:
    """Return ln of the laws of X - shift, X and X + shift on one wide window."""
    # The integrand peaks up to about `order` shifts away, in tails that are longer
    # than the normal ones.
    reach = int(40 * variance**0.5 + 60 + 4 * (order + 2) * shift)
    logs = log_probabilities(variance, reach + shift)
    width = 2 * reach + 1
    return logs[2 * shift :][:width], logs[shift:][:width], logs[:width]


def shifted(variance: float, shift: int, order: int) -> float:
    """Return the divergence of X and X + shift."""
    _, centre, right = laws(variance, shift, order)
    return divergence(centre, right, order)


def sampled(variance: float, shift: int, order: int, rate: float, both: bool) -> float:
    """Return the divergence when the shift happens with probability `rate`.

    Without `both` against no shift at all (add/remove), else against the opposite
    shift with the same probability (replace-one).
    """
    left, centre, right = laws(variance, shift, order)
    stay, move = np.log1p(-rate), np.log(rate)
    one = np.logaddexp(stay + centre, move + right)
    other = np.logaddexp(stay + centre, move + left) if both else centre
    return divergence(one, other, order)
