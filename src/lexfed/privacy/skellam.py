# SPDX-License-Identifier: Apache-2.0
"""Skellam noise: integers whose sum over sites is again Skellam, with a proven price.

The difference of two independent Poisson variables of mean L is Skellam with variance
2 L. Poisson variables add up, so **Skellam variables add up**: shares of variance 2 L
from H sites are, in sum, exactly the Skellam variable of variance 2 L H. Rounded or
discrete Gaussians have no such property, which is why each needs a correction when
the noise comes in shares. Here the price of the sum is that of one mechanism.

**Price** [AKL21, Thm. 3.5 and Cor. 3.6]. Two integer vectors at L2 distance D2 and L1
distance D1, with independent Skellam noise of variance m on every coordinate, have at
integer order a >= 2 the Rényi divergence

    D_a <= a D2^2/(2 m) + min( ((2a-1) D2^2 + 6 D1)/(4 m^2), 3 D1/(2 m) ).

The first term is the Gaussian's. The second vanishes when m is large, that is, on a
fine grid; it is never left out. The right-hand side grows with D2 and D1, so upper
bounds of both may be put in, and m may be replaced by something smaller.

For integer vectors D1 <= min(sqrt(d) D2, D2^2): Cauchy-Schwarz, and |k| <= k^2.

Wrap-around of the ring is post-processing of the noisy sum, and so costs nothing.

**Sampler.** A share is within 2^-88 of its law, twice the distance of a Poisson value.
It is charged as additional delta, over all values of all sites.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lexfed import checks
from lexfed.privacy import noise, poisson
from lexfed.privacy.rdp import ORDERS
from lexfed.randomness import RandomSource

Floats = NDArray[np.float64]

TOTAL_VARIATION = 2.0 * poisson.TOTAL_VARIATION
"""Distance per value between what is drawn and the Skellam law."""

_FLOATS = 1e-13  # relative: above the rounding of the few operations of the bound


def skellam(source: RandomSource, half: int, count: int) -> NDArray[np.int64]:
    """Draw independent Skellam values of variance 2 `half`.

    Args:
        source: where the random bits come from.
        half: half of the variance, an integer from 1 to 2^60.
        count: how many values.

    Guarantees:
        Each value is within total variation 2^-88 of the Skellam law.
        The same seeded source gives the same values.
        The values of a secure source do not repeat.

    Raises:
        ValueError: if `half` or `count` is out of range.
    """
    checks.in_range(0, 2**39, count=count)
    both = poisson.centred_poisson(source, half, 2 * count)
    return both[:count] - both[count:]


def delta_sampler(samples: int, epsilon: float) -> float:
    """Return the delta to charge for that many values, see `noise.delta_sampler`."""
    ratio = round(TOTAL_VARIATION / noise.TOTAL_VARIATION)
    return noise.delta_sampler(ratio * samples, epsilon)


def curve(
    variance: float, l2: float, l1: float, orders: Sequence[int] = ORDERS
) -> Floats:
    """Return a bound on the Rényi divergence of the noisy sum at each order.

    Args:
        variance: of the noise in sum, on every coordinate.
        l2: how far, at most, one unit moves the integer sum in L2.
        l1: the same in L1; see `l1_bound`.
        orders: integers from 2; the bound is not proven for others.

    Guarantees:
        Never below the exact divergence.
        Never below that of Gaussian noise of the same variance.

    Raises:
        ValueError: for an order that is not an integer >= 2, or a value out of range.
    """
    checks.finite_positive(variance=variance, l2=l2, l1=l1)
    for order in orders:
        if order != int(order) or order < 2:
            raise ValueError(f"expected orders to be integers >= 2, got: {order}")
    alphas = np.array(orders, dtype=float)
    gaussian = alphas * l2**2 / (2.0 * variance)
    fine = ((2.0 * alphas - 1.0) * l2**2 + 6.0 * l1) / (4.0 * variance**2)
    coarse = 3.0 * l1 / (2.0 * variance)
    return (gaussian + np.minimum(fine, coarse)) * (1.0 + _FLOATS)


def l1_bound(l2: float, dimension: int) -> float:
    """Return an upper bound on the L1 norm of an integer vector with that L2 norm."""
    return min(math.sqrt(dimension), l2) * l2 * (1.0 + _FLOATS)
