# SPDX-License-Identifier: Apache-2.0
"""How fast sketches are built, in how much memory, and which size is best; JSON.

    python -m benchmarks.sketch [--repeats 5] [--no-peer]

`build` is millions of items per CPU second, 5 rows of 2048 columns: the median of the
repeats and the best. `integers` are 4 M random keys; `strings` are 2 M texts, 20,000 of
them different, from Python strings to a table, by `counted` and by `keys`; `distinct`
are 200,000 texts that are all different. `peer` is Apache DataSketches' Count-Min from
Python on the same items, in an environment that is installed for it and thrown away;
where it cannot be installed, it says why.

`memory` is the peak of a process of its own, in MB, that draws 10 M readings in parts
of a million, puts them into 1000 bins and a Count-Sketch, and adds up; `whole` holds
all readings and their keys at once. `before` is the process with everything imported.

`overlaps` is seconds for all pairs of 120 tables of 5 x 1024 cells with intervals.

`sizes` tries the rule m* = 2 rho |f| |g| on two sets of 20,000 that share 8,000, at
rho = .05: cells, and the standard deviation of the overlap over the trials, measured
and predicted; the rule says 2,000 cells.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasketches_peer import VERSION, made_items, peer, speed
from lexfed.sketch.estimates.noised_cells import (
    NoisedCells,
    best_cells,
    inner_product,
    product_variance,
)
from lexfed.sketch.tables.counts import CountMin, CountSketch
from lexfed.sketch.tables.domains import BinDomain, TextDomain
from lexfed.sketch.tables.shape import SketchKind, SketchShape

DEPTH, WIDTH = 5, 2048
READINGS, PART = 10_000_000, 1_000_000
SITES = 120
SET, SHARED, RHO, TRIALS = 20_000, 8_000, 0.05, 100
TEXTS = TextDomain(40)


def shape(
    kind: SketchKind, width: int = WIDTH, depth: int = DEPTH, seed: int = 1
) -> SketchShape:
    """Return a shape over texts."""
    return SketchShape(kind, depth, width, seed, TEXTS.digest)


def build(repeats: int) -> dict[str, dict[str, float]]:
    """Return the speeds of building."""
    made = made_items()
    keys, words, different = made["integers"], made["strings"], made["distinct"]
    smallest, signed = shape(SketchKind.COUNT_MIN), shape(SketchKind.COUNT_SKETCH)
    ways: dict[str, tuple[Callable[[], object], int]] = {
        "integers_count_min": (lambda: CountMin.build(smallest, keys), len(keys)),
        "integers_count_sketch": (lambda: CountSketch.build(signed, keys), len(keys)),
        "strings_counted": (
            lambda: CountMin.build(smallest, *TEXTS.counted(words)),
            len(words),
        ),
        "strings_keys": (
            lambda: CountMin.build(smallest, TEXTS.keys(words)),
            len(words),
        ),
        "distinct_counted": (
            lambda: CountMin.build(smallest, *TEXTS.counted(different)),
            len(different),
        ),
        "distinct_keys": (
            lambda: CountMin.build(smallest, TEXTS.keys(different)),
            len(different),
        ),
    }
    return {name: speed(work, many, repeats) for name, (work, many) in ways.items()}


def peak_mb() -> float:
    """Return the highest memory of this process so far, as Linux counts it."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    line = next(row for row in status.splitlines() if row.startswith("VmHWM"))
    return round(int(line.split()[1]) / 1000, 1)


def read(part: int) -> dict[str, float]:
    """Sketch all readings, so many at a time, and return the peak of memory."""
    before = peak_mb()
    bins = BinDomain(tuple(np.linspace(0, 1, 1001).tolist()))
    told = SketchShape(SketchKind.COUNT_SKETCH, DEPTH, WIDTH, 1, bins.digest)
    generator = np.random.default_rng(1)
    total = CountSketch.build(told, np.empty(0, dtype=np.uint64))
    for _ in range(READINGS // part):
        readings = generator.random(part)
        total = total.add(CountSketch.build(told, bins.keys(readings)))
    return {"before": before, "peak": peak_mb()}


def memory() -> dict[str, Any]:
    """Return peaks of memory, each of a process of its own."""

    def measured(part: int) -> Any:
        command = [sys.executable, "-m", "benchmarks.sketch", "--read", str(part)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return json.loads(done.stdout)

    return {"parts": measured(PART), "whole": measured(READINGS)}


def overlaps() -> float:
    """Return seconds for the overlaps of all pairs of sites."""
    generator = np.random.default_rng(1)
    told = shape(SketchKind.COUNT_SKETCH, 1024)
    sets = generator.integers(0, 50_000, (SITES, 2000)).astype(np.uint64)
    tables = [
        NoisedCells(
            CountSketch.build(told, np.unique(keys)).cells.astype("f8"), 0, True
        )
        for keys in sets
    ]
    start = time.perf_counter()
    for left, right in combinations(tables, 2):
        inner_product(left, right)
    return round(time.perf_counter() - start, 2)


def sizes() -> dict[str, Any]:
    """Return the deviation of an overlap by the number of cells."""
    generator = np.random.default_rng(1)
    ours = np.arange(SET, dtype=np.uint64)
    theirs = ours + np.uint64(SET - SHARED)
    depth, variance = 4, 4 / (2 * RHO)
    rows = []
    for width in (64, 128, 256, 512, 1024, 2048, 4096):
        found = []
        for seed in range(TRIALS):
            told = shape(SketchKind.COUNT_SKETCH, width, depth, seed)
            left, right = (
                NoisedCells(
                    CountSketch.build(told, keys).cells
                    + generator.normal(0, variance**0.5, (depth, width)),
                    variance,
                    True,
                )
                for keys in (ours, theirs)
            )
            found.append(inner_product(left, right).value)
        predicted = product_variance(left, right, SET, SET, SHARED, SHARED)
        rows.append(
            {
                "cells": depth * width,
                "mean": round(statistics.mean(found)),
                "measured": round(statistics.stdev(found)),
                "predicted": round(predicted**0.5),
            }
        )
    return {"rule": round(best_cells(RHO, SET**0.5, SET**0.5)), "sweep": rows}


def beside(repeats: int) -> Any:
    """Return the peer's speeds, or why there are none."""
    try:
        return peer(DEPTH, WIDTH, repeats) | {"version": VERSION}
    except subprocess.CalledProcessError as error:
        return f"cannot be installed: {(error.stderr or '').strip()[-200:]}"


def main() -> None:
    """Print one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--read", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.read:
        print(json.dumps(read(asked.read)))
        return
    found = {
        "build": build(asked.repeats),
        "peer": "not asked for" if asked.no_peer else beside(asked.repeats),
        "memory": memory(),
        "overlaps": overlaps(),
        "sizes": sizes(),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
