# SPDX-License-Identifier: Apache-2.0
"""Test AUC at equal protection: cascade, uniform noise, sensitive columns dropped.

    LEXFED_DATA=... python -m benchmarks.utility [--table NAME] [--seeds N]

Every method runs with its defaults, through the product's own reading, planning and
training; no constant was set on these tables (docs/theory/rule.md says who looked at
them when). `uniform` is calibrated to the same attribute epsilon of the
sensitive tier as the cascade; `best uniform` is the best of lexfed's uniform rule and
three variants of a simpler one, chosen per cell in hindsight: a generous peer.
Replace-one neighbours, delta 1e-5, 70/30 splits; split and noise change with the seed.
Prints a table on stderr and one JSON line of differences on stdout.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import starting_rule
from benchmarks.tables import TABLES, Table, write_table
from lexfed.config import Config, from_mapping
from lexfed.privacy.accountants.calibration import mu_from
from lexfed.run import Population, price, seeded_population
from lexfed.run.driver.rehearsal import rehearse
from lexfed.run.results.metrics import evaluate

DELTA = 1e-5
BUDGETS = ((0.1, 1.0), (0.3, 2.0))
SIMPLE = ("simple", "simple_paid", "simple_linear")
METHODS = ("cascade", "uniform", *SIMPLE, "dropped", "none")
Floats = NDArray[np.float64]


def configuration(
    tables: dict[str, Any], budget: tuple[float, float], seed: int, method: str
) -> Config:
    """Return a configuration that leaves everything but the budget at its default."""
    law = tables["law"]
    if method == "dropped":
        law = {"columns": {n: _dropped(t) for n, t in law["columns"].items()}}
        law["columns"][tables["data"]["target"]]["tier"] = "special"
    attribute, record = budget
    caps = {} if method == "dropped" else {"caps": {"special": attribute}}
    return from_mapping(
        {
            "version": 1,
            "run": {"name": "utility", "seed": seed},
            **tables,
            "law": law,
            "budget": {
                "epsilon": record,
                "delta": DELTA,
                "neighbours": "replace-one",
                **caps,
            },
            "privacy": {"mechanism": "cascade" if method == "cascade" else "uniform"},
        }
    )


def linear(tables: dict[str, Any]) -> dict[str, Any]:
    """Return the tables with every number mapped linearly from its range."""
    columns = {
        name: {**column, "scale": "linear"} if column["kind"] == "number" else column
        for name, column in tables["data"]["columns"].items()
    }
    return {**tables, "data": {**tables["data"], "columns": columns}}


def _dropped(tag: dict[str, Any]) -> dict[str, Any]:
    sensitive = tag["tier"] == "special"
    return {**tag, "tier": "identifier"} if sensitive else tag


def score(config: Config, folder: Path) -> float:
    """Train through the product and return the test AUC."""
    priced = price(config, seeded_population(config, folder))
    return evaluate(priced, rehearse(priced))["auc"]


def peers(
    population: Population, attribute: float, names: Sequence[str]
) -> dict[str, float]:
    """Return the AUC of some of the peers, trained on the same rows."""
    train = [site.train for site in population.sites]
    slots = np.concatenate([block.inputs[:, 0] for block in train])
    labels = np.concatenate([block.targets[:, 0] for block in train])
    number = np.array([slot.kind == "number" for slot in population.encoding.slots])
    test = [site.test for site in population.sites]
    test_slots = np.concatenate([block.inputs[:, 0] for block in test])
    test_labels = np.concatenate([block.targets[:, 0] for block in test])
    mu = mu_from(attribute, DELTA)
    found = {}
    for name in names:
        if name == "none":
            found[name] = _no_privacy(slots, labels)
        else:
            paid = 0.3 if name == "simple_paid" else 0.0
            found[name] = starting_rule.train(slots, labels, number, mu, paid)
    return {
        name: _auc(test_labels, test_slots @ weights) for name, weights in found.items()
    }


def _no_privacy(slots: Floats, labels: Floats) -> Floats:
    from sklearn.linear_model import LogisticRegression

    centre, spread = slots.mean(0), slots.std(0) + 1e-9
    model = LogisticRegression(C=0.1, max_iter=500)
    model.fit((slots - centre) / spread, labels)
    return np.asarray(model.coef_[0] / spread)


def _auc(labels: Floats, scores: Floats) -> float:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(labels, scores))


def run_table(table: Table, folder: Path, seeds: int) -> list[dict[str, Any]]:
    """Return the two cells of a table."""
    tables = write_table(table, folder)
    cells = []
    for budget in BUDGETS:
        scores: dict[str, list[float]] = {method: [] for method in METHODS}
        for seed in range(seeds):
            for method in ("cascade", "uniform", "dropped"):
                config = configuration(tables, budget, seed, method)
                scores[method].append(score(config, folder))
            config = configuration(tables, budget, seed, "cascade")
            population = seeded_population(config, folder)
            found = peers(population, budget[0], ("simple", "simple_paid", "none"))
            config = configuration(linear(tables), budget, seed, "cascade")
            population = seeded_population(config, folder)
            found |= peers(population, budget[0], ("simple_linear",))
            for name, value in found.items():
                scores[name].append(value)
        cell = {"table": table.name, "attribute": budget[0], "record": budget[1]}
        cells.append({**cell, **_summary(scores)})
        print(_line(cells[-1]), file=sys.stderr, flush=True)
    return cells


def _summary(scores: dict[str, list[float]]) -> dict[str, Any]:
    arrays = {name: np.array(values) for name, values in scores.items()}
    uniform = max(("uniform", *SIMPLE), key=lambda name: arrays[name].mean())
    gain = arrays["cascade"] - arrays[uniform]
    dropped = arrays["cascade"] - arrays["dropped"]
    return {
        **{name: round(float(values.mean()), 4) for name, values in arrays.items()},
        "best_uniform": uniform,
        "gain": round(float(gain.mean()), 4),
        "gain_se": round(_standard_error(gain), 4),
        "over_dropped": round(float(dropped.mean()), 4),
        "over_dropped_se": round(_standard_error(dropped), 4),
    }


def _standard_error(values: Floats) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def _line(cell: dict[str, Any]) -> str:
    verdict = "gain" if cell["gain"] > 2 * cell["gain_se"] else "no gain"
    return (
        f"{cell['table']:<15} {cell['attribute']:.1f}/{cell['record']:.0f}  "
        f"cascade {cell['cascade']:.3f}  uniform {cell['uniform']:.3f}  "
        f"best uniform {cell[cell['best_uniform']]:.3f}  "
        f"dropped {cell['dropped']:.3f}  no privacy {cell['none']:.3f}  "
        f"{cell['gain']:+.3f} ({cell['gain_se']:.3f}) {verdict}"
    )


def main() -> None:
    """Run all cells, or those of one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", choices=[table.name for table in TABLES])
    parser.add_argument(
        "--seeds", type=int, help="splits; 40 under 3,000 rows, else 20"
    )
    options = parser.parse_args()
    cells: list[dict[str, Any]] = []
    small = {"german_credit", "heart_uci4", "eicu_demo"}
    with tempfile.TemporaryDirectory() as folder:
        for table in TABLES:
            if options.table in (None, table.name):
                seeds = options.seeds or (40 if table.name in small else 20)
                cells += run_table(table, Path(folder), seeds)
    means = {
        name: round(float(np.mean([cell[name] for cell in cells])), 4)
        for name in METHODS
    }
    print(json.dumps({"benchmark": "utility", "mean": means, "cells": cells}))


if __name__ == "__main__":
    main()
