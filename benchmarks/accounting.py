# SPDX-License-Identifier: Apache-2.0
"""CPU time of accounting and of noise, with dp-accounting beside it.

    python -m benchmarks.accounting

Prints one JSON line: seconds for 2,000 rounds with distinct sigmas (Rényi and privacy
loss distributions), how often that is faster than dp-accounting's Rényi accountant
over 50 of the rounds (scaled up), and milliseconds for the noise of 66,700 values.
"""

import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from lexfed.privacy.accountant import epsilon
from lexfed.privacy.noise import rounded_gaussian
from lexfed.privacy.steps import Step
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
            }
        )
    )


if __name__ == "__main__":
    main()
