# SPDX-License-Identifier: Apache-2.0
"""How far neighbouring tables move the integers that a whole run noises.

    PYTHONPATH=tests python -m benchmarks.neighbours [--pairs 10000] [--each 25]
        [--seed 0] [--jobs 1]

Random configurations at sampling rate 1: mechanisms, units, relations, trust, layouts
of sites, persons with several rows at several sites, linear models and networks,
classes, profiles of sites, schedules, adapting, sketches, paid metrics; trainings,
importances and profiles that are bought. Of each, one run on a random table and runs
on random neighbours of it (a row, a person, a site more or less or replaced, values of
a tier, a label), from files to the last round, under the same secret coins and told the
same releases (`tests/support/run/neighbour_runs.py`). What is compared are the integers
before noise: over all releases, the distance in deviations of the noise is the realised
mu, and may not exceed the mu that the line of the claim stands for.

Prints progress on stderr and one JSON line on stdout; exit status 1 if a claim is
exceeded, or if a neighbour is refused or run by another programme.
"""

import argparse
import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise

import torch

from support.run.neighbour_runs import Tally, compare


def compared(seed: int, pairs: int, each: int) -> tuple[Tally, float]:
    """Compare pairs in this process; return the tally and the time it took."""
    torch.set_num_threads(1)

    def told(so_far: int, worst: float) -> None:
        said = f"seed {seed}: {so_far} pairs, at most {worst:.6f} of the claim"
        print(said, file=sys.stderr)

    return compare(seed, pairs, each, told), time.process_time()


def main() -> int:
    """Compare the pairs that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--each", type=int, default=25)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args()
    begun, tally = time.monotonic(), Tally()
    ends = [asked.pairs * job // asked.jobs for job in range(asked.jobs + 1)]
    counts = [stop - start for start, stop in pairwise(ends)]
    seeds = range(asked.seed, asked.seed + asked.jobs)
    with ProcessPoolExecutor(asked.jobs) as pool:
        parts = pool.map(compared, seeds, counts, [asked.each] * asked.jobs)
        seconds = 0.0
        for part, took in parts:
            tally.merge(part)
            seconds += took
    found = {
        "seeds": list(seeds),
        "pairs": tally.pairs,
        "configurations": tally.settings,
        "not allowed": tally.refused,
        "realised over claimed": tally.worst,
        "kinds": dict(sorted(tally.kinds.items())),
        "largest": {kind: tally.largest[kind] for kind in sorted(tally.largest)},
        "cpu seconds": round(seconds, 1),
        "wall seconds": round(time.monotonic() - begun, 1),
    }
    print(json.dumps(found))
    return 0 if tally.worst <= 1.0 else 1


if __name__ == "__main__":
    sys.exit(main())
