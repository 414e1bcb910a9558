# SPDX-License-Identifier: Apache-2.0
"""Test rows in groups of like score, from which curves of a report are drawn.

They are paid for, or not, as the metrics are: with `metrics = "paid"` the groups are
the bins of the noised histogram, and no test row is looked at. Otherwise they are
counts of test rows, which the guarantee does not cover; they stand beside the log with
the metrics and never in it.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lexfed.arrays import Floats
from lexfed.data.encoding import decode_target
from lexfed.models.losses import BINS, Loss
from lexfed.run.pricing.priced_run import PricedRun

if TYPE_CHECKING:
    from lexfed.models.towers import Model

MOST_GROUPS = 20
LEAST_ROWS = 20
"""Rows of a group at least: fewer would single people out and say little anyway."""
THRESHOLD = 0.5
"""The score from which on a row is counted as predicted positive."""
_MOST_CLASSES = 12


def held_out_groups(
    priced: PricedRun, model: "Model", memory: Mapping[str, NDArray[Any]]
) -> dict[str, Any]:
    """Return the groups under their fixed names; empty where there is nothing to draw.

    Guarantees:
        With `metrics = "paid"` the result depends on the released histogram alone.
        Rows of equal score are in one group, and every group has `LEAST_ROWS` rows or
        more, unless all rows together are fewer.
    """
    loss, schema = priced.programme.loss, priced.population.encoding.schema
    if priced.config.evaluation.metrics == "paid":
        if loss != "logistic" or "histogram" not in memory:
            return {}
        return _binary_of_histogram(memory["histogram"], schema.classes)
    slots, targets = priced.population.test_rows
    if not len(targets):
        return {}
    import torch

    with torch.no_grad():
        predicted = Loss(loss).predict(model.logits(slots)).numpy()
    truth = targets.numpy()
    if loss == "squared":
        return _regression(
            decode_target(schema, predicted[:, 0]), decode_target(schema, truth)
        )
    if loss == "softmax":
        return _classes(predicted.argmax(axis=1), truth.astype(int), schema.classes)
    return _binary(predicted[:, 0].astype(float), truth > 0.5, schema.classes)


def _binary(
    score: Floats, positive: NDArray[np.bool_], classes: tuple[str, ...]
) -> dict[str, Any]:
    called = (score >= THRESHOLD).astype(int)
    return {
        **_classes(called, positive.astype(int), classes),
        "threshold": THRESHOLD,
        "groups": [
            [
                round(float(score[rows].mean()), 4),
                int((~positive[rows]).sum()),
                int(positive[rows].sum()),
            ]
            for rows in _alike(score)
        ],
    }


def _binary_of_histogram(histogram: Floats, classes: tuple[str, ...]) -> dict[str, Any]:
    counts = np.rint(np.maximum(histogram, 0.0)).astype(int)
    negative, positive = counts[:BINS], counts[BINS:]
    half = int(BINS * THRESHOLD)
    confusion = [
        [int(each[:half].sum()), int(each[half:].sum())]
        for each in (negative, positive)
    ]
    return {
        "rows": int(counts.sum()),
        "classes": list(classes),
        "confusion": confusion,
        "threshold": THRESHOLD,
        "groups": [
            [(at + 0.5) / BINS, int(negative[at]), int(positive[at])]
            for at in range(BINS)
            if negative[at] + positive[at] > 0
        ],
    }


def _classes(
    called: NDArray[Any], truth: NDArray[Any], classes: tuple[str, ...]
) -> dict[str, Any]:
    """Return how rows of every class were called; [truth, call]."""
    size = len(classes)
    table = np.zeros((size, size), int)
    np.add.at(table, (truth, called), 1)
    shown = size <= _MOST_CLASSES
    return {
        "rows": len(truth),
        "majority": round(float(table.sum(axis=1).max()) / len(truth), 6),
        "classes": list(classes) if shown else [],
        "confusion": table.tolist() if shown else [],
    }


def _regression(predicted: Floats, truth: Floats) -> dict[str, Any]:
    groups = [
        [_short(predicted[rows].mean()), _short(truth[rows].mean()), len(rows)]
        for rows in _alike(predicted)
    ]
    return {"rows": len(truth), "groups": groups}


def _short(number: float) -> float:
    return float(f"{number:.4g}")


def _alike(score: Floats) -> Iterator[NDArray[np.intp]]:
    """Yield the rows of every group, lowest scores first."""
    order = np.argsort(score, kind="stable")
    # Ends of the blocks of equal scores: a group may end nowhere else.
    ends = np.flatnonzero(np.diff(score[order], append=np.inf)) + 1
    size = max(LEAST_ROWS, -(-len(order) // MOST_GROUPS))
    start = 0
    while start < len(order):
        at = min(int(np.searchsorted(ends, start + size)), len(ends) - 1)
        end = int(ends[at])
        if len(order) - end < LEAST_ROWS:
            end = len(order)
        yield order[start:end]
        start = end
