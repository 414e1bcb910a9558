# SPDX-License-Identifier: Apache-2.0
import importlib
from pathlib import Path

import pytest
import torch
from torch import nn

from lexfed.errors import ConfigError
from lexfed.models.gradients.batch import Batch
from lexfed.models.gradients.clipped_sum import clipped_sum
from lexfed.models.losses import LOGISTIC
from lexfed.models.networks.architectures import build, refuse
from lexfed.models.networks.captured_model import CapturedModel
from lexfed.models.networks.flat_parameters import flatten
from lexfed.models.networks.known_layers import fallback_reason, rebuilt_chain

BUILT_IN = ["logistic", "linear", "mlp:7", "mlp:12,5", "cnn"]


@pytest.mark.parametrize("spec", BUILT_IN)
@pytest.mark.parametrize("slots", [1, 2, 3, 9])
@pytest.mark.parametrize("outputs", [1, 4])
def test_built_in_models_start_as_zero(spec: str, slots: int, outputs: int) -> None:
    module = build(spec, slots, outputs, seed=0)
    assert torch.equal(module(torch.randn(5, slots)), torch.zeros(5, outputs))


@pytest.mark.parametrize("spec", ["mlp:12,5", "cnn", "torch.nn:Linear"])
def test_seed_decides_and_the_global_generator_is_left_alone(spec: str) -> None:
    state = torch.get_rng_state()
    first, again, other = (flatten(build(spec, 9, 2, seed=s)) for s in (5, 5, 6))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(torch.get_rng_state(), state)


def test_generator_is_given_back_after_an_error(factories: str) -> None:
    state = torch.get_rng_state()
    with pytest.raises(ConfigError):
        build(f"{factories}:wrong_shape", 3, 1, seed=0)
    assert torch.equal(torch.get_rng_state(), state)


def test_mlp_has_the_widths_asked_for() -> None:
    layers = build("mlp:256,128,64", 100, 1, seed=0).modules()
    widths = [x.out_features for x in layers if isinstance(x, nn.Linear)]
    assert widths == [256, 128, 64, 1]


@pytest.mark.parametrize("spec", ["logistic", "mlp:4"])
def test_bias_of_the_last_layer_is_optional(spec: str) -> None:
    with_bias = flatten(build(spec, 3, 2, seed=0))
    without = flatten(build(spec, 3, 2, seed=0, bias=False))
    assert len(with_bias) == len(without) + 2


@pytest.mark.parametrize(
    ("factory", "reason"),
    [
        ("batch_norm", "one person's gradient depends on the others"),
        ("instance_norm", "keeps their statistics"),
        ("dropout", "a run cannot be repeated"),
        ("frozen", "no parameter to train"),
        ("text", "returned str, not a torch.nn.Module"),
        ("wrong_shape", r"maps \[2, 4\] to \[2, 2\], not \[2, 1\]"),
        ("missing", "cannot import"),
        ("MeanOver", "5 records together do not give what each of them gives alone"),
        ("Remembers", "calling it changes its state"),
        ("patched_chain", "5 records together do not give what each of them gives"),
    ],
)
def test_unfit_factories_are_refused(factories: str, factory: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        build(f"{factories}:{factory}", 4, 1, seed=0)


def test_every_reason_is_listed_with_its_layer() -> None:
    module = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Dropout())
    with pytest.raises(ConfigError) as caught:
        refuse(module)
    assert "layer `1` (BatchNorm1d)" in str(caught.value)
    assert "layer `2` (Dropout)" in str(caught.value)
    assert "GroupNorm" in caught.value.hint


def test_normalisation_of_single_records_is_allowed(factories: str) -> None:
    refuse(nn.Sequential(nn.Linear(4, 4), nn.GroupNorm(2, 4), nn.Dropout(0.0)))
    built = build(f"{factories}:layer_norm", 4, 1, seed=0)
    assert sum(value.numel() for value in built.parameters()) > 0


