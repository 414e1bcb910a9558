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


def shifted(variance: float, shift: int, order: int) -> float:
    """Return the divergence of X and X + shift, for a shift above 0."""
    # The integrand peaks up to about `order` shifts away, in tails that are longer
    # than the normal ones.
    reach = int(40 * variance**0.5 + 60 + 4 * (order + 2) * shift)
    logs = log_probabilities(variance, reach + shift)
    width = 2 * reach + 1
    return divergence(logs[shift:][:width], logs[:width], order)


def published_bound(variance: float, l2: float, l1: float, order: int) -> float:
    """Return the bound of [AKL21, Cor. 3.6] for vectors at these distances."""
    fine = ((2 * order - 1) * l2**2 + 6 * l1) / (4 * variance**2)
    return order * l2**2 / (2 * variance) + min(fine, 3 * l1 / (2 * variance))
