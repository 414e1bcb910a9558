# SPDX-License-Identifier: Apache-2.0
"""A model's trainable parameters as one flat float64 vector, and back.

Sums, noise and updates live on that vector. Its order is the order of
`module.named_parameters()`, which follows the definition of the module; parameters
with `requires_grad = False` are not trained and not part of it.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from lexfed.errors import ConfigError, Problem


def trainable(module: nn.Module) -> dict[str, nn.Parameter]:
    """Name the parameters of the flat vector, in its order."""
    return {
        name: value for name, value in module.named_parameters() if value.requires_grad
    }


def count(module: nn.Module) -> int:
    """Count the coordinates of the flat vector."""
    return sum(value.numel() for value in trainable(module).values())


def flatten(module: nn.Module) -> Tensor:
    """Copy the parameters into one float64 vector."""
    values = [p.detach().reshape(-1).double() for p in trainable(module).values()]
    return torch.cat(values) if values else torch.zeros(0, dtype=torch.float64)


@torch.no_grad()
def load(module: nn.Module, vector: Tensor) -> None:
    """Write a flat vector into the module, in place."""
    parameters = trainable(module).values()
    if vector.shape != (count(module),):
        what = f"expected {count(module)} parameters, got: {tuple(vector.shape)}"
        raise ConfigError([Problem("model", what)])
    sizes = [parameter.numel() for parameter in parameters]
    for parameter, values in zip(parameters, torch.split(vector, sizes), strict=True):
        parameter.copy_(values.view_as(parameter))


def first_linear(module: nn.Module, slots: int) -> nn.Linear | None:
    """Find the layer whose columns are the slots, if the model starts with one.

    A model that reads the slots by another layer first mixes them, and no block of its
    parameters belongs to one group of slots.
    """
    for layer in module.modules():
        if any(True for _ in layer.parameters(recurse=False)):
            if type(layer) is nn.Linear and layer.in_features == slots:
                return layer
            return None
    return None


def group_index(module: nn.Module, groups: Sequence[int]) -> NDArray[np.int64]:
    """Say which group every coordinate of the flat vector belongs to.

    Args:
        module: A model whose first parametrised layer is a Linear over the slots.
        groups: Group of every slot, numbered 0, 1, ..., `max(groups)`.

    Returns:
        Group of every parameter. A slot's column of the first weight belongs to the
        slot's group; biases and later layers to the last group, `max(groups) + 1`.
    """
    first = first_linear(module, len(groups))
    if first is None:
        what = "groups of columns need a model that starts with a Linear layer"
        hint = "use `logistic`, `linear` or `mlp:...` with `mechanism = grouped`"
        raise ConfigError([Problem("model", what, hint)])
    if sorted(set(groups)) != list(range(max(groups) + 1)):
        raise ConfigError([Problem("groups", "group numbers must be 0, 1, 2, ...")])
    columns = np.asarray(groups, dtype=np.int64)
    shared = int(columns.max()) + 1
    return np.concatenate(
        [
            np.tile(columns, first.out_features)
            if parameter is first.weight
            else np.full(parameter.numel(), shared, dtype=np.int64)
            for parameter in trainable(module).values()
        ]
    )


def group_order(module: nn.Module, groups: Sequence[int]) -> NDArray[np.int64]:
    """Say in which order coordinates stand when groups follow each other."""
    return np.argsort(group_index(module, groups), kind="stable")