def test_a_reason_names_the_model_and_its_layer(factories: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build(f"{factories}:batch_norm", 4, 1, seed=0)
    named = f"`federation.model` = `{factories}:batch_norm`: layer `1` (BatchNorm1d)"
    assert named in str(caught.value)


def test_code_of_a_factory_runs_before_anything_is_built_from_it(
    factories: str,
) -> None:
    spec = f"{factories}:Counted"
    module = build(spec, 4, 1, seed=0)
    calls: list[str] = importlib.import_module(factories).CALLS
    seen = len(calls)
    assert isinstance(module, CapturedModel)
    again = build(spec, 4, 1, seed=0)
    assert again is not module
    assert torch.equal(flatten(again), flatten(module))
    rows = torch.randn(3, 4)
    assert torch.equal(again(rows), module(rows))
    batch = Batch(
        torch.randn(3, 1, 4), torch.ones(3, 1), torch.zeros(3, 1, 1), torch.ones(3, 1)
    )
    clipped_sum(module, LOGISTIC, batch, (1.0,))
    assert len(calls) == seen
    with torch.no_grad():
        next(again.parameters()).zero_()
    assert not torch.equal(flatten(again), flatten(module))
    assert not torch.equal(flatten(build(spec, 4, 1, seed=1)), flatten(module))
    assert len(calls) > seen


@pytest.mark.parametrize("factory", ["every_layer", "in_place"])
def test_a_chain_is_made_again_from_layers_of_our_own(
    factories: str, factory: str
) -> None:
    torch.manual_seed(4)
    own = getattr(importlib.import_module(factories), factory)(9, 2)
    chain = rebuilt_chain(own)
    assert chain is not None
    assert fallback_reason(chain) is None
    assert [type(x) for x in chain.modules()] == [type(x) for x in own.modules()]
    assert not {id(x) for x in chain.modules()} & {id(x) for x in own.modules()}
    assert torch.equal(flatten(chain), flatten(own))
    rows = torch.randn(5, 9)
    before = rows.clone()
    assert torch.equal(chain(rows), own(rows.clone()))
    assert torch.equal(rows, before)
    assert not isinstance(build(f"{factories}:{factory}", 9, 2, seed=0), CapturedModel)


@pytest.mark.parametrize("factory", ["patched_outside", "hooked_chain"])
def test_a_chain_with_code_of_its_own_is_captured(factories: str, factory: str) -> None:
    module = build(f"{factories}:{factory}", 4, 1, seed=0)
    assert isinstance(module, CapturedModel)
    torch.manual_seed(0)
    own = getattr(importlib.import_module(factories), factory)(4, 1)
    rows = torch.randn(3, 4)
    torch.testing.assert_close(module(rows), own(rows))


@pytest.mark.parametrize(
    "spec", ["", "forest", "mlp", "mlp:", "mlp:0", "mlp:8,", "mlp:-3", "a b:c"]
)
def test_unknown_names_are_refused_with_the_choices(spec: str) -> None:
    with pytest.raises(ConfigError, match="is not a model") as caught:
        build(spec, 3, 1, seed=0)
    assert "mlp:256,128,64" in caught.value.hint


def test_module_that_does_not_exist_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match="cannot import"):
        build("no_such_module_here:factory", 3, 1, seed=0)


@pytest.mark.parametrize(("slots", "outputs"), [(0, 1), (3, 0)])
def test_empty_models_are_refused(slots: int, outputs: int) -> None:
    with pytest.raises(ConfigError, match="at least one slot"):
        build("logistic", slots, outputs, seed=0)


@pytest.mark.parametrize("name", ["broken", "wrong_width"])
def test_a_factory_that_fails_is_a_configuration_problem(
    factories: str, name: str
) -> None:
    with pytest.raises(ConfigError, match="failed on 4 slots and 1 outputs"):
        build(f"{factories}:{name}", 4, 1, seed=0)


def test_a_module_that_cannot_be_imported_is_a_configuration_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lexfed_test_syntax.py").write_text("def :")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match="cannot import"):
        build("lexfed_test_syntax:factory", 4, 1, seed=0)
