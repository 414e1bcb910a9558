# SPDX-License-Identifier: Apache-2.0
"""A unit's numbers do not depend on who else is in the batch, to the bit."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from lexfed.models.gradients.batch import Batch
from lexfed.models.gradients.clipped_sum import clipped_sum
from lexfed.models.losses import LOGISTIC
from lexfed.models.networks import known_layers
from lexfed.models.networks.architectures import build
from lexfed.models.networks.known_layers import DenseModel, closed_form, logits, trace
from support.joined_batches import join

Make = Callable[..., nn.Module]
MakeBatch = Callable[..., Batch]


def _taps(module: nn.Module, inputs: Tensor) -> list[Tensor]:
    layers = closed_form(module)
    assert layers is not None
    model = DenseModel(layers, inputs.dtype, len(inputs), 1)
    with torch.no_grad():
        taps = model.run(inputs, torch.sigmoid)
    rows = len(inputs)
    return [part[:rows].clone() for tap in taps for part in (tap.inputs, tap.slopes)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("spec", "slots", "outputs"),
    [
        ("logistic", 14, 1),
        ("logistic", 33, 3),
        ("logistic", 1, 1),
        ("mlp:33,5", 7, 1),
        ("mlp:256,128,64", 100, 1),
        ("mlp:30,17", 101, 4),
    ],
)
def test_rows_do_not_depend_on_their_neighbours(
    make_model: Make, spec: str, slots: int, outputs: int, dtype: torch.dtype
) -> None:
    module = make_model(spec, slots, outputs)
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(700, slots, generator=generator).to(dtype)
    whole = _taps(module, inputs)
    for size in (1, 2, 3, 15, 16, 17, 63, 64, 65, 130, 333, 699):
        chosen = torch.randperm(700, generator=generator)[:size]
        for part, full in zip(_taps(module, inputs[chosen]), whole, strict=True):
            assert torch.equal(part, full[chosen])


def _activated(activation: type[nn.Module]) -> Callable[[int], nn.Module]:
    return lambda slots: nn.Sequential(
        nn.Linear(slots, 33), activation(), nn.Linear(33, 5), activation(),
        nn.Linear(5, 2),
    )  # fmt: skip


def _pooled(slots: int) -> nn.Module:
    return nn.Sequential(
        nn.Unflatten(1, (1, slots)),
        nn.Conv1d(1, 5, 3, padding=1),
        nn.SiLU(),
        nn.AvgPool1d(2),
        nn.Conv1d(5, 3, 2, bias=False),
        nn.GELU(),
        nn.AdaptiveMaxPool1d(2),
        nn.Flatten(),
        nn.Linear(6, 2),
    )


CHAINS: dict[str, Callable[[int], nn.Module]] = {
    "convolutions": lambda slots: build("cnn", slots, 2, seed=1),
    "pools": _pooled,
    "Tanh": _activated(nn.Tanh),
    "Sigmoid": _activated(nn.Sigmoid),
    "GELU": _activated(nn.GELU),
    "Softplus": _activated(nn.Softplus),
}


def _chain_taps(layers: tuple[nn.Module, ...], inputs: Tensor) -> list[Tensor]:
    return [logits(layers, inputs)] + [
        part.view(-1, tap.terms * part.shape[1])[: len(inputs)]
        for tap in trace(layers, inputs, torch.sin, 1)
        for part in (tap.inputs, tap.slopes)
    ]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("slots", [7, 20, 33])
@pytest.mark.parametrize("name", CHAINS)
def test_rows_of_other_chains_do_not_depend_on_their_neighbours(
    name: str, slots: int, dtype: torch.dtype
) -> None:
    generator = torch.Generator().manual_seed(slots)
    module = CHAINS[name](slots)
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.3, generator=generator)
    layers = closed_form(module)
    assert layers is not None
    inputs = torch.randn(333, slots, generator=generator).to(dtype)
    whole = _chain_taps(layers, inputs)
    with torch.no_grad():
        torch.testing.assert_close(whole[0], module.to(dtype)(inputs))
    for size in (1, 2, 15, 16, 17, 63, 64, 65, 130, 332):
        chosen = torch.randperm(333, generator=generator)[:size]
        for part, full in zip(_chain_taps(layers, inputs[chosen]), whole, strict=True):
            assert torch.equal(part, full[chosen])


def _edges_otherwise(
    start: Tensor | None, rows: Tensor, columns: Tensor, out: Tensor
) -> Tensor:
    """Multiply as a library might: edge rows and narrow results in another order."""
    places = torch.arange(len(rows))
    edge = places >= len(rows) // 16 * 16
    if columns.shape[1] < 16:
        edge |= places % 2 == 1
    out.zero_()
    for turn, chosen in ((1, ~edge), (-1, edge)):
        part = torch.zeros(int(chosen.sum()), columns.shape[1], dtype=rows.dtype)
        for term in range(rows.shape[1])[::turn]:
            part = part + rows[chosen, term : term + 1] * columns[term]
        out[chosen] = part
    return out if start is None else out.add_(start)


def _linear_with_edges(rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Do the same in a form that autograd knows."""
    flat, columns = rows.reshape(-1, rows.shape[-1]), weight.t()
    places = torch.arange(len(flat))
    edge = (places >= len(flat) // 16 * 16) | (
        (places % 2 == 1) & (columns.shape[1] < 16)
    )
    one, other = (
        sum(flat[:, [k]] * columns[k] for k in range(len(columns))[::turn])
        for turn in (1, -1)
    )
    product = torch.where(edge.unsqueeze(1), other, one)
    product = product if bias is None else product + bias
    return product.reshape(*rows.shape[:-1], -1)


