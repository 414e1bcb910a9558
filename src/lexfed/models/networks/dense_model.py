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

import torch
from torch import Tensor, nn
from torch.nn import functional

from lexfed.models.networks.taps import Slope, Tap

_ROWS = 16
_ALIGNED = 4


class DenseModel:
    """Weights of a dense model, padded for its matrix products, and room to work in.

    Guarantees:
        - A row's inputs and slopes do not depend on the other rows, to the bit.
        - The model's own tensors are neither changed nor tracked by autograd.
    """

    def __init__(
        self, layers: Sequence[nn.Module], dtype: torch.dtype, rows: int, records: int
    ) -> None:
        """Take the weights; those that need no padding or cast are not copied.

        One `run` has at most `rows` rows, `records` of them per unit.
        """
        linear = [layer for layer in layers if isinstance(layer, nn.Linear)]
        self._outputs = linear[-1].out_features
        self._records = records
        self._rows = math.lcm(_ROWS, records)
        self._weights: list[Tensor] = []
        self._biases: list[Tensor | None] = []
        # Fresh memory for every product would cost a tenth of the time in page faults.
        self._inputs: list[Tensor] = []
        self._slopes: list[Tensor] = []
        rows = _up(rows, self._rows)
        columns = _up(linear[0].in_features, _ALIGNED)
        for layer in linear:
            width = max(_up(layer.out_features, _ALIGNED), _ROWS)
            missing = width - layer.out_features
            weight = layer.weight.detach().to(dtype)
            weight = _pad(weight, (0, columns - layer.in_features, 0, missing))
            bias: Tensor | None = layer.bias
            if bias is not None:
                bias = _pad(bias.detach().to(dtype), (0, missing))
            self._weights.append(weight)
            self._biases.append(bias)
            self._inputs.append(torch.empty(rows, width, dtype=dtype))
            self._slopes.append(torch.empty(rows, width, dtype=dtype))
            columns = width

    def run(self, inputs: Tensor, slope: Slope) -> list[Tap]:
        """Propagate rows [units * records, slots] forth and back.

        Returns:
            One tap per Linear layer; they may end in rows of zeros, and hold until the
            next call.
        """
        rows = inputs.shape[0]
        seen, before = self._forth(inputs)
        padded = len(before)
        slopes = [room[:padded] for room in self._slopes]
        slopes[-1].zero_()
        slopes[-1][:rows, : self._outputs] = slope(before[:rows, : self._outputs])
        # The slope of the input itself is never needed: the first weight is left out.
        for place in range(len(slopes) - 1, 0, -1):
            below = slopes[place - 1]
            torch.mm(slopes[place], self._weights[place], out=below)
            torch.ops.aten.threshold_backward.grad_input(
                below, seen[place], 0, grad_input=below
            )
        return [
            Tap(before, after, self._records, bias is not None)
            for before, after, bias in zip(seen, slopes, self._biases, strict=True)
        ]

    def logits(self, inputs: Tensor) -> Tensor:
        """Give the outputs of rows [rows, slots]; they hold until the next call."""
        return self._forth(inputs)[1][: inputs.shape[0], : self._outputs]

    def _forth(self, inputs: Tensor) -> tuple[list[Tensor], Tensor]:
        """Return the inputs of every layer, and the outputs, all padded."""
        rows, slots = inputs.shape
        padded = _up(rows, self._rows)
        first = self._weights[0]
        before = _pad(
            inputs.to(first.dtype), (0, first.shape[1] - slots, 0, padded - rows)
        )
        seen = []
        for weight, bias, room in zip(
            self._weights, self._biases, self._inputs, strict=True
        ):
            seen.append(before)
            after = room[:padded]
            if bias is None:
                torch.mm(before, weight.t(), out=after)
            else:
                torch.addmm(bias, before, weight.t(), out=after)
            before = after if weight is self._weights[-1] else after.relu_()
        return seen, before


def _up(number: int, step: int) -> int:
    return -(-number // step) * step


def _pad(values: Tensor, missing: tuple[int, ...]) -> Tensor:
    return functional.pad(values, missing) if any(missing) else values
