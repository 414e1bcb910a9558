# SPDX-License-Identifier: Apache-2.0
"""Network towers: a linear part and a network on centred records of norm about 1."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from lexfed.federation.planning.programme_draft import tower_shapes
from lexfed.models.rule import network_part, network_worth
from lexfed.models.rule.estimates import TargetEstimate, TowerState, geometry
from lexfed.models.tower_shapes import RuleFacts, TowerShape
from lexfed.models.towers import (
    LONGEST,
    Model,
    Tower,
    from_bytes,
    network_inputs,
    to_bytes,
)
from support.federation.worlds import encoding, rows_of

CODE = encoding()
BASE = TargetEstimate(np.array([0.3]), 0.4, 0.05)
NAMES = ["mlp:4", "mlp:5,3", "cnn", "support.factories:smooth"]


def shapes(model: str = "mlp:4", outputs: int = 1) -> tuple[TowerShape, ...]:
    return tower_shapes(CODE, "cascade", model, outputs, 7)


def slots(rows: int = 9) -> torch.Tensor:
    return torch.from_numpy(rows_of(CODE, rows, np.random.default_rng(1)))


def opened(shape: TowerShape) -> Tower:
    """Return a tower whose network is about to be trained, with random weights."""
    facts = RuleFacts(shape, "logistic")
    state = TowerState.start(facts)
    scales = geometry(facts, BASE, state, kappa=10.0, rounds=8)
    generator = np.random.default_rng(3)
    tower = network_part.with_inputs(
        network_part.begin_network(Tower.untrained(shape)), state.centre, scales
    )
    return replace(
        tower,
        parameters=generator.normal(size=tower.parameters.shape),
        skip=generator.normal(size=tower.skip.shape),
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_new_tower_says_nothing(name: str) -> None:
    """Also where a user's network does not start as zero."""
    for shape in shapes(name):
        assert (
            not network_part.begin_network(Tower.untrained(shape)).logits(slots()).any()
        )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("outputs", [1, 3])
def test_a_tower_is_the_sum_of_its_parts(name: str, outputs: int) -> None:
    for shape in shapes(name, outputs):
        tower = opened(shape)
        linear = tower.linear_part
        assert linear is not None
        given = tower.features(slots())
        deep = tower.module()(given).detach()
        weights = tower.skip[: -shape.outputs].reshape(shape.outputs, -1)
        flat = tower.inputs(slots()).numpy() @ weights.T + tower.skip[-shape.outputs :]
        torch.testing.assert_close(linear.logits(slots()).numpy(), flat)
        torch.testing.assert_close(tower.logits(slots()), linear.logits(slots()) + deep)
        untrained = replace(tower, scale=np.zeros(0))
        assert torch.equal(untrained.logits(slots()), linear.logits(slots()))


def test_a_plain_tower_has_no_linear_part() -> None:
    tower = Tower.untrained(shapes()[0])
    assert tower.linear_part is None
    assert torch.equal(tower.features(slots()), tower.inputs(slots()))


@pytest.mark.parametrize("name", NAMES)
def test_network_towers_survive_their_bytes(name: str) -> None:
    model = Model(tuple(map(opened, shapes(name))), np.array([0.5]))
    back, _, _ = from_bytes(to_bytes(model))
    assert torch.equal(back.logits(slots()), model.logits(slots()))
    for one, other in zip(back.towers, model.towers, strict=True):
        for field in ("parameters", "skip", "centre", "scale"):
            assert np.array_equal(getattr(one, field), getattr(other, field))
    assert to_bytes(back) == to_bytes(model)


