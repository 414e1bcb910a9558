# SPDX-License-Identifier: Apache-2.0
import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from lexfed.models.gradients.batch import Batch
from lexfed.models.gradients.clipped_sum import clipped_sum
from lexfed.models.gradients.site_updates import (
    LocalTraining,
    clip_update,
    local_update,
)
from lexfed.models.losses import LOGISTIC, SOFTMAX, SQUARED
from lexfed.models.networks import captured_model
from lexfed.models.networks.flat_parameters import count, flatten

Make = Callable[..., nn.Module]
MakeBatch = Callable[..., Batch]


def _generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_one_full_step_is_the_mean_gradient(
    make_model: Make, make_batch: MakeBatch
) -> None:
    module, batch = make_model("mlp:8", 4).double(), make_batch(20, 4)
    update = local_update(
        module, LOGISTIC, batch, LocalTraining(1, 20, 0.5), _generator()
    )
    gradient = clipped_sum(module, LOGISTIC, batch, (math.inf,)) / 20
    torch.testing.assert_close(update, -0.5 * gradient)


def test_momentum_matches_torch(make_model: Make, make_batch: MakeBatch) -> None:
    module, batch = make_model("mlp:8", 4).double(), make_batch(20, 4)
    training = LocalTraining(5, 20, 0.5, momentum=0.9)
    update = local_update(module, SQUARED, batch, training, _generator())
    start = flatten(module)
    optimiser = torch.optim.SGD(module.parameters(), lr=0.5, momentum=0.9)
    for _ in range(5):
        optimiser.zero_grad()
        logits = module(batch.inputs[:, 0]) + batch.offset[:, 0]
        SQUARED.value(logits, batch.targets[:, 0]).mean().backward()  # type: ignore[no-untyped-call]  # torch
        optimiser.step()
    torch.testing.assert_close(update, flatten(module) - start)


def test_local_training_learns_and_leaves_the_model_alone(
    make_model: Make, make_batch: MakeBatch
) -> None:
    module = make_model("mlp:8", 4, 3)
    batch = make_batch(50, 4, 3, records=2)
    before = flatten(module)
    update = local_update(
        module, SOFTMAX, batch, LocalTraining(60, 16, 0.5), _generator()
    )
    assert torch.equal(flatten(module), before)
    assert update.dtype == torch.float64
    chosen = batch.weights > 0

    @torch.no_grad()
    def mean_loss(vector: torch.Tensor) -> float:
        torch.nn.utils.vector_to_parameters(vector.float(), module.parameters())
        logits = module(batch.inputs[chosen].float()) + batch.offset[chosen]
        return float(SOFTMAX.value(logits, batch.targets[chosen]).mean())

    assert mean_loss(before + update) < mean_loss(before)


@pytest.mark.parametrize("numbers", [2**23, 100, 1])
def test_a_captured_model_trains_as_its_layers_do(
    make_model: Make,
    make_batch: MakeBatch,
    numbers: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(captured_model, "_NUMBERS", numbers)
    module = make_model("mlp:6", 5).double()
    training = LocalTraining(steps=4, batch_size=30, learning_rate=0.3, momentum=0.5)
    own, other = (
        local_update(
            model,
            LOGISTIC,
            make_batch(70, 5),
            training,
            torch.Generator().manual_seed(1),
        )
        for model in (module, captured_model.CapturedModel(module, 5, 1))
    )
    torch.testing.assert_close(other, own)


def test_generator_decides_the_order(make_model: Make, make_batch: MakeBatch) -> None:
    module, batch = make_model("logistic", 4), make_batch(50, 4)
    training = LocalTraining(3, 8, 0.5)
    first, again, other = (
        local_update(module, LOGISTIC, batch, training, _generator(seed))
        for seed in (1, 1, 2)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_padding_is_never_drawn(make_model: Make, make_batch: MakeBatch) -> None:
    module, batch = make_model("logistic", 4), make_batch(10, 4, records=3)
    spoiled = batch.inputs.clone()
    spoiled[batch.weights == 0] = math.nan
    other = Batch(spoiled, batch.targets, batch.offset, batch.weights)
    training = LocalTraining(4, 5, 0.5)
    assert torch.equal(
        local_update(module, LOGISTIC, batch, training, _generator()),
        local_update(module, LOGISTIC, other, training, _generator()),
    )


def test_a_site_without_records_sends_zero(
    make_model: Make, make_batch: MakeBatch
) -> None:
    module = make_model("logistic", 4)
    update = local_update(
        module, LOGISTIC, make_batch(0, 4), LocalTraining(1, 1, 0.1), _generator()
    )
    assert torch.equal(update, torch.zeros(count(module), dtype=torch.float64))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("steps", 0),
        ("batch_size", 0),
        ("learning_rate", 0.0),
        ("momentum", 1.0),
        ("momentum", -0.1),
    ],
)
def test_impossible_settings_are_refused(name: str, value: float) -> None:
    settings = {"steps": 1, "batch_size": 1, "learning_rate": 0.1} | {name: value}
    with pytest.raises(ValueError, match=name):
        LocalTraining(**settings)  # type: ignore[arg-type]  # one of them is wrong


@given(
    st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=6),
    st.floats(1e-9, 1e9),
)
def test_clipped_updates_are_never_too_long(values: list[float], clip: float) -> None:
    update = torch.tensor(values, dtype=torch.float64)
    clipped = clip_update(update, clip)
    largest = max(map(abs, clipped.tolist()), default=0.0)
    norm = largest and largest * math.hypot(*(x / largest for x in clipped.tolist()))
    assert norm <= clip
    if not torch.isfinite(update).all():
        assert torch.equal(clipped, torch.zeros_like(update))


def test_short_updates_are_left_as_they_are() -> None:
    update = torch.tensor([0.3, -0.4, 0.0], dtype=torch.float64)
    assert torch.equal(clip_update(update, 0.6), update)
    torch.testing.assert_close(clip_update(update, 0.05).norm().item(), 0.05)
