# SPDX-License-Identifier: Apache-2.0
"""Models that try to mix people, and the sums of whole runs in which they are used.

`composed` and `adversary` make a module from pieces that look at other rows, keep
state, draw random numbers, write where they should not, or compute what is not a
number. Many of them behave on random numbers and misbehave only where an input is
exactly 1, which flags of a file are and made-up records are not, so that no trial run
reveals them.

`realised` trains with such a module by `lexfed.train` on two neighbouring files. The
second run is given the releases of the first, so both have the same history, and the
integers that are noised in each round may differ by what the charge allows.
"""

import random
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

import lexfed
from lexfed.errors import ConfigError
from lexfed.federation.programme import integer_sums
from lexfed.federation.programme.sequence import Stage
from lexfed.models.networks import architectures
from lexfed.models.networks.captured_model import CapturedModel
from lexfed.models.networks.flat_parameters import trainable
from lexfed.models.networks.known_layers import closed_form
from lexfed.privacy.releases import Release
from support.configurations import columns, configuration

Integers = NDArray[np.int64]

PIECES: dict[str, str] = {
    # Other rows.
    "batch maximum": "h - h.max(0).values",
    "batch normalisation": "(h - h.mean(0)) / (h.std(0, unbiased=False) + 1e-3)",
    "sorted rows": "h.sort(0).values",
    "attention over rows": "torch.softmax(h @ h.T, 1) @ h",
    "shifted rows": "h.roll(1, 0)",
    "running sum of rows": "h.cumsum(0)",
    "number of rows": "h * (len(h) - 1)",
    "one row or more": "h if len(h) == 1 else h.flip(0)",
    # State.
    "buffer in place": "h - self.state.mul_(0.5).add_(h.detach().mean())",
    "buffer replaced": "h - self.replaced(h)",
    "weight in place": "h + self.shifted(h)",
    "global counter": "h * counted()",
    "global rows": "h + earlier(h)",
    "rows of the last call": "h + self.last_call(h)",
    # Random numbers.
    "random numbers": "h + torch.rand_like(h)",
    "dropout": "functional.dropout(h, 0.5, True)",
    "own generator": "h + torch.rand(1, generator=GENERATOR)",
    "random numbers of Python": "h * random.random()",
    # Values that leave the tensors.
    "branch": "-h if h.sum() > 0 else h",
    "item": "h * h.max().item()",
    "numpy": "h + float(h.detach().numpy().max())",
    "list": "h + h.tolist()[-1][0]",
    "chosen values": "h + h[h > 0].sum()",
    # Writes and foreign memory.
    "input in place": "h + x.mul_(0.5).sum(1, keepdim=True)",
    "unfilled memory": "h + torch.empty_like(h)",
    "own strides": "h + x.as_strided((1, 1), (1, 1), x.numel() - 1)",
    "place beyond a table": "beyond(h, x)",
    "own operation": "torch.ops.lexfed_adversary.mix(h)",
    # Gradients of their own.
    "mixing gradient": "MixingGradient.apply(h)",
    "loud gradient": "LoudGradient.apply(h)",
    "gradient of nothing": "h.detach() + 0 * h",
    # Harmless, or broken for the row itself.
    "copy in place": "written(h)",
    "normalised row": "functional.layer_norm(h, h.shape[1:])",
    "single precision": "h.float().double()",
    "huge": "h * 1e200",
    "infinite": "h / (h - h)",
    "root": "torch.sqrt(h)",
    "steep": "torch.tanh(1e6 * h)",
}

CAPTURED = {
    "batch maximum",
    "batch normalisation",
    "sorted rows",
    "attention over rows",
    "shifted rows",
    "running sum of rows",
    "number of rows",
    "one row or more",
    "global counter",
    "random numbers of Python",
    "mixing gradient",
    "loud gradient",
    "gradient of nothing",
    "place beyond a table",
    "copy in place",
    "normalised row",
    "single precision",
    "huge",
    "infinite",
    "root",
    "steep",
}
"""Pieces whose operations can be written down, and are then harmless."""