@pytest.mark.parametrize("padded", [True, False])
def test_padding_is_what_keeps_rows_of_chains_apart(
    padded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without padding it is the negative control.
    monkeypatch.setattr(functional, "linear", _linear_with_edges)
    if not padded:
        monkeypatch.setattr(known_layers, "_TRACED_ROWS", 1)
        monkeypatch.setattr(known_layers, "_WIDTH", 1)
    generator = torch.Generator().manual_seed(0)
    layers = closed_form(_activated(nn.Tanh)(20))
    assert layers is not None
    inputs = torch.randn(70, 20, generator=generator)
    whole = _chain_taps(layers, inputs)
    apart = all(
        torch.equal(part, full[:size])
        for size in (1, 17, 33, 69)
        for part, full in zip(_chain_taps(layers, inputs[:size]), whole, strict=True)
    )
    assert apart is padded


@pytest.fixture
def edges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every product treat its edges otherwise than the rest."""

    def mm(rows: Tensor, columns: Tensor, *, out: Tensor) -> Tensor:
        return _edges_otherwise(None, rows, columns, out)

    def addmm(start: Tensor, rows: Tensor, columns: Tensor, *, out: Tensor) -> Tensor:
        return _edges_otherwise(start, rows, columns, out)

    monkeypatch.setattr(torch, "mm", mm)
    monkeypatch.setattr(torch, "addmm", addmm)


def _neighbours_matter(module: nn.Module, slots: int, dtype: torch.dtype) -> bool:
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(70, slots, generator=generator).to(dtype)
    whole = _taps(module, inputs)
    return any(
        not torch.equal(part, full[:size])
        for size in (1, 17, 33, 69)
        for part, full in zip(_taps(module, inputs[:size]), whole, strict=True)
    )


@pytest.mark.usefixtures("edges")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("spec", "slots"), [("logistic", 14), ("mlp:33,5", 7)])
def test_rows_stay_apart_where_a_library_treats_edges_otherwise(
    make_model: Make, spec: str, slots: int, dtype: torch.dtype
) -> None:
    assert not _neighbours_matter(make_model(spec, slots), slots, dtype)


@pytest.mark.usefixtures("edges")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("spec", "slots"), [("logistic", 14), ("mlp:33,5", 7)])
def test_without_padding_such_a_library_lets_neighbours_matter(
    make_model: Make,
    spec: str,
    slots: int,
    dtype: torch.dtype,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Negative control: padding is what keeps rows apart in the test above.
    monkeypatch.setattr(known_layers, "_ROWS", 1)
    assert _neighbours_matter(make_model(spec, slots), slots, dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_one_unit_more_moves_the_sum_by_its_own_contribution(
    make_model: Make, make_batch: MakeBatch, dtype: torch.dtype
) -> None:
    module = make_model("mlp:64,32", 20)
    batch = make_batch(200, 20, dtype=dtype)

    def part(rows: list[int]) -> Batch:
        return Batch(
            batch.inputs[rows],
            batch.targets[rows],
            batch.offset[rows],
            batch.weights[rows],
        )

    for place in (0, 77, 199):
        without = part([i for i in range(200) if i != place])
        alone = part([place])
        moved = clipped_sum(module, LOGISTIC, batch, (0.2,)) - clipped_sum(
            module, LOGISTIC, without, (0.2,)
        )
        own = clipped_sum(module, LOGISTIC, alone, (0.2,))
        limit = 2e-5 if dtype == torch.float32 else 1e-13
        assert (moved - own).norm() <= limit * 0.2


def _hidden_weights(module: nn.Module, batch: Batch) -> Tensor:
    # Biases and the last layer are float64 sums over all rows, not products by chunk.
    total = clipped_sum(module, LOGISTIC, batch, (0.2,))
    layer = module[2] if isinstance(module, nn.Sequential) else module
    first = 64 * 20
    assert isinstance(layer, nn.Linear)
    second = slice(first + 64, first + 64 + layer.weight.numel())
    return torch.cat([total[:first], total[second]])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_pairs_sum_does_not_depend_on_other_pairs(
    make_model: Make, make_batch: MakeBatch, dtype: torch.dtype
) -> None:
    module = make_model("mlp:64,32", 20)
    own = make_batch(110, 20, dtype=dtype, seed=5)
    alone = _hidden_weights(module, replace(own, sites=(50, 60)))
    for before, after in ((1, 0), (5, 17), (64, 1), (191, 16), (300, 700)):
        # Records of weight zero add exactly nothing, so only rounding could differ.
        silent = make_batch(before + after, 20, dtype=dtype)
        silent = replace(silent, weights=torch.zeros_like(silent.weights))
        first, last = (
            replace(
                silent,
                inputs=silent.inputs[rows],
                targets=silent.targets[rows],
                offset=silent.offset[rows],
                weights=silent.weights[rows],
                sites=(),
            )
            for rows in (slice(before), slice(before, None))
        )
        joined = replace(join([first, own, last]), sites=(before - 1, 1, 50, 60, after))
        assert torch.equal(_hidden_weights(module, joined), alone)


def test_a_pairs_sum_depends_on_both_of_its_sites(
    make_model: Make, make_batch: MakeBatch
) -> None:
    # Negative control: with another partner the same units are rounded otherwise.
    module = make_model("mlp:64,32", 20)
    own = make_batch(110, 20, dtype=torch.float32, seed=5)
    together = _hidden_weights(module, replace(own, sites=(50, 60)))
    apart = _hidden_weights(module, replace(own, sites=(50, 0, 60, 0)))
    assert not torch.equal(together, apart)
