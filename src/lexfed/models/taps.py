# SPDX-License-Identifier: Apache-2.0
"""Forward and backward once, keeping what the closed form needs of every layer.

A unit's gradient of a Linear layer's weight is the sum over its rows of d ⊗ a, with a
the layer's input and d the loss's slope at the layer's output. Neither norms nor the
clipped sum need those products one by one; a `Tap` holds a and d of all rows instead
[Goo15]. A convolution is a Linear layer applied to every position of its unfolded
input, so its tap has one row per position.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

Slope = Callable[[Tensor], Tensor]
"""Maps the model's logits [rows, outputs] to weighted slopes of the same shape."""


@dataclass(frozen=True)
class Tap:
    """Inputs and output slopes of one Linear or Conv1d layer.

    Attributes:
        inputs: [units * terms, fan-in or more]; columns beyond the layer's are zero.
        slopes: [units * terms, fan-out or more], likewise.
        terms: Rows per unit: records times positions.
        bias: Whether the layer has one.
    """

    inputs: Tensor
    slopes: Tensor
    terms: int
    bias: bool


def trace(
    layers: Sequence[nn.Module], inputs: Tensor, slope: Slope, records: int
) -> list[Tap]:
    """Propagate rows [units * records, slots] through any chain of known layers.

    Back-propagation through the layers without parameters is left to autograd, and all
    arithmetic takes the type of the inputs.
    """
    rows = inputs.shape[0]
    value = inputs
    seen: list[tuple[nn.Linear | nn.Conv1d, Tensor, Tensor]] = []
    with torch.enable_grad():
        for layer in layers:
            if isinstance(layer, nn.Linear | nn.Conv1d):
                before, value = value.detach(), _apply(layer, value)
                if not value.requires_grad:
                    value.requires_grad_()
                seen.append((layer, before, value))
            else:
                value = layer(value)
    outputs = [after for _, _, after in seen]
    taps = []
    for (layer, before, _), delta in zip(
        seen, torch.autograd.grad(value, outputs, slope(value.detach())), strict=True
    ):
        if isinstance(layer, nn.Conv1d):
            before = _unfold(layer, before).transpose(1, 2)
            delta = delta.transpose(1, 2)
        before = before.reshape(rows, -1, before.shape[-1])
        terms = records * before.shape[1]
        width, fan_out = before.shape[-1], delta.shape[-1]
        taps.append(
            Tap(
                before.reshape(-1, width),
                delta.reshape(-1, fan_out).contiguous(),
                terms,
                layer.bias is not None,
            )
        )
    return taps


def _apply(layer: nn.Linear | nn.Conv1d, value: Tensor) -> Tensor:
    weight = layer.weight.detach().to(value.dtype)
    bias = None if layer.bias is None else layer.bias.detach().to(value.dtype)
    if isinstance(layer, nn.Linear):
        return functional.linear(value, weight, bias)
    return functional.conv1d(
        value, weight, bias, layer.stride, layer.padding, layer.dilation
    )


def _unfold(layer: nn.Conv1d, value: Tensor) -> Tensor:
    # torch unfolds images only: a signal is an image of height one.
    return functional.unfold(
        value.unsqueeze(2),
        kernel_size=(1, layer.kernel_size[0]),
        dilation=(1, layer.dilation[0]),
        padding=(0, int(layer.padding[0])),
        stride=(1, layer.stride[0]),
    )
