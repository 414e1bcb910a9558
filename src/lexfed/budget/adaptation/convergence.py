# SPDX-License-Identifier: Apache-2.0
"""Noise that follows convergence: less of it once successive releases agree.

    score = exp(-decay * sum over the window of |g_t - g_(t-1)|)
    sigma = sigma_tier * (1 - beta * score)                        `convergence`
    sigma = base * (2.0 * weight + 0.5 * (1 - min(score, 0.8)))    `linear`

on released vectors whose noise is taken off (`signals`). Both factors have bounds that
are known before the first round. Under an envelope the lower one is what is planned
and priced; under a filter the planned rounds fit exactly at the middle of the two.
"""

import math
from collections.abc import Mapping, Sequence

from lexfed import checks
from lexfed.tiers import Tier

MOST_CONVERGED = 0.8
"""The linear form takes no higher score."""

LEAST_WEIGHT = 0.25
"""The linear form takes weights from this to 1."""

TIER_WEIGHT: Mapping[Tier, float] = {
    Tier.NON_PERSONAL: 0.25,
    Tier.PERSONAL: 0.5,
    Tier.SPECIAL: 1.0,
}
"""Weight of a tier in the linear form: the noise of a sensitive tier moves less."""


def score(distances: Sequence[float], window: int, decay: float) -> float:
    """Return the convergence of a training, in [0, 1].

    A window that is not full yet is taken to go on as it began; without any distance
    nothing is known, which is no convergence.

    Args:
        distances: between successive releases, the latest last, the noise taken off.
        window: number of them that count.
        decay: of the score with their sum.
    """
    seen = distances[-window:]
    if not seen:
        return 0.0
    return math.exp(-decay * sum(seen) * window / len(seen))


def convergence_factor(score: float, beta: float) -> float:
    """Return the factor on a tier's noise: from 1 down to 1 - beta.

    Guarantees:
        The factor lies within `convergence_bounds`, whatever the score.
    """
    low, high = convergence_bounds(beta)
    return _between(low, 1.0 - beta * score, high)


def convergence_bounds(beta: float) -> tuple[float, float]:
    """Return the smallest and the largest factor.

    Raises:
        ValueError: if beta is not in [0, 0.9]: noise must be left.
    """
    checks.in_range(0.0, 0.9, beta=beta)
    return 1.0 - beta, 1.0


def linear_factor(score: float, weight: float) -> float:
    """Return the factor on the base noise in the linear form.

    Guarantees:
        The factor lies within `linear_bounds`, whatever the score.
    """
    low, high = linear_bounds(weight)
    return _between(low, 2.0 * weight + 0.5 * (1.0 - min(score, MOST_CONVERGED)), high)


def linear_bounds(weight: float) -> tuple[float, float]:
    """Return the smallest and the largest factor.

    Raises:
        ValueError: if the weight is not in [0.25, 1].
    """
    checks.in_range(LEAST_WEIGHT, 1.0, weight=weight)
    return 2.0 * weight + 0.5 * (1.0 - MOST_CONVERGED), 2.0 * weight + 0.5


def _between(low: float, value: float, high: float) -> float:
    # What is not a number gets the most noise: comparisons with it are false.
    return max(low, value) if value <= high else high
