# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
import torch
from torch import nn

from lexfed.errors import ConfigError
from lexfed.models.networks.architectures import build
from lexfed.models.networks.flat_parameters import (
    count,
    flatten,
    group_index,
    group_order,
    load,
)


def test_load_undoes_flatten() -> None:
    module = build("mlp:5,4", 3, 2, seed=1)
    vector = torch.arange(count(module), dtype=torch.float64)
    load(module, vector)
    assert torch.equal(flatten(module), vector)
    assert module.state_dict()["0.weight"][1, 2] == 5
    assert flatten(module).dtype == torch.float64


def test_order_is_the_definition_order() -> None:
    module = build("mlp:2", 3, 1, seed=1)
    vector = flatten(module)
    expected = torch.cat([p.detach().double().flatten() for p in module.parameters()])
    assert torch.equal(vector, expected)


def test_frozen_parameters_are_not_part_of_it() -> None:
    module = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1))
    module[0].requires_grad_(False)
    assert count(module) == 3
    before = module.state_dict()["0.weight"].clone()
    load(module, torch.ones(3, dtype=torch.float64))
    assert torch.equal(module.state_dict()["0.weight"], before)
    module.requires_grad_(False)
    assert flatten(module).shape == (0,)


def test_wrong_length_is_refused() -> None:
    with pytest.raises(ConfigError, match="expected 4 parameters"):
        load(build("logistic", 3, 1, seed=0), torch.zeros(5))


def test_groups_of_columns_and_the_shared_rest() -> None:
    module = build("mlp:2", 3, 1, seed=1)
    index = group_index(module, [1, 0, 1])
    # Two rows of the first weight; its bias; the second weight and bias.
    assert index.tolist() == [1, 0, 1, 1, 0, 1, 2, 2, 2, 2, 2]
    order = group_order(module, [1, 0, 1])
    assert np.array_equal(index[order], np.sort(index))


@pytest.mark.parametrize("spec", ["cnn"])
def test_groups_need_a_linear_layer_over_the_slots(spec: str) -> None:
    with pytest.raises(ConfigError, match="starts with a Linear layer"):
        group_index(build(spec, 3, 1, seed=0), [0, 0, 1])


def test_groups_must_cover_the_slots_of_the_model() -> None:
    with pytest.raises(ConfigError, match="starts with a Linear layer"):
        group_index(build("logistic", 3, 1, seed=0), [0, 0])


def test_groups_of_a_module_without_parameters_are_refused() -> None:
    with pytest.raises(ConfigError):
        group_index(nn.ReLU(), [0])


def test_group_numbers_have_no_gaps() -> None:
    with pytest.raises(ConfigError, match="0, 1, 2"):
        group_index(build("logistic", 3, 1, seed=0), [0, 2, 0])
