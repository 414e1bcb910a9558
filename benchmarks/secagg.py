# SPDX-License-Identifier: Apache-2.0
"""How fast masks, shares and rounds of secure aggregation are; one line of JSON.

    python -m benchmarks.secagg [--repeats 30] [--rounds 3]

`prg` is mask bytes added to a sum, in GB/s, by vector length and by the way they are
computed, a new key each time; `limit` is the faster way on the longest vector, which
no protocol with such masks can exceed on this core. `shamir` is milliseconds for
32-byte secrets at n = 100, t = 67: to share one and to share a hundred at once, to
open a hundred from a set of sites that was not met before, and to open them from one
that was; the table of powers is there before. Every figure is the median of the
repeats, with the best beside it. Ways are interleaved, so a busy moment meets both.
`rounds` are whole rounds of the protocol, see `benchmarks/secure_rounds.py`; `--rounds`
says how many of each size, 0 leaves them out.
"""

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from unittest.mock import patch

import numpy as np

from benchmarks.secure_rounds import TARGETS, rounds
from lexfed.randomness import SecureSource
from lexfed.secagg import prg, shamir

SITES, SHARES, SECRETS = 100, 67, 100
LENGTHS = (16_384, 100_000, 1_000_000)
WAYS = {"gcm": lambda: prg.by_gcm, "ctr": lambda: prg.by_ctr}
TARGET_MS = 0.15


def seconds(work: Callable[[], object]) -> float:
    """Return how long one call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def masks(length: int, repeats: int) -> dict[str, dict[str, float]]:
    """Return GB/s of adding masks to a sum of 32-bit words, by way."""
    total = np.zeros(length, dtype=np.uint32)
    taken: dict[str, list[float]] = {name: [] for name in WAYS}
    for _ in range(repeats):
        for name, way in WAYS.items():
            key = os.urandom(prg.KEY_BYTES)
            with patch.object(prg, "fastest", way):
                taken[name].append(seconds(partial(prg.add_mask, total, key, 1)))
    speed = {
        name: [total.nbytes / 1e9 / each for each in t] for name, t in taken.items()
    }
    return {
        name: {
            "median": round(statistics.median(rates), 2),
            "best": round(max(rates), 2),
        }
        for name, rates in speed.items()
    }


def shares(repeats: int) -> dict[str, dict[str, float]]:
    """Return milliseconds of sharing and opening, after one opening was compared."""
    source = SecureSource()
    taken: dict[str, list[float]] = {}

    def timed(name: str, work: Callable[[], object]) -> None:
        taken.setdefault(name, []).append(1e3 * seconds(work))

    one = shamir.random_secret(source)
    many = shamir.random_secret(source, SECRETS)
    dealt = shamir.share(many, SHARES, SITES, source)
    held = list(range(SITES - SHARES + 1, SITES + 1))
    rows = dealt[np.array(held) - 1]
    assert np.array_equal(shamir.reconstruct(held, rows), many)
    for _ in range(repeats):
        timed("share_one", lambda: shamir.share(one, SHARES, SITES, source))
        timed("share_100", lambda: shamir.share(many, SHARES, SITES, source))
        shamir._weights.cache_clear()
        timed("open_100_new_set", lambda: shamir.reconstruct(held, rows))
        timed("open_100_known_set", lambda: shamir.reconstruct(held, rows))
    return {
        name: {"median": round(statistics.median(ms), 3), "best": round(min(ms), 3)}
        for name, ms in taken.items()
    }


def main() -> None:
    """Measure, and print one line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    speeds = {str(length): masks(length, asked.repeats) for length in LENGTHS}
    longest = speeds[str(LENGTHS[-1])]
    result = {
        "prg": {
            "unit": "GB/s",
            "chosen": prg.fastest().__name__.removeprefix("by_"),
            "limit": max(way["median"] for way in longest.values()),
            "by_words": speeds,
        },
        "shamir": {
            "unit": "ms",
            "sites": SITES,
            "shares": SHARES,
            "target_share_one": TARGET_MS,
            **shares(asked.repeats),
        },
        "rounds": {
            str(length): rounds(length, asked.rounds)
            for length in (TARGETS if asked.rounds else ())
        },
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
