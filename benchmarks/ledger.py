# SPDX-License-Identifier: Apache-2.0
"""How many rounds a second a site's lasting ledger can commit; one line of JSON.

    python -m benchmarks.ledger [--seconds 5] [--folder DIR]

`quick` does not wait for the disk, as nobody should but to measure; `durable` waits for
the fsync of the write-ahead log and of the pin at every commit. `contended` is what
eight processes commit together to one ledger, durably. `late` is the rate of the last
third, as the file grows; `of_cpu` is per second of CPU time, which a busy machine does
not change. After each measurement the ledger is verified. Rates of a disk depend on
the disk: `--folder` says where to measure.
"""

import argparse
import json
import multiprocessing
import os
import tempfile
import time
from pathlib import Path

from lexfed.ledger.bookkeeping.ceilings import Ceiling
from lexfed.ledger.charging import LastingLedger
from lexfed.ledger.decisions import set_ceiling
from lexfed.ledger.verification import verify_ledger
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.tiers import Tier

ROUND = Release("tower", (ReleaseGroup("all", 1.0, 2000.0),), 1.0, Tier.SPECIAL, 10)
PROCESSES = 8
YEARS = 4_000_000_000


def opened(folder: Path, durable: bool) -> LastingLedger:
    """Open the ledger of a folder."""
    path = folder / "north.ledger"
    state = folder / "state"
    return LastingLedger.open(
        path, "north", "patients", state=state, durable=durable, wait=60.0
    )


def made(folder: Path) -> None:
    """Make a ledger with a ceiling on the record and on a tier."""
    ledger = opened(folder, durable=True)
    set_ceiling(ledger, "record", Ceiling.of(50.0, 1e-6), "benchmark")
    set_ceiling(ledger, "special", Ceiling.of(100.0, 1e-6), "benchmark")
    ledger.close()


def commits(folder: Path, run: str, seconds: float, durable: bool) -> list[float]:
    """Commit rounds of one run; return when each was acknowledged."""
    ledger = opened(folder, durable)
    ledger.reserve(run, [(ROUND, 1000)], YEARS, "record", neighbours="add-remove")
    times = [time.perf_counter()]
    while times[-1] - times[0] < seconds:
        ledger.commit(run, len(times), ROUND, "record", neighbours="add-remove")
        times.append(time.perf_counter())
    ledger.close()
    return times


def rates(times: list[float], busy: float) -> dict[str, float]:
    """Return commits a second, over all and over the last third, and of CPU time."""
    third = times[-len(times) // 3 :]
    return {
        "rate": round((len(times) - 1) / (times[-1] - times[0]), 1),
        "late": round((len(third) - 1) / (third[-1] - third[0]), 1),
        "of_cpu": round((len(times) - 1) / busy, 1),
    }


def alone(place: Path, seconds: float, durable: bool) -> dict[str, float]:
    """Measure one process."""
    with tempfile.TemporaryDirectory(dir=place) as name:
        folder = Path(name)
        made(folder)
        before = time.process_time()
        times = commits(folder, "run", seconds, durable)
        found = rates(times, time.process_time() - before)
        checked(folder)
        return found


def contended(place: Path, seconds: float) -> float:
    """Measure what eight processes commit together."""
    with tempfile.TemporaryDirectory(dir=place) as name:
        folder = Path(name)
        made(folder)
        asked = [(folder, f"run-{n}", seconds, True) for n in range(PROCESSES)]
        with multiprocessing.get_context("fork").Pool(PROCESSES) as pool:
            times = pool.starmap(commits, asked)
        checked(folder)
        span = max(each[-1] for each in times) - min(each[0] for each in times)
        return round(sum(len(each) - 1 for each in times) / span, 1)


def checked(folder: Path) -> None:
    """Compute everything again from the rows."""
    ledger = opened(folder, durable=True)
    verify_ledger(ledger.database)
    ledger.close()


def main() -> None:
    """Measure, and print one line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    asked = parser.parse_args()
    result = {
        "quick": alone(asked.folder, asked.seconds, durable=False),
        "durable": alone(asked.folder, asked.seconds, durable=True),
        "contended": contended(asked.folder, asked.seconds),
        "processes": PROCESSES,
        "cores": os.cpu_count(),
        "unit": "commits/s",
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
