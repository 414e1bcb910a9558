# SPDX-License-Identifier: Apache-2.0
"""Skellam and Poisson values from secure bits, exact to a stated distance.

The difference of two independent Poisson variables of mean L is Skellam with variance
2 L. Poisson variables add up, so **Skellam variables add up**: shares of variance 2 L
from H sites are, in sum, exactly the Skellam variable of variance 2 L H. Rounded or
discrete Gaussians have no such property, which is why each needs a correction when
the noise comes in shares. Here the price of the sum is that of one mechanism: Theorem D
of `shares`. A share is within 2^-88 of its law, twice the distance of a Poisson value
and four times that of a rounded Gaussian: a `Release` counts each of its values, over
all sites, as four.

A Poisson value is drawn as P - L for a Poisson variable P of integer mean L, by one of
two methods. Both first use few bits and few digits, and many only where those do not
decide:

**Tables, L < 2^16.** A 192-bit uniform is looked up among the cumulated probabilities,
rounded down to 192 bits. Its first 64 bits decide unless they equal those of an entry;
then 128 more are drawn. Outside L +- y, y = 12 sqrt(L) + 48, nothing is drawn: by
Bernstein's inequality P[|P - L| >= y] <= 2 exp(-y^2/(2 (L + y/3))) <= 2^-99, because
y^2 >= 140 (L + y/3). With the rounding of the table the distance is below 2^-98.

**Rejection, L >= 2^16.** Write l = sqrt(L) >= 256, x = X/l and t = X/L. Propose
X = round(N(0, s^2)) with s^2 = L/(1 - 4/l), which `noise` draws within 2^-90. Beyond
|x| <= 12 reject, else accept with probability exp(A), where

    A(X) = ln p(L + X) - ln q(X) + ln(l/s) - 0.04/l,

p is the Poisson law and q that of X. What is accepted has law p restricted to
|x| <= 12, which holds all but 2 exp(-72/(1 + 4/256)) < 2^-101 of it.

*A <= 0.* By Stirling's formula with remainder 0 < r(k) < 1/(12 k), and with
f(t) = (1+t) ln(1+t) - t,

    ln p(L + X) = -L f(t) - ln(2 pi L)/2 - ln(1+t)/2 - r(L + X),
    ln q(X)     = -X^2/(2 s^2) - ln(2 pi s^2)/2 + ln w,
    w           = integral of exp(-b v - c v^2) over |v| <= 1/2,  b = X/s^2, c = 1/2s^2.

f(t) >= t^2/2 - t^3/6, since the fourth derivative 2/(1+t)^3 is positive, so
X^2/(2 s^2) - L f(t) <= x^2 (x - 12)/(6 l) <= 0. By Jensen -ln w <= c/12 < 0.001/l. For
x < 0, with a = -x, -ln(1+t)/2 <= 0.525 a/l, and 0.525 a - 2 a^2 <= 0.035; for x >= 0 it
is not positive. Together A <= (0.035 + 0.001 - 0.04)/l < 0. []

*Float error.* |t| <= 0.047. Computed is A with f by its series to t^8 (remainder below
2^-29), r(k) by 1/(12 k) (2^-56), and ln w by b^2/24 - c/12 (2^-28: b^4/2880 from the
series of ln(sinh(b/2)/(b/2)), and b^2 c/32 + c^2 from the square). Terms are at most
72 with relative error 2^-48. Together below 2^-27. A 32-bit uniform u decides unless
|u - exp(A)| <= `_GUARD` = 2^-25; then 256 more bits and 500-bit arithmetic do.

*Distance.* If the proposal is within d of its law and accepted with probability Z, the
accepted value is within 1.5 d/Z of its own: both the accepted mass and its total move
by at most d. Z >= 0.97, so with the tails it is below `TOTAL_VARIATION` = 2^-89.

The time of a draw depends a little on the value (a proposal is rejected with
probability about 2/l < 1 %): there is no defence against an observer who can time it
inside a site.
"""

import math
from bisect import bisect_right
from functools import lru_cache

import mpmath
import numpy as np
from numpy.typing import NDArray

from lexfed import checks
from lexfed.arrays import Bools, Floats, Integers
from lexfed.privacy.noise.gaussian import rounded_gaussian
from lexfed.randomness import RandomSource

TOTAL_VARIATION = 2.0**-89
"""Distance per value between what is drawn and the Poisson law."""

LARGEST_MEAN = 2**60
"""Beyond this the stated error does not hold."""

_TABLE_BELOW = 2**16
_TABLE_BITS = 192
_REACH = 12.0
_SLACK = 0.04
_GUARD = 2.0**-25
_MORE_WORDS = 4  # 256 bits
_PRECISION = 500
_CHUNK = 2**15  # values at a time: everything stays in the cache of a core

# L f(t)/t^2 = L (1/2 - t/6 + t^2/12 - ...), highest power first.
_SERIES = tuple((-1.0) ** n / (n * (n - 1)) for n in range(8, 1, -1))

SKELLAM_VARIATION = 2.0 * TOTAL_VARIATION
"""Distance per value between what is drawn and the Skellam law."""


def skellam(source: RandomSource, half: int, count: int) -> Integers:
    """Draw `count` Skellam values of variance 2 `half`, for 1 <= `half` <= 2^60.

    Guarantees:
        Each value is within total variation 2^-88 of the Skellam law.
        The same seeded source gives the same values.
        The values of a secure source do not repeat.
    """
    checks.in_range(0, 2**39, count=count)
    both = centred_poisson(source, half, 2 * count)
    return both[:count] - both[count:]


