# SPDX-License-Identifier: Apache-2.0
"""Losses of one record with their slope in closed form, and metrics of a model.

A tower is trained on `offset + tower(x)`: the offset holds the logits of the finished
lower towers and is a constant. The slope d loss / d logits is all that back-propagation
needs, and for these three losses it is `prediction - target`.

>>> import torch
>>> LOGISTIC.slope(torch.zeros(1, 1), torch.ones(1))
tensor([[-0.5000]])
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from lexfed.arrays import Bools, Floats
from lexfed.errors import ConfigError, Problem

if TYPE_CHECKING:
    from torch import Tensor

LossName = Literal["logistic", "softmax", "squared"]


@dataclass(frozen=True)
class Loss:
    """A loss per record of logits [rows, outputs] and targets [rows].

    Guarantees:
        - `slope` is the derivative of `value` with respect to the logits.
        - The slope of a row depends on that row only, to the bit.
        - The logistic and softmax slopes are bounded by 1 in every coordinate.
    """

    name: LossName

    def value(self, logits: "Tensor", targets: "Tensor") -> "Tensor":
        """Give the loss of every row, [rows]."""
        from torch.nn import functional

        if self.name == "softmax":
            return functional.cross_entropy(logits, targets.long(), reduction="none")
        column = logits[..., 0]
        if self.name == "logistic":
            return functional.softplus(column) - targets * column
        return (column - targets).square() / 2

    def slope(self, logits: "Tensor", targets: "Tensor") -> "Tensor":
        """Give d value / d logits of every row, [rows, outputs]."""
        import torch

        if self.name == "softmax":
            slope = torch.softmax(logits, dim=-1)
            index = targets.long().unsqueeze(-1)
            return slope.scatter_add_(-1, index, slope.new_full(index.shape, -1.0))
        if self.name == "logistic":
            return _sigmoid(logits).sub_(targets.unsqueeze(-1))
        return logits - targets.unsqueeze(-1)

    def predict(self, logits: "Tensor") -> "Tensor":
        """Give the mean of the target: probabilities, or the value itself."""
        import torch

        if self.name == "softmax":
            return torch.softmax(logits, dim=-1)
        return torch.sigmoid(logits) if self.name == "logistic" else logits

    def check_outputs(self, outputs: int) -> None:
        """Raise unless a model with this many outputs fits the loss."""
        fits = outputs >= 2 if self.name == "softmax" else outputs == 1
        if not fits:
            wanted = "2 or more" if self.name == "softmax" else "1"
            what = f"the {self.name} loss needs {wanted} outputs, got: {outputs}"
            raise ConfigError([Problem("model", what)])


def _sigmoid(logits: "Tensor") -> "Tensor":
    import torch

    # On contiguous numbers torch takes 16 or 32 at once and the rest one by one, by
    # two exponentials that differ in the last bit: a row's slope would depend on how
    # many rows there are. Numbers with gaps between them are all taken one by one.
    gapped = logits.new_empty(*logits.shape, 2)[..., 0]
    return torch.sigmoid(gapped.copy_(logits))


LOGISTIC = Loss("logistic")
SOFTMAX = Loss("softmax")
SQUARED = Loss("squared")


SCALED = "_on_scale"
"""Ending of errors on the scale of encoded targets, from -1 to 1."""

LOWER_IS_BETTER = frozenset({"rmse", "mae", f"rmse{SCALED}", f"mae{SCALED}"})
"""Metrics where less is better."""

BINS = 20
"""Score bins of the paid histogram; AUC from 20 bins is within about .005."""


def metrics(loss: LossName, logits: "Tensor", targets: "Tensor") -> dict[str, float]:
    """Return the metrics of logits [rows, outputs], the deciding one first."""
    truth = targets.numpy()
    predicted = Loss(loss).predict(logits).numpy()
    if loss == "squared":
        return number_metrics(predicted[:, 0], truth)
    if loss == "softmax":
        hit = predicted.argmax(axis=1) == truth
        return {"accuracy": float(hit.mean())}
    score = predicted[:, 0]
    hit = (score >= 0.5) == (truth > 0.5)
    return {"auc": _auc(score, truth > 0.5), "accuracy": float(hit.mean())}


def number_metrics(predicted: Floats, truth: Floats) -> dict[str, float]:
    """Return the metrics of a predicted number; errors are in the units given."""
    error = predicted - truth
    spread = float(np.mean((truth - truth.mean()) ** 2))
    mean_square = float(np.mean(error**2))
    r2 = 1.0 - mean_square / spread if spread > 0 else 0.0
    return {"r2": r2, "rmse": mean_square**0.5, "mae": float(np.abs(error).mean())}


def _auc(score: NDArray[Any], positive: Bools) -> float:
    """Return the chance that a positive row scores above a negative one, ties half."""
    positives = int(positive.sum())
    negatives = len(positive) - positives
    if positives == 0 or negatives == 0:
        return 0.5
    _, group, sizes = np.unique(score, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(sizes) - (sizes - 1) / 2)[group]
    surplus = ranks[positive].sum() - positives * (positives + 1) / 2
    return float(surplus / (positives * negatives))


def histogram_cells(loss: LossName) -> int:
    """Return the length of the histogram."""
    return {"logistic": 2 * BINS, "softmax": 2, "squared": BINS}[loss]


def score_histogram(loss: LossName, logits: "Tensor", targets: "Tensor") -> "Tensor":
    """Return each row's vector: one 1, so that the mean over rows has norm at most 1.

    logistic: the cell of label and score bin. softmax: wrong or right. squared: the bin
    of the absolute error, whose range is [0, 2] on the encoded scale.
    """
    import torch

    if loss == "logistic":
        cells = _bin(torch.sigmoid(logits[..., 0])) + BINS * (targets > 0.5).long()
    elif loss == "softmax":
        cells = (logits.argmax(dim=-1) == targets.long()).long()
    else:
        cells = _bin((logits[..., 0] - targets).abs() / 2.0)
    return torch.nn.functional.one_hot(cells, histogram_cells(loss)).double()


def _bin(share: "Tensor") -> "Tensor":
    return (share * BINS).long().clamp(0, BINS - 1)


def metrics_of_histogram(loss: LossName, histogram: Floats) -> dict[str, float]:
    """Read the metrics off a noised histogram; negative counts are set to zero."""
    counts = np.maximum(histogram, 0.0)
    total = counts.sum()
    if total <= 0:
        return {}
    if loss == "softmax":
        return {"accuracy": float(counts[1] / total)}
    if loss == "squared":
        middles = 2.0 * (np.arange(BINS) + 0.5) / BINS
        rmse, mae = (counts @ middles**2 / total) ** 0.5, counts @ middles / total
        return {f"rmse{SCALED}": float(rmse), f"mae{SCALED}": float(mae)}
    negative, positive = counts[:BINS], counts[BINS:]
    below = np.cumsum(negative) - negative
    pairs = positive.sum() * negative.sum()
    wins = float((positive * (below + negative / 2)).sum())
    auc = float(wins / pairs) if pairs > 0 else 0.5
    right = negative[: BINS // 2].sum() + positive[BINS // 2 :].sum()
    return {"auc": auc, "accuracy": float(right / total)}
