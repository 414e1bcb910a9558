# SPDX-License-Identifier: Apache-2.0
"""Gradient-boosted trees on all rows in one place: a reference without any privacy.

It says how much a table holds beyond what a linear model finds. `federated_trees.py`
has trees of several sites.
"""

from time import perf_counter
from typing import Any

import numpy as np
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

from lexfed.arrays import Floats
from lexfed.evaluate.comparison.case import Case
from lexfed.evaluate.comparison.coded_columns import columns_of
from lexfed.evaluate.comparison.scores import Scores
from lexfed.evaluate.comparison.split_rows import SplitRows, rows_of
from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.methods.baseline_claims import scored

NAME = "boosted"
FEW_ROWS = 3000
MOST_LEVELS = 255
"""scikit-learn takes no more in a category; longer lists are ordered like numbers."""
_LARGE = {"learning_rate": 0.08, "max_iter": 150, "max_leaf_nodes": 31}
_SMALL = {"learning_rate": 0.03, "max_iter": 150, "max_leaf_nodes": 8}
"""Shallow and slow under `FEW_ROWS` rows; neither was tuned on a table."""


def train(dataset: Dataset, case: Case) -> Scores:
    """Train trees on the training rows of all sites; settings are scikit-learn's."""
    rows = rows_of(dataset, case)
    known, asked = columns_of(rows, rows.train), columns_of(rows, rows.test)
    usual = {
        **settings_of(rows, case),
        "categorical_features": [
            column.kind == "category" and len(column.values or ()) <= MOST_LEVELS
            for column in known.columns
        ],
        "early_stopping": False,
        "random_state": case.seed,
    }
    start = perf_counter()
    predicted: Floats
    if rows.table.schema.task == "regression":
        number = HistGradientBoostingRegressor(**usual)
        number.fit(known.values, rows.train.targets)
        predicted = np.asarray(number.predict(asked.values), dtype=np.float64)
    else:
        classes = HistGradientBoostingClassifier(**usual)
        classes.fit(known.values, rows.train.targets)
        # One class only, if no other was seen: then it is sure of it.
        found = classes.predict_proba(asked.values)
        predicted = np.asarray(found[:, -1] * float(classes.classes_[-1]))
    seconds = perf_counter() - start
    trees = int(usual["max_iter"])
    note = "all rows in one place"
    return scored(NAME, dataset, case, rows, predicted, (), trees, seconds, note)


def settings_of(rows: SplitRows, case: Case) -> dict[str, Any]:
    """Return how many trees there are, how large, and the weight of each."""
    usual = _SMALL if len(rows.train.rows) < FEW_ROWS else _LARGE
    return {**usual, **case.settings}
