# SPDX-License-Identifier: Apache-2.0
"""A simpler rule for uniform noise, as a peer: one clip on residual times slots.

It has the budget of `uniform` and releases full-batch sums: equal steps from kappa = n
mu / sqrt(d), square-root preconditioning, an offset that is switched on with kappa, and
empirical-Bayes shrinkage over ten signal sizes. Three variants:

    uniform-simple           as it is
    uniform-simple-paid      buys column means with three tenths of the budget
    uniform-simple-linear    maps every number linearly from its declared range
"""

from collections.abc import Mapping
from functools import partial
from math import sqrt
from time import perf_counter
from types import MappingProxyType

import numpy as np

from lexfed.arrays import Bools, Floats
from lexfed.errors import DataError, Problem
from lexfed.evaluate.comparison.case import Case, Method, sensitive_tier
from lexfed.evaluate.comparison.metrics import Scores
from lexfed.evaluate.comparison.split_rows import rows_of
from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.methods.baseline_claims import affordable_mu, gaussian, scored
from lexfed.evaluate.methods.single_tower import unit_batch
from lexfed.models.gradients.batch import Batch
from lexfed.privacy.scopes import CountedRelease

_LABELS, _MEANS = 0.02, 0.3
"""Parts of the square of mu that the rate of the outcome and column means cost."""


def _train(name: str, paid: bool, linear: bool, dataset: Dataset, case: Case) -> Scores:
    rows = rows_of(_linear(dataset) if linear else dataset, case)
    encoding = rows.population.encoding
    if encoding.schema.task != "binary":
        raise DataError([Problem(f"`{dataset.target}`", "the rule needs two classes")])
    start = perf_counter()
    number = np.array([slot.kind == "number" for slot in encoding.slots])
    units = unit_batch([site.train for site in rows.population.sites])
    mu = affordable_mu(dataset, case)
    weights, releases = _learn(units, number, mu, paid)
    seconds = perf_counter() - start
    tier = sensitive_tier(dataset, case)
    counted: list[CountedRelease] = [
        (gaussian(what, moved, tier), times)
        for what, (moved, times) in releases.items()
    ]
    rounds, note = sum(times for _, times in counted), "a simpler rule for one noise"
    predicted = rows.test.slots @ weights
    return scored(name, dataset, case, rows, predicted, counted, rounds, seconds, note)


def _learn(
    units: Batch, number: Bools, mu: float, paid: bool
) -> tuple[Floats, dict[str, tuple[float, int]]]:
    """Return weights for a budget of mu (add/remove), and the releases.

    Of each sum the norm over the noise, and how often it was released.
    """
    generator = np.random.default_rng()
    rows, labels = units.inputs.numpy(), units.targets.numpy()
    share = units.weights.numpy()
    n, d = len(rows), rows.shape[2]
    guess = np.where(number, 1.0, 0.12)
    spread = guess.sum()
    # A unit's labels less one half are at most one half, and n is public.
    noise = 0.5 / (mu * sqrt(_LABELS))
    centred = float((share * (labels - 0.5)).sum()) + noise * generator.normal()
    rate = float(np.clip(centred / n + 0.5, 0.01, 0.99))
    releases = {"labels": (0.5 / noise, 1)}
    mu *= sqrt(1.0 - _LABELS)
    if paid:
        clip = sqrt(spread)
        noise = clip / (mu * sqrt(_MEANS))
        total = _clipped_sum((share[:, :, None] * rows).sum(axis=1), clip)
        rows = rows - (total + noise * generator.normal(size=d)) / n
        releases["means"] = (clip / noise, 1)
        mu *= sqrt(1.0 - _MEANS)
    clip = 0.175 * sqrt(spread)
    kappa = n * mu / sqrt(d)
    rounds = int(np.clip(round(kappa / 4), 1, 8))
    offset = float(np.log(rate / (1 - rate)) * np.clip((kappa - 5) / 10, 0, 1))
    bend = float(_sigmoid(np.array(offset)) * (1 - _sigmoid(np.array(offset))))
    height = (1 if rounds == 1 else 2) * min(1.0, clip / (2 * bend * sqrt(spread)))
    curvature = height * bend * np.sqrt(guess) * spread / np.sqrt(guess).sum()
    prior = curvature**2 / np.sqrt(guess)
    prior *= clip**2 / prior.sum()
    noise = clip * sqrt(rounds) / mu
    releases["gradients"] = (clip / noise, rounds)
    weights, total = np.zeros(d), np.zeros(d)
    for done in range(1, rounds + 1):
        slopes = share * (_sigmoid(offset + rows @ weights) - labels)
        gradient = _clipped_sum((slopes[:, :, None] * rows).sum(axis=1), clip)
        released = (gradient + noise * generator.normal(size=d)) / n
        total += curvature * weights - released
        mean = total / done
        weights = _shrinkage(mean, (noise / n) ** 2 / done, prior) * mean / curvature
    return weights, releases


def _shrinkage(mean: Floats, noise: float, prior: Floats) -> Floats:
    sizes = np.logspace(np.log10(0.05), 0.0, 10)[:, None] ** 2
    total = sizes * prior + noise
    fit = -0.5 * (np.log(total) + mean**2 / total).sum(1)
    share = np.exp(fit - fit.max())
    share /= share.sum()
    return np.asarray((share[:, None] * sizes * prior / total).sum(0))


def _clipped_sum(rows: Floats, clip: float) -> Floats:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray((rows * np.minimum(1.0, clip / np.maximum(norms, 1e-12))).sum(0))


def _sigmoid(value: Floats) -> Floats:
    return np.asarray(0.5 * (1 + np.tanh(value / 2)))


def _linear(dataset: Dataset) -> Dataset:
    """Return the table with every number mapped linearly from its range."""
    columns = {
        name: {**column, "scale": "linear"} if column["kind"] == "number" else column
        for name, column in dataset.tables["data"]["columns"].items()
    }
    return dataset.with_columns("data", columns)


SIMPLE: Mapping[str, Method] = MappingProxyType(
    {
        "uniform-simple": partial(_train, "uniform-simple", False, False),
        "uniform-simple-paid": partial(_train, "uniform-simple-paid", True, False),
        "uniform-simple-linear": partial(_train, "uniform-simple-linear", False, True),
    }
)
"""The variants, by name."""
