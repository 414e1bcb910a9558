# SPDX-License-Identifier: Apache-2.0
"""Chains of known layers, whose per-unit gradients have norms in closed form.

**Which.** Linear and Conv1d layers, in a chain whose other layers have no parameters
and look at one record at a time. Both are read off the structure: only exact types
listed here count, because a subclass (or a user's own `forward`) may mix the records of
a batch, and then the closed form would clip something that is not one person's
gradient. Everything else takes the slower road of `captured_model.py`.

**Taps.** A unit's gradient of a Linear layer's weight is the sum over its rows of d ⊗
a, with a the layer's input and d the loss's slope at the layer's output. Neither norms
nor the clipped sum need those products one by one; a `Tap` holds a and d of all rows
instead [Goo15]. A convolution is a Linear layer applied to every position of its
unfolded input, so its tap has one row per position.

**Isolation.** A row of a tap depends on that record and the weights only, to the bit. A
matrix product may treat its edge rows, and matrices narrower than a vector register, by
other instructions than the rest; rows and widths are therefore padded. Without it one
person's presence could push another across the kink of a ReLU, and no summation bound
would cover that. The rows of `trace` are padded to a multiple of 64, so that functions
of single numbers, which torch takes many at once and the rest one by one, have no rest.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from lexfed.errors import ConfigError, Problem
from lexfed.models.networks.captured_model import CapturedModel
from lexfed.models.networks.flat_parameters import plain_copy

_ROWS, _TRACED_ROWS = 16, 64
_ALIGNED, _WIDTH = 4, 16
"""Rows of a dense model, and of any other chain, are padded to a multiple of these;
widths to a multiple of 4 and, but for a dense model's input, to at least 16."""

# fmt: off
_ROW_WISE = frozenset(
    {
        nn.AdaptiveAvgPool1d, nn.AdaptiveMaxPool1d, nn.AvgPool1d, nn.ELU, nn.GELU,
        nn.Identity, nn.LeakyReLU, nn.MaxPool1d, nn.ReLU, nn.SiLU, nn.Sigmoid,
        nn.Softplus, nn.Tanh,
    }
)
# fmt: on


def closed_form(module: nn.Module) -> tuple[nn.Module, ...] | None:
    """Give the layers of a model in order, or None where there is no closed form."""
    return None if fallback_reason(module) else tuple(_leaves(module))


def chain(module: nn.Module) -> tuple[nn.Module, ...]:
    """Give the layers of a model that has a closed form; others run captured."""
    layers = closed_form(module)
    if layers is None:
        what = f"{type(module).__name__} has no closed form and is not captured"
        raise ConfigError([Problem("model", what)])
    return layers


def fallback_reason(module: nn.Module) -> str | None:
    """Return the reason for per-unit gradients; None where there is a closed form."""
    leaves = list(_leaves(module))
    for layer in leaves:
        if not _known(layer):
            own = isinstance(layer, CapturedModel)
            name = "a model of your own" if own else f"layer {type(layer).__name__}"
            return f"{name} has no closed form: {_SLOWER}"
    # Read off the leaves: to ask the module for its parameters by name takes longer
    # than a round of a small model.
    owned = [
        parameter
        for layer in leaves
        for parameter in layer._parameters.values()
        if parameter is not None
    ]
    distinct = {id(parameter) for parameter in owned if parameter.requires_grad}
    if len(owned) != len(distinct):
        return f"a layer is shared or frozen: {_SLOWER}"
    return None


_SLOWER = "gradients are computed record by record, which is slower"


def rebuilt_chain(module: nn.Module) -> nn.Module | None:
    """Make a chain of known layers again, from numbers alone, if that can be done.

    An object of a user's may have had its methods replaced.
    """
    if fallback_reason(module) or not _has_settings_only(module):
        return None
    if type(module) is not nn.Sequential:
        return _made_again(module)
    again = nn.Sequential()
    for name, child in module.named_children():
        made = rebuilt_chain(child)
        if made is None:
            return None
        again.add_module(name, made)
    return again


def _made_again(layer: nn.Module) -> nn.Module:
    if isinstance(layer, nn.Linear):
        wide, high = layer.in_features, layer.out_features
        again: nn.Module = nn.Linear(wide, high, bias=False, device="meta")
    elif isinstance(layer, nn.Conv1d):
        wide, high = layer.in_channels, layer.out_channels
        again = nn.Conv1d(wide, high, layer.kernel_size[0], bias=False, device="meta")
        # One number each, as `_known` has seen to; that of padding is kept twice.
        again.stride, again.dilation = layer.stride, layer.dilation
        again.padding = layer.padding
        again._reversed_padding_repeated_twice = [int(layer.padding[0])] * 2
    else:
        again = nn.Module.__new__(type(layer))
        nn.Module.__init__(again)
        vars(again).update(_settings(layer))
    for name, value in layer._parameters.items():
        copied = None if value is None else nn.Parameter(plain_copy(value))
        again.register_parameter(name, copied)
    # In place, a layer would write into the rows it is given.
    if "inplace" in vars(again):
        vars(again)["inplace"] = False
    return again


