# SPDX-License-Identifier: Apache-2.0
"""How often does a charged search find the best setting, and is it worth it?

    python -m benchmarks.tuning [--searches 10] [--patients 20000]

Three learning rates on synthetic patients: the AUC of each with the whole budget, that
of the built-in rule without any search, and what repeated searches choose. Scores are
means over three trainings with fresh noise. Takes about ten minutes on one core.
"""

import argparse
import copy
import tomllib
from collections import Counter
from pathlib import Path
from statistics import fmean
from typing import Any

from lexfed.config import Config, from_mapping
from lexfed.config.search_grid import parse_grid, searched_configs, set_key
from lexfed.privacy.selection import Repetitions
from lexfed.randomness import SecureSource
from lexfed.run import Population, price, seeded_population
from lexfed.run.driver.rehearsal import rehearse
from lexfed.run.results.metrics import evaluate
from lexfed.run.tuning.charged_search import plan_search, run_search

CONFIG = """\
version = 1
[run]
name = "tuning"
[data]
source = "synthetic:hospital"
[data.generator]
patients = {patients}
sites = 4
[budget]
epsilon = 2.0
delta = 1e-6
[federation]
rounds = 20
"""
GRID = parse_grid(["federation.learning_rate=0.02,0.2,2.0"])
LAW = Repetitions("poisson", 5.0)


def auc(config: Config, population: Population) -> float:
    """Return the mean AUC of three trainings with the whole budget."""
    priced = price(config, population)
    return fmean(evaluate(priced, rehearse(priced))["auc"] for _ in range(3))


def main() -> None:
    """Print what each setting is worth and what searches choose."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--searches", type=int, default=10)
    parser.add_argument("--patients", type=int, default=20_000)
    asked = parser.parse_args()
    tables: dict[str, Any] = tomllib.loads(CONFIG.format(patients=asked.patients))
    settings = GRID.settings()
    plain = searched_configs(tables, settings)
    population = seeded_population(plain[0], Path())
    for setting, config in zip(settings, plain, strict=True):
        print(f"{auc(config, population):.4f}  {setting}", flush=True)
    ruled = copy.deepcopy(tables)
    del ruled["federation"]
    print(f"{auc(from_mapping(ruled), population):.4f}  built-in rule, no search")
    set_key(tables, ("evaluation", "metrics"), "paid")
    planned = plan_search(
        settings, searched_configs(tables, settings), population, LAW, Path()
    )
    chosen = [run_search(planned, SecureSource()) for _ in range(asked.searches)]
    names = Counter("nothing" if one is None else str(one.setting) for one in chosen)
    print(f"one run has {planned.part:.0%} of epsilon {2.0:g}; searches chose:")
    for name, count in names.most_common():
        print(f"  {count} of {asked.searches}  {name}")


if __name__ == "__main__":
    main()
