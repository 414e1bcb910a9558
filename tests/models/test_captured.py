# SPDX-License-Identifier: Apache-2.0
"""Captured models: what they compute, what is refused, and that records stay apart."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from lexfed.errors import ConfigError
from lexfed.models.networks import captured_model as capturing
from lexfed.models.networks.captured_model import CapturedModel
from lexfed.models.networks.flat_parameters import flatten, trainable

SLOTS, OUTPUTS = 5, 2


class Base(nn.Module):
    """A Linear layer and whatever a subclass does with it."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(SLOTS, OUTPUTS)


def module_of(forward: Callable[[Base, Tensor], Tensor]) -> nn.Module:
    """Return a module with that `forward`."""
    own: nn.Module = type("Own", (Base,), {"forward": forward})()
    return own


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.LSTM(1, 4, batch_first=True)
        self.last = nn.Linear(4, OUTPUTS)

    def forward(self, rows: Tensor) -> Tensor:
        logits: Tensor = self.last(self.inner(rows.unsqueeze(-1))[0][:, -1])
        return logits


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(1, 8)
        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        self.inner = layer
        self.last = nn.Linear(8, OUTPUTS)

    def forward(self, rows: Tensor) -> Tensor:
        inner = self.inner(self.first(rows.unsqueeze(-1)))
        logits: Tensor = self.last(inner.mean(1))
        return logits


