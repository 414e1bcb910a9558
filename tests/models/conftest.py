# SPDX-License-Identifier: Apache-2.0
"""Models, batches and an oracle shared by the tests of this folder."""

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from lexfed.models.gradients.batch import Batch
from lexfed.models.losses import Loss
from lexfed.models.networks.architectures import build
from lexfed.models.networks.flat_parameters import group_index, trainable

FACTORIES = '''
import torch
from torch import nn


class MeanOver(nn.Module):
    """Mixes whatever rows it is given: only safe unit by unit."""

    def __init__(self, slots, outputs):
        super().__init__()
        self.linear = nn.Linear(slots, outputs)

    def forward(self, rows):
        return self.linear(rows - rows.mean(0))


CALLS = []


class Counted(nn.Module):
    """Says how often its code was called."""

    def __init__(self, slots, outputs):
        super().__init__()
        CALLS.append("made")
        self.linear = nn.Linear(slots, outputs)

    def forward(self, rows):
        CALLS.append("called")
        return self.linear(rows) ** 3


class Remembers(nn.Module):
    """Keeps a running mean in a buffer that it replaces."""

    def __init__(self, slots, outputs):
        super().__init__()
        self.linear = nn.Linear(slots, outputs)
        self.register_buffer("mean", torch.zeros(slots))

    def forward(self, rows):
        logits = self.linear(rows - self.mean)
        self.mean = 0.9 * self.mean + 0.1 * rows.mean(0)
        return logits


def patched_chain(slots, outputs):
    layer = nn.Tanh()
    layer.forward = lambda rows: rows - rows.max(0).values
    return nn.Sequential(nn.Linear(slots, 4), layer, nn.Linear(4, outputs))


def patched_outside(slots, outputs):
    chain = nn.Sequential(nn.Linear(slots, 4), nn.Tanh(), nn.Linear(4, outputs))
    inner = chain.forward
    chain.forward = lambda rows: 2 * inner(rows)
    return chain


def hooked_chain(slots, outputs):
    chain = nn.Sequential(nn.Linear(slots, 4), nn.Tanh(), nn.Linear(4, outputs))
    chain.register_forward_hook(lambda module, given, found: 2 * found)
    return chain


def in_place(slots, outputs):
    return nn.Sequential(
        nn.ELU(inplace=True),
        nn.Linear(slots, 4),
        nn.SiLU(inplace=True),
        nn.Linear(4, outputs),
    )


def every_layer(slots, outputs):
    return nn.Sequential(
        nn.Unflatten(1, (1, slots)),
        nn.Sequential(nn.Conv1d(1, 3, 3, stride=2, padding=2, dilation=2)),
        nn.LeakyReLU(0.3),
        nn.MaxPool1d(2, stride=1, padding=1),
        nn.AvgPool1d(2, ceil_mode=True),
        nn.AdaptiveAvgPool1d(2),
        nn.Softplus(2.0),
        nn.GELU(approximate="tanh"),
        nn.Flatten(),
        nn.Linear(6, outputs, bias=False),
    )


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
        own = {
            name: value.detach().double() for name, value in trainable(module).items()
        }
        fixed = {
            name: value.detach().double() if value.is_floating_point() else value
            for name, value in [*module.named_parameters(), *module.named_buffers()]
            if name not in own
        }

        def value(
            own: dict[str, Tensor],
            inputs: Tensor,
            targets: Tensor,
            offset: Tensor,
            weights: Tensor,
        ) -> Tensor:
            logits = torch.func.functional_call(module, {**own, **fixed}, (inputs,))
            losses = loss.value(logits + offset, targets)
            return torch.where(weights > 0, weights * losses, 0.0).sum()

        fields = (batch.inputs, batch.targets, batch.offset, batch.weights)
        by_unit = torch.func.vmap(torch.func.grad(value), in_dims=(None, 0, 0, 0, 0))
        parts = by_unit(own, *(field.double() for field in fields))
        gradients = torch.cat([parts[name].flatten(1) for name in own], dim=1)
        if math.isinf(clips[0]):
            return gradients.sum(0)
        finite = gradients.isfinite().all(1, keepdim=True)
        gradients = torch.where(finite, gradients, 0.0)
        index = torch.zeros(gradients.shape[1], dtype=torch.int64)
        if groups is not None:
            index = torch.from_numpy(group_index(module, groups))
        for group, clip in enumerate(clips):
            norms = gradients[:, index == group].norm(dim=1, keepdim=True)
            factors = torch.where(norms > clip, clip / norms, 1.0)
            gradients[:, index == group] *= factors
        return gradients.sum(0)

    return clip_one_by_one
