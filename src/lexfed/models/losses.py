# SPDX-License-Identifier: Apache-2.0
"""Losses of one record, and their slope in the logits, in closed form.

A tower is trained on `offset + tower(x)`: the offset holds the logits of the finished
lower towers and is a constant. The slope d loss / d logits is all that back-propagation
needs, and for these three losses it is `prediction - target`.

>>> LOGISTIC.slope(torch.zeros(1, 1), torch.ones(1))
tensor([[-0.5000]])
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from lexfed.errors import ConfigError, Problem

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

    def value(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Give the loss of every row, [rows]."""
        if self.name == "softmax":
            return functional.cross_entropy(logits, targets.long(), reduction="none")
        column = logits[..., 0]
        if self.name == "logistic":
            return functional.softplus(column) - targets * column
        return (column - targets).square() / 2

    def slope(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Give d value / d logits of every row, [rows, outputs]."""
        if self.name == "softmax":
            slope = torch.softmax(logits, dim=-1)
            index = targets.long().unsqueeze(-1)
            return slope.scatter_add_(-1, index, slope.new_full(index.shape, -1.0))
        if self.name == "logistic":
            return _sigmoid(logits).sub_(targets.unsqueeze(-1))
        return logits - targets.unsqueeze(-1)

    def predict(self, logits: Tensor) -> Tensor:
        """Give the mean of the target: probabilities, or the value itself."""
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


def _sigmoid(logits: Tensor) -> Tensor:
    # On contiguous numbers torch takes 16 or 32 at once and the rest one by one, by
    # two exponentials that differ in the last bit: a row's slope would depend on how
    # many rows there are. Numbers with gaps between them are all taken one by one.
    gapped = logits.new_empty(*logits.shape, 2)[..., 0]
    return torch.sigmoid(gapped.copy_(logits))


LOGISTIC = Loss("logistic")
SOFTMAX = Loss("softmax")
SQUARED = Loss("squared")
