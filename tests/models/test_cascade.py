# SPDX-License-Identifier: Apache-2.0
"""Towers add up, can be served one by one, survive their bytes and read their own."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from lexfed.federation.planning.programme_draft import (
    column_groups,
    read_tiers,
    tower_shapes,
)
from lexfed.models.towers import Model, Tower, from_bytes, to_bytes, untrained_model
from lexfed.tiers import MODEL_TIERS, Tier
from support.federation.worlds import encoding, rows_of

CODE = encoding()


def random_model(architecture: str = "mlp:4", outputs: int = 1) -> Model:
    generator = np.random.default_rng(0)
    model = untrained_model(tower_shapes(CODE, "cascade", architecture, outputs, 7))
    towers = tuple(
        replace(tower, parameters=generator.normal(size=tower.parameters.shape))
        for tower in model.towers
    )
    return Model(towers, generator.normal(size=outputs))


def slots(rows: int = 9) -> torch.Tensor:
    return torch.from_numpy(rows_of(CODE, rows, np.random.default_rng(1)))


def test_a_tower_per_tier_reads_exactly_its_own_slots() -> None:
    shapes = tower_shapes(CODE, "cascade", "logistic", 1, 0)
    assert [shape.tier for shape in shapes] == list(MODEL_TIERS)
    for shape in shapes:
        assert shape.slots == tuple(CODE.slots_of(shape.tier))
        assert {CODE.slots[place].tier for place in shape.slots} == {shape.tier}
    whole = tower_shapes(CODE, "uniform", "logistic", 1, 0)
    assert [shape.tier for shape in whole] == [Tier.SPECIAL]
    assert whole[0].slots == tuple(range(CODE.width))
    assert column_groups(CODE) == tuple(int(slot.tier) for slot in CODE.slots)
    assert read_tiers(CODE, whole) == MODEL_TIERS
    assert read_tiers(CODE, shapes[:2]) == MODEL_TIERS[:2]


def test_a_new_model_says_nothing() -> None:
    model = untrained_model(tower_shapes(CODE, "cascade", "mlp:4", 1, 0))
    assert not model.logits(slots()).any()


def test_logits_are_the_sum_of_the_towers() -> None:
    model, inputs = random_model(), slots()
    total = torch.from_numpy(model.intercept).expand(9, 1).clone()
    torch.testing.assert_close(model.logits(inputs, 0), total)
    for count, tower in enumerate(model.towers, start=1):
        total = total + tower.logits(inputs)
        torch.testing.assert_close(model.logits(inputs, count), total)
    torch.testing.assert_close(model.logits(inputs), total)
    below = model.towers_below(2, inputs)
    torch.testing.assert_close(below, model.logits(inputs, 2) - model.logits(inputs, 0))


def test_units_with_several_rows_keep_their_shape() -> None:
    model, inputs = random_model(outputs=3), slots(12)
    by_unit = model.logits(inputs.reshape(4, 3, -1))
    assert by_unit.shape == (4, 3, 3)
    torch.testing.assert_close(by_unit.reshape(12, 3), model.logits(inputs))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e308])
def test_a_lower_tower_never_touches_a_higher_slot(value: float) -> None:
    model, inputs = random_model(), slots()
    odd = inputs.clone()
    odd[:, [int(place) for place in CODE.slots_of(Tier.SPECIAL)]] = value
    assert torch.equal(model.logits(odd, 2), model.logits(inputs, 2))
    assert not torch.equal(model.logits(odd), model.logits(inputs))


@pytest.mark.parametrize("architecture", ["logistic", "mlp:4,3", "cnn"])
def test_a_model_survives_its_bytes(architecture: str) -> None:
    model = random_model(architecture, 2)
    extra = {"velocity": np.arange(6.0).reshape(2, 3).T}
    content = to_bytes(model, {"done": 3}, extra)
    back, metadata, arrays = from_bytes(content)
    assert metadata == {"done": 3}
    assert np.array_equal(arrays["velocity"], extra["velocity"])
    assert np.array_equal(back.intercept, model.intercept)
    for one, other in zip(back.towers, model.towers, strict=True):
        assert one.shape == other.shape
        assert np.array_equal(one.parameters, other.parameters)
    assert torch.equal(back.logits(slots()), model.logits(slots()))
    assert to_bytes(back, metadata, arrays) == content
    assert from_bytes(to_bytes(model))[1:] == ({}, {})


def test_replacing_a_tower_leaves_the_others() -> None:
    model = random_model()
    other = Tower(model.towers[1].shape, np.zeros_like(model.towers[1].parameters))
    changed = model.with_tower(1, other)
    assert changed.towers[0] is model.towers[0]
    assert changed.towers[1] is other
    assert model.towers[1] is not other


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("architecture", ["logistic", "mlp:64,32", "mlp:5"])
def test_a_row_of_logits_does_not_depend_on_other_rows(
    architecture: str, dtype: torch.dtype
) -> None:
    """Logits are offsets of the towers above: a neighbour must not move them."""
    model, inputs = random_model(architecture), slots(333).to(dtype)
    whole = model.logits(inputs)
    assert torch.isfinite(whole).all()
    for rows in (1, 2, 3, 15, 16, 17, 64, 65, 332):
        assert torch.equal(model.logits(inputs[:rows]), whole[:rows])
        assert torch.equal(model.logits(inputs[-rows:]), whole[-rows:])


def test_a_tower_that_reads_everything_reads_it_in_order() -> None:
    (shape,) = tower_shapes(CODE, "uniform", "logistic", 1, 0)
    inputs = slots()
    assert torch.equal(Tower.untrained(shape).inputs(inputs), inputs)


def test_two_towers_of_one_architecture_do_not_share_parameters() -> None:
    """Networks may be kept between rounds; their parameters must not be."""
    model, inputs = random_model("logistic"), slots()
    first = model.towers[0]
    louder = replace(first, parameters=2.0 * first.parameters)
    before = first.logits(inputs)
    torch.testing.assert_close(louder.logits(inputs), 2.0 * before)
    assert torch.equal(first.logits(inputs), before)