class Embedded(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(10, 4)
        self.last = nn.Linear(4 * SLOTS, OUTPUTS)

    def forward(self, rows: Tensor) -> Tensor:
        codes = (3 * rows).long().clamp(0, 9)
        logits: Tensor = self.last(self.table(codes).flatten(1))
        return logits


class Image(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Conv2d(1, 3, (1, 2))
        self.norm = nn.GroupNorm(3, 3)
        self.last = nn.Linear(3 * (SLOTS - 1), OUTPUTS)

    def forward(self, rows: Tensor) -> Tensor:
        inner = functional.gelu(self.norm(self.inner(rows[:, None, None])))
        logits: Tensor = self.last(inner.flatten(1))
        return logits


class Constants(nn.Module):
    """Frozen weights, buffers of both kinds, a tensor of its own and a tied weight."""

    scale: Tensor
    order: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.frozen = nn.Linear(SLOTS, SLOTS).requires_grad_(False)
        self.linear = nn.Linear(SLOTS, SLOTS)
        self.again = self.linear
        self.last = nn.Linear(SLOTS, OUTPUTS)
        self.register_buffer("scale", torch.rand(SLOTS))
        self.register_buffer("order", torch.randperm(SLOTS))
        self.table = torch.rand(SLOTS, dtype=torch.float64)

    def forward(self, rows: Tensor) -> Tensor:
        inner = self.frozen(rows * self.scale)[:, self.order] + self.table
        inner = torch.tanh(self.again(torch.tanh(self.linear(inner))))
        logits: Tensor = self.last(inner)
        return logits


class Written(Base):
    """Writes in place, but into tensors of its own."""

    def forward(self, rows: Tensor) -> Tensor:
        own = rows.clone()
        own[:, 0] = 0
        own += 1
        logits: Tensor = self.linear(own)
        logits = logits + 0
        logits[:, 1].mul_(2)
        return logits


class Steep(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, value: Tensor) -> Tensor:
        ctx.save_for_backward(value)
        return value.sign()

    @staticmethod
    def backward(ctx: Any, *slopes: Any) -> Any:
        return 3 * slopes[0] * ctx.saved_tensors[0]


class Rounded(Base):
    """Has a gradient of its own, and an unused weight."""

    def __init__(self) -> None:
        super().__init__()
        self.idle = nn.Parameter(torch.ones(2))

    def forward(self, rows: Tensor) -> Tensor:
        logits: Tensor = Steep.apply(self.linear(rows))  # type: ignore[no-untyped-call]
        return logits


MODULES: dict[str, Callable[[], nn.Module]] = {
    "layer norm": lambda: nn.Sequential(
        nn.Linear(SLOTS, 8), nn.LayerNorm(8), nn.Tanh(), nn.Linear(8, OUTPUTS)
    ),
    "odd widths": lambda: nn.Sequential(
        nn.Linear(SLOTS, 17), nn.LayerNorm(17), nn.GELU(), nn.Linear(17, OUTPUTS)
    ),
    "recurrent": Recurrent,
    "attention": Attention,
    "embedded": Embedded,
    "image": Image,
    "constants": Constants,
    "written": Written,
    "rounded": Rounded,
    "single precision": lambda: module_of(
        lambda own, rows: functional.linear(
            rows.float(), own.linear.weight.float()
        ).sigmoid()
    ),
    "hooked": lambda: nn.Sequential(
        nn.utils.parametrizations.weight_norm(nn.Linear(SLOTS, OUTPUTS))
    ),
}
SLOW = ("recurrent", "attention", "image")
NAMES = [
    pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name
    for name in MODULES
]


@pytest.fixture(params=NAMES)
def module(request: pytest.FixtureRequest) -> nn.Module:
    torch.manual_seed(3)
    return MODULES[request.param]().double()


def records(count: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randn(count, SLOTS + OUTPUTS, generator=generator).double()
    return rows[:, :SLOTS], rows[:, SLOTS:]


def test_logits_and_gradients_are_those_of_each_record(module: nn.Module) -> None:
    model = CapturedModel(copy.deepcopy(module), SLOTS, OUTPUTS)
    assert torch.equal(flatten(model), flatten(module))
    rows, slopes = records(70)
    logits, gradients = model.logits(rows), model.gradients(rows, slopes)
    assert torch.allclose(model(rows), logits, rtol=1e-6, atol=1e-6)
    weights = list(trainable(module).values())
    for place in (0, 1, 63, 64, 69):
        wanted = module(rows[place : place + 1])
        parts = torch.autograd.grad(
            wanted, weights, slopes[place : place + 1], materialize_grads=True
        )
        own = torch.cat([part.flatten() for part in parts])
        torch.testing.assert_close(logits[place], wanted[0].double())
        torch.testing.assert_close(gradients[place], own)


def test_a_record_does_not_depend_on_the_others_to_the_bit(module: nn.Module) -> None:
    model = CapturedModel(module, SLOTS, OUTPUTS)
    rows, slopes = records(130)
    broken = rows.clone()
    broken[::2] *= 1e200
    broken[::5] = torch.nan
    logits, gradients = model.logits(rows), model.gradients(rows, slopes)
    generator = torch.Generator().manual_seed(1)
    for count in (1, 2, 63, 64, 65, 129):
        chosen = torch.randperm(130, generator=generator)[:count]
        assert torch.equal(model.logits(rows[chosen]), logits[chosen])
        found = model.gradients(rows[chosen], slopes[chosen])
        assert torch.equal(found, gradients[chosen])
    kept = torch.tensor([i for i in range(130) if i % 2 and i % 5])
    assert torch.equal(model.logits(broken)[kept], logits[kept])
    assert torch.equal(model.gradients(broken, slopes)[kept], gradients[kept])


def test_a_whole_batch_does_mix_records() -> None:
    # Negative control of the test above: the module's own code, on all rows.
    own = module_of(lambda own, rows: own.linear(rows - rows.max(0).values)).double()
    rows, _ = records(130)
    assert not torch.equal(own(rows[:65]), own(rows)[:65])
    model = CapturedModel(own, SLOTS, OUTPUTS)
    assert torch.equal(model.logits(rows[:65]), model.logits(rows)[:65])


def test_no_code_of_the_model_runs_once_it_is_captured() -> None:
    calls: list[Tensor] = []

    def forward(own: Base, rows: Tensor) -> Tensor:
        calls.append(rows)
        logits: Tensor = own.linear(rows) * len(calls)
        return logits

    model = CapturedModel(module_of(forward), SLOTS, OUTPUTS)
    seen = len(calls)
    rows, slopes = records(9)
    before = rows.clone()
    first = model.logits(rows)
    model(rows)
    model.gradients(rows, slopes)
    assert torch.equal(copy.deepcopy(model).logits(rows), first)
    assert len(calls) == seen
    assert torch.equal(rows, before)


def test_other_weights_can_be_lent() -> None:
    model = CapturedModel(MODULES["layer norm"](), SLOTS, OUTPUTS)
    rows, slopes = records(3)
    own = trainable(model)
    others = {name: 2 * value.detach() for name, value in own.items()}
    lent = model.logits(rows, others), model.gradients(rows, slopes, others)
    called = torch.func.functional_call(model, others, (rows,))
    assert not torch.equal(lent[0], model.logits(rows))
    with torch.no_grad():
        for name, value in own.items():
            value.copy_(others[name])
    assert torch.equal(lent[0], model.logits(rows))
    assert torch.equal(lent[1], model.gradients(rows, slopes))
    torch.testing.assert_close(called, lent[0])


def _place(record: Tensor) -> Tensor:
    """Return a place among the slots; beyond them where the record begins above 7."""
    return torch.where(record[:1] > 7, SLOTS + 1, 1)


LOOKUPS: dict[str, Callable[[Tensor], Tensor]] = {
    "embedding": lambda x: functional.embedding(_place(x), x.unsqueeze(1))[0],
    "gather": lambda x: x.gather(0, _place(x)),
    "index": lambda x: x[_place(x)],
    "index_add": lambda x: x.index_add(0, _place(x), x[2:3]),
    "index_copy": lambda x: x.index_copy(0, _place(x), x[2:3]),
    "index_fill": lambda x: x.index_fill(0, _place(x), 3.0),
    "index_put": lambda x: x.index_put((_place(x),), x[2:3]),
    "index_select": lambda x: x.index_select(0, _place(x)),
    "scatter": lambda x: x.scatter(0, _place(x), x[2:3]),
    "scatter_add": lambda x: x.scatter_add(0, _place(x), x[2:3]),
    "scatter_reduce": lambda x: x.scatter_reduce(0, _place(x), x[2:3], "amax"),
    "take": lambda x: x.take(_place(x)),
}


@pytest.mark.parametrize("name", LOOKUPS)
def test_a_place_that_is_not_there_is_nobody_elses(name: str) -> None:
    # A table for many records is one table: there a place beyond a record's own part
    # is in the next record's.
    look_up = LOOKUPS[name]
    own = module_of(lambda own, x: own.linear(x * look_up(x[0]).sum()))
    model = CapturedModel(own.double(), SLOTS, OUTPUTS)
    rows, slopes = records(9)
    rows = rows.double().clamp(-5, 5)
    logits, gradients = model.logits(rows), model.gradients(rows, slopes)
    assert torch.isfinite(gradients).all()
    beyond = rows.clone()
    beyond[3, 0] = 8.0
    for change in (0.0, 50.0):
        beyond[4, 1:] = change
        others = [0, 1, 2, 5, 6, 7, 8]
        assert torch.equal(model.logits(beyond)[others], logits[others])
        found = model.gradients(beyond, slopes)
        assert torch.equal(found[others], gradients[others])
        assert torch.equal(found[4], model.gradients(beyond[4:5], slopes[4:5])[0])
        assert model.logits(beyond)[3].isnan().all()
        assert found[3].isnan().all()


def test_records_that_cannot_be_computed_are_those_that_cannot_be_alone() -> None:
    # Zeros, which fill up a batch, have no place either.
    own = module_of(lambda own, x: own.linear(x) + x[0, (x[0, :1] == 0) * SLOTS + 0])
    model = CapturedModel(own.double(), SLOTS, OUTPUTS)
    assert model.rows > 1
    rows, _ = records(model.rows)
    rows[5, 0] = 0.0
    logits = model.logits(rows)
    assert logits[5].isnan().all()
    assert torch.isfinite(logits).all(1).sum() == len(rows) - 1
    assert torch.equal(model.logits(rows[:4]), logits[:4])


def test_made_up_records_may_have_places_that_are_not_there() -> None:
    own = module_of(lambda own, x: own.linear(x) + x[0, (3 * x[0, :1]).long()])
    model = CapturedModel(own.double(), SLOTS, OUTPUTS)
    rows = torch.tensor([[1.0, 2, 3, 4, 5], [9.0, 2, 3, 4, 5]], dtype=torch.float64)
    logits = model.logits(rows)
    assert torch.allclose(logits[0], own(rows[:1])[0])
    assert logits[1].isnan().all()


def _pooled_elsewhere(own: Any, rows: Tensor) -> Any:
    image = rows[:, :4].reshape(-1, 1, 2, 2)
    places = torch.where(rows[:, :1] > 7, 5, 0).reshape(-1, 1, 1, 1)
    sizes = ([2, 2], [2, 2], [0, 0], [1, 1], False)
    backward = torch.ops.aten.max_pool2d_with_indices_backward
    spread = backward(image[..., :1, :1], image, *sizes, places)
    return own.linear(rows) + spread.sum()


def _larger_pool(own: Any, rows: Tensor) -> Any:
    large = rows.repeat(1, 4).reshape(-1, 1, 4, SLOTS)
    small = rows[:, :4].reshape(-1, 1, 2, 2)
    _, places = torch.ops.aten.adaptive_max_pool2d(large, [1, 1])
    backward = torch.ops.aten.adaptive_max_pool2d_backward
    return own.linear(rows) + backward(small[..., :1, :1], small, places).sum()


def _norm_of_others(own: Any, rows: Tensor) -> Any:
    # Mean and deviation of one row, where there are five.
    column, first = rows.reshape(-1, 1), rows[:1, :1]
    backward = torch.ops.aten.native_layer_norm_backward
    sizes = (column, column, [1], first, first, None, None, [True, False, False])
    return own.linear(rows) + backward(*sizes)[0].sum()


def _asserted(own: Any, rows: Tensor) -> Any:
    torch._assert_async(rows.sum() < 100)
    return own.linear(rows)


def _mutated_constant(own: Any, rows: Tensor) -> Any:
    own.table = getattr(own, "table", torch.zeros(SLOTS, dtype=torch.float64))
    return own.linear(rows + own.table.add_(rows[0].detach()))


def _kept(own: Any, rows: Tensor) -> Any:
    own.rows = [*getattr(own, "rows", []), rows]
    return own.linear(sum(own.rows))


REFUSED: dict[str, tuple[Callable[[Any, Tensor], Any], str]] = {
    "random": (lambda own, rows: own.linear(rows) + torch.randn(1), "random numbers"),
    "dropout": (lambda own, x: own.linear(functional.dropout(x)), "random numbers"),
    "generator": (
        lambda own, rows: own.linear(rows) + torch.rand(1, generator=torch.Generator()),
        "random numbers",
    ),
    "input": (lambda own, rows: own.linear(rows.mul_(2)), "writes into its input"),
    "weight": (
        lambda own, rows: own.linear(rows + own.linear.weight.data.add_(1).mean()),
        "writes into its input, its weights",
    ),
    "constant": (_mutated_constant, "is not made of tensor operations alone"),
    "kept": (_kept, "a tensor kept from another call"),
    "branch": (
        lambda own, rows: own.linear(rows if rows.sum() > 0 else -rows),
        "is not made of tensor operations alone",
    ),
    "item": (lambda own, x: own.linear(x) * x.max().item(), "numbers of Python"),
    "shape": (lambda own, x: own.linear(x) + x[x > 0].sum(), "numbers of Python"),
    "numpy": (
        lambda own, x: own.linear(x) + float(x.detach().numpy().sum()),
        "is not made of tensor operations alone",
    ),
    "unfilled": (lambda own, x: own.linear(x) + torch.empty(2), "did not fill"),
    "strides": (
        lambda own, x: own.linear(x) + x.as_strided((1,), (1,), 7),
        "did not fill",
    ),
    "storage": (
        lambda own, x: own.linear(x) + torch.ops.aten.set.source_Tensor(x, x * 2).sum(),
        "did not fill",
    ),
    "places": (_pooled_elsewhere, "may take them for places"),
    "places of another": (_larger_pool, "may take them for places"),
    "lengths": (
        lambda own, x: (
            own.linear(x)
            + torch.segment_reduce(x[0], "sum", lengths=x[0, :1].long(), unsafe=True)
        ),
        "may take them for places",
    ),
    "derivative": (_norm_of_others, "calls a derivative of torch by itself"),
    "assertion": (_asserted, "stops where values are not as it expects"),
    "inverse": (
        lambda own, x: own.linear(x) + torch.linalg.inv(x[:, :1] * 2),
        "stops where values are not as it expects",
    ),
    "half filled": (
        lambda own, x: own.linear(x) + torch.empty(2).copy_(torch.empty(2)),
        "did not fill",
    ),
    "control flow": (
        lambda own, x: (
            torch.cond(
                x.sum() > 0, lambda x: x[:, :2] + 0, lambda x: x[:, :2] - 1, (x,)
            )
            + own.linear(x)
        ),
        "which is no operation of torch",
    ),
    "shape of the result": (lambda own, x: own.linear(x).squeeze(), r"not \[1, 2\]"),
    "not a tensor": (lambda own, x: [own.linear(x)], r"not \[1, 2\]"),
    "no gradient": (lambda own, x: own.linear(x).detach(), "does not require grad"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_function_of_one_record_is_refused(case: str) -> None:
    forward, reason = REFUSED[case]
    with pytest.raises(ConfigError, match=reason) as caught:
        CapturedModel(module_of(forward), SLOTS, OUTPUTS)
    assert caught.value.hint


def test_operations_of_others_are_refused() -> None:
    with torch.library._scoped_library("lexfed_test", "FRAGMENT") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: 2 * x, "CompositeExplicitAutograd")
        own = module_of(
            lambda own, x: own.linear(x) + torch.ops.lexfed_test.twice(x).sum()
        )
        with pytest.raises(ConfigError, match=r"uses `lexfed_test\.twice"):
            CapturedModel(own, SLOTS, OUTPUTS)


@pytest.mark.parametrize("fault", ["another bit in one place", "not carried over"])
def test_records_are_computed_alone_where_places_differ(
    fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = MODULES["layer norm"]().double()
    model = CapturedModel(own, SLOTS, OUTPUTS)
    assert model.rows == 64
    real = torch.func.vmap

    def vmap(function: Any, *given: Any, **named: Any) -> Any:
        def faulty(*fields: Any) -> Any:
            if fault == "not carried over":
                raise RuntimeError(fault)
            parts = real(function, *given, **named)(*fields)
            parts[0][3] = torch.nextafter(parts[0][3], parts[0][3] + 1)
            return parts

        return faulty

    monkeypatch.setattr(torch.func, "vmap", vmap)
    alone = CapturedModel(own, SLOTS, OUTPUTS)
    assert alone.rows == 1
    rows, slopes = records(70)
    torch.testing.assert_close(alone.logits(rows), own(rows))
    gradients = alone.gradients(rows, slopes)
    monkeypatch.undo()
    torch.testing.assert_close(gradients, model.gradients(rows, slopes))
    assert torch.equal(alone.gradients(rows[9:], slopes[9:]), gradients[9:])


@pytest.mark.parametrize(("numbers", "rows"), [(10**6, 64), (106 * 7, 7), (5, 1)])
def test_gradients_at_once_fit_into_memory(
    numbers: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capturing, "_NUMBERS", numbers)
    own = nn.Sequential(nn.Linear(SLOTS, 8), nn.LayerNorm(8), nn.Linear(8, OUTPUTS))
    size = flatten(own).numel()
    expected = max(1, min(64, numbers // size))
    assert CapturedModel(own, SLOTS, OUTPUTS).rows == expected
    assert expected in (rows, 9)


def test_no_record_has_no_logits() -> None:
    model = CapturedModel(MODULES["layer norm"](), SLOTS, OUTPUTS)
    assert model.logits(torch.zeros(0, SLOTS)).shape == (0, OUTPUTS)
