# SPDX-License-Identifier: Apache-2.0
"""Methods that the product itself runs: its own reading, planning, training, claims.

A method is a few keys of a configuration, so nothing is compared that a user could not
run. Settings that were tuned (`setting_search.py`) are more keys of `[federation]`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil
from time import perf_counter
from typing import Any

import numpy as np

from lexfed.arrays import Floats
from lexfed.evaluate.comparison.case import (
    Case,
    Method,
    claimed,
    configuration,
    model_of,
    sensitive_tier,
)
from lexfed.evaluate.comparison.metrics import Point, Scores, quality
from lexfed.evaluate.comparison.plan_figures import sensitive_and_others
from lexfed.evaluate.comparison.split_rows import SplitRows, rows_of
from lexfed.evaluate.datasets import Dataset
from lexfed.federation.coordinator.learner import Progress
from lexfed.models.losses import Loss
from lexfed.models.towers import Model
from lexfed.privacy.run_ledger import Ledger
from lexfed.run.driver.rehearsal import train_in_memory
from lexfed.run.intake.population import Population
from lexfed.run.pricing.priced_run import PricedRun, price

MethodKeys = Mapping[str, Mapping[str, Any]]

POINTS = 40
"""After how many rounds of a run test rows are scored, at most, beside the last."""


def through_the_product(name: str, keys: MethodKeys, note: str = "") -> Method:
    """Return the method that runs the product with some keys of a configuration."""
    return partial(train, name=name, keys=keys, note=note)


def train(
    dataset: Dataset, case: Case, name: str, keys: MethodKeys, note: str
) -> Scores:
    """Train with the product, in memory, and score the test rows.

    Guarantees:
        The epsilons are those of the product's own claim, never above the cell's.
        A run whose numbers are lost is reported as diverged.
    """
    rows = rows_of(dataset, case)
    trained = train_on(rows.population, dataset, case, keys)
    scores = as_scores(name, case, rows, [trained], note)
    by_site = keys.get("budget", {}).get("unit", "record") == "client"
    return claimed(scores, dataset, case, by_site=by_site)


@dataclass(frozen=True)
class TrainingResult:
    """The result of the product's training on one population; see `Scores`."""

    scores: Floats
    record_epsilon: float | None
    attribute_epsilon: float | None
    rounds: int
    seconds: float
    remarks: tuple[str, ...]
    path: tuple[Point, ...]
    noise: Mapping[str, float]


def train_on(
    population: Population, dataset: Dataset, case: Case, keys: MethodKeys
) -> TrainingResult:
    """Train with the product on a population, and score its test rows."""
    merged = {table: dict(values) for table, values in keys.items()}
    merged["federation"] = {**keys.get("federation", {}), **case.settings}
    config = configuration(dataset, case, merged)
    if config.budget.unit == "client":  # a guarantee about sites counts sites
        population = replace(population, units=len(population.sites))
    start = perf_counter()
    priced = price(config, population, dataset.folder)
    kept = _Kept(every=ceil(priced.programme.rounds / POINTS))
    progress = train_in_memory(priced, kept.hear)
    seconds = perf_counter() - start
    kept.keep(progress)
    claim = priced.claim(progress.done)
    tier = sensitive_tier(dataset, case)
    # A tier that is not read at all has no claim, and costs nothing.
    tiers: dict[str, float] = {} if claim is None else {tier.label: 0.0}
    if claim is not None:
        tiers |= {name: stated.epsilon for name, stated in claim.tiers.items()}
    relation = "no guarantee"
    if priced.private:
        whom = "site" if priced.programme.unit == "client" else "record"
        relation = f"{priced.budget.neighbours} of one {whom}"
    targets = population.test_rows[1].numpy()
    return TrainingResult(
        scores=_predicted(priced, progress.model),
        record_epsilon=None if claim is None else claim.epsilon,
        attribute_epsilon=tiers.get(tier.label),
        rounds=progress.done,
        seconds=seconds,
        remarks=(relation, _linear_note(dataset, case, priced)),
        path=tuple(
            Point(number, quality(targets, _predicted(priced, model)), spent)
            for number, (model, spent) in kept.models.items()
        ),
        noise=sensitive_and_others(priced, tier),
    )


@dataclass
class _Kept:
    """Models after some of the rounds, which are scored when training is over."""

    every: int
    models: dict[int, tuple[Model, float | None]] = field(default_factory=dict)
    ledger: Ledger | None = None

    def hear(self, progress: Progress, ledger: Ledger | None) -> None:
        self.ledger = ledger
        if progress.done % self.every == 0:
            self.keep(progress)

    def keep(self, progress: Progress) -> None:
        spent = None if self.ledger is None else self.ledger.spent().record
        self.models[progress.done] = progress.model, spent


def _predicted(priced: PricedRun, model: Model) -> Floats:
    slots, _ = priced.population.test_rows
    predicted = Loss(priced.programme.loss).predict(model.logits(slots))
    return np.asarray(predicted.numpy()[:, 0], dtype=np.float64)


def as_scores(
    name: str, case: Case, rows: SplitRows, parts: Sequence[TrainingResult], note: str
) -> Scores:
    """Join the results of populations without common persons.

    Their claims hold side by side: a person pays the largest of them. Rounds of several
    runs are not one path, so they have none, nor one noise.
    """
    alone = parts[0] if len(parts) == 1 else None
    scores = np.concatenate([part.scores for part in parts])
    remarks = dict.fromkeys((note, *(r for part in parts for r in part.remarks)))
    return Scores(
        method=name,
        seed=case.seed,
        targets=rows.test.targets,
        scores=scores,
        sites=rows.test.sites,
        groups=rows.groups,
        record_epsilon=_most([part.record_epsilon for part in parts]),
        attribute_epsilon=_most([part.attribute_epsilon for part in parts]),
        delta=case.delta,
        rounds=max(part.rounds for part in parts),
        seconds=sum(part.seconds for part in parts),
        diverged=not bool(np.isfinite(scores).all()),
        note="; ".join(remark for remark in remarks if remark),
        path=() if alone is None else alone.path,
        noise={} if alone is None else alone.noise,
    )


def _most(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _linear_note(dataset: Dataset, case: Case, priced: PricedRun) -> str:
    """Say where the rule left networks out because they would not pay."""
    wanted = model_of(dataset, case)
    used = {shape.architecture for shape in priced.programme.shapes}
    if wanted in used or wanted in ("logistic", "linear"):
        return ""
    return f"the rule kept towers linear: `{wanted}` would not pay at this budget"


def alone(name: str, keys: MethodKeys) -> Method:
    """Return the method in which every site runs the product alone with some keys.

    A federation has to be better. A site trains on its own units with the whole budget,
    since its persons are nowhere else, and is scored on its own test rows. Sizes of
    sites count as public, as a site that works alone knows its own. Where sites differ
    much in their labels, a site alone knows its own label rate: compare the worst site
    too.
    """

    def method(dataset: Dataset, case: Case) -> Scores:
        rows = rows_of(dataset, case)
        parts = []
        for site in rows.population.sites:
            own = replace(rows.population, sites=(site,), units=len(site.train))
            parts.append(train_on(own, dataset, case, keys))
        scores = as_scores(name, case, rows, parts, "every site alone")
        return claimed(scores, dataset, case, by_site=True)

    return method
