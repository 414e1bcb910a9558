# SPDX-License-Identifier: Apache-2.0
"""CPU time of accounting and of noise, with dp-accounting beside it.

    python -m benchmarks.accounting

Prints one JSON line: seconds for 2,000 rounds with distinct sigmas (Rényi and privacy
loss distributions), how often that is faster than dp-accounting's Rényi accountant
over 50 of the rounds (scaled up), milliseconds for the noise of 66,700 values, and by
how much privacy loss distributions are above a finer reference: the same steps on a
grid centred on its cells (error of second order in its width), one level at a time.
"""

import json
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.stats import norm

from lexfed.privacy.accountants.composition import epsilon
from lexfed.privacy.accountants.gdp import Step
from lexfed.privacy.noise.gaussian import rounded_gaussian
from lexfed.randomness import SecureSource

ROUNDS = 2000
SHARE = 50


def cpu_seconds(job: Callable[[int], Any], repeats: int) -> float:
    """Return the smallest CPU time of several repeats; each gets its number."""
    times = []
    for number in range(repeats):
        start = time.process_time()
        job(number)
        times.append(time.process_time() - start)
    return min(times)


def schedule(number: int) -> list[float]:
    """Return 2,000 distinct multipliers, a little different each time: no caches."""
    return [float(z) for z in (1.0 + 1e-6 * number) * np.geomspace(1.0, 4.0, ROUNDS)]


def steps(number: int) -> list[Step]:
    """Return the schedule as sampled steps."""
    return [Step(multiplier, 0.02) for multiplier in schedule(number)]


def peer(multipliers: list[float]) -> float:
    """Return the epsilon of dp-accounting's Rényi accountant."""
    import dp_accounting

    accountant = dp_accounting.rdp.RdpAccountant(orders=list(range(2, 65)))
    for multiplier in multipliers:
        gaussian = dp_accounting.GaussianDpEvent(multiplier)
        accountant.compose(dp_accounting.PoissonSampledDpEvent(0.02, gaussian))
    return float(accountant.get_epsilon(1e-5))


SCHEDULES: dict[str, list[Step]] = {
    "z 1, q .01, 1000 rounds": [Step(1.0, 0.01, 1000)],
    "z .8, q .001, 10,000 rounds": [Step(0.8, 0.001, 10_000)],
    "z 5, q .5, 100 rounds": [Step(5.0, 0.5, 100)],
    "z 1..4, q .02, 2000 rounds": [Step(z, 0.02) for z in schedule(0)],
    "z 1..1000, q .5, 300 rounds": [
        Step(float(z), 0.5) for z in np.geomspace(1, 1000, 300)
    ],
    "z 1..4, q .02...2, 300 rounds": [
        Step(float(z), float(q))
        for z, q in zip(
            np.geomspace(1, 4, 300), np.linspace(0.02, 0.2, 300), strict=True
        )
    ],
    "z .7, q .0001, 100,000 rounds": [Step(0.7, 1e-4, 100_000)],
    "z 1, q .0001, 1,000,000 rounds": [Step(1.0, 1e-4, 1_000_000)],
}


def reference(of: list[Step], delta: float) -> float:
    """Return epsilon under removal and addition, neither rounded up nor down."""
    return max(_one_way(of, delta, removed) for removed in (True, False))


def _one_way(of: list[Step], delta: float, removed: bool) -> float:
    variances = [s.sampling_rate**2 * math.expm1(s.noise_multiplier**-2) for s in of]
    variance = sum(v * s.count for v, s in zip(variances, of, strict=True))
    span = variance / 2 + 14 * math.sqrt(variance) + 2
    span += 14 * max(1 / step.noise_multiplier for step in of)
    # Fine enough for the smallest loss that is repeated most.
    width = min(span / 2**17, 0.2 * math.sqrt(variance / sum(s.count for s in of)))
    size = next_fast_len(int(2 * span / width))
    places = np.arange(-(size // 4), size // 4 + 1)
    edges = (np.append(places, places[-1] + 1) - 0.5) * width
    spectrum, shift = np.ones(size // 2 + 1, dtype=complex), 0.0
    for step in of:
        below = _distribution(step, edges, removed)
        chances = np.diff(below)
        chances[0] += below[0]
        chances[-1] += 1 - below[-1]
        row = np.zeros(size)
        row[places % size] = chances
        spectrum *= rfft(row) ** step.count
        # Cells stand for their middles; the mean is put right afterwards.
        found = float(chances @ (places * width))
        shift += step.count * (_mean_loss(step, removed) - found)
    chances = np.maximum(irfft(spectrum, size), 0)
    loss = np.where(np.arange(size) < size / 2, 0, -size) + np.arange(size)
    loss = loss * width + shift
    order = np.argsort(loss)
    loss, chances = loss[order], chances[order]
    loss, chances = loss[loss > 0], chances[loss > 0]
    tail = np.cumsum(chances[::-1])[::-1]
    other = np.cumsum((chances * np.exp(-loss))[::-1])[::-1]
    deltas = tail - np.exp(loss) * other
    return float(loss[np.searchsorted(-deltas, -delta)])


def _distribution(
    step: Step, edges: NDArray[np.float64], removed: bool
) -> NDArray[np.float64]:
    """Return the chance that the loss of a step is below each edge."""
    shift, rate = 1 / step.noise_multiplier, step.sampling_rate
    ratio = (np.exp(edges if removed else -edges) - (1 - rate)) / rate
    with np.errstate(divide="ignore", invalid="ignore"):
        where = np.where(ratio > 0, (np.log(ratio) + shift**2 / 2) / shift, -np.inf)
    if not removed:
        return np.asarray(norm.sf(where))
    return np.asarray((1 - rate) * norm.cdf(where) + rate * norm.cdf(where - shift))


def _mean_loss(step: Step, removed: bool) -> float:
    shift, rate = 1 / step.noise_multiplier, step.sampling_rate
    x = np.linspace(-14, 14 + 2 * shift, 200_001)
    base = np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    with_it = base * (1 - rate + rate * np.exp(shift * x - shift**2 / 2))
    loss = np.log1p(rate * np.expm1(shift * x - shift**2 / 2))
    return float(np.trapezoid(with_it * loss if removed else -base * loss, x))


def main() -> None:
    """Measure and print."""
    peer(schedule(0)[:1])  # imports
    renyi = cpu_seconds(lambda i: epsilon(steps(i), 1e-5, accountant="rdp"), 3)
    loss = cpu_seconds(lambda i: epsilon(steps(i), 1e-5), 3)
    theirs = cpu_seconds(lambda i: peer(schedule(i)[:: ROUNDS // SHARE]), 1)
    source = SecureSource()
    noise = cpu_seconds(lambda _: rounded_gaussian(source, 2.0**24, 66_700), 30)
    print(
        json.dumps(
            {
                "benchmark": "accounting",
                "rdp_s": round(renyi, 3),
                "pld_s": round(loss, 3),
                "rdp_times_faster": round(theirs * ROUNDS / SHARE / renyi, 1),
                "noise_ms": round(1e3 * noise, 3),
                "pld_above_reference": {
                    name: round(epsilon(of, 1e-6) / reference(of, 1e-6) - 1, 5)
                    for name, of in SCHEDULES.items()
                },
            }
        )
    )


if __name__ == "__main__":
    main()
