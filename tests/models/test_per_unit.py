# SPDX-License-Identifier: Apache-2.0
import importlib
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from lexfed.errors import ConfigError
from lexfed.models.gradients.batch import Batch
from lexfed.models.gradients.clipped_sum import clipped_sum
from lexfed.models.losses import LOGISTIC, SOFTMAX
from lexfed.models.networks.architectures import build
from lexfed.models.networks.captured_model import CapturedModel
from lexfed.models.networks.flat_parameters import group_index, trainable
from lexfed.models.networks.known_layers import fallback_reason

MakeBatch = Callable[..., Batch]


def _one_by_one(module: nn.Module, batch: Batch, clip: float) -> Tensor:
    """Plain autograd over a loop of units and records, another road than graphs."""
    total = torch.zeros(0)
    for unit in range(batch.units):
        logits = torch.cat([module(row[None]) for row in batch.inputs[unit]])
        losses = LOGISTIC.value(logits + batch.offset[unit], batch.targets[unit])
        value = (losses * batch.weights[unit]).sum()
        parts = torch.autograd.grad(value, list(trainable(module).values()))
        gradient = torch.cat([part.flatten() for part in parts])
        gradient = gradient * min(1.0, clip / float(gradient.norm()))
        total = gradient if unit == 0 else total + gradient
    return total


@pytest.mark.parametrize("factory", ["layer_norm", "MeanOver"])
@pytest.mark.parametrize("records", [1, 3])
def test_any_module_is_clipped_unit_by_unit(
    make_batch: MakeBatch, factories: str, factory: str, records: int
) -> None:
    module = getattr(importlib.import_module(factories), factory)(5, 1).double()
    assert fallback_reason(module) is not None
    batch = make_batch(90, 5, records=records)
    # MeanOver sees one record only: what others bring cannot reach it.
    expected = _one_by_one(module, batch, 0.05)
    total = clipped_sum(CapturedModel(module, 5, 1), LOGISTIC, batch, (0.05,))
    torch.testing.assert_close(total, expected, rtol=1e-9, atol=1e-12)


def test_recurrent_models_run(make_batch: MakeBatch) -> None:
    class Recurrent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.RNNCell(1, 4)
            self.out = nn.Linear(4, 3)

        def forward(self, rows: Tensor) -> Tensor:
            state = rows.new_zeros(rows.shape[0], 4)
            for place in range(rows.shape[1]):
                state = self.cell(rows[:, place : place + 1], state)
            logits: Tensor = self.out(state)
            return logits

    total = clipped_sum(
        CapturedModel(Recurrent(), 5, 3), SOFTMAX, make_batch(6, 5, 3), (0.1,)
    )
    assert 0 < total.norm() <= 0.6


def test_groups_work_without_a_closed_form(
    make_batch: MakeBatch, factories: str
) -> None:
    module = build(f"{factories}:layer_norm", 5, 1, seed=0)
    groups, clips = [0, 1, 1, 0, 1], (0.01, 0.02, 0.03)
    index = torch.from_numpy(group_index(module, groups))
    for seed in range(10):
        total = clipped_sum(
            module, LOGISTIC, make_batch(1, 5, seed=seed), clips, groups
        )
        for group, clip in enumerate(clips):
            assert total[index == group].norm() <= clip * (1 + 1e-12)


def test_frozen_parameters_and_buffers_are_used_but_not_trained(
    make_batch: MakeBatch,
) -> None:
    module = nn.Sequential(nn.Linear(5, 4), nn.Linear(4, 1))
    module[0].requires_grad_(False)
    module.register_buffer("steps", torch.zeros((), dtype=torch.int64))
    captured = CapturedModel(module, 5, 1)
    total = clipped_sum(captured, LOGISTIC, make_batch(6, 5), (0.1,))
    assert total.shape == (5,)
    assert total.norm() > 0


def test_code_of_a_model_is_not_run_on_a_batch(make_batch: MakeBatch) -> None:
    module = nn.Sequential(nn.Linear(5, 4), nn.LayerNorm(4), nn.Linear(4, 1))
    with pytest.raises(ConfigError, match="is not captured"):
        clipped_sum(module, LOGISTIC, make_batch(6, 5), (0.1,))