def test_inputs_are_centred_scaled_and_cut() -> None:
    rows = slots(5000)
    for shape in shapes():
        tower = opened(shape)
        given = tower.features(rows)
        norms = given.norm(dim=-1)
        assert 0.3 < float(norms.mean()) < LONGEST
        assert float(norms.max()) <= LONGEST * (1 + 1e-12)
        own = tower.inputs(rows)
        for place, kind in enumerate(shape.kinds):
            if kind == "missing" and shape.kinds[place - 1] == "number":
                gone = own[:, place] == 1
                assert not given[gone, place - 1].any()
    wild = rows.clone()
    wild[:, :] = 1e300
    with np.errstate(all="ignore"):
        cut = opened(shapes()[0]).features(wild)
    assert not (cut.norm(dim=-1) > LONGEST * (1 + 1e-12)).any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_inputs_of_a_record_do_not_depend_on_the_others(dtype: torch.dtype) -> None:
    tower = opened(shapes()[2])
    rows = tower.inputs(slots(300)).to(dtype)
    whole = network_inputs(tower.shape, rows, tower.centre, tower.scale)
    assert whole.dtype == dtype
    for size in (1, 2, 3, 17, 64, 299):
        chosen = torch.randperm(300, generator=torch.Generator().manual_seed(size))
        part = rows[chosen[:size]]
        alone = network_inputs(tower.shape, part, tower.centre, tower.scale)
        assert torch.equal(alone, whole[chosen[:size]])


def test_hidden_units_answer_to_records_of_norm_one() -> None:
    shape = replace(shapes()[2], architecture="mlp:400,200")
    tower = network_part.begin_network(Tower.untrained(shape))
    module = tower.module()
    rows = torch.randn(500, len(shape.slots), dtype=torch.float64)
    rows /= rows.norm(dim=-1, keepdim=True)
    assert isinstance(module, torch.nn.Sequential)
    with torch.no_grad():
        first = module[0](rows)
        second = module[2](torch.relu(first))
    assert float(first.var()) == pytest.approx(2.1, rel=0.25)
    assert float(second.var()) == pytest.approx(2.1, rel=0.4)


@pytest.mark.parametrize("width", [16, 64, 200])
def test_the_clip_is_half_the_expected_gradient(width: int) -> None:
    """A ReLU unit of variance 2.1 has second moment 1.05."""
    shape = replace(shapes()[2], architecture=f"mlp:{width}")
    tower = network_part.begin_network(Tower.untrained(shape))
    expected = 0.5 * 0.7 * np.sqrt(1.05 * width + 1)
    radius = network_part.clip_radius(tower, "logistic", BASE)
    assert radius == pytest.approx(expected, rel=0.15)
    spread = network_part.clip_radius(tower, "squared", BASE)
    assert spread == pytest.approx(radius * 0.4 / 0.7)


@pytest.mark.parametrize("name", [*NAMES, "support.factories:gated"])
def test_the_clip_does_not_depend_on_what_was_learned(name: str) -> None:
    shape = shapes(name, 3)[1]
    base = replace(BASE, rate=np.full(3, 1 / 3))
    start = network_part.begin_network(Tower.untrained(shape))
    radius = network_part.clip_radius(start, "softmax", base)
    assert radius > 0
    assert network_part.clip_radius(opened(shape), "softmax", base) == radius


def test_kappa_and_step() -> None:
    assert network_worth.kappa(100, 1000, 2.0) == pytest.approx(100 * np.sqrt(0.3))
    assert network_worth.networks_pay([20.0, 31.0])
    assert not network_worth.networks_pay([19.9, 1000.0])
    assert network_part.step_length(50.0, 40) == 1.25
    assert network_part.step_length(1e6, 40) == 2.5


@pytest.mark.parametrize("rounds", [1, 2, 3, 7, 40])
def test_the_last_half_of_the_rounds_is_averaged(rounds: int) -> None:
    path = np.random.default_rng(0).normal(size=(rounds, 4))
    served, seen = np.zeros(4), 0
    for place, weights in enumerate(path):
        served, seen = network_part.averaged_weights(
            served, weights, seen, place, rounds
        )
        if seen == 0:
            assert np.array_equal(served, weights)
    half = max(1, round(rounds / 2))
    assert seen == half
    np.testing.assert_allclose(served, path[-half:].mean(axis=0))
