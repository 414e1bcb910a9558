# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from lexfed.models.gradients.batch import Batch
from lexfed.models.gradients.clipped_sum import clipped_sum
from lexfed.models.losses import LOGISTIC
from lexfed.models.networks.captured_model import CapturedModel
from lexfed.models.networks.flat_parameters import group_index
from lexfed.models.networks.known_layers import (
    closed_form,
    fallback_reason,
    is_dense,
    rebuilt_chain,
)

MakeBatch = Callable[..., Batch]
Oracle = Callable[..., Tensor]


class Twice(nn.Linear):
    """A subclass may do anything."""

    def forward(self, input: Tensor) -> Tensor:
        return 2 * super().forward(input)


CLOSED = [
    nn.Linear(6, 1),
    nn.Sequential(nn.Linear(6, 5), nn.Sequential(nn.Tanh(), nn.Linear(5, 1))),
    nn.Sequential(nn.Linear(6, 5, bias=False), nn.GELU(), nn.Linear(5, 1)),
    nn.Sequential(
        nn.Unflatten(1, (2, 3)),
        nn.Conv1d(2, 4, 2, stride=2, padding=1, dilation=2, bias=False),
        nn.ReLU(),
        nn.Flatten(),
        nn.LazyLinear(1),
    ),
    nn.Sequential(
        nn.Unflatten(1, (3, 2)),
        nn.Linear(2, 4),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(12, 1),
    ),
]


@pytest.mark.parametrize("module", CLOSED)
@pytest.mark.parametrize("records", [1, 2])
def test_chains_of_known_layers_have_a_closed_form(
    make_batch: MakeBatch, oracle: Oracle, module: nn.Module, records: int
) -> None:
    module(torch.zeros(2, 6))  # sizes the lazy layer
    assert fallback_reason(module) is None
    batch = make_batch(20, 6, records=records)
    expected = oracle(module, LOGISTIC, batch, (0.2,))
    ours = clipped_sum(module, LOGISTIC, batch, (0.2,))
    assert (ours - expected).norm() <= 1e-6 * expected.norm()


def _shared() -> nn.Module:
    layer = nn.Linear(4, 4)
    return nn.Sequential(layer, nn.ReLU(), layer)


def _frozen() -> nn.Module:
    module = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
    module[0].weight.requires_grad_(False)
    return module


def _hooked() -> nn.Module:
    layer = nn.Linear(4, 1)
    layer.register_forward_pre_hook(lambda _, rows: (rows[0] * 2,))
    return layer


def _wider() -> nn.Sequential:
    """Return a chain whose Linear layer has eight columns and says that it has four."""
    layer = nn.Linear(8, 1)
    layer.in_features = 4
    first = (nn.Unflatten(1, (1, 4)), nn.AdaptiveAvgPool1d(8), nn.Flatten())
    return nn.Sequential(*first, layer)


def _more() -> nn.Module:
    layer = nn.ReLU()
    layer.register_parameter("slope", nn.Parameter(torch.ones(1)))
    return nn.Sequential(nn.Linear(4, 1), layer)


@pytest.mark.parametrize(
    ("module", "named"),
    [
        (nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4)), "LayerNorm"),
        (nn.Sequential(Twice(4, 1)), "Twice"),
        (nn.Sequential(nn.Flatten(0), nn.Linear(4, 1)), "Flatten"),
        (nn.Sequential(nn.Unflatten(0, (2, 2)), nn.Linear(4, 1)), "Unflatten"),
        (nn.Conv1d(2, 4, 3, groups=2), "Conv1d"),
        (nn.Conv1d(2, 4, 3, padding="same"), "Conv1d"),
        (nn.Conv1d(2, 4, 3, padding=1, padding_mode="circular"), "Conv1d"),
        (_shared(), "shared or frozen"),
        (_frozen(), "shared or frozen"),
        (_hooked(), "Linear"),
        (_wider(), "Linear"),
        (_more(), "ReLU"),
    ],
)
def test_everything_else_falls_back_and_says_why(module: nn.Module, named: str) -> None:
    reason = fallback_reason(module)
    assert reason is not None
    assert named in reason
    assert "record by record" in reason
    assert closed_form(module) is None


def test_groups_are_clipped_by_the_weights_that_there_are(
    make_batch: MakeBatch,
) -> None:
    # Columns beyond those that a layer speaks of were clipped with the first group
    # and noised with another.
    chain = _wider()
    module = rebuilt_chain(chain) or CapturedModel(chain, 4, 1)
    clips, groups = (1.0, 1e-3, 1.0), (0, 0, 1, 1)
    total = clipped_sum(module, LOGISTIC, make_batch(1, 4), clips, groups)
    index = torch.from_numpy(group_index(module, groups))
    for group, clip in enumerate(clips):
        assert 0 < total[index == group].norm() <= clip


@pytest.mark.parametrize(
    ("layers", "dense"),
    [
        ([nn.Linear(1, 1)], True),
        ([nn.Linear(1, 1), nn.ReLU(), nn.Linear(1, 1)], True),
        ([nn.Linear(1, 1), nn.ReLU()], False),
        ([nn.Linear(1, 1), nn.Tanh(), nn.Linear(1, 1)], False),
        ([nn.ReLU()], False),
    ],
)
def test_dense_means_linear_and_relu_in_turn(
    layers: list[nn.Module], dense: bool
) -> None:
    assert is_dense(tuple(layers)) is dense
