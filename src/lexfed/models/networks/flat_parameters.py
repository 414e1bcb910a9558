# SPDX-License-Identifier: Apache-2.0
"""A model's trainable parameters as one flat float64 vector, and back.

Its order is the order of `module.named_parameters()`; parameters with `requires_grad =
False` are not trained and not part of it.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor, nn

from lexfed.arrays import Integers
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
    sizes = [parameter.numel() for parameter in parameters]
    if vector.shape != (sum(sizes),):
        what = f"expected {sum(sizes)} parameters, got: {tuple(vector.shape)}"
        raise ConfigError([Problem("model", what)])
    for parameter, values in zip(parameters, torch.split(vector, sizes), strict=True):
        parameter.copy_(values.view_as(parameter))


def plain_copy(value: Tensor) -> Tensor:
    """Copy the numbers of a tensor, whatever its class, into a plain tensor."""
    return torch.from_numpy(np.array(value.detach().numpy()))


def first_layer(module: nn.Module) -> nn.Module | None:
    """Find the first layer with parameters of its own."""
    for layer in module.modules():
        if next(layer.parameters(recurse=False), None) is not None:
            return layer
    return None


def grouped_layer(module: nn.Module, groups: Sequence[int]) -> nn.Linear:
    """Give the first layer, a Linear over the slots, whose columns the groups divide.

    A model that reads the slots by another layer first mixes them, and no block of its
    parameters belongs to one group. `groups` has the group of every slot, numbered
    0, 1, ..., `max(groups)`.
    """
    first = first_layer(module)
    if type(first) is not nn.Linear or first.in_features != len(groups):
        what = "groups of columns need a model that starts with a Linear layer"
        hint = "use `logistic`, `linear` or `mlp:...` with `mechanism = grouped`"
        raise ConfigError([Problem("model", what, hint)])
    if sorted(set(groups)) != list(range(max(groups) + 1)):
        raise ConfigError([Problem("groups", "group numbers must be 0, 1, 2, ...")])
    return first


def group_index(module: nn.Module, groups: Sequence[int]) -> Integers:
    """Return the group of every coordinate of the flat vector.

    A slot's column of the first weight belongs to the slot's group; biases and later
    layers to the last group, `max(groups) + 1`.
    """
    return _index(tuple(groups), *_layout(module, groups))


def group_order(module: nn.Module, groups: Sequence[int]) -> Integers:
    """Return the order of coordinates in which groups follow each other."""
    return _order(tuple(groups), *_layout(module, groups))


def _layout(module: nn.Module, groups: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """Return the sizes of all parameters, and the index of the one with the columns."""
    weight = grouped_layer(module, groups).weight
    parameters = list(trainable(module).values())
    place = next(i for i, parameter in enumerate(parameters) if parameter is weight)
    return tuple(parameter.numel() for parameter in parameters), place


def _index(groups: tuple[int, ...], sizes: tuple[int, ...], place: int) -> Integers:
    shared = max(groups) + 1
    parts = [np.full(size, shared, dtype=np.int64) for size in sizes]
    parts[place] = np.resize(np.array(groups, dtype=np.int64), sizes[place])
    return np.concatenate(parts)


@lru_cache(maxsize=16)
def _order(groups: tuple[int, ...], sizes: tuple[int, ...], place: int) -> Integers:
    # Sites and coordinator ask in every round, and sorting would take most of it.
    return np.argsort(_index(groups, sizes, place), kind="stable")
