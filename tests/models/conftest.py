# SPDX-License-Identifier: Apache-2.0
"""Models, batches and an oracle shared by the tests of this folder."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from lexfed.models import Batch, Loss, build
from lexfed.models.clipping import Clipping
from lexfed.models.per_unit import clipped_sum as by_unit

FACTORIES = '''
from torch import nn


class MeanOver(nn.Module):
    """Mixes whatever rows it is given: only safe unit by unit."""

    def __init__(self, slots, outputs):
        super().__init__()
        self.linear = nn.Linear(slots, outputs)

    def forward(self, rows):
        return self.linear(rows - rows.mean(0))


def layer_norm(slots, outputs):
    return nn.Sequential(
        nn.Linear(slots, 8), nn.LayerNorm(8), nn.Tanh(), nn.Linear(8, outputs)
    )


def broken(slots, outputs):
    raise RuntimeError("no such weights")


def wrong_width(slots, outputs):
    return nn.Linear(slots + 1, outputs)


def batch_norm(slots, outputs):
    return nn.Sequential(nn.Linear(slots, 8), nn.BatchNorm1d(8), nn.Linear(8, outputs))


def instance_norm(slots, outputs):
    return nn.Sequential(
        nn.Unflatten(1, (1, slots)),
        nn.InstanceNorm1d(1, track_running_stats=True),
        nn.Flatten(),
        nn.Linear(slots, outputs),
    )


def dropout(slots, outputs):
    return nn.Sequential(nn.Linear(slots, 8), nn.Dropout(0.5), nn.Linear(8, outputs))


def frozen(slots, outputs):
    return nn.Linear(slots, outputs).requires_grad_(False)


def text(slots, outputs):
    return "no module"


def wrong_shape(slots, outputs):
    return nn.Linear(slots, outputs + 1)
'''


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Small products on several threads wait for each other more than they compute."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def factories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Name of an importable module full of users' factories."""
    (tmp_path / "lexfed_test_factories.py").write_text(FACTORIES)
    monkeypatch.syspath_prepend(tmp_path)
    return "lexfed_test_factories"


@pytest.fixture
def make_model() -> Callable[..., nn.Module]:
    """Make a model whose every parameter is random, also the zero last layer."""

    def make(
        spec: str, slots: int, outputs: int = 1, *, scale: float = 0.3, seed: int = 2
    ) -> nn.Module:
        module = build(spec, slots, outputs, seed=1)
        generator = torch.Generator().manual_seed(seed)
        for parameter in module.parameters():
            nn.init.normal_(parameter, std=scale, generator=generator)
        return module

    return make


@pytest.fixture
def make_batch() -> Callable[..., Batch]:
    """Make random records; with several per unit, some of them are padding."""

    def make(
        units: int,
        slots: int,
        outputs: int = 1,
        *,
        records: int = 1,
        dtype: torch.dtype = torch.float64,
        seed: int = 3,
        sites: tuple[int, ...] = (),
    ) -> Batch:
        generator = torch.Generator().manual_seed(seed)
        weights = (torch.rand(units, records, generator=generator) < 0.6).double()
        weights[:, 0] = 1
        weights /= weights.sum(1, keepdim=True)
        inputs = torch.randn(units, records, slots, generator=generator)
        inputs *= (weights > 0).unsqueeze(-1)
        classes = max(2, outputs)
        return Batch(
            inputs.to(dtype),
            torch.randint(0, classes, (units, records), generator=generator).to(dtype),
            torch.randn(units, records, outputs, generator=generator).to(dtype),
            weights.to(dtype),
            sites,
        )

    return make


@pytest.fixture
def oracle() -> Callable[..., Tensor]:
    """Give the clipped sum unit by unit in float64, by torch.func."""

    def clip_one_by_one(
        module: nn.Module,
        loss: Loss,
        batch: Batch,
        clips: tuple[float, ...],
        groups: list[int] | None = None,
    ) -> Tensor:
        return by_unit(module, loss, batch, Clipping.of(module, clips, groups))

    return clip_one_by_one
