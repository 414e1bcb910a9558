# SPDX-License-Identifier: Apache-2.0
"""Count-Min of Apache DataSketches on the same items, as a peer.

DataSketches is a peer, never a dependency: `peer` installs a pinned version into a
virtual environment that is thrown away, and runs this file there. Its Python module
takes one item at a time; the loop is counted, as nobody can do without it. Items are
Python's own before the clock starts, which spares it a conversion.
"""

import importlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

VERSION = "5.2.0"


def made_items() -> dict[str, Any]:
    """Return random keys, texts that repeat, and texts that are all different."""
    generator = np.random.default_rng(1)
    return {
        "integers": generator.integers(0, 2**63, 4_000_000).astype(np.uint64),
        "strings": [
            f"diagnosis {at}" for at in generator.integers(0, 20_000, 2_000_000)
        ],
        "distinct": [f"patient {at}" for at in range(200_000)],
    }


def speed(work: Callable[[], object], items: int, repeats: int) -> dict[str, float]:
    """Return millions of items per second of CPU time, whoever else is busy."""
    found = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        found.append(items / (time.process_time() - start) / 1e6)
    return {
        "median": round(statistics.median(found), 1),
        "best": round(max(found), 1),
    }


def peer(depth: int, width: int, repeats: int) -> Any:
    """Return the peer's speeds on the same items.

    Raises:
        subprocess.CalledProcessError: if it cannot be installed or started here.
    """
    with tempfile.TemporaryDirectory() as folder:
        python = str(Path(folder) / "bin" / "python")
        venv.create(folder, with_pip=True)
        install = [python, "-m", "pip", "install", "-q", f"datasketches=={VERSION}"]
        subprocess.run(install, check=True, capture_output=True, text=True)
        command = [python, __file__, *map(str, (depth, width, repeats))]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def _build(depth: int, width: int, items: list[Any]) -> None:
    update = (
        importlib.import_module("datasketches").count_min_sketch(depth, width).update
    )
    for item in items:
        update(item)


if __name__ == "__main__":
    depth, width, repeats = map(int, sys.argv[1:])
    speeds = {}
    for name, made in made_items().items():
        items = made if isinstance(made, list) else made.tolist()
        work = partial(_build, depth, width, items)
        speeds[name] = speed(work, len(items), repeats)
    print(json.dumps(speeds))
