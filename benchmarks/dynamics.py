# SPDX-License-Identifier: Apache-2.0
"""What moving the budget over rounds is worth, against constant noise, at equal claims.

    LEXFED_DATA=... python -m benchmarks.dynamics [--table NAME] [--seeds N]

Noisy gradient descent with lexfed's defaults (40 rounds, step 1, clip 1) on six public
tables, uniform noise, replace-one, epsilon 1 at delta 1e-5, 70/30 splits; split and
noise change with the seed. No constant of any method was set on these tables. Asked
of every schedule and controller:

    auc           test AUC with the same claim and the same planned rounds
    less_budget   part of the budget per round (mu^2) that it can do without, and still
                  reach the AUC that constant noise has with all of it
    more_rounds   how many more rounds it runs for the same claim, and still reaches
                  the AUC that constant noise has with its 40

An AUC counts as reached if it is at most .005 below. The last two are read off a grid
of budgets and planned rounds; a gain beyond the grid counts as the grid's end.
`constant` itself is asked too: where its own AUC hardly depends on budget or rounds it
"gains" as well, and only what a method gains beyond it is worth something. `constant,
30 rounds` is there because filters end a training sooner when they lower the noise:
fewer rounds alone may be the gain. Intervals are 95 %, by bootstrap over seeds. The
published figures that this answers are 44 % less budget per round and 69 % more rounds.

Prints a table on stderr and one JSON line on stdout.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.tables import TABLES, Table, write_table
from lexfed.config import Config, from_mapping
from lexfed.privacy.accountants.calibration import epsilon_from, mu_from
from lexfed.run import Population, price, seeded_population
from lexfed.run.driver.rehearsal import train_in_memory
from lexfed.run.results.metrics import evaluate

EPSILON, DELTA, ROUNDS = 1.0, 1e-5, 40
MARGIN = 0.005
"""How far below another an AUC may be and still count as the same."""
PARTS = (1.0, 0.8, 0.6, 0.4, 0.25)
"""Budgets per round, as parts of the full one."""
LENGTHS = (1.0, 1.25, 1.6, 2.0, 3.0)
"""Planned rounds, as multiples of the usual ones."""
METHODS: Mapping[str, Mapping[str, Any]] = {
    "constant": {},
    "constant, 30 rounds": {"rounds": 30},
    "geometric": {"budget": {"schedule": "geometric"}},
    "cosine": {"budget": {"schedule": "cosine"}},
    "step": {"budget": {"schedule": "step"}},
    "time-adaptive": {"budget": {"schedule": "time-adaptive"}},
    "convergence, envelope": {"adapt": {"noise": "convergence"}},
    "convergence, filter": {"adapt": {"noise": "convergence", "guarantee": "filter"}},
    "linear, filter": {"adapt": {"noise": "linear", "guarantee": "filter"}},
    "feedback, filter": {"adapt": {"noise": "feedback", "guarantee": "filter"}},
    "feedback step": {"adapt": {"learning_rate": "feedback"}},
    "adaptive clip": {"adapt": {"clip": "quantile"}},
}
FIGURES = ("auc_gain", "less_budget", "more_rounds")
Floats = NDArray[np.float64]


def configuration(
    tables: Mapping[str, Any], method: str, part: float, length: float, seed: int
) -> Config:
    """Return a run under part of the budget, or with more rounds."""
    changed = METHODS[method]
    mu = mu_from(EPSILON, DELTA) * part**0.5
    rounds = changed.get("rounds", ROUNDS)
    return from_mapping(
        {
            "version": 1,
            "run": {"name": "dynamics", "seed": seed},
            **tables,
            "budget": {
                "epsilon": epsilon_from(mu, DELTA),
                "delta": DELTA,
                "neighbours": "replace-one",
                **changed.get("budget", {}),
            },
            "privacy": {"mechanism": "uniform"},
            "federation": {"learning_rate": 1.0, "rounds": round(length * rounds)},
            **({"adapt": changed["adapt"]} if "adapt" in changed else {}),
        }
    )


@dataclass(frozen=True)
class Trained:
    """What a training came to: its test AUC and the rounds of descent it ran."""

    auc: float
    rounds: int


def train(config: Config, population: Population) -> Trained:
    """Train through the product, with fresh noise and a ledger that may refuse."""
    priced = price(config, population)
    progress = train_in_memory(priced)
    stages = priced.programme.stages
    before = sum(len(stage.releases) for stage in stages if stage.kind != "gradient")
    return Trained(evaluate(priced, progress.model)["auc"], progress.done - before)


@dataclass(frozen=True)
class Cells:
    """AUC of one method, a row for each seed, by budget and by planned rounds."""

    parts: Floats
    lengths: Floats
    rounds: Floats

    @classmethod
    def empty(cls, seeds: int) -> "Cells":
        """Return cells that are to be filled."""
        by_length = (seeds, len(LENGTHS))
        return cls(
            np.zeros((seeds, len(PARTS))), np.zeros(by_length), np.zeros(by_length)
        )


def run_table(table: Table, folder: Path, seeds: int) -> dict[str, Cells]:
    """Return the AUC of every method and seed, by budget and by rounds."""
    tables = write_table(table, folder)
    found = {method: Cells.empty(seeds) for method in METHODS}
    for seed in range(seeds):
        first = configuration(tables, "constant", 1.0, 1.0, seed)
        population = seeded_population(first, folder)
        for method, cells in found.items():
            for place, length in enumerate(LENGTHS):
                config = configuration(tables, method, 1.0, length, seed)
                trained = train(config, population)
                cells.lengths[seed, place] = trained.auc
                cells.rounds[seed, place] = trained.rounds / ROUNDS
            cells.parts[seed, 0] = cells.lengths[seed, 0]
            for place, part in enumerate(PARTS[1:], start=1):
                config = configuration(tables, method, part, 1.0, seed)
                cells.parts[seed, place] = train(config, population).auc
    return found


def reach(grid: Sequence[float], scores: Floats, target: float) -> float:
    """Return how far along the grid the score stays at the target, interpolated."""
    if scores[0] < target:
        return grid[0]
    for place in range(1, len(grid)):
        here, before = float(scores[place]), float(scores[place - 1])
        if here < target:
            crossed = (before - target) / (before - here)
            return grid[place - 1] + crossed * (grid[place] - grid[place - 1])
    return grid[-1]


def gains(found: Mapping[str, Cells]) -> dict[str, dict[str, Any]]:
    """Return the figures of every method of a table, with intervals."""
    seeds = len(found["constant"].parts)
    # The whole sample first, then 1,000 of the bootstrap.
    draws = np.random.default_rng(7).integers(seeds, size=(1000, seeds))
    samples = [np.arange(seeds), *draws]
    result = {}
    for method, cells in found.items():
        figures = [_figures(cells, found["constant"], sample) for sample in samples]
        low, high = np.quantile(figures[1:], (0.025, 0.975), axis=0)
        intervals = zip(FIGURES, figures[0], low, high, strict=True)
        result[method] = {
            "auc": round(float(cells.parts[:, 0].mean()), 4),
            "rounds": round(float(cells.rounds[:, 0].mean()) * ROUNDS, 1),
            **{
                name: [round(float(value), 4) for value in interval]
                for name, *interval in intervals
            },
        }
    return result


def _figures(cells: Cells, constant: Cells, seeds: Floats) -> tuple[float, ...]:
    target = float(constant.parts[seeds, 0].mean())
    parts = cells.parts[seeds].mean(axis=0)
    lengths = cells.lengths[seeds].mean(axis=0)
    run = cells.rounds[seeds].mean(axis=0).tolist()
    return (
        float(parts[0]) - target,
        1.0 - reach(PARTS, parts, target - MARGIN),
        reach(run, lengths, target - MARGIN) - 1.0,
    )


def _line(table: str, method: str, row: Mapping[str, Any]) -> str:
    cells = "  ".join(
        f"{name} {row[name][0]:+.3f} ({row[name][1]:+.3f} to {row[name][2]:+.3f})"
        for name in FIGURES
    )
    start = f"{table:<15} {method:<22} {row['rounds']:4.1f} rounds"
    return f"{start}  auc {row['auc']:.3f}  {cells}"


def main() -> None:
    """Run all tables, or one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", choices=[table.name for table in TABLES])
    parser.add_argument("--seeds", type=int, default=20)
    options = parser.parse_args()
    rows: dict[str, dict[str, dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for table in TABLES:
            if options.table in (None, table.name):
                found = run_table(table, Path(folder), options.seeds)
                rows[table.name] = gains(found)
                for method, row in rows[table.name].items():
                    print(_line(table.name, method, row), file=sys.stderr, flush=True)
    means = {
        method: {
            name: round(
                float(np.mean([row[method][name][0] for row in rows.values()])), 4
            )
            for name in FIGURES
        }
        for method in METHODS
    }
    print(json.dumps({"benchmark": "dynamics", "mean": means, "tables": rows}))


if __name__ == "__main__":
    main()
