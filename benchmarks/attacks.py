# SPDX-License-Identifier: Apache-2.0
"""What attacks find on public tables, beside what is proven, and how long they take.

    LEXFED_DATA=... python -m benchmarks.attacks [--table NAME ...] [--rows N]

Membership (threshold and LiRA with 16 shadows), inference of the columns of the most
sensitive tier, and what an informed observer reads off the rounds, on runs of the
product with its defaults: no privacy, and the cascade at record epsilon 1.9. Without
`LEXFED_DATA` only the time of LiRA is measured: 10,000 records, CPU seconds.
Prints lines on stderr and one JSON line on stdout.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.shadow_models import FittedLogistic, ShadowPopulation
from lexfed.config import Config, from_mapping
from lexfed.errors import DataError
from lexfed.evaluate.attacks import (
    InferencePeople,
    LabelledRows,
    ProductTrainer,
    TargetValue,
    attack_attribute,
    attack_membership,
    find_target_value,
    observer_result,
    play_games,
)
from lexfed.evaluate.attacks.bounds import of_tier
from lexfed.evaluate.attacks.observed_run import Observer
from lexfed.evaluate.datasets import Dataset, prepare
from lexfed.models.losses import Loss
from lexfed.run.intake.population import Population, seeded_population
from lexfed.run.pricing.priced_run import price

SMALL = ("heart_uci4", "german_credit", "synthea", "eicu_demo")
LARGE = (
    "creditcard_fraud_sample",
    "support2",
    "taiwan_default",
    "adult",
    "diabetes130",
)
TABLES = (*SMALL, *LARGE)
EPSILON, DELTA = 1.9, 1e-5


def lira_seconds(records: int = 10_000, slots: int = 60) -> float:
    """Return the CPU seconds of LiRA with 16 shadows, training included."""
    generator = np.random.default_rng(0)
    inputs = generator.normal(size=(records, slots))
    chance = 1 / (1 + np.exp(-inputs[:, 0]))
    people = ShadowPopulation(
        inputs, (generator.random(records) < chance).astype(np.float64)
    )
    begun = time.process_time()
    attack_membership(FittedLogistic(people), None)
    return time.process_time() - begun


def configuration(dataset: Dataset, mechanism: str) -> Config:
    """Return a configuration that leaves everything but the budget at its default."""
    return from_mapping(
        {
            "version": 1,
            "run": {"name": "attacked", "seed": 0},
            **dataset.tables,
            "budget": {
                "epsilon": EPSILON,
                "delta": DELTA,
                "neighbours": "replace-one",
            },
            "privacy": {"mechanism": mechanism},
        }
    )


def on_table(dataset: Dataset, mechanism: str) -> Iterator[dict[str, Any]]:
    """Yield what each attack finds on one table."""
    config = configuration(dataset, mechanism)
    population = seeded_population(config, dataset.folder)
    trainer = ProductTrainer(config, population)
    for attack in attack_membership(trainer, trainer.trade_off):
        yield asdict(attack)
    yield from _inferred(config, population, trainer)
    if mechanism == "none":
        return
    priced = price(config, population)
    for about in _columns(population)[:1]:
        sights: tuple[tuple[Observer, int], ...] = (("round", 40), ("central", 4))
        for observer, runs in sights:
            attack = observer_result(
                [play_games(priced, about, observer, runs=runs)], observer
            )
            yield {**asdict(attack), "column": about.column}


def _inferred(
    config: Config, population: Population, trainer: ProductTrainer
) -> Iterator[dict[str, Any]]:
    """Attack half of the people; a quarter is known, a quarter are outsiders."""
    group = np.random.default_rng(1).integers(0, 4, trainer.people)
    sites = population.sites
    inputs = np.concatenate([site.train.inputs[:, 0] for site in sites])
    labels = np.concatenate([site.train.targets[:, 0] for site in sites])
    everybody = LabelledRows(inputs, labels)
    model, shadow = trainer.trained(group < 2), trainer.trained(group == 2)
    programme = trainer.priced.programme
    for about in _columns(population):
        tier = population.encoding.tiers[about.column]
        trade_off = None
        if trainer.priced.private:
            accountant = config.privacy.accountant
            trade_off = of_tier(programme.charges(), tier, accountant)
        found = attack_attribute(
            model,
            Loss(programme.loss),
            about,
            InferencePeople(
                everybody.of(group < 2),
                everybody.of(group == 2),
                everybody.of(group == 3),
            ),
            trade_off=trade_off,
            shadow=shadow,
        )
        for attack in found.attacks:
            name = attack.name.rpartition(" by ")[2]
            more = {}
            if name in found.gains:
                gain, leak = found.gains[name], found.leaks[name]
                more = {"gain": asdict(gain), "leak": asdict(leak)}
            yield {**asdict(attack), **more}


def _columns(population: Population) -> list[TargetValue]:
    """Return the columns of the most sensitive tier in which people differ."""
    sites = population.sites
    test = np.concatenate([site.test.inputs[:, 0] for site in sites])
    tier = population.encoding.model_tiers[-1]
    found = []
    for column in population.encoding.columns_of(tier)[:4]:
        try:
            found.append(find_target_value(population.encoding, column, test))
        except DataError as error:
            print(f"  {error.message}", file=sys.stderr)
    return found


def _line(table: str, mechanism: str, found: dict[str, Any]) -> str:
    line = (
        f"{table:<24} {mechanism:<8} {found['name']:<36} {found['auc']:.3f} "
        f"({found['low']:.3f}-{found['high']:.3f})  bound {found['bound']:.3f}  "
        f"{found['seconds']:.2f} s"
    )
    for what in ("gain", "leak"):
        if what in found:
            more = found[what]
            line += f"  {what} {more['value']:+.3f} (from {more['low']:+.3f})"
    return line


def main() -> None:
    """Measure the time, and attack every table that is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", nargs="*", choices=TABLES, default=TABLES)
    parser.add_argument("--rows", type=int, default=4000, help="rows of large tables")
    options = parser.parse_args()
    seconds = lira_seconds()
    print(f"LiRA-16 on 10,000 records: {seconds:.2f} s of CPU", file=sys.stderr)
    cells: list[dict[str, Any]] = []
    for table in options.table if "LEXFED_DATA" in os.environ else ():
        with tempfile.TemporaryDirectory() as folder:
            rows = None if table in SMALL else options.rows
            dataset = prepare(table, Path(folder), rows=rows)
            for mechanism in ("none", "cascade"):
                for found in on_table(dataset, mechanism):
                    cells.append({"table": table, "mechanism": mechanism, **found})
                    print(_line(table, mechanism, found), file=sys.stderr, flush=True)
    print(json.dumps({"benchmark": "attacks", "lira_cpu_s": seconds, "cells": cells}))


if __name__ == "__main__":
    main()
