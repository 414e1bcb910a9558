# SPDX-License-Identifier: Apache-2.0
import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from lexfed.errors import ConfigError
from lexfed.models.gradients.batch import Batch
from lexfed.models.gradients.clipped_sum import clipped_sum
from lexfed.models.losses import LOGISTIC, SOFTMAX, SQUARED, Loss
from lexfed.models.networks.flat_parameters import count, flatten, group_index
from support.joined_batches import join

Make = Callable[..., nn.Module]
MakeBatch = Callable[..., Batch]
Oracle = Callable[..., Tensor]

SLOTS = 7
GROUPINGS = [
    ((0.5,), None),
    ((1e6,), None),
    ((math.inf,), None),
    ((0.1, 0.3, 0.5), [0, 1, 1, 0, 1, 0, 0]),
    (tuple([0.05 * (k + 1) for k in range(SLOTS)] + [0.4]), [3, 1, 0, 2, 6, 5, 4]),
]


@pytest.mark.parametrize(
    ("loss", "outputs"), [(LOGISTIC, 1), (SOFTMAX, 3), (SQUARED, 1)]
)
@pytest.mark.parametrize("records", [1, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("spec", "clips", "groups"),
    # A convolution mixes the slots: no groups of columns.
    [("logistic", *grouping) for grouping in GROUPINGS]
    + [("mlp:33,20", *grouping) for grouping in GROUPINGS]
    + [("cnn", *grouping) for grouping in GROUPINGS[:3]],
)
def test_equals_torch_func_to_rounding(
    make_model: Make,
    make_batch: MakeBatch,
    oracle: Oracle,
    loss: Loss,
    outputs: int,
    spec: str,
    records: int,
    dtype: torch.dtype,
    clips: tuple[float, ...],
    groups: list[int] | None,
) -> None:
    module = make_model(spec, SLOTS, outputs)
    batch = make_batch(70, SLOTS, outputs, records=records, dtype=dtype)
    expected = oracle(module, loss, batch, clips, groups)
    ours = clipped_sum(module, loss, batch, clips, groups)
    assert ours.dtype == torch.float64
    # float32: its rounding and the slack of the norm; float64 with one term: rounding
    # only; several terms: the slack 2^-26 S² of the norm (rounding.py).
    limit = 1e-5 if dtype == torch.float32 and records == 1 else 1e-6
    if dtype == torch.float64 and records == 1 and spec != "cnn":
        limit = 1e-12
    assert (ours - expected).norm() <= limit * expected.norm()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("spec", ["logistic", "mlp:33,20", "mlp:256,64", "cnn"])
@pytest.mark.parametrize("clip", [1e-6, 0.01, 1.0])
def test_no_contribution_is_longer_than_the_clip(
    make_model: Make,
    make_batch: MakeBatch,
    spec: str,
    dtype: torch.dtype,
    clip: float,
) -> None:
    module = make_model(spec, SLOTS)
    for seed in range(40):
        single = make_batch(1, SLOTS, dtype=dtype, seed=seed)
        norm = clipped_sum(module, SQUARED, single, (clip,)).norm()
        # One rounding of the product in float32 is summation, not clipping.
        assert norm <= clip * (1 + 2e-7)
        assert norm > 0


@pytest.mark.parametrize("records", [1, 4])
def test_every_group_keeps_to_its_clip(
    make_model: Make, make_batch: MakeBatch, records: int
) -> None:
    clips, groups = GROUPINGS[3]
    assert groups is not None
    module = make_model("mlp:20", SLOTS, scale=1.0)
    index = torch.from_numpy(group_index(module, groups))
    reached = torch.zeros(3, dtype=torch.bool)
    for seed in range(40):
        single = make_batch(1, SLOTS, records=records, seed=seed)
        total = clipped_sum(module, SQUARED, single, clips, groups)
        for group, clip in enumerate(clips):
            norm = total[index == group].norm()
            assert norm <= clip * (1 + 1e-12)
            reached[group] |= bool(norm > clip * (1 - 1e-4))
    assert reached.all(), "the clips must bind somewhere, or nothing was tested"


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_huge_tiny_and_broken_inputs_stay_within_the_clip(data: st.DataObject) -> None:
    numbers = st.sampled_from(
        [0.0, 1.0, -1.0, 1e-38, 1e-30, 1e-20, 1e15, 1e19, 1e38, math.inf, math.nan]
    )
    row = data.draw(st.lists(numbers, min_size=4, max_size=4))
    offset = data.draw(numbers)
    module = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 1))
    scale = data.draw(st.sampled_from([1e-20, 1e-6, 1.0, 1e6]))
    generator = torch.Generator().manual_seed(0)
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=scale, generator=generator)
    batch = Batch(
        torch.tensor(row).view(1, 1, 4),
        torch.ones(1, 1),
        torch.tensor([[[offset]]]),
        torch.ones(1, 1),
    )
    for clips, groups in (((1.0,), None), ((1.0, 1.0, 1.0), [0, 1, 0, 1])):
        total = clipped_sum(module, LOGISTIC, batch, clips, groups)
        assert torch.isfinite(total).all()
        assert total.norm() <= math.sqrt(len(clips)) * (1 + 2e-7)


