# SPDX-License-Identifier: Apache-2.0
"""Noise in shares beside central noise: epsilon, inflation, ring, and its speed.

    python -m benchmarks.distributed_noise

Prints one JSON line. `epsilon`: contributions of the same length under the same noise,
once added centrally and once in shares of ten sites without dropouts and colluders, at
sampling rate 1 and delta 1e-5. Shares pay twice: they are charged as the Gaussian of
Theorem D, which has a little less noise than what is drawn, and their grid is coarser,
so the charged clip is further above the real one. `more_percent` is by how many per
cent their epsilon is higher, both in Rényi accounting, and `by_theorem_d` the part of
the first; `scale` is clip/(sqrt(dimension) step), and `ring_bits` the ring that 1,000
units need. `inflation`: by which factor the deviation grows for what a cohort
tolerates, or why it cannot. `million_per_s`: how many values of shares a core draws in
a second, by half of their variance.
"""

import json
import math
import time
from typing import Any

from lexfed.errors import ConfigError
from lexfed.privacy.accountants import composition
from lexfed.privacy.accountants.gdp import Step
from lexfed.privacy.noise.grids import Grid
from lexfed.privacy.noise.shares import (
    NoiseCohort,
    draw_share,
    half_variance,
    ring_bits,
    sum_bound,
)
from lexfed.randomness import SecureSource

DELTA = 1e-5
UNITS = 1000
VALUES = 2**20
PLANS = ((60, 2.0, 8), (1024, 20.0, 100), (10**5, 1.0, 1), (1, 0.5, 1))
"""Dimension, deviation in clips, rounds."""
COHORTS = (
    *((2, 0, 0), (3, 0, 0), (3, 0, 1), (3, 1, 0), (3, 1, 1), (4, 1, 1), (5, 1, 1)),
    *((5, 1, 2), (8, 1, 2), (10, 3, 3), (120, 24, 12)),
)
"""Sites, colluders, dropouts."""


def compare(dimension: int, sigma: float, rounds: int, fineness: float) -> Any:
    """Return one row: shares of ten sites against the same noise added centrally."""
    cohort = NoiseCohort(10)
    grid = Grid(1.0, sigma, dimension, UNITS, fineness=fineness)
    half = half_variance(sigma, grid.step, cohort)
    drawn = math.sqrt(2 * half * cohort.sites) * grid.step
    # What the grid of central noise charges for contributions of the same length.
    clip = grid.clip_to / Grid(1.0, sigma, dimension, UNITS).clip_to

    def epsilon(deviation: float, clip: float = 1.0) -> float:
        steps = [Step(deviation / clip, 1.0, rounds)]
        return composition.epsilon(steps, DELTA, "add-remove", "rdp")

    central, shared = epsilon(drawn, clip), epsilon(sigma)
    return {
        "dimension": dimension,
        "sigma": sigma,
        "rounds": rounds,
        "scale": round(1.0 / (math.sqrt(dimension) * grid.step), 1),
        "central": round(central, 4),
        "shared": round(shared, 4),
        "more_percent": round(100.0 * (shared / central - 1.0), 3),
        "by_theorem_d": round(100.0 * (shared / epsilon(drawn) - 1.0), 3),
        "ring_bits": ring_bits([sum_bound(grid, half, cohort)]),
    }


def tolerance(sites: int, colluders: int, dropouts: int) -> str:
    """Return what a cohort costs in noise, or why there is none."""
    try:
        return str(NoiseCohort(sites, colluders, dropouts))
    except ConfigError as error:
        return f"refused: {error.message}"


def speed(half: int) -> float:
    """Return million values per second of CPU time, the best of three."""
    source = SecureSource()
    draw_share(source, [half], [1])  # tables
    times = []
    for _ in range(3):
        start = time.process_time()
        draw_share(source, [half], [VALUES])
        times.append(time.process_time() - start)
    return round(VALUES / min(times) / 1e6, 1)


def main() -> None:
    """Measure and print."""
    rows = [
        compare(dimension, sigma, rounds, fineness)
        for dimension, sigma, rounds in PLANS
        for fineness in (100.0, 128.0, 1000.0)
    ]
    print(
        json.dumps(
            {
                "benchmark": "distributed noise",
                "epsilon": rows,
                "worst_percent": max(row["more_percent"] for row in rows),
                "inflation": [tolerance(*cohort) for cohort in COHORTS],
                "million_per_s": {
                    str(half): speed(half) for half in (50, 30_000, 10**6, 10**12)
                },
            }
        )
    )


if __name__ == "__main__":
    main()
