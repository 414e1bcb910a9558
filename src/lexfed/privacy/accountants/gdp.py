# SPDX-License-Identifier: Apache-2.0
"""Gaussian steps, and their exact accounting where every unit takes part.

A `Step` is what accountants compose: a (Poisson-sampled) Gaussian of sensitivity 1
under add/remove, repeated with fresh coins. The neighbouring relation is an argument of
the accountant, not of the step: the noise multiplier is always sigma/clip, and it is
the accountant that knows that replacing a unit moves the sum by 2 clip.

A Gaussian release of sensitivity 1 and noise multiplier z is mu-GDP with mu = 1/z,
and k of them compose exactly to mu = sqrt(sum 1/z^2), adaptively [DRS22, Sec. 3].
The (epsilon, delta) curve of mu-GDP is the analytic Gaussian [BW18, Thm. 8]:

    delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu).

With a = epsilon/mu - mu/2, b = a + mu and the Mills ratio m(x) = Phi(-x)/phi(x), the
identity b^2 - a^2 = 2 epsilon turns this into

    delta = phi(a) (m(a) - m(b)),

which needs no e^epsilon and keeps its digits for any mu. For small mu the difference
is the integral of -m'(x) = 1 - x m(x) over [a, b].
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfcx, ndtr

from lexfed import checks
from lexfed.terms import Neighbours

_SMALL = 0.5  # below: integrate, as the difference would cancel
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)

_SAFETY = 1e-12
"""Relative step to the safe side, above the error of floats and root finding."""
_LOG_ROOT = 0.5 * math.log(2.0 * math.pi)


@dataclass(frozen=True, order=True)
class Step:
    """The same Gaussian release, `count` times.

    Attributes:
        noise_multiplier: sigma/clip; infinite for a release that says nothing.
        sampling_rate: probability that a unit takes part, by an independent coin.
    """

    noise_multiplier: float
    sampling_rate: float = 1.0
    count: int = 1

    def __post_init__(self) -> None:
        checks.positive(noise_multiplier=self.noise_multiplier)
        checks.in_range(0.0, 1.0, sampling_rate=self.sampling_rate)
        checks.in_range(0, 2**53, count=self.count)


def merged_steps(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return the steps that cost something, equal ones counted together, sorted.

    Guarantees:
        Composes to the same guarantee as the input, in any order of the input.
    """
    counts: dict[tuple[float, float], int] = {}
    for step in steps:
        if step.noise_multiplier < math.inf and step.sampling_rate > 0.0:
            # float(): dp-accounting takes an integer multiplier for something else.
            key = (float(step.noise_multiplier), float(step.sampling_rate))
            counts[key] = counts.get(key, 0) + step.count
    return tuple(Step(*key, count) for key, count in sorted(counts.items()) if count)


def sensitivity(neighbours: Neighbours) -> float:
    """Return the distance by which one unit moves the sum, in clips."""
    if neighbours == "add-remove":
        return 1.0
    if neighbours == "replace-one":
        return 2.0
    raise ValueError(f"unknown `neighbours`, got: {neighbours!r}")


def without_sampling(steps: Iterable[Step]) -> bool:
    """Return True if exact Gaussian accounting applies."""
    return all(step.sampling_rate == 1.0 for step in steps)


def gaussian_mu(steps: Sequence[Step], neighbours: Neighbours) -> float:
    """Return mu of the composition of steps, none of which may be sampled."""
    for step in steps:
        if step.sampling_rate < 1.0:
            raise ValueError(
                f"expected `sampling_rate` = 1 for exact Gaussian accounting, "
                f"got: {step.sampling_rate}"
            )
    square = math.fsum(step.count / step.noise_multiplier**2 for step in steps)
    return sensitivity(neighbours) * math.sqrt(square)


