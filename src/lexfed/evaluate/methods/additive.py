# SPDX-License-Identifier: Apache-2.0
"""Additive models without privacy: what a table holds that no column says with another.

A sum of curves, one for each column, on all rows in one place: explainable boosting by
`interpret-core` (extra `ebm`) without pairs, or, where it is not installed, logistic or
ridge regression on cubic splines by scikit-learn. The note of a result says which of
the two it was. Both leave open how a private model would find the curves; their
distance to it is what noise and linear towers cost together.

`truth` is no model: it reads the true log-odds of a made-up table, so that its AUC is
the best that any model could have.
"""

from collections.abc import Mapping
from importlib import import_module
from time import perf_counter
from types import MappingProxyType
from typing import Any
from warnings import catch_warnings, filterwarnings

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler

from lexfed.arrays import Floats, Integers
from lexfed.errors import DataError, Problem
from lexfed.evaluate.comparison.case import Case, Method
from lexfed.evaluate.comparison.metrics import Scores
from lexfed.evaluate.comparison.split_rows import (
    CodedColumns,
    SplitRows,
    columns_of,
    rows_of,
)
from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.methods.baseline_claims import scored

NAME, TRUTH = "additive", "truth"
TRUE = "true_"
"""Begins the columns of a file that hold the truth about its rows."""
_BAGS, _RATE = 4, 0.04
"""Fewer and larger steps than the library's defaults, so that dozens of tables can be
measured; the AUC is somewhat below that of the defaults."""
_KNOTS, _FOLDS = 6, 3
_STRENGTHS = np.logspace(-4.0, 1.0, 6)


def train(dataset: Dataset, case: Case) -> Scores:
    """Train an additive model on the training rows of all sites."""
    rows = rows_of(dataset, case)
    start = perf_counter()
    predicted, note = predictions(rows, case.seed)
    seconds = perf_counter() - start
    return scored(NAME, dataset, case, rows, predicted, (), 1, seconds, note)


def predictions(rows: SplitRows, seed: int) -> tuple[Floats, str]:
    """Return what the model says of the test rows, and which model it is.

    Probabilities of a yes, [rows], or of every class, [rows, classes]; or numbers.
    """
    try:
        library = import_module("interpret.glassbox")
    except ImportError:
        return by_splines(rows, seed), "splines on all rows in one place"
    return _boosted(library, rows, seed), "explainable boosting on all rows"


def read_truth(dataset: Dataset, case: Case) -> Scores:
    """Score the test rows of a made-up table by what is true of them.

    Raises:
        DataError: if nobody knows the truth about the table.
    """
    rows = rows_of(dataset, case)
    predicted = true_scores(dataset, rows)[:, 0]
    if rows.table.schema.task != "regression":
        predicted = 0.5 * (1.0 + np.tanh(predicted / 2.0))
    else:
        low, high = rows.table.schema.by_name(dataset.target).range or (-1.0, 1.0)
        predicted = 2.0 * (predicted - low) / (high - low) - 1.0
    note = "the truth, which no model knows"
    return scored(TRUTH, dataset, case, rows, predicted, (), 1, 0.0, note)


def true_scores(dataset: Dataset, rows: SplitRows) -> Floats:
    """Return the true log-odds of the test rows, or their means, [rows, outputs]."""
    path = dataset.folder / "table.csv"
    frame = pd.read_csv(path, usecols=lambda name: name.startswith(TRUE))
    if frame.empty:
        what = "nobody knows the truth about this table"
        raise DataError([Problem(dataset.name, what, "choose one that is made up")])
    return np.asarray(frame.to_numpy(dtype=np.float64)[rows.test.rows])


def _boosted(library: Any, rows: SplitRows, seed: int) -> Floats:
    known, asked = columns_of(rows, rows.train), columns_of(rows, rows.test)
    usual: dict[str, Any] = {
        "feature_types": [
            "continuous" if column.kind == "number" else "nominal"
            for column in known.columns
        ],
        "interactions": 0,
        "outer_bags": _BAGS,
        "learning_rate": _RATE,
        "random_state": seed,
        "n_jobs": 1,
    }
    if rows.table.schema.task == "regression":
        number = library.ExplainableBoostingRegressor(**usual)
        _fit(number, known, rows.train.targets)
        return np.asarray(number.predict(_filled(asked)), dtype=np.float64)
    classes = library.ExplainableBoostingClassifier(**usual)
    _fit(classes, known, rows.train.targets.astype(np.int64))
    return _yes(classes.predict_proba(_filled(asked)))


def _fit(model: Any, known: CodedColumns, targets: Floats | Integers) -> None:
    with catch_warnings():
        # Its drawings leave out what is missing, and it says so; nothing is drawn.
        filterwarnings("ignore", message="Missing values detected")
        model.fit(_filled(known), targets)


def _filled(columns: CodedColumns) -> Floats:
    """Return values in which a missing level is a level of its own."""
    lists = np.array([column.kind != "number" for column in columns.columns])
    return np.where(np.isnan(columns.values) & lists, -1.0, columns.values)


def by_splines(rows: SplitRows, seed: int) -> Floats:
    """Return the predictions of a regression on splines of each number."""
    known, asked = columns_of(rows, rows.train), columns_of(rows, rows.test)
    inputs, later = _bases(known, asked)
    if rows.table.schema.task == "regression":
        line = make_pipeline(StandardScaler(), RidgeCV(1.0 / _STRENGTHS))
        line.fit(inputs, rows.train.targets)
        return np.asarray(line.predict(later), dtype=np.float64)
    folds = np.random.default_rng(seed).permutation(len(inputs)) % _FOLDS
    whole = np.arange(len(inputs))
    splits = [(whole[folds != k], whole[folds == k]) for k in range(_FOLDS)]
    chosen = LogisticRegressionCV(
        Cs=_STRENGTHS,
        cv=splits,
        scoring="neg_log_loss",
        max_iter=1000,
        l1_ratios=(0.0,),
        use_legacy_attributes=False,
    )
    classes = make_pipeline(StandardScaler(), chosen)
    classes.fit(inputs, rows.train.targets)
    return _yes(classes.predict_proba(later))


def _yes(found: Any) -> Floats:
    """Return the probability of a yes, or those of more than two classes."""
    probabilities = np.asarray(found, dtype=np.float64)
    return probabilities[:, 1] if probabilities.shape[1] == 2 else probabilities


def _bases(known: CodedColumns, asked: CodedColumns) -> tuple[Floats, Floats]:
    """Return splines of numbers, a slot for each level, and one for what is missing."""
    inputs: list[Floats] = []
    later: list[Floats] = []
    for place, column in enumerate(known.columns):
        sides = known.values[:, place], asked.values[:, place]
        if column.kind == "number":
            usual = float(np.nan_to_num(np.nanmedian(sides[0])))
            filled = [np.where(np.isnan(v), usual, v)[:, None] for v in sides]
            spline = SplineTransformer(
                n_knots=_KNOTS, knots="quantile", extrapolation="constant"
            ).fit(filled[0])
            shown = [spline.transform(values) for values in filled]
        else:
            levels = np.arange(len(column.values or ("no", "yes")))
            shown = [(values[:, None] == levels).astype(float) for values in sides]
        for part, values, bases in zip((inputs, later), sides, shown, strict=True):
            part += [bases, np.isnan(values)[:, None].astype(float)]
    return np.hstack(inputs), np.hstack(later)


REFERENCES: Mapping[str, Method] = MappingProxyType({NAME: train, TRUTH: read_truth})
"""Models without privacy that private ones are compared with on made-up tables."""