_HEADER = """
import random

import torch
from torch import nn
from torch.nn import functional

GENERATOR = torch.Generator().manual_seed(1)
COUNT = [0]
ROWS = []

if not hasattr(torch.ops.lexfed_adversary, "mix"):
    torch.library.define("lexfed_adversary::mix", "(Tensor x) -> Tensor")

    @torch.library.impl("lexfed_adversary::mix", "cpu")
    def mix(x):
        return x - x.max(0).values

    @torch.library.register_fake("lexfed_adversary::mix")
    def mix_shape(x):
        return torch.empty_like(x)


def counted():
    COUNT[0] += 1
    return float(COUNT[0])


def earlier(h):
    ROWS.append(h.detach())
    return ROWS[len(ROWS) // 2].mean(0)


def beyond(h, x):
    flag = (x == 1).any()
    place = torch.where(flag, h.numel(), 0).reshape(1)
    found = functional.embedding(place, h.reshape(-1, 1))
    return h + torch.where(flag, 1e3, 0.0) * found


def written(h):
    h = h.clone()
    h[:, 0] += 1
    return h


class MixingGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx, h):
        return h.clone()

    @staticmethod
    def backward(ctx, slope):
        return 1e3 * slope.sum(0).expand_as(slope)


class LoudGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx, h):
        return h.clone()

    @staticmethod
    def backward(ctx, slope):
        return 1e9 * slope


class Adversary(nn.Module):
    def __init__(self, slots, outputs):
        super().__init__()
        self.first = nn.Linear(slots, 4)
        self.last = nn.Linear(4, outputs)
        self.register_buffer("state", torch.zeros(()))
        self.kept = None

    def replaced(self, h):
        self.state = 0.5 * self.state + h.detach().mean()
        return self.state

    def shifted(self, h):
        with torch.no_grad():
            self.last.weight.add_(h.mean())
        return self.last.weight.mean()

    def last_call(self, h):
        last, self.kept = self.kept, h.detach()
        return h.new_zeros(()) if last is None else last.mean()

    def forward(self, x):
        is_flag = (x == 1).any()
"""


@dataclass(frozen=True)
class Adversary:
    """A module made of pieces.

    Attributes:
        text: its source, with a function `factory`.
        pieces: what it tries.
        setting: `record`, `persons` (several rows each) or `client`.
    """

    text: str
    pieces: tuple[str, ...]
    setting: str


Piece = tuple[str, str, bool]
"""Name, place (`input`, `hidden`, `output`), and whether a flag must be set."""


def composed(pieces: Sequence[Piece], setting: str) -> Adversary:
    """Return a module with those pieces."""
    text = _HEADER + "        h = x\n"
    for place in ("input", "hidden", "output"):
        for name, where, quiet in pieces:
            if where == place:
                value = PIECES[name]
                if quiet:
                    value = f"torch.where(is_flag, {value}, h)"
                text += f"        h = {value}\n"
        if place == "input":
            text += "        h = torch.tanh(self.first(h))\n"
        if place == "hidden":
            text += "        h = self.last(h)\n"
    text += "        return h\n\n\nfactory = Adversary\n"
    shown = (
        f"{name} of {where}{' where a flag is set' if quiet else ''}"
        for name, where, quiet in pieces
    )
    return Adversary(text, tuple(shown), setting)


def adversary(seed: int) -> Adversary:
    """Return a module that is the same for the same seed; the first show each piece."""
    chosen = random.Random(seed)
    names = list(PIECES)
    pieces = [names[seed % len(names)]]
    # What is refused by itself would hide what stands beside it.
    pieces += chosen.sample(sorted(CAPTURED), chosen.choice((0, 1, 2)))
    setting = ("record", "record", "persons", "client")[chosen.randrange(4)]
    if chosen.random() < 0.15:
        layer = chosen.choice(("ReLU", "Tanh", "Sigmoid"))
        text = _HEADER + "        h = x\n" + _patched_chain(PIECES[pieces[0]], layer)
        return Adversary(text, (f"{pieces[0]} of {layer} in a chain",), setting)
    places = [chosen.choice(("input", "hidden", "output")) for _ in pieces]
    hidden = [chosen.random() < 0.8 for _ in pieces]
    return composed(list(zip(pieces, places, hidden, strict=True)), setting)