def centred_poisson(source: RandomSource, mean: int, count: int) -> Integers:
    """Draw `count` independent values of P - mean, for P Poisson and 1 <= mean <= 2^60.

    Guarantees:
        Each value is within total variation 2^-89 of its law.
        The same seeded source gives the same values.
    """
    checks.in_range(1, LARGEST_MEAN, mean=mean)
    checks.in_range(0, 2**40, count=count)
    draw = _from_table if mean < _TABLE_BELOW else _from_gaussian
    result = np.empty(count, dtype=np.int64)
    for start in range(0, count, _CHUNK):
        part = result[start : start + _CHUNK]
        part[:] = draw(source, mean, len(part))
    return result


def _from_table(source: RandomSource, mean: int, count: int) -> Integers:
    lowest, cells, firsts = _table(mean)
    words = source.words(count)
    place = np.searchsorted(firsts, words, side="right")
    for index in np.flatnonzero(firsts[np.maximum(place - 1, 0)] == words):
        more = _bits(source.words(_TABLE_BITS // 64 - 1))
        uniform = int(words[index]) << (_TABLE_BITS - 64) | more
        place[index] = bisect_right(cells, uniform)
    return np.asarray(place + (lowest - mean), dtype=np.int64)


@lru_cache(maxsize=16)
def _table(mean: int) -> tuple[int, list[int], NDArray[np.uint64]]:
    """Return the smallest value, the cumulated probabilities and their first bits."""
    reach = math.ceil(_REACH * math.sqrt(mean)) + 48
    lowest = max(0, mean - reach)
    cells = []
    with mpmath.workprec(_PRECISION):
        log = lowest * mpmath.log(mean) - mean - mpmath.loggamma(lowest + 1)
        term, total = mpmath.exp(log), mpmath.mpf(0)
        # The last value takes what is left, so it needs no entry.
        for value in range(lowest, mean + reach):
            total += term
            cells.append(int(mpmath.ldexp(total, _TABLE_BITS)))
            term = term * mean / (value + 1)
    firsts = [cell >> (_TABLE_BITS - 64) for cell in cells]
    return lowest, cells, np.array(firsts, dtype=np.uint64)


def _from_gaussian(source: RandomSource, mean: int, count: int) -> Integers:
    root = math.sqrt(mean)
    scale = root / math.sqrt(1.0 - 4.0 / root)
    result = np.empty(count, dtype=np.int64)
    filled = 0
    while filled < count:
        proposed = rounded_gaussian(source, scale, count - filled)
        proposed = proposed[_accepted(source, mean, scale, proposed)]
        result[filled : filled + len(proposed)] = proposed
        filled += len(proposed)
    return result


def _accepted(
    source: RandomSource, mean: int, scale: float, proposed: Integers
) -> Bools:
    values = proposed.astype(np.float64)
    words = source.words(-(-len(values) // 2)).view(np.uint32)[: len(values)]
    chance = np.exp(_log_acceptance(mean, scale, values))
    # The middle of what the missing bits leave open; the guard has room for it.
    gap = chance - (words + 0.5) * 2.0**-32
    accepted = gap > 0.0
    for index in np.flatnonzero(np.abs(gap) <= _GUARD):
        accepted[index] = _decide(
            source, mean, scale, int(proposed[index]), int(words[index])
        )
    return np.asarray(accepted & (np.abs(values) <= _REACH * math.sqrt(mean)))


def _log_acceptance(mean: int, scale: float, values: Floats) -> Floats:
    """Return A for every proposal, up to the stated error where |x| <= 12."""
    # Proposals beyond are rejected anyway; inside the range the series is right.
    reach = _REACH * math.sqrt(mean)
    shift = np.clip(values, -reach, reach) / mean
    series = np.full_like(shift, _SERIES[0])
    for coefficient in _SERIES[1:]:
        series *= shift
        series += coefficient
    # Both squares together: X^2/(2 s^2) and b^2/24 have the same X^2.
    width = 1.0 / scale**2
    series -= 0.5 * mean * width - mean * width**2 / 24.0
    series *= shift
    series *= shift
    series *= -float(mean)
    shift += 1.0
    series -= 0.5 * np.log(shift)
    series -= 1.0 / (12.0 * mean) / shift
    series += width / 24.0 - _SLACK / math.sqrt(mean)
    return series


def _decide(
    source: RandomSource, mean: int, scale: float, value: int, word: int
) -> bool:
    """Compare the uniform that starts with a 32-bit word exactly with exp(A)."""
    bits = word << 64 * _MORE_WORDS | _bits(source.words(_MORE_WORDS))
    with mpmath.workprec(_PRECISION):
        uniform = mpmath.ldexp(2 * bits + 1, -64 * _MORE_WORDS - 33)
        return bool(uniform < mpmath.exp(_exact_log_acceptance(mean, scale, value)))


def _exact_log_acceptance(mean: int, scale: float, value: int) -> mpmath.mpf:
    """Return A(X) from its definition; in 500 bits."""
    with mpmath.workprec(_PRECISION):
        half, width = mpmath.mpf(0.5), mpmath.sqrt(2) * mpmath.mpf(scale)
        count = mpmath.mpf(mean) + value
        target = count * mpmath.log(mean) - mean - mpmath.loggamma(count + 1)
        # Upper tails of |X|: their difference keeps its digits far out.
        near, far = (mpmath.erfc((abs(value) + v) / width) for v in (-half, half))
        proposal = mpmath.log((near - far) / 2)
        root = mpmath.sqrt(mean)
        slack = mpmath.mpf(_SLACK / math.sqrt(mean))
        return target - proposal + mpmath.log(root / scale) - slack


def _bits(words: NDArray[np.uint64]) -> int:
    return int.from_bytes(words.astype(">u8").tobytes(), "big")
