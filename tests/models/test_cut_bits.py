# SPDX-License-Identifier: Apache-2.0
"""The bits say which gradients a clip cut, whatever computes them."""

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from lexfed.models.gradients.batch import Batch
from lexfed.models.gradients.clipped_sum import captured_clipped_sum as by_unit
from lexfed.models.gradients.clipped_sum import clipped_sum
from lexfed.models.gradients.clipping import Clipping, CutBits
from lexfed.models.losses import LOGISTIC
from lexfed.models.networks.captured_model import CapturedModel

Make = Callable[..., nn.Module]
MakeBatch = Callable[..., Batch]
SLOTS, UNITS = 7, 70


def bits_of(
    module: nn.Module, batch: Batch, clip: float, shares: Tensor | None = None
) -> float:
    bits = CutBits()
    clipped_sum(module, LOGISTIC, batch, (clip,), shares=shares, bits=bits)
    return float(bits.total)


def norms_of(module: nn.Module, batch: Batch) -> Tensor:
    """Return every unit's gradient norm, by one unclipped sum for each."""
    rows = []
    for unit in range(batch.units):
        alone = replace(
            batch,
            inputs=batch.inputs[unit : unit + 1],
            targets=batch.targets[unit : unit + 1],
            offset=batch.offset[unit : unit + 1],
            weights=batch.weights[unit : unit + 1],
            sites=(1,),
        )
        rows.append(clipped_sum(module, LOGISTIC, alone, (math.inf,)).norm())
    return torch.stack(rows)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("records", [1, 3])
@pytest.mark.parametrize("spec", ["logistic", "mlp:33,20", "cnn"])
def test_bits_count_what_is_cut(
    make_model: Make,
    make_batch: MakeBatch,
    spec: str,
    records: int,
    dtype: torch.dtype,
) -> None:
    module = make_model(spec, SLOTS, 1)
    batch = make_batch(UNITS, SLOTS, 1, records=records, dtype=dtype)
    norms = norms_of(module, batch)
    ordered = norms.sort().values
    for place in (0, UNITS // 3, UNITS - 2):
        # Between two norms, far from both: rounding does not decide.
        clip = float((ordered[place] + ordered[place + 1]) / 2)
        expected = 0.5 * (2 * (place + 1) - UNITS)
        assert bits_of(module, batch, clip) == expected
    assert bits_of(module, batch, 1e6) == UNITS / 2
    assert bits_of(module, batch, 1e-6) == -UNITS / 2


def test_bits_have_the_share_of_their_unit(
    make_model: Make, make_batch: MakeBatch
) -> None:
    module = make_model("logistic", SLOTS, 1)
    batch = make_batch(UNITS, SLOTS, 1)
    shares = torch.linspace(0.0, 1.0, UNITS, dtype=torch.float64)
    found = bits_of(module, batch, 1e6, shares)
    assert found == pytest.approx(float(shares.sum()) / 2)


@pytest.mark.parametrize("odd", [math.nan, math.inf])
def test_a_gradient_that_is_not_finite_has_no_bit(
    make_model: Make, make_batch: MakeBatch, odd: float
) -> None:
    module = make_model("mlp:33,20", SLOTS, 1)
    batch = make_batch(UNITS, SLOTS, 1)
    inputs = batch.inputs.clone()
    inputs[5, 0, 2] = odd
    broken = replace(batch, inputs=inputs)
    assert bits_of(module, broken, 1e6) == (UNITS - 1) / 2
    bits = CutBits()
    clipping = Clipping.of(module, (1e6,), None)
    by_unit(CapturedModel(module, SLOTS, 1), LOGISTIC, broken, clipping, None, bits)
    assert float(bits.total) == (UNITS - 1) / 2


def test_both_ways_of_computing_agree(make_model: Make, make_batch: MakeBatch) -> None:
    module = make_model("mlp:33,20", SLOTS, 1)
    batch = make_batch(UNITS, SLOTS, 1, dtype=torch.float64)
    ordered = norms_of(module, batch).sort().values
    clip = float((ordered[20] + ordered[21]) / 2)
    bits = CutBits()
    by_unit(
        CapturedModel(module, SLOTS, 1),
        LOGISTIC,
        batch,
        Clipping.of(module, (clip,), None),
        None,
        bits,
    )
    assert float(bits.total) == bits_of(module, batch, clip) == 0.5 * (42 - UNITS)


def test_bits_leave_the_sum_as_it_is(make_model: Make, make_batch: MakeBatch) -> None:
    module = make_model("mlp:33,20", SLOTS, 1)
    batch = make_batch(UNITS, SLOTS, 1)
    plain = clipped_sum(module, LOGISTIC, batch, (0.1,))
    counted = clipped_sum(module, LOGISTIC, batch, (0.1,), bits=CutBits())
    assert torch.equal(plain, counted)


def test_without_a_clip_nothing_is_cut(make_model: Make, make_batch: MakeBatch) -> None:
    module = make_model("logistic", SLOTS, 1)
    bits = CutBits()
    clipping = Clipping.of(module, (math.inf,), None)
    by_unit(
        CapturedModel(module, SLOTS, 1),
        LOGISTIC,
        make_batch(UNITS, SLOTS, 1),
        clipping,
        None,
        bits,
    )
    assert float(bits.total) == UNITS / 2