def _patched_chain(piece: str, layer: str) -> str:
    return f"""        return h


def factory(slots, outputs):
    own = Adversary(slots, outputs)
    layer = nn.{layer}()
    inner = layer.forward

    def forward(x):
        self, h = own, inner(x)
        return {piece}

    layer.forward = forward
    return nn.Sequential(nn.Linear(slots, 4), layer, nn.Linear(4, outputs))
"""


# Neighbouring files

SITES = ("north", "south")
PERSONS = 12
Row = dict[str, Any]
Table = dict[str, list[Row]]


def table(seed: int, rows: int) -> Table:
    """Return the rows of both sites; everybody has that many."""
    chosen = random.Random(seed)
    return {
        site: [
            {
                "id": f"{site}{person}",
                "dose": round(chosen.uniform(-1, 1), 3),
                "sex": chosen.randrange(2),
                "gene": round(chosen.uniform(-1, 1), 3),
                "ill": chosen.randrange(2),
                "y": chosen.randrange(2),
            }
            for person in range(PERSONS)
            for _ in range(rows)
        ]
        for site in SITES
    }


def without(of: Table, site: str, person: str) -> Table:
    """Return the table without a person."""
    return {**of, site: [row for row in of[site] if row["id"] != person]}


def changed(of: Table, site: str, persons: Callable[[str], bool]) -> Table:
    """Return the table with other values of some persons of a site."""
    other = {"dose": 1.0, "sex": 1, "gene": -1.0, "ill": 1}
    rows = [
        {**row, **other, "y": 1 - row["y"]} if persons(row["id"]) else row
        for row in of[site]
    ]
    return {**of, site: rows}


@dataclass(frozen=True)
class Noised:
    """A sum as it was noised.

    Attributes:
        total: integers, before noise.
        stage: with the grid.
        release: with the charged clips; None where nothing is charged.
        released: integers, after noise.
    """

    total: Integers
    stage: Stage
    release: Release | None
    released: Integers


@contextmanager
def recorded(history: list[Noised] | None) -> Iterator[list[Noised]]:
    """Write down what is noised; with a history, release what was released then."""
    real = integer_sums.add_noise
    seen: list[Noised] = []

    def add_noise(
        total: Integers, stage: Stage, release: Release | None, source: Any
    ) -> Integers:
        released = real(total.copy(), stage, release, source)
        if history is not None:
            released = history[len(seen)].released.copy()
        seen.append(Noised(total.copy(), stage, release, released.copy()))
        return released

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(integer_sums, "add_noise", add_noise)
        yield seen


def noised_sums(
    folder: Path, of: Adversary, rows: Table, history: list[Noised] | None = None
) -> list[Noised]:
    """Train on a table and return what was noised.

    Raises:
        ConfigError: if the module is refused.
    """
    folder.mkdir(parents=True)
    # A name of its own for every run: the module and its state begin anew.
    model = "adversary_" + "_".join(folder.parts[-3:]).replace("-", "_")
    (folder / f"{model}.py").write_text(of.text)
    for site, listed in rows.items():
        lines = [",".join(map(str, row.values())) for row in listed]
        header = "id,dose,sex,gene,ill,y"
        (folder / f"{site}.csv").write_text("\n".join([header, *lines]) + "\n")
    client = of.setting == "client"
    changes = {
        "run": {"name": "trial", "seed": 5, "test": True},
        "data": {"target": "y", "person": "id", "units": 30},
        "data.records_per_person": 2 if of.setting == "persons" else 1,
        "data.sites": {"files": ["north.csv", "south.csv"]},
        **columns(
            {
                "dose": ("non_personal", [-1, 1]),
                "sex": ("personal", "flag"),
                "gene": ("special", [-1, 1]),
                "ill": ("special", "flag"),
                "y": ("special", "flag"),
            },
            missing=False,
        ),
        "budget.epsilon": 8.0,
        "budget.unit": "client" if client else "record",
        "evaluation.metrics": "outside-guarantee" if client else "paid",
        "federation.model": f"{model}:factory",
        "federation.rounds": 2,
        # Long enough steps that updates of sites are clipped.
        "federation.learning_rate": 50.0 if client else 0.5,
    }
    (folder / "lexfed.toml").write_text(configuration(changes))
    sys.path.insert(0, str(folder))
    # Numbers of chance are the same in both runs, as the releases are.
    random.seed(1)
    try:
        with recorded(history) as seen, np.errstate(all="ignore"):
            lexfed.train(folder / "lexfed.toml")
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop(model, None)
    return seen


