# SPDX-License-Identifier: Apache-2.0
"""Methods that the product itself runs: its own reading, planning, training, claims.

A method is a few keys of a configuration, so nothing is compared that a user could not
run. Settings that were tuned (`tuning.py`) are more keys of `[federation]`.
"""

from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.methods.case import (
    Case,
    Method,
    configuration,
    model_of,
    sensitive_tier,
)
from lexfed.evaluate.methods.rows import rows_of
from lexfed.evaluate.outcome import Scores
from lexfed.models.losses import Loss
from lexfed.run.planning import Priced, price
from lexfed.run.population import Population
from lexfed.run.rehearsal import train_in_memory

Keys = Mapping[str, Mapping[str, Any]]


def through_the_product(name: str, keys: Keys, note: str = "") -> Method:
    """Return the method that runs the product with some keys.

    Args:
        name: of the method.
        keys: by table of the configuration.
        note: what a reader of the table must know.
    """

    def method(dataset: Dataset, case: Case) -> Scores:
        return train(dataset, case, name, keys, note)

    return method


def train(dataset: Dataset, case: Case, name: str, keys: Keys, note: str) -> Scores:
    """Train with the product, in memory, and score the test rows.

    Guarantees:
        The epsilons are those of the product's own claim, never above the cell's.
        A run whose numbers are lost is reported as diverged.
    """
    merged = {table: dict(values) for table, values in keys.items()}
    merged["federation"] = {**keys.get("federation", {}), **case.settings}
    config = configuration(dataset, case, merged)
    rows = rows_of(dataset, case)
    population = _of_units(rows.population, config.budget.unit)
    start = perf_counter()
    priced = price(config, population, dataset.folder)
    progress = train_in_memory(priced)
    seconds = perf_counter() - start
    slots, _ = population.test_rows
    predicted = Loss(priced.programme.loss).predict(progress.model.logits(slots))
    scores = predicted.numpy()[:, 0].astype(np.float64)
    claim = priced.claim(progress.done)
    tier = sensitive_tier(dataset, case)
    remarks = (note, _relation(priced), _linear_note(dataset, case, priced))
    return Scores(
        method=name,
        seed=case.seed,
        targets=rows.test.targets,
        scores=scores,
        sites=rows.test.sites,
        groups=rows.groups,
        record_epsilon=None if claim is None else claim.epsilon,
        # A tier that is not read at all costs nothing.
        attribute_epsilon=None
        if claim is None
        else claim.tiers[tier.label].epsilon
        if tier.label in claim.tiers
        else 0.0,
        delta=case.delta,
        rounds=progress.done,
        seconds=seconds,
        diverged=not bool(np.isfinite(scores).all()),
        note="; ".join(remark for remark in remarks if remark),
    )


def _of_units(population: Population, unit: str) -> Population:
    """Return the population of a guarantee about sites, where they are the units."""
    if unit == "record":
        return population
    return replace(population, units=len(population.sites))


def _relation(priced: Priced) -> str:
    if not priced.private:
        return "no guarantee"
    whom = "site" if priced.programme.unit == "client" else "record"
    return f"{priced.budget.neighbours} of one {whom}"


def _linear_note(dataset: Dataset, case: Case, priced: Priced) -> str:
    """Say where the rule left networks out because they would not pay."""
    wanted = model_of(dataset, case)
    used = {shape.architecture for shape in priced.programme.shapes}
    if wanted in used or wanted in ("logistic", "linear"):
        return ""
    return f"the rule kept towers linear: `{wanted}` would not pay at this budget"
