# SPDX-License-Identifier: Apache-2.0
"""Noise in shares beside central noise: epsilon, inflation, ring, and its speed.

    python -m benchmarks.distributed_noise

Prints one JSON line. `epsilon`: for the same charged deviation, at sampling rate 1 and
delta 1e-5, by how many per cent the epsilon of shares lies above the central one, both
in Rényi accounting (below zero: shares are rounded up to whole numbers, so `noise` is
above 1), with the ring that 1,000 units need. `inflation`: by which factor the
deviation grows for what a cohort tolerates, or why it cannot. `million_per_s`: how
many shares a core draws in a second, by half of their variance.
"""

import json
import time
from typing import Any

from lexfed.errors import ConfigError
from lexfed.privacy import accountant
from lexfed.privacy.distributed import Cohort, SharedGroup, SharedRelease
from lexfed.privacy.distributed_price import record_epsilon
from lexfed.privacy.ring_encoding import Encoding
from lexfed.privacy.skellam import skellam
from lexfed.privacy.steps import Step
from lexfed.randomness import SecureSource

DELTA = 1e-5
UNITS = 1000
VALUES = 2**20


def compare(dimension: int, sigma: float, rounds: int, fineness: float) -> Any:
    """Return one row: shares of ten sites against central noise."""
    cohort = Cohort(10)
    encoding = Encoding(1.0, dimension, fineness)
    group = SharedGroup.for_sigma("all", encoding, sigma, cohort)
    release = SharedRelease("all", (group,), cohort, 1.0, None)
    steps = [Step(sigma, 1.0, rounds)]
    central = accountant.epsilon(steps, DELTA, "add-remove", "rdp")
    shared = record_epsilon([(release, rounds)], DELTA, "add-remove")
    return {
        "dimension": dimension,
        "sigma": sigma,
        "rounds": rounds,
        "fineness": fineness,
        "central": round(central, 4),
        "shared": round(shared, 4),
        "more_percent": round(100.0 * (shared / central - 1.0), 3),
        "noise": round(group.deviation(cohort) / sigma, 6),
        "ring_bits": release.ring_bits(UNITS),
    }


def tolerance(sites: int, colluders: int, dropouts: int) -> Any:
    """Return what a cohort costs in noise, or why there is none."""
    try:
        return str(Cohort(sites, colluders, dropouts))
    except ConfigError as error:
        return error.message


def speed(half: int) -> float:
    """Return million values per second of CPU time, the best of three."""
    source = SecureSource()
    skellam(source, half, 1)  # tables
    times = []
    for _ in range(3):
        start = time.process_time()
        skellam(source, half, VALUES)
        times.append(time.process_time() - start)
    return round(VALUES / min(times) / 1e6, 1)


def main() -> None:
    """Measure and print."""
    rows = [
        compare(dimension, sigma, rounds, fineness)
        for dimension, sigma, rounds in [
            (60, 2.0, 8),
            (1024, 20.0, 100),
            (10**5, 1.0, 1),
        ]
        for fineness in (100.0, 1000.0)
    ]
    cohorts = [(3, 0, 0), (3, 0, 1), (3, 1, 1), (8, 1, 2), (120, 24, 12)]
    print(
        json.dumps(
            {
                "benchmark": "distributed noise",
                "epsilon": rows,
                "inflation": [tolerance(*cohort) for cohort in cohorts],
                "million_per_s": {
                    str(h): speed(h) for h in (50, 30_000, 10**6, 10**12)
                },
            }
        )
    )


if __name__ == "__main__":
    main()
