# SPDX-License-Identifier: Apache-2.0
"""Ten million readings of sensors: made, read and learned from; JSON.

    python -m benchmarks.readings [--readings 10000000]

Makes the sensor-like table (`lexfed.evaluate.datasets`), reads it through the product
and trains at record epsilon 2. `seconds` are those of the clock, `memory_mb` the most
that the process ever had, libraries included; `limit` is the memory over 2 GB.
"""

import argparse
import json
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from lexfed.config import from_mapping
from lexfed.evaluate.datasets import prepare
from lexfed.evaluate.measurement.probes import peak, require_linux
from lexfed.run import price, seeded_population
from lexfed.run.driver.rehearsal import rehearse
from lexfed.run.results.metrics import evaluate


def main() -> None:
    """Print one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readings", type=int, default=10_000_000)
    asked = parser.parse_args()
    require_linux()
    begun, seconds = time.perf_counter(), {}
    with TemporaryDirectory() as name:
        folder = Path(name)
        made = prepare("iot_like", folder, rows=asked.readings)
        seconds["made"] = time.perf_counter() - begun
        megabytes = (folder / "table.csv").stat().st_size / 1e6
        plain = {
            "version": 1,
            "run": {"name": "readings", "seed": 0},
            **made.tables,
            "budget": {"epsilon": 2.0, "delta": 1e-5},
        }
        config = from_mapping(plain)
        population = seeded_population(config, folder)
        seconds["read"] = time.perf_counter() - begun
        priced = price(config, population, folder)
        quality = evaluate(priced, rehearse(priced))
        seconds["trained"] = time.perf_counter() - begun
    found = {
        "readings": asked.readings,
        "file_mb": round(megabytes),
        "seconds": {name: round(value, 1) for name, value in seconds.items()},
        "memory_mb": round(peak() / 1e6),
        "limit": round(peak() / 2e9, 3),
        **{name: round(value, 3) for name, value in quality.items()},
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
