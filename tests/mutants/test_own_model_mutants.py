# SPDX-License-Identifier: Apache-2.0
"""Ways to let a user's model mix people, each noticed by a check."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from lexfed.errors import ConfigError
from lexfed.models import towers
from lexfed.models.networks import (
    architectures,
    captured_model,
    graph_rules,
    known_layers,
)
from lexfed.models.networks.captured_model import CapturedModel
from support.federation import checks
from support.federation.worlds import world
from support.mutant import Mutant, Patch, both_tests
from support.run.adversarial_models import WholeBatch


class Beyond(nn.Module):
    """Looks up the sixth of three slots where a record begins above 7."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 1)

    def forward(self, rows: Tensor) -> Tensor:
        place = torch.where(rows[:, 0] > 7, 5, 0)
        found = nn.functional.embedding(place, rows[0].unsqueeze(1))
        logits: Tensor = self.linear(rows) + found
        return logits


class Counting(Beyond):
    """Sums as many slots as the first one says."""

    def forward(self, rows: Tensor) -> Tensor:
        lengths = rows[0, :1].long()
        found = torch.segment_reduce(rows[0], "sum", lengths=lengths, unsafe=True)
        logits: Tensor = self.linear(rows) + found
        return logits


class Deriving(Beyond):
    """Gives the derivative of a norm the mean of one row for those of three."""

    def forward(self, rows: Tensor) -> Tensor:
        column, first = rows.reshape(-1, 1), rows[:1, :1]
        given = (column, column, [1], first, first, None, None, [True, False, False])
        found = torch.ops.aten.native_layer_norm_backward(*given)[0]
        logits: Tensor = self.linear(rows) + found.sum()
        return logits


class Writing(nn.Module):
    """Adds every record to a buffer."""

    total: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 1)
        self.register_buffer("total", torch.zeros(3, dtype=torch.float64))

    def forward(self, rows: Tensor) -> Tensor:
        logits: Tensor = self.linear(rows + self.total.add_(rows.sum(0).detach()))
        return logits


def sensitive_to_own_models() -> None:
    _forget()
    try:
        model = "support.factories:flagged_maximum"
        of = world(sizes=(12, 9), model=model, rounds=1, paid_metrics=True)
        checks.check_sensitivity(of, persons=2)
    finally:
        _forget()


def _forget() -> None:
    """Build models anew: those of other tests are kept for the next tower."""
    architectures._without_code.cache_clear()
    towers._workspace.cache_clear()


def writing_models_are_refused() -> None:
    with pytest.raises(ConfigError, match="writes into its input"):
        CapturedModel(Writing(), 3, 1)


def patched_layers_are_not_run() -> None:
    chain = nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 1))
    chain[1].forward = lambda rows: rows - rows.max(0).values
    again = known_layers.rebuilt_chain(chain)
    assert again is None or not any("forward" in vars(x) for x in again.modules())


def layers_are_as_wide_as_they_say() -> None:
    layer = nn.Linear(6, 1)
    layer.in_features = 3
    assert known_layers.rebuilt_chain(layer) is None


def mixing_models_are_refused() -> None:
    with pytest.raises(ConfigError, match="each of them gives alone"):
        architectures.build("support.factories:mean_over", 3, 1, seed=0)


def places_that_are_not_there_are_nobodys() -> None:
    model = CapturedModel(Beyond(), 3, 1)
    rows = torch.ones(3, 3, dtype=torch.float64)
    rows[1, 0] = 8.0
    logits = model.logits(rows)
    assert logits[1].isnan().all()
    assert torch.isfinite(logits[[0, 2]]).all()


def places_are_compared() -> None:
    with pytest.raises(ConfigError, match="may take them for places"):
        CapturedModel(Counting(), 3, 1)


def derivatives_are_left_to_autograd() -> None:
    with pytest.raises(ConfigError, match="calls a derivative"):
        CapturedModel(Deriving(), 3, 1)


def places_do_not_matter() -> None:
    own = nn.Sequential(nn.Linear(5, 17), nn.LayerNorm(17), nn.Linear(17, 2)).double()
    with pytest.MonkeyPatch.context() as patch:
        _another_bit_in_one_place(patch)
        model = CapturedModel(own, 5, 2)
        row = torch.ones(1, 5, dtype=torch.float64)
        found = model.logits(row.expand(9, -1))
    assert torch.equal(found, found[:1].expand(9, -1))


def _another_bit_in_one_place(patch: Patch) -> None:
    real = torch.func.vmap

    def vmap(function: Any) -> Any:
        def faulty(*fields: Any) -> Any:
            parts = real(function)(*fields)
            parts[0][3] = torch.nextafter(parts[0][3], parts[0][3] + 1)
            return parts

        return faulty

    patch.setattr(torch.func, "vmap", vmap)


def _run_as_they_come(patch: Patch) -> None:
    patch.setattr(architectures, "CapturedModel", WholeBatch)
    patch.setattr(architectures, "_agree", lambda *_: True)


def _graphs_unchecked(patch: Patch) -> None:
    patch.setattr(captured_model, "require_function", lambda graph: graph)


def _methods_unchecked(patch: Patch) -> None:
    patch.setattr(known_layers, "_has_settings_only", lambda layer: layer is not None)
    patch.setattr(known_layers, "_made_again", lambda layer: layer)


def _widths_unchecked(patch: Patch) -> None:
    patch.setattr(known_layers, "_weighs", lambda *_: True)


def _never_compared(patch: Patch) -> None:
    patch.setattr(architectures, "_agree", lambda *_: True)


def _looked_up_together(patch: Patch) -> None:
    patch.setattr(captured_model, "looks_up", lambda _: False)


def _raised(patch: Patch) -> None:
    patch.setattr(CapturedModel, "_run_piece", CapturedModel._together)


def _derivatives_called(patch: Patch) -> None:
    patch.setattr(captured_model, "require_forward", lambda graph: graph)


def _places_taken(patch: Patch) -> None:
    patch.setattr(graph_rules, "_compares_places", lambda *_: True)


def _places_unchecked(patch: Patch) -> None:
    patch.setattr(CapturedModel, "_treats_places_alike", lambda *_: True)


MUTANTS = [
    Mutant("code run on all rows", _run_as_they_come, sensitive_to_own_models),
    Mutant("graphs that write", _graphs_unchecked, writing_models_are_refused),
    Mutant("layers as they came", _methods_unchecked, patched_layers_are_not_run),
    Mutant("widths", _widths_unchecked, layers_are_as_wide_as_they_say),
    Mutant("alone and together", _never_compared, mixing_models_are_refused),
    Mutant("one table", _looked_up_together, places_that_are_not_there_are_nobodys),
    Mutant(
        "a record that stops",
        _raised,
        places_that_are_not_there_are_nobodys,
        raises=IndexError,
    ),
    Mutant("places not compared", _places_taken, places_are_compared),
    Mutant("derivatives", _derivatives_called, derivatives_are_left_to_autograd),
    Mutant("places unchecked", _places_unchecked, places_do_not_matter),
]

test_the_real_code_passes, test_a_mutant_is_caught = both_tests(MUTANTS)
