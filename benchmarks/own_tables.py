# SPDX-License-Identifier: Apache-2.0
"""From a stranger's table to a verified model: edits, seconds, and what AUC is lost.

Nine public tables (`LEXFED_DATA`), unpacked and otherwise as they are, and invented
ones with the defects of ordinary files (`stranger_tables.py`). For each, as processes:

    lexfed init TABLE --target y --yes; lexfed run; lexfed verify runs/NAME

`edits` is 0 if all three end with 0, else the place and words of the first that does
not. `wall_s` and `cpu_s` are those of `init` and `run` together, CPU of all processes.

Then the draft that `init` wrote is compared with a careful configuration: the same
file, sites, person, delta, caps and model, with the columns and tiers of the codebook.
Both run at the same epsilon of the record, the smaller of what the two would use. Test
rows are drawn anew for each seed, the same for both, and the noise is fresh: `lost` is
the mean of careful minus drafted AUC on held-out rows, `interval` its 95 % interval
over seeds (Student). `drafted_epsilon` and `careful_epsilon` are what each would use
by itself, out of 2.

    python -m benchmarks.own_tables [--seeds 10] [--tables adult,loans] [--no-auc]

Public tables are left out without their folder. One JSON line.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import tomllib
from collections.abc import Mapping, Sequence
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from tempfile import TemporaryDirectory
from typing import Any

from scipy.stats import t as student

from benchmarks.stranger_tables import (
    INVENTED,
    PUBLIC,
    StrangerTable,
    make_table,
    with_codebook,
)
from lexfed.config import Config, from_mapping
from lexfed.data.people.lots import LotKeys
from lexfed.errors import LexfedError
from lexfed.evaluate.datasets.source_folder import data_folder
from lexfed.run import PricedRun, load_population, price
from lexfed.run.driver.rehearsal import rehearse
from lexfed.run.results.metrics import evaluate

COMMAND = (sys.executable, "-m", "lexfed")


def first_model(table: StrangerTable, folder: Path) -> dict[str, Any]:
    """Run the commands of a stranger as processes, and measure them."""
    runs = folder / "runs" / table.path.stem
    steps = (
        ("init", table.path.name, "--target", table.target, "--yes"),
        ("run",),
        ("verify", str(runs)),
    )
    edits: int | str = 0
    wall = cpu = 0.0
    for step in steps:
        started, before = time.monotonic(), _children()
        done = subprocess.run(
            [*COMMAND, *step],
            cwd=folder,
            capture_output=True,
            text=True,
            env={**os.environ, "NO_COLOR": "1"},
        )
        if step[0] != "verify":
            wall += time.monotonic() - started
            cpu += _children() - before
        if done.returncode:
            edits = f"{step[0]}: {done.stderr.strip()[-300:]}"
            break
    return {"edits": edits, "wall_s": round(wall, 1), "cpu_s": round(cpu, 1)}


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def differences(
    drafted: Mapping[str, Any], careful: Mapping[str, Any], folder: Path, seeds: int
) -> dict[str, Any]:
    """Train both configurations on the same splits at the same epsilon."""
    plain = [_config(each) for each in (drafted, careful)]
    alone = [_priced(config, folder, 0) for config in plain]
    claims = [_epsilon(priced) for priced in alone]
    epsilon = min(claims)
    both = [
        _config({**each, "budget": {**each["budget"], "epsilon": epsilon}})
        for each in (drafted, careful)
    ]
    found: list[list[float]] = [[], []]
    for seed in range(seeds):
        for place, config in enumerate(both):
            priced = _priced(config, folder, seed)
            found[place].append(evaluate(priced, rehearse(priced))["auc"])
    lost = [with_care - quick for quick, with_care in zip(*found, strict=True)]
    return {
        "drafted_epsilon": round(claims[0], 3),
        "careful_epsilon": round(claims[1], 3),
        "drafted_auc": round(fmean(found[0]), 4),
        "careful_auc": round(fmean(found[1]), 4),
        "lost": round(fmean(lost), 4),
        "interval": [round(end, 4) for end in _interval(lost)],
    }


def _config(tables: Mapping[str, Any]) -> Config:
    evaluation = {**tables.get("evaluation", {}), "metrics": "public"}
    return from_mapping({**tables, "evaluation": evaluation})


def _priced(config: Config, folder: Path, seed: int) -> PricedRun:
    population = load_population(config, folder, LotKeys.seeded(seed))
    return price(config, population, folder)


def _epsilon(priced: PricedRun) -> float:
    claim = priced.claim(priced.programme.rounds)
    assert claim is not None
    return claim.epsilon


def _interval(values: Sequence[float]) -> tuple[float, float]:
    half = stdev(values) / sqrt(len(values)) * student.ppf(0.975, len(values) - 1)
    return fmean(values) - half, fmean(values) + half


def measure(name: str, seeds: int) -> dict[str, Any]:
    """Return all figures of one table; `seeds` 0 leaves out the comparison."""
    with TemporaryDirectory() as place:
        folder = Path(place)
        table = make_table(name, folder)
        found = first_model(table, folder)
        if found["edits"] or not seeds:
            return found
        draft = tomllib.loads((folder / "lexfed.toml").read_text("utf-8"))
        careful = with_codebook(table, draft)
        return found | differences(draft, careful, folder, seeds)


def main() -> None:
    """Measure the tables that are named, or all there are."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--tables", help="names, divided by commas")
    parser.add_argument("--no-auc", action="store_true")
    options = parser.parse_args()
    names: Sequence[str] = (options.tables or "").split(",")
    if not options.tables:
        names = (*_public(), *INVENTED)
    values = {}
    for name in names:
        values[name] = measure(name, 0 if options.no_auc else options.seeds)
        print(f"{name}: {values[name]}", file=sys.stderr)
    print(json.dumps({"benchmark": "own_tables", "values": values}))


def _public() -> tuple[str, ...]:
    try:
        data_folder()
    except LexfedError:
        return ()
    return PUBLIC


if __name__ == "__main__":
    main()
