# SPDX-License-Identifier: Apache-2.0
"""The scores of a trained model, and how good they are: at large, by site, by group.

Accuracy means little where one class is rare, so it never stands without the accuracy
of always answering with the more frequent class. Retention is the part of the ceiling
that is left above chance, (AUC - 1/2) / (ceiling - 1/2).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt
from typing import NamedTuple

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from lexfed.arrays import Bools, Floats, Integers, Texts
from lexfed.errors import DataError, Problem

SMALLEST = 20
"""Rows of a site or group below which its AUC says nothing and is left out."""
OF_EACH = 5
"""Rows of each class below which it says nothing either."""

THRESHOLD = 0.5
"""Probability from which a row counts as positive; fixed, never chosen on test rows."""

_BINARY = (
    *("auc", "ap", "accuracy", "majority", "precision", "recall", "f1", "brier"),
    *("worst_site_auc", "retention"),
)


class Point(NamedTuple):
    """The standing of a run after a round: AUC or RMSE of the test rows, and its cost.

    The record's epsilon that was spent is None if it is not known before the end.
    """

    number: int
    quality: float
    spent: float | None


@dataclass(frozen=True)
class Scores:
    """Scores of one trained model on one split, with its cost.

    Attributes:
        targets: of the test rows: 0 or 1, or a number on the encoded scale.
        scores: of the test rows: the probability of 1, or the predicted number.
        groups: fairness attribute, and its value in each test row; empty text if
            missing.
        record_epsilon: proven for a whole record; the note names the neighbours.
        attribute_epsilon: proven for one value of the most sensitive tier that the
            table has, under replace-one; both are None without a guarantee.
        rounds: how often something was released, or trees and steps where nothing is.
        diverged: whether a score is not a number; such a run is reported, not dropped.
        path: quality after some of the rounds, where models after them are known.
        noise: on the weights of columns, averaged over the most sensitive tier and over
            all others; empty without a plan.
    """

    method: str
    seed: int
    targets: Floats
    scores: Floats
    sites: Integers
    groups: Mapping[str, Texts]
    record_epsilon: float | None
    attribute_epsilon: float | None
    delta: float
    rounds: int
    seconds: float
    diverged: bool
    note: str
    path: tuple[Point, ...] = ()
    noise: Mapping[str, float] = field(default_factory=dict)


def measure(scores: Scores, ceiling: float | None) -> dict[str, float]:
    """Return every metric of one run by name, and gaps for every attribute of fairness.

    The `ceiling` is the AUC of the same model without privacy; None if it is not known.

    Guarantees:
        A run that diverged has every metric, and none of them is a number.
        What cannot be said (no ceiling, one class in each group) is not a number.

    Raises:
        DataError: if there are no test rows, or all of them have one class.
    """
    targets = scores.targets
    if not len(targets):
        raise _unusable("there are no test rows", "raise `test_size`")
    if not is_binary(targets):
        return _regression(scores)
    positive = targets > 0.5
    if positive.all() or not positive.any():
        raise _unusable(
            f"all {len(targets)} test rows of seed {scores.seed} have the same class",
            "take more rows, another seed or a larger `test_size`",
        )
    if scores.diverged:
        gaps = [f"gap_{what}_{a}" for a in scores.groups for what in ("auc", "recall")]
        return dict.fromkeys((*_BINARY, *gaps), float("nan"))
    return {
        **_whole(positive, scores.scores),
        "worst_site_auc": _worst(scores, positive),
        **_gaps(scores, positive),
        "retention": retention(_auc(positive, scores.scores), ceiling),
    }


def quality(targets: Floats, score: Floats) -> float:
    """Return the AUC, or the RMSE of a number; no number where none can be said.

    >>> quality(np.array([0.0, 1.0, 1.0]), np.array([0.2, 0.1, 0.9]))
    0.5
    """
    if not np.isfinite(score).all():
        return float("nan")
    if not is_binary(targets):
        return sqrt(float(np.mean((score - targets) ** 2)))
    positive = targets > 0.5
    if positive.all() or not positive.any():
        return float("nan")
    return _auc(positive, score)


def is_binary(targets: Floats) -> bool:
    """Say whether targets are classes 0 and 1, not numbers."""
    return bool(np.isin(targets, (0.0, 1.0)).all())


def retention(auc: float, ceiling: float | None) -> float:
    """Return what is left of a ceiling above chance; no number without one."""
    if ceiling is None or ceiling <= 0.5:
        return float("nan")
    return (auc - 0.5) / (ceiling - 0.5)


def _whole(positive: Bools, score: Floats) -> dict[str, float]:
    called = score >= THRESHOLD
    hits = int((called & positive).sum())
    precision = hits / max(int(called.sum()), 1)
    recall = hits / int(positive.sum())
    both = precision + recall
    rate = float(positive.mean())
    return {
        "auc": _auc(positive, score),
        "ap": float(average_precision_score(positive, score)),
        "accuracy": float((called == positive).mean()),
        "majority": max(rate, 1.0 - rate),
        "precision": precision,
        "recall": recall,
        "f1": 2.0 * precision * recall / both if both else 0.0,
        "brier": float(np.mean((score - positive) ** 2)),
    }


def _worst(scores: Scores, positive: Bools) -> float:
    """Return the least AUC of a site; no number if most sites are too small for one."""
    sites = [scores.sites == site for site in np.unique(scores.sites)]
    large = [site for site in sites if _tells(positive[site])]
    if 2 * len(large) < len(sites):
        return float("nan")
    return min(_auc(positive[site], scores.scores[site]) for site in large)


def _gaps(scores: Scores, positive: Bools) -> Mapping[str, float]:
    """Return the largest difference between two groups of each attribute."""
    gaps = {}
    for attribute, values in scores.groups.items():
        aucs, recalls = [], []
        for value in np.unique(values[values != ""]):
            group = values == value
            if _tells(positive[group]):
                score = scores.scores[group]
                aucs.append(_auc(positive[group], score))
                recalls.append(float((score[positive[group]] >= THRESHOLD).mean()))
        gaps[f"gap_auc_{attribute}"] = _spread(aucs)
        gaps[f"gap_recall_{attribute}"] = _spread(recalls)
    return gaps


def _regression(scores: Scores) -> dict[str, float]:
    names = ("rmse", "r2", "worst_site_rmse")
    if scores.diverged:
        return dict.fromkeys(names, float("nan"))
    squares = (scores.scores - scores.targets) ** 2
    spread = float(scores.targets.var())
    worst = max(
        float(squares[scores.sites == site].mean()) for site in np.unique(scores.sites)
    )
    r2 = 1.0 - float(squares.mean()) / spread if spread else float("nan")
    values = (float(squares.mean()) ** 0.5, r2, worst**0.5)
    return dict(zip(names, values, strict=True))


def _tells(positive: Bools) -> bool:
    """Say whether an AUC of these rows means anything."""
    ones = int(positive.sum())
    return len(positive) >= SMALLEST and min(ones, len(positive) - ones) >= OF_EACH


def _auc(positive: Bools, score: Floats) -> float:
    return float(roc_auc_score(positive, score))


def _spread(values: list[float]) -> float:
    return max(values) - min(values) if len(values) > 1 else float("nan")


def _unusable(what: str, hint: str) -> DataError:
    return DataError([Problem("test rows", what, hint)])
