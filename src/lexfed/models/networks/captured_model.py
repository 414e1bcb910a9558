# SPDX-License-Identifier: Apache-2.0
"""A user's model as two graphs of tensor operations, so that its Python meets no row.

A `forward` may do anything: mix the records of a batch, keep rows for the next call,
draw random numbers, look at the number of rows. So it is called before training, for
one record, with tensors that have a shape and no values, and the operations it asks for
are written down:

    logits    weights, record         ->  logits of the record
    gradient  weights, record, slope  ->  gradient of slope · logits

From then on only the graphs are run (`graph_rules.py` says which graphs are functions
of their arguments; others are refused).

`torch.func.vmap` carries a graph over to many records. By its definition it keeps them
apart; it does not promise their last bits, since a library may compute the edge of a
matrix otherwise than its middle. So every record brings weights of its own, which makes
its products matrices of their own, and records are computed a fixed number at a time,
filled up with zeros. Where the bits of made-up records still depend on their places, or
an operation looks up a place of a table, records are computed one at a time.

A place beyond the end, or a matrix that cannot be inverted, makes torch raise. Such a
record's numbers are `nan`, so it counts nothing and nobody learns of it.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch._C import _functorch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.attention import SDPBackend, sdpa_kernel

from lexfed.errors import ConfigError, Problem
from lexfed.models.networks.flat_parameters import plain_copy, trainable
from lexfed.models.networks.graph_rules import (
    looks_up,
    require_forward,
    require_function,
)

_ROWS = 64
# Gradients that are computed at once: at most 64 MB.
_NUMBERS = 2**23
_PROBES = 16

Tensors = tuple[Tensor, ...]


@dataclass(frozen=True)
class _Graphs:
    """A model for one record, in float64; `constants` are buffers and frozen weights.

    `logits` leads from weights, constants and record to a tensor [outputs], `gradient`
    from these and a slope to one tensor per weight.
    """

    logits: fx.GraphModule
    gradient: fx.GraphModule
    constants: Tensors

    def __deepcopy__(self, memo: dict[int, Any]) -> "_Graphs":
        """Return the graphs themselves: nothing changes them."""
        return self


class CapturedModel(nn.Module):
    """A model that runs graphs, `rows` records at once, with weights in their order.

    Guarantees:
        - Once captured, no code of the model is called again.
        - Logits and gradient of a record depend on that record and the weights alone,
          to the bit, wherever it stands and whoever stands beside it.
        - Nothing is remembered from call to call, and no argument is changed.
        - A record that cannot be computed is `nan`; it stops nobody else's.
    """

    rows: int

    def __init__(self, module: nn.Module, slots: int, outputs: int) -> None:
        """Capture a model, or refuse one that is no function of weights and record."""
        super().__init__()
        self.weights = _skeleton(module, {})
        self._names = tuple(trainable(self))
        self._graphs = _capture(module, slots, outputs)
        size = sum(value.numel() for value in trainable(self).values())
        self.rows = max(1, min(_ROWS, _NUMBERS // size))
        graphs = (self._graphs.logits, self._graphs.gradient)
        if any(map(looks_up, graphs)) or not self._treats_places_alike(slots, outputs):
            self.rows = 1

    def forward(self, rows: Tensor) -> Tensor:
        """Return the logits of records, for autograd and `torch.func`."""
        many = torch.func.vmap(self._graphs.logits.forward, in_dims=(None, None, 0))
        weights = tuple(weight.double() for weight in self._weights())
        (logits,) = many(weights, self._graphs.constants, rows.double())
        result: Tensor = logits.to(rows.dtype)
        return result

    @torch.no_grad()
    def logits(
        self, records: Tensor, weights: Mapping[str, Tensor] | None = None
    ) -> Tensor:
        """Return the logits of records, [records, outputs] in float64."""
        return self._run(self._graphs.logits, weights, records)[0]

    @torch.no_grad()
    def gradients(
        self,
        records: Tensor,
        slopes: Tensor,
        weights: Mapping[str, Tensor] | None = None,
    ) -> Tensor:
        """Return gradients of slopes · logits, [records, all weights] in float64."""
        parts = self._run(self._graphs.gradient, weights, records, slopes)
        return torch.cat([part.flatten(1) for part in parts], dim=1)

    def _weights(self) -> Tensors:
        # By name and not by `trainable`: `torch.func.functional_call` lends tensors
        # that are no parameters.
        weights = []
        for name in self._names:
            path, _, last = name.rpartition(".")
            weights.append(getattr(self.get_submodule(path), last))
        return tuple(weights)

    def _run(
        self,
        graph: fx.GraphModule,
        weights: Mapping[str, Tensor] | None,
        *fields: Tensor,
    ) -> Tensors:
        given = self._weights() if weights is None else weights.values()
        fixed = (tuple(weight.double() for weight in given), self._graphs.constants)
        pieces = [torch.split(field.double(), self.rows) for field in fields]
        runs = [
            self._run_piece(graph, fixed, piece) for piece in zip(*pieces, strict=True)
        ]
        return tuple(torch.cat(parts) for parts in zip(*runs, strict=True))

    def _run_piece(
        self, graph: fx.GraphModule, fixed: tuple[Tensors, Tensors], piece: Tensors
    ) -> Tensors:
        """Compute at most `rows` records; those that cannot be are `nan`."""
        try:
            return self._together(graph, fixed, piece)
        except (IndexError, RuntimeError):
            places = range(len(piece[0]))
            each = [self._by_itself(graph, fixed, piece, place) for place in places]
            return tuple(torch.cat(parts) for parts in zip(*each, strict=True))

    def _by_itself(
        self,
        graph: fx.GraphModule,
        fixed: tuple[Tensors, Tensors],
        piece: Tensors,
        place: int,
    ) -> Tensors:
        """Compute one record, in the company of itself: none other can raise."""
        one = [_spread(field[place], self.rows) for field in piece]
        try:
            parts = self._together(graph, fixed, tuple(one))
        except (IndexError, RuntimeError):
            (results,) = graph.graph.find_nodes(op="output")[0].args
            shapes = [result.meta["val"].shape for result in results]
            return tuple(piece[0].new_full((1, *shape), math.nan) for shape in shapes)
        return tuple(part[:1] for part in parts)

    def _together(
        self, graph: fx.GraphModule, fixed: tuple[Tensors, Tensors], piece: Tensors
    ) -> Tensors:
        records = len(piece[0])
        if self.rows == 1:
            # Memory of its own, which begins like everybody else's.
            one: Tensors = graph.forward(*fixed, *(field[0].clone() for field in piece))
            return tuple(part.unsqueeze(0) for part in one)
        own = (tuple(_spread(part, self.rows) for part in parts) for parts in fixed)
        filled = (_filled(field, self.rows) for field in piece)
        with _quiet():
            parts: Tensors = torch.func.vmap(graph.forward)(*own, *filled)
        return tuple(part[:records] for part in parts)

    def _treats_places_alike(self, slots: int, outputs: int) -> bool:
        """Return True if the bits of made-up records are the same in every place.

        Instructions that compute a place are chosen by shapes and place alone. If those
        of two places round one number of a probe in four otherwise, they are told apart
        with probability 1 - (7/8)^16 = 0.88 from that number alone: in every probe half
        of the places, drawn anew, hold the same record.
        """
        if self.rows == 1:
            return False
        generator = torch.Generator().manual_seed(slots)
        for _ in range(_PROBES):
            rows = torch.randn(self.rows, slots + outputs, generator=generator).double()
            places = torch.randperm(self.rows, generator=generator)[: self.rows // 2]
            rows[places] = rows[places[0]].clone()
            try:
                same = self._probe(rows, slots)[places]
            except (IndexError, RuntimeError):  # not carried over, or not computed
                return False
            if not bool(((same == same[0]) | (same.isnan() & same[0].isnan())).all()):
                return False
        return True

    def _probe(self, rows: Tensor, slots: int) -> Tensor:
        weights = tuple(weight.detach().double() for weight in self._weights())
        fixed = (weights, self._graphs.constants)
        pieces = (rows[:, :slots], rows[:, slots:])
        logits = self._together(self._graphs.logits, fixed, pieces[:1])
        gradients = self._together(self._graphs.gradient, fixed, pieces)
        return torch.cat([part.flatten(1) for part in (*logits, *gradients)], dim=1)


def _spread(value: Tensor, size: int) -> Tensor:
    return value.expand(size, *value.shape)


@contextmanager
def _quiet() -> Iterator[None]:
    """Let vmap loop over records where it knows nothing faster, without saying so."""
    say: Callable[[bool], None] = vars(_functorch)["_set_vmap_fallback_warning_enabled"]
    say(False)
    try:
        yield
    finally:
        say(True)


def _filled(rows: Tensor, size: int) -> Tensor:
    missing = size - len(rows)
    if not missing:
        return rows.contiguous()
    return torch.cat([rows, rows.new_zeros(missing, *rows.shape[1:])])


def _capture(module: nn.Module, slots: int, outputs: int) -> _Graphs:
    names = tuple(trainable(module))
    fixed = {
        name: value
        for name, value in [*module.named_parameters(), *module.named_buffers()]
        if name not in names
    }
    constants = tuple(_in_float64(value) for value in fixed.values())

    def logits(weights: Tensors, constants: Tensors, record: Tensor) -> Tensors:
        given = dict(zip((*names, *fixed), (*weights, *constants), strict=True))
        output = torch.func.functional_call(module, given, (record.unsqueeze(0),))
        if not isinstance(output, Tensor) or output.shape != (1, outputs):
            shape = list(output.shape) if isinstance(output, Tensor) else type(output)
            raise ValueError(f"one record gives {shape}, not [1, {outputs}]")
        return (output.squeeze(0).double(),)

    def gradient(
        weights: Tensors, constants: Tensors, record: Tensor, slope: Tensor
    ) -> Tensors:
        leaves = tuple(weight.detach().requires_grad_() for weight in weights)
        with torch.enable_grad():
            (output,) = logits(leaves, constants, record)
            return torch.autograd.grad(output, leaves, slope, materialize_grads=True)

    weights = tuple(_in_float64(value) for value in trainable(module).values())
    record = torch.zeros(slots, dtype=torch.float64)
    slope = torch.zeros(outputs, dtype=torch.float64)
    forward = _graph(logits, weights, constants, record)
    require_forward(forward)
    backward = _graph(gradient, weights, constants, record, slope)
    return _Graphs(forward, backward, constants)


def _graph(function: Any, *arguments: Any) -> fx.GraphModule:
    try:
        # Attention by plain products: the fused one has room for dropout, and counts
        # as random.
        with sdpa_kernel(SDPBackend.MATH):
            asked = make_fx(function, tracing_mode="fake", _allow_non_fake_inputs=True)(
                *arguments
            )
        # Once more without the model's code: writes become values of their own, and
        # those that reach an argument or a constant remain for all to see.
        pure = make_fx(
            torch.func.functionalize(asked, remove="mutations"),
            tracing_mode="fake",
            _allow_non_fake_inputs=True,
        )(*arguments)
    except Exception as error:  # a person's code, and torch's on it, may raise anything
        reason = str(error).strip().partition("\n")[0]
        what = f"its `forward` is not made of tensor operations alone: {reason}"
        raise ConfigError([Problem("model", what, _HINT)]) from error
    require_function(pure)
    return pure


_HINT = (
    "write `forward` as operations of torch on the given record: no branch on values, "
    "no `.item()` or numpy, nothing written to the input or kept for later"
)


def _skeleton(module: nn.Module, made: dict[int, Any]) -> nn.Module:
    """Return modules with the weights of a model and no code of it.

    Linear layers stay Linear layers: groups of columns look for them.
    """
    if id(module) in made:
        shared: nn.Module = made[id(module)]
        return shared
    bare = nn.Module()
    if type(module) is nn.Linear:
        bare = nn.Linear(module.in_features, module.out_features, device="meta")
    made[id(module)] = bare
    for name, value in module._parameters.items():
        if value is not None and id(value) not in made:
            made[id(value)] = nn.Parameter(_in_float64(value), value.requires_grad)
        bare.register_parameter(name, None if value is None else made[id(value)])
    for name, child in module._modules.items():
        if child is not None:
            bare.add_module(name, _skeleton(child, made))
    return bare


def _in_float64(value: Tensor) -> Tensor:
    """Copy a weight or constant; whole numbers stay whole."""
    return plain_copy(value.double() if value.is_floating_point() else value)