def _settings(layer: nn.Module) -> dict[str, object]:
    return {
        name: value
        for name, value in vars(layer).items()
        if not name.startswith("_") and name != "training"
    }


def _has_settings_only(layer: nn.Module) -> bool:
    """Return True if no method of the object was replaced."""
    return all(_is_number(value) for value in _settings(layer).values())


def _is_number(value: object) -> bool:
    if type(value) in (tuple, torch.Size):
        return all(_is_number(part) for part in value)  # type: ignore[attr-defined]
    return value is None or type(value) in (bool, int, float, str)


def is_dense(layers: tuple[nn.Module, ...]) -> bool:
    """Return True if the layers are Linear, ReLU, Linear, ..., Linear."""
    return len(layers) % 2 == 1 and all(
        type(layer) is (nn.ReLU if place % 2 else nn.Linear)
        for place, layer in enumerate(layers)
    )


def _leaves(module: nn.Module) -> Iterator[nn.Module]:
    if type(module) is nn.Sequential and not module._parameters:
        for child in module:
            yield from _leaves(child)
    else:
        yield module


def _known(layer: nn.Module) -> bool:
    if layer._forward_hooks or layer._forward_pre_hooks:
        return False
    if type(layer) is nn.Linear:
        return _weighs(layer, layer.out_features, layer.in_features)
    if type(layer) is nn.Conv1d:
        return (
            layer.groups == 1
            and layer.padding_mode == "zeros"
            and not isinstance(layer.padding, str)
            and _weighs(
                layer, layer.out_channels, layer.in_channels, *layer.kernel_size
            )
        )
    if layer._parameters:
        return False
    if type(layer) is nn.Flatten:
        return layer.start_dim == 1
    if type(layer) is nn.Unflatten:
        return layer.dim in (1, 2)
    return type(layer) in _ROW_WISE


def _weighs(layer: nn.Linear | nn.Conv1d, *shape: int) -> bool:
    """Return True if the weights are those that the settings speak of, and no others.

    Groups of columns are found by the settings, and clipped by the weights.
    """
    shapes = {
        name: None if value is None else tuple(value.shape)
        for name, value in layer._parameters.items()
    }
    return shapes in (
        {"weight": shape, "bias": shape[:1]},
        {"weight": shape, "bias": None},
    )


Slope = Callable[[Tensor], Tensor]
"""Maps the model's logits [rows, outputs] to weighted slopes of the same shape."""


@dataclass(frozen=True)
class Tap:
    """Inputs and output slopes of one Linear or Conv1d layer, that may have a bias.

    Both have [units * terms] rows, terms being records times positions, and as columns
    the layer's fan-in and fan-out, or more that are zero.
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
        after = delta.reshape(-1, fan_out).contiguous()
        has_bias = layer.bias is not None
        taps.append(Tap(before.reshape(-1, width), after, terms, has_bias))
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
    missing = -len(rows) % math.lcm(_TRACED_ROWS, records)
    return functional.pad(rows, (0, 0, 0, missing)) if missing else rows


def _apply(layer: nn.Linear | nn.Conv1d, value: Tensor) -> Tensor:
    """Multiply rows, or unfolded positions, with a layer's weight."""
    weight = layer.weight.detach().to(value.dtype).flatten(1)
    bias = None if layer.bias is None else layer.bias.detach().to(value.dtype)
    high, wide = (max(-size % _ALIGNED, _WIDTH - size) for size in weight.shape)
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


class DenseModel:
    """`trace` for Linear, ReLU, ..., Linear by hand, without autograd's bookkeeping.

    Weights that need no padding or cast are not copied. One `run` has at most `rows`
    rows, `records` of them per unit.

    Guarantees:
        - A row's inputs and slopes do not depend on the other rows, to the bit.
        - The model's own tensors are neither changed nor tracked by autograd.
    """

    def __init__(
        self, layers: Sequence[nn.Module], dtype: torch.dtype, rows: int, records: int
    ) -> None:
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
            width = max(_up(layer.out_features, _ALIGNED), _WIDTH)
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
        """Propagate rows forth and back; the taps hold until the next call."""
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
