# SPDX-License-Identifier: Apache-2.0
"""Models by name: `logistic`, `additive`, `mlp:256,128,64`, `module:factory`, ...

Every model maps [rows, slots] to [rows, outputs]. The built-in ones start as the zero
function, so that a tower starts by changing nothing about the towers below it. A
factory is called as `factory(slots, outputs)`; a module that cannot be private or
repeatable is refused here, with a reason. It is called on made-up records and made
again without its code: as a chain of our own layers, or as graphs
(`captured_model.py`).
"""

import copy
import importlib
import itertools
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd
from torch.nn.modules.instancenorm import _InstanceNorm

from lexfed.errors import ConfigError, Problem
from lexfed.models.networks.captured_model import CapturedModel
from lexfed.models.networks.known_layers import rebuilt_chain
from lexfed.models.networks.specifications import (
    CHANNELS,
    KERNEL,
    LINEAR,
    is_imported,
)


def build(
    spec: str, slots: int, outputs: int, seed: int, *, bias: bool = True
) -> nn.Module:
    """Build a model by its name in the configuration; equal seeds give equal weights.

    `bias` tells whether the built-in models' last layer has one.

    Guarantees:
        - The global random generator is left as it was found.
        - The model holds no batch statistics, running or not.
        - No code of a factory or of its model runs in the model that is returned.
    """
    if slots < 1 or outputs < 1:
        what = f"expected at least one slot and one output, got: {slots} and {outputs}"
        raise ConfigError([Problem("model", what)])
    with _lent_generator(seed):
        return _construct(spec, slots, outputs, seed, bias)


Factory = Callable[[int, int], object]
"""A user's function of the numbers of inputs and outputs, which returns a module."""


def build_own(
    factory: Factory, where: str, slots: int, outputs: int, seed: int = 0
) -> nn.Module:
    """Build the model of a factory as `build` does; `where` stands for it in messages.

    Raises:
        ConfigError: with every reason why it cannot be trained privately.
    """
    with _lent_generator(seed):
        return _made_again(factory, where, slots, outputs, seed)


@contextmanager
def _lent_generator(seed: int) -> Iterator[None]:
    """Lend the global generator a seed, since factories draw from it."""
    state = torch.get_rng_state()
    try:
        torch.default_generator.manual_seed(seed)
        yield
    finally:
        torch.set_rng_state(state)


def refuse(module: nn.Module) -> None:
    """Raise when the module cannot be trained privately, listing every reason."""
    problems = [
        Problem(f"model: layer `{name}` ({type(layer).__name__})", *reason)
        for name, layer in module.named_modules()
        if (reason := _objection(layer)) is not None
    ]
    if not any(value.requires_grad for value in module.parameters()):
        problems.append(Problem("model", "it has no parameter to train"))
    if problems:
        raise ConfigError(problems)


def _objection(layer: nn.Module) -> tuple[str, str] | None:
    if isinstance(layer, _BatchNorm) or (
        isinstance(layer, _InstanceNorm) and layer.track_running_stats
    ):
        return (
            "it mixes the records of a batch (or keeps their statistics), so one "
            "person's gradient depends on the others and clipping it bounds nothing",
            "use GroupNorm or LayerNorm, which look at one record at a time",
        )
    if isinstance(layer, _DropoutNd) and layer.p > 0:
        return (
            "it draws from the global random generator, so a run cannot be repeated",
            "remove it; the noise of private training regularises already",
        )
    return None


def _construct(spec: str, slots: int, outputs: int, seed: int, bias: bool) -> nn.Module:
    if spec in LINEAR:
        return _zeroed(nn.Linear(slots, outputs, bias=bias))
    if spec == "cnn":
        return _cnn(slots, outputs, bias)
    if match := re.fullmatch(r"mlp:([1-9]\d*(?:,[1-9]\d*)*)", spec):
        widths = [slots, *map(int, match[1].split(","))]
        layers: list[nn.Module] = []
        for fan_in, fan_out in itertools.pairwise(widths):
            layers += [nn.Linear(fan_in, fan_out), nn.ReLU()]
        last = _zeroed(nn.Linear(widths[-1], outputs, bias=bias))
        return nn.Sequential(*layers, last)
    if is_imported(spec):
        return _import(spec, slots, outputs, seed)
    what = f"`{spec}` is not a model"
    hint = (
        "use `logistic`, `linear`, `additive`, `mlp:256,128,64`, `cnn` or "
        "`module:factory`"
    )
    raise ConfigError([Problem("`federation.model`", what, hint)])