def log_delta(mu: float, epsilon: float) -> float:
    """Return ln delta(epsilon) of mu-GDP, for 0 < mu < infinity and epsilon >= 0."""
    a = epsilon / mu - mu / 2.0
    b = a + mu
    if a < -1.0:
        # Here delta is large and the Mills ratio would overflow.
        lost = math.exp(-0.5 * a * a + math.log(_mills(b)) - _LOG_ROOT)
        return math.log(float(ndtr(-a)) - lost)
    log_density = -0.5 * a * a - _LOG_ROOT
    if mu > _SMALL:
        return log_density + math.log(_mills(a) - _mills(b))
    x = a + mu * (1.0 + _NODES) / 2.0
    slope = 1.0 - x * np.sqrt(math.pi / 2.0) * erfcx(x / math.sqrt(2.0))
    return log_density + math.log(mu / 2.0 * float(_WEIGHTS @ slope))


def delta_from(mu: float, epsilon: float) -> float:
    """Return the smallest delta for which mu-GDP implies (epsilon, delta)-DP.

    Guarantees:
        Never below the exact value, and above it by less than 1e-9 of it.
    """
    checks.in_range(0.0, math.inf, mu=mu, epsilon=epsilon)
    if mu == 0.0 or epsilon == math.inf:
        return 0.0
    if mu == math.inf:
        return 1.0
    # Float errors in a are worth a^2 2^-52 of delta: far below 1e-10 unless a > 500,
    # where delta is zero in floats.
    return min(1.0, math.exp(log_delta(mu, epsilon)) * (1.0 + 1e-10))


def epsilon_from(mu: float, delta: float) -> float:
    """Return the smallest epsilon for which mu-GDP implies (epsilon, delta)-DP.

    Guarantees:
        Never below the exact value, and above it by less than 1e-9 of it.
        0 for mu = 0 and for delta >= 1; infinite for delta = 0 and mu > 0.
    """
    checks.in_range(0.0, math.inf, mu=mu, delta=delta)
    if mu == 0.0 or delta >= 1.0:
        return 0.0
    if delta == 0.0 or mu == math.inf:
        return math.inf
    target = math.log(delta)
    if log_delta(mu, 0.0) <= target:
        return 0.0
    # At a = sqrt(2 ln 1/delta) delta(epsilon) <= Phi(-a) <= delta/2, so it brackets.
    top = mu * math.sqrt(-2.0 * target) + mu * mu / 2.0
    root: float = brentq(
        lambda epsilon: log_delta(mu, epsilon) - target, 0.0, top,
        xtol=1e-14 * top, rtol=1e-14, maxiter=500,
    )  # fmt: skip
    return root * (1.0 + _SAFETY) + 1e-13 * mu


def mu_from(epsilon: float, delta: float) -> float:
    """Return the largest mu for which mu-GDP implies (epsilon, delta)-DP.

    Guarantees:
        `epsilon_from(mu_from(epsilon, delta), delta) <= epsilon`.
        Within 1e-9 of the exact value.
    """
    checks.finite_positive(epsilon=epsilon)
    checks.in_range(5e-324, 1.0, delta=delta)
    if delta == 1.0:
        return math.inf
    target = math.log(delta)
    # With this mu, mu sqrt(2 ln 1/delta) + mu^2/2 <= epsilon: see `epsilon_from`.
    low = high = epsilon / (math.sqrt(-2.0 * target) + math.sqrt(2.0 * epsilon))
    while log_delta(high, epsilon) <= target:
        high *= 2.0
    mu: float = brentq(
        lambda mu: log_delta(mu, epsilon) - target, low, high,
        xtol=1e-15 * high, rtol=1e-14, maxiter=500,
    )  # fmt: skip
    while epsilon_from(mu, delta) > epsilon:
        mu *= 1.0 - 2.0 * _SAFETY
    return mu


def _mills(x: float) -> float:
    return math.sqrt(math.pi / 2.0) * float(erfcx(x / math.sqrt(2.0)))
