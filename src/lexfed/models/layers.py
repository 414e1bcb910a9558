# SPDX-License-Identifier: Apache-2.0
"""Which models have a closed form for the norms of their per-unit gradients.

Linear and Conv1d layers do, in a chain whose other layers have no parameters and look
at one record at a time. Both conditions are read off the structure: only exact types
listed here count, because a subclass (or a user's own `forward`) may mix the records
of a batch, and then the closed form would clip something that is not one person's
gradient. Everything else takes the slower road of `per_unit.py`, which hands the model
one unit at a time.
"""

from collections.abc import Iterator

from torch import nn

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


def fallback_reason(module: nn.Module) -> str | None:
    """Say why a model needs per-unit gradients, for the log of a run.

    Returns:
        None where the closed form applies.
    """
    leaves = list(_leaves(module))
    for layer in leaves:
        if not _known(layer):
            return (
                f"layer {type(layer).__name__} has no closed form: gradients are "
                "computed unit by unit with torch.func, which is slower"
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
            "a layer is shared or frozen: gradients are computed unit by unit with "
            "torch.func, which is slower"
        )
    return None


def is_dense(layers: tuple[nn.Module, ...]) -> bool:
    """Say whether the layers are Linear, ReLU, Linear, ..., Linear."""
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
    if type(layer) is nn.Conv1d:
        return (
            layer.groups == 1
            and layer.padding_mode == "zeros"
            and not isinstance(layer.padding, str)
        )
    if type(layer) is nn.Flatten:
        return layer.start_dim == 1
    if type(layer) is nn.Unflatten:
        return layer.dim in (1, 2)
    return type(layer) is nn.Linear or type(layer) in _ROW_WISE