def _cnn(slots: int, outputs: int, bias: bool) -> nn.Module:
    # Two convolutions over the slots, each followed by halving; `ceil_mode` lets the
    # same model serve a tower with a single slot.
    halved = -(-slots // 2)
    quartered = -(-halved // 2)
    return nn.Sequential(
        nn.Unflatten(1, (1, slots)),
        nn.Conv1d(1, CHANNELS[0], KERNEL, padding=KERNEL // 2),
        nn.ReLU(),
        nn.MaxPool1d(2, ceil_mode=True),
        nn.Conv1d(CHANNELS[0], CHANNELS[1], KERNEL, padding=KERNEL // 2),
        nn.ReLU(),
        nn.MaxPool1d(2, ceil_mode=True),
        nn.Flatten(),
        _zeroed(nn.Linear(CHANNELS[1] * quartered, outputs, bias=bias)),
    )


def _zeroed(layer: nn.Linear) -> nn.Linear:
    for parameter in layer.parameters():
        nn.init.zeros_(parameter)
    return layer


def _import(spec: str, slots: int, outputs: int, seed: int) -> nn.Module:
    path, _, name = spec.partition(":")
    where = f"`federation.model` = `{spec}`"
    try:
        factory = getattr(importlib.import_module(path), name)
    except Exception as error:  # importing a person's code may raise anything
        hint = "the module must be importable from where lexfed runs"
        raise ConfigError([Problem(where, f"cannot import: {error}", hint)]) from error
    return _made_again(factory, where, slots, outputs, seed)


def _made_again(
    factory: Factory, where: str, slots: int, outputs: int, seed: int
) -> nn.Module:
    try:
        # Towers are built in every round of a run, and capturing takes seconds.
        return copy.deepcopy(_without_code(factory, slots, outputs, seed))
    except ConfigError as error:
        named = [problem.where.replace("model", where, 1) for problem in error.problems]
        pairs = zip(error.problems, named, strict=True)
        raise ConfigError([replace(p, where=name) for p, name in pairs]) from error
    except Exception as error:  # and so may running it
        what = f"failed on {slots} slots and {outputs} outputs: {error}"
        raise ConfigError([Problem(where, what)]) from error


@lru_cache(maxsize=32)
def _without_code(factory: Factory, slots: int, outputs: int, seed: int) -> nn.Module:
    """Return a factory's model, made again; the seed is the generator's."""
    module = factory(slots, outputs)
    if not isinstance(module, nn.Module):
        kind = type(module).__name__
        what = f"the factory returned {kind}, not a torch.nn.Module"
        raise ConfigError([Problem("model", what)])
    with torch.no_grad():
        shape = tuple(module(torch.zeros(2, slots)).shape)
    if shape != (2, outputs):
        what = f"the model maps [2, {slots}] to {list(shape)}, not [2, {outputs}]"
        raise ConfigError([Problem("model", what)])
    refuse(module)
    module.double()
    generator = torch.Generator().manual_seed(seed)
    records = torch.randn(_MADE_UP, slots, generator=generator, dtype=torch.float64)
    with torch.no_grad():
        state = {name: value.clone() for name, value in module.state_dict().items()}
        wanted = module(records.clone()).double()
        changed = [
            name
            for name, value in module.state_dict().items()
            if not torch.equal(value, state[name])
        ]
    if changed:
        what = f"calling it changes its state (`{changed[0]}`)"
        raise ConfigError([Problem("model", what, _ONE_RECORD)])
    again = rebuilt_chain(module)
    if again is not None and _agree(again(records), wanted):
        return again
    captured = CapturedModel(module, slots, outputs)
    if not _agree(captured.logits(records), wanted):
        what = (
            f"{_MADE_UP} records together do not give what each of them gives alone: "
            "it mixes records, counts them, or changes from call to call"
        )
        raise ConfigError([Problem("model", what, _ONE_RECORD)])
    return captured


_MADE_UP = 5
_ONE_RECORD = "make its output for a record a function of that record and its weights"


def _agree(computed: Tensor, wanted: Tensor) -> bool:
    """Return True if logits are the same but for the rounding of single precision."""
    largest = float(torch.nan_to_num(wanted).abs().max())
    return torch.allclose(
        computed, wanted, rtol=1e-4, atol=1e-4 * max(largest, 1.0), equal_nan=True
    )
