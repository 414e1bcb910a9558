# SPDX-License-Identifier: Apache-2.0
"""What sketches are good for, on real tables: overlaps, weights and declarations.

    LEXFED_DATA=... python -m benchmarks.sketch_utility [--part NAME] [--seeds N]

    overlap        intervals of overlaps and distances between real sites hold the truth
    weights        AUC of the worst site with and without weights by overlap
    declarations   AUC on profiled declarations and on hand-written ones

`adult` is the table on which the share of a profile and that of sketches were chosen,
and one bug was found; it is reported and marked. Nothing was chosen on the others.
Prints one JSON line.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import sketch_declarations, sketch_overlap, sketch_weights

EPSILON_OF_OVERLAP = 1.0
TURNS = 40
DEVELOPED_ON = "adult"


def overlap(_: int) -> dict[str, Any]:
    """Measure overlaps and distances."""
    return sketch_overlap.measure(EPSILON_OF_OVERLAP, TURNS)


def weights(seeds: int) -> dict[str, Any]:
    """Measure weights on Taiwan's banks."""
    table = sketch_declarations.TABLES[0]
    with tempfile.TemporaryDirectory() as folder:
        return sketch_weights.measure(table, "LIMIT_BAL", Path(folder), range(seeds))


def declarations(seeds: int) -> list[dict[str, Any]]:
    """Measure profiled declarations, table by table."""
    cells = []
    for table in sketch_declarations.TABLES:
        for part in sketch_declarations.PARTS:
            with tempfile.TemporaryDirectory() as folder:
                cell = sketch_declarations.measure(table, Path(folder), part, seeds)
            cells.append({**cell, "developed_on": table.name == DEVELOPED_ON})
            print(json.dumps(cells[-1]), file=sys.stderr, flush=True)
    return cells


PARTS: dict[str, Callable[[int], Any]] = {
    "overlap": overlap,
    "weights": weights,
    "declarations": declarations,
}


def main() -> None:
    """Measure all parts, or one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=list(PARTS))
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    chosen = [options.part] if options.part else list(PARTS)
    found = {name: PARTS[name](options.seeds) for name in chosen}
    print(json.dumps({"benchmark": "sketch_utility", **found}))


if __name__ == "__main__":
    main()