@pytest.mark.parametrize("spec", ["logistic", "mlp:20", "cnn", "layer_norm"])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("records", [1, 2])
def test_broken_units_contribute_exactly_zero(
    make_model: Make,
    make_batch: MakeBatch,
    factories: str,
    spec: str,
    bad: float,
    records: int,
) -> None:
    name = f"{factories}:{spec}" if spec == "layer_norm" else spec
    module = make_model(name, SLOTS)
    whole = make_batch(6, SLOTS, records=records)
    inputs = whole.inputs.clone()
    inputs[2, 0, 1] = bad
    broken = Batch(inputs, whole.targets, whole.offset, whole.weights)
    zeros = whole.weights.clone()
    zeros[2] = 0
    absent = Batch(whole.inputs, whole.targets, whole.offset, zeros)
    groupings = GROUPINGS if spec in ("logistic", "mlp:20") else GROUPINGS[:1]
    for clips, groups in groupings:
        if clips == (math.inf,):
            continue
        total = clipped_sum(module, LOGISTIC, broken, clips, groups)
        assert torch.equal(total, clipped_sum(module, LOGISTIC, absent, clips, groups))
        assert total.norm() > 0


def test_zero_gradients_stay_zero(make_model: Make) -> None:
    module = make_model("mlp:20", SLOTS)
    batch = Batch(
        torch.zeros(3, 1, SLOTS),
        torch.zeros(3, 1),
        torch.zeros(3, 1, 1),
        torch.zeros(3, 1),
    )
    for clips, groups in GROUPINGS:
        total = clipped_sum(module, LOGISTIC, batch, clips, groups)
        assert torch.equal(total, torch.zeros(count(module), dtype=torch.float64))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("spec", ["logistic", "mlp:48,20", "cnn"])
def test_several_sites_give_the_sum_of_each(
    make_model: Make, make_batch: MakeBatch, spec: str, dtype: torch.dtype
) -> None:
    module = make_model(spec, SLOTS)
    sites = [
        make_batch(units, SLOTS, dtype=dtype, seed=units)
        for units in (1, 64, 65, 200, 17, 300, 3)
    ]
    together = clipped_sum(module, LOGISTIC, join(sites), (0.3,))
    alone = sum(clipped_sum(module, LOGISTIC, site, (0.3,)) for site in sites)
    # Rows are the same numbers; only additions differ, and those within a pair.
    rounding = 1e-7 if dtype == torch.float32 else 1e-12
    assert (together - alone).norm() <= rounding * 650 * 0.3


@pytest.mark.parametrize("spec", ["mlp:20", "layer_norm"])
@pytest.mark.parametrize("grouping", [0, 2, 3])
def test_sites_can_weigh_less(
    make_model: Make,
    make_batch: MakeBatch,
    factories: str,
    spec: str,
    grouping: int,
) -> None:
    name = f"{factories}:{spec}" if spec == "layer_norm" else spec
    module = make_model(name, SLOTS)
    clips, groups = GROUPINGS[grouping]
    sites = [make_batch(units, SLOTS, seed=units) for units in (9, 30)]
    parts = [clipped_sum(module, LOGISTIC, site, clips, groups) for site in sites]
    shares = torch.tensor([0.25] * 9 + [1.0] * 30, dtype=torch.float64)
    total = clipped_sum(module, LOGISTIC, join(sites), clips, groups, shares=shares)
    torch.testing.assert_close(total, 0.25 * parts[0] + parts[1])


