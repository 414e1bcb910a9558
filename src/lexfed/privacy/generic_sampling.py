# SPDX-License-Identifier: Apache-2.0
"""What Poisson sampling saves for noise of any family: less than for the Gaussian.

The formulas of `rdp` for sampled releases use that Gaussian noise is the same in every
direction. Skellam noise is not. Two bounds hold for any mechanism whose divergences
D_a without sampling are known:

**Reveal the coin**, any relation. Give the adversary the coin of the one unit that
differs. With probability 1 - q both outputs have the same law, else their divergence
is at most D_a; both laws have the same coins, so

    exp((a-1) D'_a) <= 1 - q + q exp((a-1) D_a).

Forgetting the coin is post-processing. Under add/remove the absent unit flips one too.

**Zhu and Wang** [ZW19, Thm. 5], add/remove only and integer a >= 2:

    exp((a-1) D'_a) <= (1-q)^(a-1) (a q - q + 1) + C(a,2) q^2 (1-q)^(a-2) exp(D_2)
                       + 3 sum_{l=3..a} C(a,l) q^l (1-q)^(a-l) exp((l-1) D_l).

The smaller of the two is used, order by order.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from lexfed.privacy.steps import Neighbours

Floats = NDArray[np.float64]

_FLOATS = 1e-12  # added to every logarithm: above the rounding of its sum


def sampled(
    whole: Callable[[Sequence[int]], Floats],
    rate: float,
    orders: Sequence[int],
    neighbours: Neighbours,
) -> Floats:
    """Return a bound on the divergences of a sampled mechanism.

    Args:
        whole: the divergences without sampling, at any integer orders from 2.
        rate: probability that a unit takes part, in (0, 1).
        orders: where the bound is wanted.
        neighbours: the relation that `whole` is for.

    Guarantees:
        Never below the exact divergence if `whole` is not.
        Never above `whole`, but for rounding.
    """
    alphas = np.array(orders, dtype=float)
    stay, move = math.log1p(-rate), math.log(rate)
    logs = np.logaddexp(stay, move + (alphas - 1.0) * whole(orders))
    if neighbours == "add-remove":
        every = whole(range(2, max(orders) + 1))
        other = [_zhu_wang(order, rate, every) for order in orders]
        logs = np.minimum(logs, other)
    return (np.maximum(logs, 0.0) * (1.0 + _FLOATS) + _FLOATS) / (alphas - 1.0)


def _zhu_wang(order: int, rate: float, every: Floats) -> float:
    """Return the logarithm of the right-hand side; `every` starts at order 2."""
    stay, move = math.log1p(-rate), math.log(rate)
    k = np.arange(2, order + 1, dtype=float)
    binomial = gammaln(order + 1) - gammaln(k + 1) - gammaln(order - k + 1)
    terms = binomial + k * move + (order - k) * stay + (k - 1.0) * every[: order - 1]
    terms[1:] += math.log(3.0)
    first = (order - 1) * stay + math.log1p((order - 1) * rate)
    return float(logsumexp(np.append(terms, first)))
