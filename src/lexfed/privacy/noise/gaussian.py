# SPDX-License-Identifier: Apache-2.0
"""Rounded Gaussian noise on the integers, exact to a stated distance.

`X = round(N(0, s^2))` added to an integer sum is post-processing of the continuous
Gaussian mechanism, because `round(k + g) = k + round(g)` for an integer k: Gaussian
accounting holds without a correction. What must be right is the integer itself, not
a float close to it: the holes between floats reveal the sum (Mironov 2012).

**Method.** Two independent 64-bit words stand for uniforms u and v of which only the
first 64 bits are known yet. The pair

    x = s sqrt(-2 ln u) cos(2 pi v),    y = s sqrt(-2 ln u) sin(2 pi v)

is two independent N(0, s^2) [Box-Muller 1958, Eq. 1]. Floats give x up to a known
error; its nearest integer is already certain, whatever the unknown bits are, unless
x lies within that error of a half-integer. Those few are decided with 256 more bits
of u and of v and 500-bit arithmetic.

**Error.** Outside the slow path 2^-20 <= u <= 1 - 2^-20, and with r = sqrt(-2 ln u)

    |x/s - its float| <= 2^-62/(r u) + 2^-52/r + 2^-47 r        (`_error`)
                      <= 2^-42,

where the terms are the unknown bits of u, the float of u near 1, and everything
proportional to r (bits of v, argument of the tangent, functions within 4 ulp). Cosine
and sine come from one tangent, t = tan(pi v): with q = 2/(1 + t^2) they are q - 1 and
q t, and an error of t by a factor 1 + d moves the angle by d sin(2 pi v) only. On the
slow path u and v have 320 bits. Except with probability 2^-100 (u < 2^-100, or
1 - u < 2^-100), filling in the rest moves x by less than s 2^-150, so for s <= 2^40
it crosses one of the half-integers with probability below 2^-105. Together below
`TOTAL_VARIATION` = 2^-90 per value, with room to spare.

A table of cumulative probabilities cannot replace this: a grid that keeps the charged
rounding small needs s = sigma/step of 1e5 to 1e9, and the table about 20 s entries.
"""

import math
from collections.abc import Callable

import mpmath
import numpy as np
from numpy.typing import NDArray

from lexfed import checks
from lexfed.arrays import Floats, Integers
from lexfed.randomness import RandomSource

TOTAL_VARIATION = 2.0**-90
"""Distance per value between what is drawn and the rounded Gaussian."""

LARGEST_SCALE = 2.0**40
"""Beyond this the stated error does not hold."""

_EDGE = 2.0**-20  # u this close to 0 or 1 always takes the slow path
_GUARD = 2.0**-42
_MORE_WORDS = 4  # 256 bits for each of u and v
_PRECISION = 500


def rounded_gaussian(
    source: RandomSource, scale: float | Floats, count: int
) -> Integers:
    """Draw `count` independent values of round(N(0, scale^2)).

    The scale, in integer units in (0, 2^40], is one for all values, or one for each.

    Guarantees:
        Each value is within total variation 2^-90 of the rounded Gaussian.
        The same seeded source gives the same values.
        The values of a secure source do not repeat.
    """
    checks.in_range(0, 2**40, count=count)
    scales = np.asarray(scale, dtype=np.float64)
    if scales.ndim and scales.shape != (count,):
        raise ValueError(f"expected {count} scales, got: {scales.size}")
    if count == 0:
        return np.zeros(0, dtype=np.int64)
    checks.positive(scale=float(scales.min()))
    largest = float(scales.max())
    checks.in_range(0.0, LARGEST_SCALE, scale=largest)
    pairs = (count + 1) // 2
    by_pair = _by_pair(scales, pairs)
    words = source.words(2 * pairs)
    uniform, radius, values = _standard_pairs(words)
    values *= by_pair
    nearest = np.rint(values)
    result = nearest.astype(np.int64)
    distance = np.abs(np.subtract(values, nearest, out=values), out=values)
    for pair in _uncertain(distance, uniform, radius, by_pair, largest):
        result[:, pair] = _decide(
            source, int(words[pair]), int(words[pairs + pair]), by_pair[:, pair]
        )
    return result.reshape(-1)[:count]


def delta_sampler(samples: int, epsilon: float) -> float:
    """Return the delta to charge for the sampler's distance from the Gaussian.

    If each of `samples` values is within total variation tv of the ideal one, an
    (epsilon, delta) guarantee of the ideal mechanism becomes
    (epsilon, delta + samples (1 + e^epsilon) tv) for the real one.
    """
    if samples == 0:
        return 0.0
    exponent = math.log(samples) + math.log(TOTAL_VARIATION)
    grown = exponent + epsilon + math.log1p(math.exp(-epsilon))
    return min(1.0, math.exp(min(grown, 0.0)))