@pytest.mark.parametrize("spec", ["mlp:20", "layer_norm"])
@pytest.mark.parametrize("grouping", [0, 2, 3])
def test_units_can_weigh_less(
    make_model: Make,
    make_batch: MakeBatch,
    factories: str,
    spec: str,
    grouping: int,
) -> None:
    """Shares multiply what is clipped: a unit's part is its clipped gradient's."""
    name = f"{factories}:{spec}" if spec == "layer_norm" else spec
    module = make_model(name, SLOTS)
    clips, groups = GROUPINGS[grouping]
    units = [make_batch(1, SLOTS, seed=seed) for seed in range(5)]
    shares = torch.tensor([1.0, 0.5, 0.0, 0.125, 1.0], dtype=torch.float64)
    together = clipped_sum(module, LOGISTIC, join(units), clips, groups, shares=shares)
    alone = [clipped_sum(module, LOGISTIC, unit, clips, groups) for unit in units]
    expected = sum(
        share * part for share, part in zip(shares.tolist(), alone, strict=True)
    )
    torch.testing.assert_close(together, expected)


def test_shares_of_one_change_no_bit(make_model: Make, make_batch: MakeBatch) -> None:
    module, batch = make_model("mlp:20", SLOTS), make_batch(30, SLOTS)
    ones = torch.ones(30, dtype=torch.float64)
    plain = clipped_sum(module, LOGISTIC, batch, (0.1,))
    assert torch.equal(plain, clipped_sum(module, LOGISTIC, batch, (0.1,), shares=ones))


def test_bad_shares_are_refused(make_model: Make, make_batch: MakeBatch) -> None:
    module, batch = make_model("logistic", SLOTS), make_batch(4, SLOTS, sites=(1, 3))
    with pytest.raises(ConfigError, match="expected 4 shares"):
        clipped_sum(module, LOGISTIC, batch, (1.0,), shares=torch.full((2,), 0.5))
    with pytest.raises(ValueError, match="smallest"):
        clipped_sum(module, LOGISTIC, batch, (1.0,), shares=torch.full((4,), 2.0))


def test_model_and_generator_are_left_alone(
    make_model: Make, make_batch: MakeBatch
) -> None:
    for spec in ("mlp:20", "cnn"):
        module = make_model(spec, SLOTS)
        before, state = flatten(module), torch.get_rng_state()
        clipped_sum(module, LOGISTIC, make_batch(9, SLOTS), (1.0,))
        assert torch.equal(flatten(module), before)
        assert torch.equal(torch.get_rng_state(), state)
        assert all(parameter.grad is None for parameter in module.parameters())


@pytest.mark.parametrize(
    ("clips", "groups", "what"),
    [
        ((1.0, 1.0), None, "expected 1 clips"),
        ((1.0,), [0] * SLOTS, "expected 2 clips"),
        ((0.0,), None, "must lie between"),
        ((-1.0,), None, "must lie between"),
        ((math.nan,), None, "must lie between"),
        ((1.0, math.inf), [0] * SLOTS, "must lie between"),
    ],
)
def test_impossible_clips_are_refused(
    make_model: Make,
    make_batch: MakeBatch,
    clips: tuple[float, ...],
    groups: list[int] | None,
    what: str,
) -> None:
    module, batch = make_model("logistic", SLOTS), make_batch(4, SLOTS)
    with pytest.raises(ConfigError, match=what):
        clipped_sum(module, LOGISTIC, batch, clips, groups)


def test_a_round_without_units_is_zero(
    make_model: Make, make_batch: MakeBatch, factories: str
) -> None:
    empty = make_batch(0, SLOTS, sites=(0, 0))
    for spec in ("mlp:20", "cnn", f"{factories}:layer_norm"):
        module = make_model(spec, SLOTS)
        total = clipped_sum(module, LOGISTIC, empty, (1.0,))
        assert torch.equal(total, torch.zeros(count(module), dtype=torch.float64))