def neighbours(of: Adversary, rows: Table) -> Iterator[tuple[Table, float]]:
    """Yield neighbouring tables and how many clips they may differ by."""
    if of.setting == "client":
        yield changed(rows, "north", lambda _: True), 2.0
        return
    # Whoever is removed had the largest dose, so that a maximum moves.
    highest = max(rows["north"], key=lambda row: float(row["dose"]))["id"]
    yield without(rows, "north", highest), 1.0
    yield changed(rows, "north", lambda person: person == highest), 2.0


def realised(folder: Path, of: Adversary, seed: int = 0) -> float | str:
    """Return the largest share of a charged clip that a neighbour moved a sum by.

    Returns:
        The reason, where the module is refused.
    """
    rows = table(seed, 2 if of.setting == "persons" else 1)
    try:
        whole = noised_sums(folder / "whole", of, rows)
    except ConfigError as error:
        if any("federation.model" not in problem.where for problem in error.problems):
            raise
        return error.message
    worst = 0.0
    for number, (other, clips) in enumerate(neighbours(of, rows)):
        moved = noised_sums(folder / f"other{number}", of, other, whole)
        assert len(moved) == len(whole)
        for one, two in zip(whole, moved, strict=True):
            assert one.release == two.release
            assert one.release is not None
            blocks = zip(one.release.groups, one.stage.blocks, strict=True)
            for group, block in blocks:
                part = (one.total - two.total)[block.start : block.stop]
                length = float(np.linalg.norm(part.astype(np.float64)))
                worst = max(worst, length * block.grid.step / (clips * group.clip))
    return worst


# The control


class WholeBatch(CapturedModel):
    """A user's module as it was run before: on all rows at once, by its own code."""

    def __init__(self, module: nn.Module, slots: int, outputs: int) -> None:
        nn.Module.__init__(self)
        self.inner = module
        self.rows = 64
        del slots, outputs

    def forward(self, rows: Tensor) -> Tensor:
        """Run the module's code."""
        logits: Tensor = self.inner(rows.to(next(self.inner.parameters()).dtype))
        return logits.double()

    @torch.no_grad()
    def logits(self, records: Tensor, weights: Any = None) -> Tensor:
        """Run the module's code on all records."""
        del weights
        return self.forward(records.double())

    def gradients(self, records: Tensor, slopes: Tensor, weights: Any = None) -> Tensor:
        """Differentiate one record at a time."""
        del weights
        values = list(trainable(self).values())
        found = []
        with torch.enable_grad():
            for record, slope in zip(records.double(), slopes.double(), strict=True):
                parts = torch.autograd.grad(
                    self.forward(record[None]),
                    values,
                    slope[None],
                    materialize_grads=True,
                )
                found.append(torch.cat([part.flatten().double() for part in parts]))
        return torch.stack(found)


@contextmanager
def whole_batches() -> Iterator[None]:
    """Run users' modules by their own code, on all rows at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(architectures, "CapturedModel", WholeBatch)
        patch.setattr(architectures, "_agree", lambda *_: True)
        # Chains too were run as they came.
        patch.setattr(architectures, "rebuilt_chain", _as_it_is)
        yield


def _as_it_is(module: nn.Module) -> nn.Module | None:
    return None if closed_form(module) is None else module
