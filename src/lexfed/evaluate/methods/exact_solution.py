# SPDX-License-Identifier: Apache-2.0
"""The same model without privacy: the ceiling that others are measured against.

A ceiling must not depend on how well somebody chose steps, or a private method beats
it. So linear models are solved: logistic or ridge regression on standardised slots, a
person weighing as one however many rows there are, the penalty chosen by
cross-validation of the training rows. Networks have no such solution and descend
through the product, without noise.
"""

from collections.abc import Sequence
from time import perf_counter

import numpy as np
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import log_loss

from lexfed.arrays import Floats, Integers
from lexfed.evaluate.comparison.case import Case
from lexfed.evaluate.comparison.metrics import Scores
from lexfed.evaluate.comparison.split_rows import SplitRows, SplitSide, rows_of
from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.methods import product
from lexfed.evaluate.methods.baseline_claims import scored

STRENGTHS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
"""Weights of the data against the penalty; cross-validation chooses."""

FOLDS, ENOUGH = 3, 5000
"""Parts of the training rows, by person; about how many rows a choice learns from."""

_NOTE = "solved, not descended"
_DESCENT: product.MethodKeys = {"privacy": {"mechanism": "none"}}


def train(dataset: Dataset, case: Case) -> Scores:
    """Train on the training rows of all sites together."""
    if case.model != "logistic":
        return product.train(dataset, case, "none", _DESCENT, "")
    rows = rows_of(dataset, case)
    start = perf_counter()
    predicted = solve(rows, rows.train, rows.test, case)
    seconds = perf_counter() - start
    return scored("none", dataset, case, rows, predicted, (), 1, seconds, _NOTE)


def train_alone(dataset: Dataset, case: Case) -> Scores:
    """Train a linear model at each site, and score it on the site's own test rows."""
    rows = rows_of(dataset, case)
    start = perf_counter()
    parts = [
        solve(rows, rows.train.at(site), rows.test.at(site), case)
        for site in range(len(rows.population.sites))
    ]
    predicted, seconds = np.concatenate(parts), perf_counter() - start
    return scored("local-none", dataset, case, rows, predicted, (), 1, seconds, _NOTE)


def solve(rows: SplitRows, known: SplitSide, asked: SplitSide, case: Case) -> Floats:
    """Return the predictions of the linear model that fits the known rows best.

    The settings of the case may hold `C`, the weight of the data against the penalty.
    """
    if not len(asked.targets):
        return np.zeros(0)
    centre, spread = known.slots.mean(axis=0), known.slots.std(axis=0)
    spread = np.where(spread > 1e-9, spread, 1.0)
    _, person, counts = np.unique(
        known.persons, return_inverse=True, return_counts=True
    )
    weights = 1.0 / counts[person]
    inputs, later = (known.slots - centre) / spread, (asked.slots - centre) / spread
    given = [float(case.settings["C"])] if "C" in case.settings else STRENGTHS
    if rows.table.schema.task == "regression":
        line = RidgeCV([1.0 / one for one in given]).fit(inputs, known.targets, weights)
        return np.asarray(line.predict(later), dtype=np.float64)
    if len(np.unique(known.targets)) < 2:
        # A site that has seen one class alone can only repeat it.
        return np.full(len(later), float(known.targets[0]))
    folds = np.random.default_rng(case.seed).integers(FOLDS, size=len(counts))[person]
    strength = _best(given, inputs, known.targets, weights, folds)
    return _fitted(strength, inputs, known.targets, weights, later)


def _best(
    strengths: Sequence[float],
    inputs: Floats,
    targets: Floats,
    weights: Floats,
    folds: Integers,
) -> float:
    """Return the strength with the least log loss on held back training rows."""
    held = [folds == fold for fold in range(FOLDS)]
    whole = all(
        len(np.unique(targets[part])) == len(np.unique(targets[~part])) == 2
        for part in held
    )
    if not whole or len(strengths) == 1:
        return strengths[len(strengths) // 2]

    # Rows lie site after site, so a choice takes some from everywhere.
    learnt = [np.flatnonzero(~part) for part in held]
    learnt = [rows[:: max(1, len(rows) // ENOUGH)] for rows in learnt]

    def loss(strength: float) -> float:
        losses = []
        for rows, part in zip(learnt, held, strict=True):
            known = inputs[rows], targets[rows], weights[rows]
            predicted = _fitted(strength, *known, inputs[part])
            losses.append(log_loss(targets[part], predicted))
        return float(np.mean(losses))

    return min(strengths, key=loss)


def _fitted(
    strength: float, inputs: Floats, targets: Floats, weights: Floats, later: Floats
) -> Floats:
    model = LogisticRegression(C=strength, max_iter=2000)
    model.fit(inputs, targets, weights)
    return np.asarray(model.predict_proba(later)[:, 1])
