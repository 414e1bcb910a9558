# SPDX-License-Identifier: Apache-2.0
"""How fast a site counts its persons in tables, and in how much memory; JSON.

    python -m benchmarks.counting [--persons 1000000] [--repeats 3]

`seconds` is CPU time of one round of one table over persons with one row each: the
median of the repeats. `memory` is the most that numpy holds at a time while all tables
are counted, in MB, beside the persons themselves; `tables` of it are the tables.
"""

import argparse
import json
import statistics
import time
import tracemalloc

import numpy as np
import torch

from lexfed.data.letter_pairs import LEVELS, PAIRS, pairs_of
from lexfed.federation.programme.sequence import Block, Stage
from lexfed.federation.site.table_counts import table_sums
from lexfed.federation.site.unit_batch import UnitBatch
from lexfed.privacy.noise.grids import Grid
from lexfed.sketch.queries.requested_tables import (
    BINS,
    DOUBLES,
    MOST_PREFIXES,
    RequestedTable,
)

TOWNS = ("Ulm", "Aarau", "Aalen", "Zürich", "Bern", "Genf", "Basel", "Chur")
TABLES = {
    "keys": RequestedTable("", "keys", (), 4096, 5),
    "doubles": RequestedTable("age", "doubles", (0,), DOUBLES + 1),
    "bins": RequestedTable("age", "bins", (0,), BINS + 3, ends=(0.0, 128.0)),
    "codes": RequestedTable("ward", "codes", (1,), 22),
    "letters": RequestedTable("town", "letters", (2,), PAIRS + 2),
    "letters_2": RequestedTable("town", "letters", (2, 3), MOST_PREFIXES * PAIRS + 2),
}


def persons(count: int) -> UnitBatch:
    """Return persons with an age, a ward and a town."""
    generator = np.random.default_rng(1)
    inputs = np.empty((count, 1, 2 + LEVELS))
    inputs[:, 0, 0] = generator.normal(55.0, 18.0, count)
    inputs[:, 0, 1] = generator.integers(-1, 20, count)
    codes = np.array([pairs_of(town) for town in TOWNS], dtype=np.float64)
    inputs[:, 0, 2:] = codes[generator.integers(0, len(TOWNS), count)]
    return UnitBatch(
        torch.from_numpy(inputs),
        torch.zeros(count, 1, dtype=torch.float64),
        torch.ones(count, 1, dtype=torch.float64),
        (count,),
        keys=torch.from_numpy(generator.integers(0, 2**62, count)),
    )


def stage_of(*tables: RequestedTable) -> Stage:
    """Return a stage of these tables, without noise."""
    blocks, start = [], 0
    for table in tables:
        grid = Grid(table.clip, 1.0, table.cells, 2**30, moved=table.depth)
        blocks.append(Block(start, start + table.cells, grid))
        start += table.cells
    return Stage(
        "tables", "sketch", 0, 1.0, (1.0,), (1.0,), 1.0, (None,), tuple(blocks),
        tables=tables,
    )  # fmt: skip


def main() -> None:
    """Print one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    cohort = persons(chosen.persons)
    prefixes = np.full(MOST_PREFIXES, -1.0)
    prefixes[: len(TOWNS)] = [pairs_of(town)[0] for town in TOWNS]
    every = {f"prefixes.{len(TABLES) - 1}": prefixes}
    tracemalloc.start()
    total = table_sums(stage_of(*TABLES.values()), every, cohort, 0)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    seconds = {}
    for name, table in TABLES.items():
        spent = []
        for _ in range(chosen.repeats):
            start = time.process_time()
            table_sums(stage_of(table), {"prefixes.0": prefixes}, cohort, 0)
            spent.append(time.process_time() - start)
        seconds[name] = round(statistics.median(spent), 3)
    memory = {"memory": round(most / 1e6, 1), "tables": round(total.nbytes / 1e6, 1)}
    print(json.dumps({"persons": chosen.persons, "seconds": seconds, **memory}))


if __name__ == "__main__":
    main()
