# SPDX-License-Identifier: Apache-2.0
"""Laplace noise on the integers: two-sided geometric, exact to a stated distance.

    P[X = k] = (1 - r)/(1 + r) r^|k|,    r = e^(-1/scale).

Added to integers that neighbours move by at most D in sum of absolute values, no
outcome is more than r^-D = e^(D/scale) times as likely for one as for the other: pure
epsilon = D/scale. It is the geometric mechanism (Ghosh, Roughgarden and Sundararajan
2009). Floats cannot be used for it: their holes reveal the sum (Mironov 2012).

**Method.** X = G - G' with independent geometric G, P[G >= k] = r^k. The binary digits
of G are independent, digit i is 1 with probability

    p_i = r^(2^i) / (1 + r^(2^i)) = 1/(1 + e^(2^i/scale)),

because P[G = k] is proportional to r^k, which is a product over the digits of k. So a
value takes a fixed handful of coins, without loops of random length.

**Error.** A coin has its probability to 128 bits, so a digit is within 2^-128 of its
law. Digits of probability below 2^-128 are left out. Together a value is within 2^-120
of its law, far below `gaussian.TOTAL_VARIATION`, which is what is charged.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import mpmath
import numpy as np

from lexfed import checks
from lexfed.arrays import Bools, Floats, Integers
from lexfed.randomness import RandomSource

LEAST_SCALE = 0.02
"""Less noise protects nobody: pure epsilon of 50 for one count."""

LARGEST_SCALE = 2.0**40
_WORD = 2**64
_BITS = 128
_PRECISION = 300


def two_sided_geometric(source: RandomSource, scale: float, count: int) -> Integers:
    """Draw `count` values of the law above, for a scale in [.02, 2^40].

    Guarantees:
        Each value is within total variation 2^-120 of the law.
        The same seeded source gives the same values.
    """
    checks.in_range(0, 2**40, count=count)
    checks.in_range(LEAST_SCALE, LARGEST_SCALE, scale=scale)
    value = np.zeros(count, dtype=np.int64)
    for digit, chance in enumerate(_digits(scale)):
        value += _coins(source, chance, count).astype(np.int64) << digit
        value -= _coins(source, chance, count).astype(np.int64) << digit
    return value


def variance_of(scale: float) -> float:
    """Return the variance of the law, 2r/(1 - r)^2."""
    return 0.5 / math.sinh(0.5 / scale) ** 2


def kurtosis_of(scale: float) -> float:
    """Return E[X^4]/E[X^2]^2: 6 for wide noise, more for narrow; 3 is a Gaussian.

    Cumulants of G add up: 3 + (1 + 4r + r^2)/(2r).
    """
    return 5.0 + math.cosh(1.0 / scale)


def reach_of(scale: float) -> int:
    """Return the least size that |X| exceeds with probability below 2^-100."""
    # P[|X| > t] = 2 r^(t+1)/(1 + r) <= 2 r^(t+1).
    return math.ceil(scale * 101.0 * math.log(2.0))


def spread_within(scales: Sequence[float], confidence: float) -> int:
    """Return the least t for which the sum of such values lies in [-t, t] so often.

    Scales are at most 1000 each, or 100,000 for a single value; the confidence, the
    probability of [-t, t], is at most .999.
    """
    checks.in_range(0.0, 0.999, confidence=confidence)
    # Laws of several are folded into each other: the square of their length.
    most = 1e5 if len(scales) == 1 else 1e3
    checks.in_range(LEAST_SCALE, most, scale=max(scales))
    sides = [_one_side(scale) for scale in scales]
    law = sides[0]
    for side in sides[1:]:
        law = np.convolve(law, side)
    middle = len(law) // 2
    # From the middle outwards: P[0], then P[-t] + P[t].
    inside = np.cumsum(law[middle:] + law[middle::-1]) - law[middle]
    return int(np.searchsorted(inside, confidence))


def _one_side(scale: float) -> Floats:
    """Return the law on [-reach, reach], beyond which less than 1e-9 lies."""
    reach = math.ceil(22.0 * scale)
    sizes = np.abs(np.arange(-reach, reach + 1))
    ratio = math.exp(-1.0 / scale)
    return np.asarray((1.0 - ratio) / (1.0 + ratio) * np.exp(-sizes / scale))


@lru_cache(maxsize=64)
def _digits(scale: float) -> tuple[int, ...]:
    """Return 2^128 times the probability of each digit, from the lowest."""
    chances = []
    with mpmath.workprec(_PRECISION):
        exponent = 1 / mpmath.mpf(scale)
        while (chance := int(mpmath.ldexp(1 / (1 + mpmath.exp(exponent)), _BITS))) > 0:
            chances.append(chance)
            exponent *= 2
    return tuple(chances)


def _coins(source: RandomSource, chance: int, count: int) -> Bools:
    """Flip coins that show 1 with probability chance/2^128, exactly."""
    high, low = divmod(chance, _WORD)
    words = source.words(count)
    coins: Bools = words < np.uint64(high)
    tied = np.flatnonzero(words == np.uint64(high))
    if len(tied):
        coins[tied] = source.words(len(tied)) < np.uint64(low)
    return coins
