# SPDX-License-Identifier: Apache-2.0
"""DP-EBM [NCB+21]: additive models of binned columns, all rows in one place.

The strong tabular baseline, by its authors' own library (`interpret-core`, extra `ebm`)
with its defaults. It has no federation and no tiers. Its bins spend a tenth of epsilon
and half of delta, its trees the rest; both are Gaussian, so their price together is

    mu^2 = mu(epsilon/10, delta/2)^2 + mu(9 epsilon/10, delta/2)^2,

a little less than epsilon. So the library is asked for the epsilon whose exact price is
that of the case: equal protection is equal by one accountant. It is given the public
ranges, widened by one bin below, which stands for what is missing. Its lists of
categories come from the rows, which its own claim does not count; nor does ours. Where
a person may have several rows, it trains on the first: its unit is the row.
"""

from importlib import import_module
from math import hypot
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from lexfed.arrays import Floats
from lexfed.errors import ConfigError, Problem
from lexfed.evaluate.comparison.case import Case, sensitive_tier
from lexfed.evaluate.comparison.metrics import Scores
from lexfed.evaluate.comparison.split_rows import CodedColumns, columns_of, rows_of
from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.methods.baseline_claims import affordable_mu, gaussian, scored
from lexfed.privacy.accountants.gdp import mu_from

NAME = "dp-ebm"
BIN_PART = 0.1
"""Part of epsilon that bins spend, the library's default."""
_BINS = 32


def train(dataset: Dataset, case: Case) -> Scores:
    """Train a DP-EBM on the training rows of all sites."""
    library = _library()
    rows = rows_of(dataset, case)
    _, first = np.unique(rows.train.persons, return_index=True)
    known, asked = columns_of(rows, rows.train), columns_of(rows, rows.test)
    epsilon = own_epsilon(dataset, case)
    bins = int(case.settings.get("max_bins", _BINS))
    shared: dict[str, Any] = {
        "feature_names": [column.name for column in known.columns],
        "feature_types": [
            "continuous" if column.kind == "number" else "nominal"
            for column in known.columns
        ],
        "privacy_bounds": _bounds(known, bins),
        "epsilon": epsilon,
        "delta": case.delta,
        "bin_budget_frac": BIN_PART,
        "max_bins": bins,
        "random_state": None,  # fresh noise in every run
        "n_jobs": 1,
        **case.settings,
    }
    start = perf_counter()
    inputs, targets = _filled(known, bins)[first], rows.train.targets[first]
    predicted: Floats
    if rows.table.schema.task == "regression":
        # Targets are encoded to [-1, 1].
        limits = {"privacy_target_min": -1.0, "privacy_target_max": 1.0}
        number = library.DPExplainableBoostingRegressor(**shared, **limits)
        number.fit(inputs, targets)
        predicted = np.asarray(number.predict(_filled(asked, bins)), dtype=np.float64)
    else:
        classes = library.DPExplainableBoostingClassifier(**shared)
        classes.fit(inputs, targets.astype(np.int64))
        predicted = np.asarray(classes.predict_proba(_filled(asked, bins))[:, 1])
    seconds = perf_counter() - start
    mu = total_mu(epsilon, case.delta)
    release = gaussian("bins and trees", mu, sensitive_tier(dataset, case))
    trees = int(shared.get("max_rounds", 300))
    note = f"all rows in one place; interpret at epsilon {epsilon:.3g} (add-remove)"
    if len(first) < len(rows.train.persons):
        note += "; the first row of each person"
    return scored(
        NAME, dataset, case, rows, predicted, [(release, 1)], trees, seconds, note
    )


def total_mu(epsilon: float, delta: float) -> float:
    """Return what the library's bins and trees cost together, under add/remove."""
    bins = mu_from(BIN_PART * epsilon, delta / 2.0)
    return hypot(bins, mu_from((1.0 - BIN_PART) * epsilon, delta / 2.0))


def own_epsilon(dataset: Dataset, case: Case) -> float:
    """Return the epsilon to ask for: the one whose exact price is that of the case."""
    allowed = affordable_mu(dataset, case)
    root: float = brentq(
        lambda epsilon: total_mu(epsilon, case.delta) - allowed,
        1e-6 * case.attribute_epsilon,
        10.0 * case.record_epsilon,
        rtol=1e-12,
    )
    # A hair less, as the root may lie on either side.
    return root * (1.0 - 1e-9)


def _bounds(columns: CodedColumns, bins: int) -> dict[int, tuple[float, float]]:
    """Return public ranges, with room for one more bin below."""
    bounds = {}
    for place, column in enumerate(columns.columns):
        if column.range is not None:
            low, high = column.range
            bounds[place] = (low - (high - low) / (bins - 1), high)
    return bounds


def _filled(columns: CodedColumns, bins: int) -> NDArray[np.object_]:
    """Return the values with something in the place of what is missing."""
    bounds = _bounds(columns, bins)
    filled = np.empty(columns.values.shape, dtype=object)
    for place, values in enumerate(columns.values.T):
        missing = np.isnan(values)
        if place in bounds:
            filled[:, place] = np.where(missing, bounds[place][0], values)
        else:
            codes = np.where(missing, -1, values).astype(np.int64)
            filled[:, place] = codes.astype(str)
    return filled


def _library() -> Any:
    try:
        return import_module("interpret.privacy")
    except ImportError:
        what = "the library `interpret` is not installed"
        hint = "pip install 'lexfed[ebm]'"
        raise ConfigError([Problem(f"method `{NAME}`", what, hint)]) from None