def epsilon_with_sampler(
    price: Callable[[float], float], delta: float, samples: int
) -> float:
    """Return the epsilon at which delta pays for the sampler's error as well.

    `price` gives the epsilon of the ideal mechanism at a delta; `samples` noise values
    are drawn. The error grows with the epsilon that is stated, and that epsilon with
    what the error leaves of delta. The smallest number that suits both is approached
    from below, and what is returned was checked.

    Guarantees:
        With e the result, price(d) <= e at some d <= delta - delta_sampler(samples, e).
        Infinite where the error leaves nothing of delta.
    """
    epsilon = price(delta)
    while (left := delta - delta_sampler(samples, epsilon)) > 0.0:
        needed = price(math.nextafter(left, 0.0))  # the difference was rounded
        if needed <= epsilon:
            return epsilon
        # A little more than needed, so that steps do not shrink for ever.
        epsilon = needed * (1.0 + 2.0**-40)
    return math.inf


def _by_pair(scales: Floats, pairs: int) -> Floats:
    """Arrange scales as firsts of all pairs, then seconds; if odd, one is not used."""
    if scales.ndim == 0:
        return np.broadcast_to(scales, (2, pairs))
    flat = np.ones(2 * pairs)
    flat[: len(scales)] = scales
    return flat.reshape(2, pairs)


def _standard_pairs(words: NDArray[np.uint64]) -> tuple[Floats, Floats, Floats]:
    """Return u, sqrt(-2 ln u) and the two standard normals of every pair, as floats."""
    pairs = len(words) // 2
    # Without their last bit, which `_error` has room for, words are signed numbers:
    # those are converted without a branch on the first bit, five times as fast.
    uniform = (words[:pairs] >> np.uint64(1)).view(np.int64).astype(np.float64)
    np.multiply(np.add(uniform, 0.5, out=uniform), 2.0**-63, out=uniform)
    radius = np.minimum(uniform, 1.0 - _EDGE / 2)
    np.log(radius, out=radius)
    np.sqrt(np.multiply(radius, -2.0, out=radius), out=radius)
    values = np.empty((2, pairs))
    cosine, sine = values
    # Signed words: a half-angle in [-pi/2, pi/2) keeps more of its bits than [0, pi).
    np.multiply(words[pairs:].view(np.int64), math.pi * 2.0**-64, out=sine)
    # One tangent takes a quarter of the time of a cosine and a sine.
    tangent = np.tan(sine, out=sine)
    np.add(np.multiply(tangent, tangent, out=cosine), 1.0, out=cosine)
    np.divide(2.0, cosine, out=cosine)
    np.multiply(cosine, tangent, out=sine)
    np.subtract(cosine, 1.0, out=cosine)
    values *= radius
    return uniform, radius, values


def _error(uniform: Floats, radius: Floats) -> Floats:
    """Bound the error of value/scale for uniforms away from 0 and 1."""
    return 2.0**-62 / (radius * uniform) + 2.0**-52 / radius + 2.0**-47 * radius


def _uncertain(
    distance: Floats, uniform: Floats, radius: Floats, scale: Floats, largest: float
) -> list[int]:
    """Return the pairs with at least one value whose nearest integer is not certain."""
    # Two passes: three comparisons, with the largest error, clear nearly all draws.
    within = 0.5 - largest * _GUARD
    inside = uniform.min() >= _EDGE and uniform.max() <= 1.0 - _EDGE
    if inside and distance.max() <= within:
        return []
    edge = np.flatnonzero((uniform < _EDGE) | (uniform > 1.0 - _EDGE))
    close = np.flatnonzero((distance > within).any(axis=0))
    tight = scale[:, close] * _error(uniform[close], radius[close])
    close = close[(distance[:, close] > 0.5 - tight).any(axis=0)]
    return sorted({*edge.tolist(), *close.tolist()})


def _decide(
    source: RandomSource, first: int, second: int, scale: Floats
) -> tuple[int, int]:
    """Round one pair exactly, given the 64 bits known of each uniform."""
    more = source.words(2 * _MORE_WORDS)
    with mpmath.workprec(_PRECISION):
        half = mpmath.mpf(0.5)
        pair = _exact_pair(first, second, more)
        x, y = (
            int(mpmath.floor(float(s) * value + half))
            for s, value in zip(scale, pair, strict=True)
        )
    return x, y


def _exact_pair(
    first: int, second: int, more: NDArray[np.uint64]
) -> tuple[mpmath.mpf, mpmath.mpf]:
    """Return the standard normals of two words continued by further bits."""
    uniform = _extended(first, more[:_MORE_WORDS])
    turn = 2 * _extended(second, more[_MORE_WORDS:])
    radius = mpmath.sqrt(-2 * mpmath.log(uniform))
    return radius * mpmath.cospi(turn), radius * mpmath.sinpi(turn)


def _extended(word: int, more: NDArray[np.uint64]) -> mpmath.mpf:
    """Return the uniform of which `word` holds the first 64 bits."""
    bits = int.from_bytes(word.to_bytes(8, "big") + more.astype(">u8").tobytes(), "big")
    # The middle of the last cell: never 0 or 1, where the logarithm has no use.
    return mpmath.ldexp(2 * bits + 1, -64 * (1 + _MORE_WORDS) - 1)
