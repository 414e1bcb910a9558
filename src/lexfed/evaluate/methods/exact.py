# SPDX-License-Identifier: Apache-2.0
"""The same model without privacy: the ceiling that others are measured against.

A ceiling must not depend on how well somebody chose steps, or a private method beats
it. So linear models are solved: logistic or ridge regression on standardised slots, a
person weighing as one however many rows there are. Networks have no such solution and
descend through the product, without noise.
"""

from time import perf_counter

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge

from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.methods import product
from lexfed.evaluate.methods.case import Case
from lexfed.evaluate.methods.outside import scored
from lexfed.evaluate.methods.rows import Rows, Side, rows_of
from lexfed.evaluate.outcome import Floats, Scores

FEW_ROWS = 3000
"""Below, the penalty is stronger; neither was tuned on a table."""

_DESCENT: product.Keys = {"privacy": {"mechanism": "none"}}


def train(dataset: Dataset, case: Case) -> Scores:
    """Train on the training rows of all sites together."""
    if case.model != "logistic":
        return product.train(dataset, case, "none", _DESCENT, "")
    rows = rows_of(dataset, case)
    start = perf_counter()
    predicted = solve(rows, rows.train, rows.test, case)
    return _scored("none", dataset, case, rows, predicted, perf_counter() - start)


def train_alone(dataset: Dataset, case: Case) -> Scores:
    """Train a linear model at each site, and score it on the site's own test rows."""
    rows = rows_of(dataset, case)
    start = perf_counter()
    parts = [
        solve(rows, rows.train.at(site), rows.test.at(site), case)
        for site in range(len(rows.population.sites))
    ]
    predicted, seconds = np.concatenate(parts), perf_counter() - start
    return _scored("local-none", dataset, case, rows, predicted, seconds)


def solve(rows: Rows, known: Side, asked: Side, case: Case) -> Floats:
    """Return the predictions of the linear model that fits the known rows best.

    Args:
        rows: of the cell.
        known: rows to learn from.
        asked: rows to predict.
        case: its settings may hold `C`, the weight of the data against the penalty.
    """
    if not len(asked.targets):
        return np.zeros(0)
    usual = 0.3 if len(known.targets) < FEW_ROWS else 1.0
    strength = float(case.settings.get("C", usual))
    centre, spread = known.slots.mean(axis=0), known.slots.std(axis=0)
    spread = np.where(spread > 1e-9, spread, 1.0)
    _, person, counts = np.unique(
        known.persons, return_inverse=True, return_counts=True
    )
    weights = 1.0 / counts[person]
    inputs, later = (known.slots - centre) / spread, (asked.slots - centre) / spread
    if rows.table.schema.task == "regression":
        line = Ridge(alpha=1.0 / strength).fit(inputs, known.targets, weights)
        return np.asarray(line.predict(later), dtype=np.float64)
    if len(np.unique(known.targets)) < 2:
        # A site that has seen one class alone can only repeat it.
        return np.full(len(later), float(known.targets[0]))
    model = LogisticRegression(C=strength, max_iter=2000)
    model.fit(inputs, known.targets, weights)
    return np.asarray(model.predict_proba(later)[:, 1])


def _scored(
    name: str,
    dataset: Dataset,
    case: Case,
    rows: Rows,
    predicted: Floats,
    seconds: float,
) -> Scores:
    note = "solved, not descended"
    return scored(name, dataset, case, rows, predicted, (), 1, seconds, note)
