# SPDX-License-Identifier: Apache-2.0
"""How fast masks, shares and rounds of secure aggregation are; one line of JSON.

    python -m benchmarks.secagg [--repeats 30] [--rounds 3] [--no-flower]

`keystreams` is mask bytes added to a sum, in GB/s, by vector length and by the way they
are computed, a new key each time; `limit` is the faster way on the longest vector,
which no protocol with such masks can exceed on this core. `shamir` is milliseconds for
32-byte secrets at n = 100, t = 67: to share one and to share a hundred at once, to open
a hundred from a set of sites that was not met before, and to open them from one that
was; the table of powers is there before. Every figure is the median of the repeats,
with the best beside it. Ways are interleaved, so a busy moment meets both. `rounds` are
whole rounds of the protocol, see `benchmarks/secure_rounds.py`; `--rounds` says how
many of each size, 0 leaves them out. After each of them one of Flower is measured, in
an environment that is installed for it and thrown away; where it cannot be installed,
`flower` says why. `shown` has every target, what was found, the limit that masks alone
set, and how many times longer Flower takes; also if our set-up, which is for twenty
rounds, were counted in each, since Flower sets up in every round.
"""

import argparse
import json
import os
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.flower_masks import VERSION, FlowerMasks, flower
from benchmarks.secure_rounds import TARGETS, rounds
from lexfed.randomness import SecureSource
from lexfed.secagg.primitives import keystreams, shamir

SITES, SHARES, SECRETS = 100, 67, 100
LENGTHS = (16_384, 100_000, 1_000_000)
WAYS = {"gcm": lambda: keystreams.by_gcm, "ctr": lambda: keystreams.by_ctr}
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
            key = os.urandom(keystreams.KEY_BYTES)
            with patch.object(keystreams, "fastest", way):
                taken[name].append(seconds(partial(keystreams.add_mask, total, key, 1)))
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


def shown(
    by_length: dict[str, dict[str, dict[str, Any]]], share_one: float
) -> list[dict[str, object]]:
    """Return what is found beside each target.

    Args:
        by_length: what `rounds` measured.
        share_one: milliseconds to share one secret.
    """
    peers = {length: found.get("flower") for length, found in by_length.items()}
    any_peer = next((peer for peer in peers.values() if peer), None)
    rows: list[dict[str, object]] = [
        _row(
            f"share 32 bytes, n={SITES}, t={SHARES}, ms",
            share_one,
            TARGET_MS,
            flower=any_peer["share_one_ms"]["median"] if any_peer else None,
        )
    ]
    for length, found in by_length.items():
        for graph in ("sparse", "complete"):
            ours, targets, peer = found[graph], found["targets"], peers[length]
            about = f"n={SITES}, d={length}, {graph}"
            rows.append(
                _row(
                    f"site, {about}, ms",
                    ours["site_ms"]["median"],
                    targets["site_ms"],
                    ours["site_limit_ms"],
                    1e3 * peer["client_s"]["median"] if peer else None,
                    ours["setup_site_ms"],
                )
            )
            rows.append(
                _row(
                    f"server, {about}, s",
                    ours["server_s"]["median"],
                    targets["server_s"],
                    ours["server_limit_s"],
                    peer["server_s_estimate"]["median"] if peer else None,
                    ours["setup_server_s"],
                )
            )
            size = 4 * int(length)
            rows.append(
                _row(
                    f"bytes up, {about}, times 4d",
                    ours["upload"],
                    targets.get("upload"),
                    flower=peer["upload_bytes"]["median"] / size if peer else None,
                )
            )
    return rows


def _row(
    what: str,
    found: float,
    target: float | None,
    limit: float | None = None,
    flower: float | None = None,
    setup: float = 0.0,
) -> dict[str, object]:
    row: dict[str, object] = {"what": what, "found": found, "target": target}
    row["met"] = found <= target if target else None
    row["limit"] = limit
    if flower is not None:
        row["flower"] = round(flower, 3)
        row["times"] = round(flower / found, 1)
        # Flower sets up in every round; this is as if ours were not for twenty.
        row["times_with_set_up"] = round(flower / (found + setup), 1)
    return row


@contextmanager
def peer(wanted: bool) -> Iterator[tuple[FlowerMasks | None, str]]:
    """Start Flower if it is wanted and can be; else say why it is not there."""
    if not wanted:
        yield None, "not asked for"
        return
    with ExitStack() as stack:
        try:
            found = stack.enter_context(flower())
        except subprocess.CalledProcessError as error:
            lines = str(error.stderr).strip().splitlines()
            yield None, f"could not be installed: {lines[-1] if lines else error}"
        else:
            yield found, f"flwr {VERSION}; server figures are estimates from parts"


def main() -> None:
    """Measure, and print one line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-flower", action="store_true")
    asked = parser.parse_args()
    speeds = {str(length): masks(length, asked.repeats) for length in LENGTHS}
    longest = speeds[str(LENGTHS[-1])]
    sharing = shares(asked.repeats)
    with peer(bool(asked.rounds) and not asked.no_flower) as (beside, words):
        by_length = {
            str(length): rounds(length, asked.rounds, beside)
            for length in (TARGETS if asked.rounds else ())
        }
    result = {
        "shown": shown(by_length, sharing["share_one"]["median"]),
        "flower": words,
        "prg": {
            "unit": "GB/s",
            "chosen": keystreams.fastest().__name__.removeprefix("by_"),
            "limit": max(way["median"] for way in longest.values()),
            "by_words": speeds,
        },
        "shamir": {
            "unit": "ms",
            "sites": SITES,
            "shares": SHARES,
            "target_share_one": TARGET_MS,
            **sharing,
        },
        "rounds": by_length,
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
