# SPDX-License-Identifier: Apache-2.0
"""Gradient-boosted trees without privacy: how much a table holds beyond a linear model.

**Pooled**: all rows in one place, by scikit-learn.

**Federated**: LightGBM's own distributed learner (`tree_learner = "data"`, extra
`trees`) with one process for each site, which holds the rows of this site only. In
every step of every tree the sites exchange, in the clear:

    histograms     sums of gradients and of second derivatives in each bin
    counts         rows of a leaf, and the sum of the targets at the beginning

and no row. Nothing is noisy, so there is no guarantee: a bin with one row tells its
gradient. LightGBM would take the bins of each column from the rows of one site, which
tells where its values lie and fails where that site has none. Here bins come from the
declarations, the same at every site. LightGBM's own sockets, which listen at every
network of the machine and ask nobody who they are, are not used (`trees`).
"""

from importlib import import_module
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

from lexfed.arrays import Floats
from lexfed.data.schema import Column
from lexfed.errors import ConfigError, Problem
from lexfed.evaluate.comparison.case import Case
from lexfed.evaluate.comparison.metrics import Scores
from lexfed.evaluate.comparison.split_rows import (
    CodedColumns,
    SplitRows,
    columns_of,
    rows_of,
)
from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.methods.baseline_claims import scored
from lexfed.evaluate.trees.process_group import SiteRows, train_together

POOLED = "boosted"
FEW_ROWS = 3000
MOST_LEVELS = 255
"""scikit-learn takes no more in a category; longer lists are ordered like numbers."""
_LARGE = {"learning_rate": 0.08, "max_iter": 150, "max_leaf_nodes": 31}
_SMALL = {"learning_rate": 0.03, "max_iter": 150, "max_leaf_nodes": 8}
"""Shallow and slow under `FEW_ROWS` rows; neither was tuned on a table."""


def train_pooled(dataset: Dataset, case: Case) -> Scores:
    """Train trees on the training rows of all sites; settings are scikit-learn's."""
    rows = rows_of(dataset, case)
    known, asked = columns_of(rows, rows.train), columns_of(rows, rows.test)
    usual = {
        **settings_of(rows, case),
        "categorical_features": _are_lists(known),
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
    return scored(POOLED, dataset, case, rows, predicted, (), trees, seconds, note)


def settings_of(rows: SplitRows, case: Case) -> dict[str, Any]:
    """Return how many trees there are, how large, and the weight of each."""
    usual = _SMALL if len(rows.train.rows) < FEW_ROWS else _LARGE
    return {**usual, **case.settings}


FEDERATED = "boosted-federated"
_NAMES = {"max_iter": "num_iterations", "max_leaf_nodes": "num_leaves"}
"""LightGBM's names of what scikit-learn calls otherwise."""
_STEPS = 120
"""Points of each grid; both and what is missing fit into LightGBM's 255 bins."""
_SECONDS = 300.0


def train_federated(dataset: Dataset, case: Case) -> Scores:
    """Train trees at all sites together.

    Guarantees:
        The same seed gives the same trees.
    """
    library = _library()
    rows = rows_of(dataset, case)
    known, asked = columns_of(rows, rows.train), columns_of(rows, rows.test)
    sites = [
        SiteRows(known.values[there], rows.train.targets[there])
        for place in range(len(rows.population.sites))
        for there in [rows.train.sites == place]
    ]
    chosen = settings_of(rows, case)
    settings: dict[str, Any] = {
        **{_NAMES.get(name, name): value for name, value in chosen.items()},
        "objective": "binary",
        "min_data_in_leaf": 20,
        "seed": case.seed,
        "deterministic": True,
        "force_col_wise": True,
        "num_threads": 1,
        "verbosity": -1,
    }
    if rows.table.schema.task == "regression":
        settings["objective"] = "regression"
    start = perf_counter()
    text = train_together(
        sites, public_bins(known), categories(known), settings, _SECONDS
    )
    model = library.Booster(model_str=text)
    answers = model.predict(asked.values, num_threads=1)
    predicted = np.asarray(answers, dtype=np.float64)
    seconds = perf_counter() - start
    trees = int(settings["num_iterations"])
    note = "histograms of each site in the clear"
    return scored(FEDERATED, dataset, case, rows, predicted, (), trees, seconds, note)


def _are_lists(columns: CodedColumns) -> list[bool]:
    return [
        column.kind == "category" and len(column.values or ()) <= MOST_LEVELS
        for column in columns.columns
    ]


def categories(columns: CodedColumns) -> list[int]:
    """Return the places of columns that are split by lists of levels."""
    return [place for place, is_list in enumerate(_are_lists(columns)) if is_list]


def public_bins(columns: CodedColumns) -> Floats:
    """Return rows from which LightGBM makes the bins: no value of them is a person's.

    Guarantees:
        They depend on the declared ranges and lists alone.
    """
    points = [_points(column) for column in columns.columns]
    longest = max(len(values) for values in points)
    # A gap in each column, so that what is missing has a bin of its own.
    return np.column_stack(
        [np.append(np.resize(values, longest), np.nan) for values in points]
    )


def _points(column: Column) -> Floats:
    if column.range is None:
        return np.arange(float(len(column.values or ("no", "yes"))))
    low, high = column.range
    centre = min(max(0.0, low), high)
    sides = [end for end in (low, high) if end != centre]
    near = np.geomspace(1e-4, 1.0, _STEPS // len(sides))
    grids = [centre + (end - centre) * near for end in sides]
    return np.unique(np.concatenate([np.linspace(low, high, _STEPS), *grids]))


def _library() -> Any:
    what = "the library `lightgbm` is not installed"
    hint = "pip install 'lexfed[trees]'"
    try:
        return import_module("lightgbm")
    except ImportError:
        pass
    except OSError as error:
        # Its wheel has no OpenMP of its own.
        what = f"the library `lightgbm` cannot be loaded ({error})"
        hint = "install libgomp (Debian and Ubuntu: apt-get install libgomp1)"
    raise ConfigError([Problem(f"method `{FEDERATED}`", what, hint)])
