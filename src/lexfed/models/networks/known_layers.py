# SPDX-License-Identifier: Apache-2.0
"""Models with a closed form for the norms of their per-unit gradients.

Linear and Conv1d layers do, in a chain whose other layers have no parameters and look
at one record at a time. Both conditions are read off the structure: only exact types
listed here count, because a subclass (or a user's own `forward`) may mix the records of
a batch, and then the closed form would clip something that is not one person's
gradient. A user's chain of such layers is made again from its settings and weights
(`rebuilt_chain`), since objects of a user's may have had their methods replaced.
Everything else takes the slower road of `captured_model.py` and
`gradients/captured_sum.py`.
"""

from collections.abc import Iterator

import torch
from torch import nn

from lexfed.errors import ConfigError, Problem
from lexfed.models.networks.captured_model import CapturedModel
from lexfed.models.networks.flat_parameters import plain_copy

_ROW_WISE: frozenset[type[nn.Module]] = frozenset(
    {
        nn.AdaptiveAvgPool1d,
        nn.AdaptiveMaxPool1d,
        nn.AvgPool1d,
        nn.ELU,
        nn.GELU,
        nn.Identity,
        nn.LeakyReLU,
        nn.MaxPool1d,
        nn.ReLU,
        nn.SiLU,
        nn.Sigmoid,
        nn.Softplus,
        nn.Tanh,
    }
)


def closed_form(module: nn.Module) -> tuple[nn.Module, ...] | None:
    """Give the layers of a model in order, or None where there is no closed form."""
    return None if fallback_reason(module) else tuple(_leaves(module))


def chain(module: nn.Module) -> tuple[nn.Module, ...]:
    """Give the layers of a model that has a closed form.

    Raises:
        ConfigError: if it has none: then it runs captured, or not at all.
    """
    layers = closed_form(module)
    if layers is None:
        what = f"{type(module).__name__} has no closed form and is not captured"
        raise ConfigError([Problem("model", what)])
    return layers


def fallback_reason(module: nn.Module) -> str | None:
    """Return the reason why a model needs per-unit gradients, for the log of a run.

    None where the closed form applies.
    """
    leaves = list(_leaves(module))
    for layer in leaves:
        if not _known(layer):
            name = f"layer {type(layer).__name__}"
            if isinstance(layer, CapturedModel):
                name = "a model of your own"
            return (
                f"{name} has no closed form: gradients are computed record by record, "
                "which is slower"
            )
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
        return (
            "a layer is shared or frozen: gradients are computed record by record, "
            "which is slower"
        )
    return None


def rebuilt_chain(module: nn.Module) -> nn.Module | None:
    """Make a chain of known layers again, from numbers alone.

    None where there is no closed form, or where an object of the chain carries more
    than settings and weights.
    """
    if fallback_reason(module):
        return None
    if not _has_settings_only(module):
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
