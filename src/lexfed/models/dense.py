# SPDX-License-Identifier: Apache-2.0
"""Linear, ReLU, Linear, ..., Linear, forth and back by hand.

This is `taps.trace` for the models that matter most, without autograd's bookkeeping
and with one more property. *Isolation*: a row of a tap depends on that record and the
weights only, to the bit. A matrix product may treat its edge rows, and matrices
narrower than a vector register, by other instructions than the rest; rows are
therefore padded to a multiple of 16, widths to a multiple of 4 and, but for the input,
to at least 16. Without it one person's presence could push another across the kink of
a ReLU, and no summation bound would cover that.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from lexfed.models.taps import Slope, Tap

_ROWS = 16
_ALIGNED = 4


@dataclass(frozen=True)
class DenseModel:
    """Weights of a dense model, padded for its matrix products.

    Guarantees:
        - A row's inputs and slopes do not depend on the other rows, to the bit.
        - The model's own tensors are neither changed nor tracked by autograd.
    """

    weights: tuple[Tensor, ...]
    biases: tuple[Tensor | None, ...]
    outputs: int

    @staticmethod
    def of(layers: Sequence[nn.Module], dtype: torch.dtype) -> "DenseModel":
        """Take the weights; those that need no padding or cast are not copied."""
        linear = [layer for layer in layers if isinstance(layer, nn.Linear)]
        columns = _up(linear[0].in_features, _ALIGNED)
        weights: list[Tensor] = []
        biases: list[Tensor | None] = []
        for layer in linear:
            rows = max(_up(layer.out_features, _ALIGNED), _ROWS)
            missing = rows - layer.out_features
            weight = layer.weight.detach().to(dtype)
            weights.append(_pad(weight, (0, columns - layer.in_features, 0, missing)))
            bias: Tensor | None = layer.bias
            if bias is not None:
                bias = _pad(bias.detach().to(dtype), (0, missing))
            biases.append(bias)
            columns = rows
        return DenseModel(tuple(weights), tuple(biases), linear[-1].out_features)

    def run(self, inputs: Tensor, slope: Slope, records: int) -> list[Tap]:
        """Propagate rows [units * records, slots]; taps may end in rows of zeros."""
        rows, slots = inputs.shape
        first = self.weights[0]
        hidden = _pad(
            inputs.to(first.dtype),
            (0, first.shape[1] - slots, 0, _up(rows, math.lcm(_ROWS, records)) - rows),
        )
        seen = []
        for weight, bias in zip(self.weights, self.biases, strict=True):
            seen.append(hidden)
            if bias is None:
                hidden = torch.mm(hidden, weight.t())
            else:
                hidden = torch.addmm(bias, hidden, weight.t())
            if weight is not self.weights[-1]:
                hidden.relu_()
        delta = torch.zeros_like(hidden)
        logits = hidden[:rows, : self.outputs]
        delta[:rows, : self.outputs] = slope(logits)
        slopes = [delta]
        for weight, before in zip(self.weights[:0:-1], seen[:0:-1], strict=True):
            # The slope of the input itself is never needed: no product with the
            # first weight.
            delta = torch.ops.aten.threshold_backward(delta.mm(weight), before, 0)
            slopes.append(delta)
        return [
            Tap(before, delta, records, bias is not None)
            for before, delta, bias in zip(
                seen, reversed(slopes), self.biases, strict=True
            )
        ]


def _up(number: int, step: int) -> int:
    return -(-number // step) * step


def _pad(values: Tensor, missing: tuple[int, ...]) -> Tensor:
    return functional.pad(values, missing) if any(missing) else values
