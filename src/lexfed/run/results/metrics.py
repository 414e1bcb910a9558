# SPDX-License-Identifier: Apache-2.0
"""Metrics of a model on the test rows, and the gain of each tier.

With `metrics = "public"` the test rows are declared public and metrics cost nothing.
With `"paid"` no test row is looked at outside the noised histogram. Otherwise metrics
are computed and the claim lists the test rows as not covered.
"""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from lexfed.models.losses import metrics, metrics_of_histogram
from lexfed.models.towers import Model
from lexfed.run.pricing.priced_run import PricedRun


def evaluate(
    priced: PricedRun, model: Model, towers: int | None = None
) -> dict[str, float]:
    """Return the metrics with the first `towers` towers; none if they must be paid."""
    if priced.config.evaluation.metrics == "paid":
        return {}
    slots, targets = priced.population.test_rows
    if not len(targets):
        return {}
    return metrics(priced.programme.loss, model.logits(slots, towers), targets)


def gains(priced: PricedRun, model: Model) -> dict[str, float]:
    """Return the deciding metric with the towers up to each tier."""
    values = {}
    for count, tower in enumerate(model.towers, start=1):
        found = evaluate(priced, model, count)
        if found:
            values[tower.shape.tier.label] = next(iter(found.values()))
    return values


def paid_metrics(
    priced: PricedRun, memory: Mapping[str, NDArray[Any]]
) -> dict[str, float] | None:
    """Return the metrics of the released histogram; None if none was paid for."""
    if priced.config.evaluation.metrics != "paid":
        return None
    if "histogram" not in memory:
        return {}
    return metrics_of_histogram(priced.programme.loss, memory["histogram"])
