# SPDX-License-Identifier: Apache-2.0
"""Forward and backward once, keeping what the closed form needs of every layer.

A unit's gradient of a Linear layer's weight is the sum over its rows of d ⊗ a, with a
the layer's input and d the loss's slope at the layer's output. Neither norms nor the
clipped sum need those products one by one; a `Tap` holds a and d of all rows instead
[Goo15]. A convolution is a Linear layer applied to every position of its unfolded
input, so its tap has one row per position.

A row of a tap depends on that record and the weights only, to the bit: rows are padded
to a multiple of 64 and Linear layers to widths of 16 or more and a multiple of 4, for
the reasons given in `dense_model.py`, and so that functions of single numbers, which
torch takes many at once and the rest one by one, have no rest.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

_ROWS = 64
_WIDTH = 16

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
    arithmetic takes the type of the inputs. Taps may end in rows of zeros.
    """
    given = inputs.shape[0]
    inputs = _padded(inputs, records)
    rows = inputs.shape[0]
    with torch.enable_grad():
        value, seen = _forth(layers, inputs)
    slopes = torch.zeros_like(value)
    slopes[:given] = slope(value.detach()[:given])
    outputs = [after for _, _, after in seen]
    taps = []
    for (layer, before, _), delta in zip(
        seen, torch.autograd.grad(value, outputs, slopes), strict=True
    ):
        if isinstance(layer, nn.Conv1d):
            delta = delta.transpose(1, 2)
        width, fan_out = before.shape[-1], delta.shape[-1]
        terms = records * (before.numel() // (rows * width))
        taps.append(
            Tap(
                before.reshape(-1, width),
                delta.reshape(-1, fan_out).contiguous(),
                terms,
                layer.bias is not None,
            )
        )
    return taps


@torch.no_grad()
def logits(layers: Sequence[nn.Module], inputs: Tensor) -> Tensor:
    """Give the outputs of rows [rows, slots], the same to the bit as in `trace`."""
    value, _ = _forth(layers, _padded(inputs, 1))
    return value[: inputs.shape[0]]


_Seen = list[tuple[nn.Linear | nn.Conv1d, Tensor, Tensor]]


def _forth(layers: Sequence[nn.Module], inputs: Tensor) -> tuple[Tensor, _Seen]:
    """Return the outputs, and the inputs and outputs of layers with weights."""
    value, seen = inputs, []
    for layer in layers:
        if isinstance(layer, nn.Linear | nn.Conv1d):
            if isinstance(layer, nn.Conv1d):
                value = _unfold(layer, value).transpose(1, 2)
            before, value = value.detach(), _apply(layer, value)
            if torch.is_grad_enabled() and not value.requires_grad:
                value.requires_grad_()
            seen.append((layer, before, value))
        else:
            value = layer(value)
    return value, seen


def _padded(rows: Tensor, records: int) -> Tensor:
    missing = -len(rows) % math.lcm(_ROWS, records)
    return functional.pad(rows, (0, 0, 0, missing)) if missing else rows


def _apply(layer: nn.Linear | nn.Conv1d, value: Tensor) -> Tensor:
    """Multiply rows, or unfolded positions, with a layer's weight."""
    weight = layer.weight.detach().to(value.dtype).flatten(1)
    bias = None if layer.bias is None else layer.bias.detach().to(value.dtype)
    high, wide = (max(-size % 4, _WIDTH - size) for size in weight.shape)
    weight = functional.pad(weight, (0, wide, 0, high))
    if bias is not None:
        bias = functional.pad(bias, (0, high))
    after = functional.linear(functional.pad(value, (0, wide)), weight, bias)
    after = after[..., : len(layer.weight)]
    if isinstance(layer, nn.Conv1d):
        after = after.transpose(1, 2)
    return after.contiguous()


def _unfold(layer: nn.Conv1d, value: Tensor) -> Tensor:
    # torch unfolds images only: a signal is an image of height one.
    return functional.unfold(
        value.unsqueeze(2),
        kernel_size=(1, layer.kernel_size[0]),
        dilation=(1, layer.dilation[0]),
        padding=(0, int(layer.padding[0])),
        stride=(1, layer.stride[0]),
    )
