# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable

import pytest
import torch
from torch import nn

from lexfed.models.gradients.batch import Batch
from lexfed.models.gradients.clipped_sum import clipped_sum
from lexfed.models.gradients.rounding_error import (
    FLOAT32_UNITS,
    PAIR_UNITS,
    gamma,
    norm_slack,
    summation_error,
)
from lexfed.models.losses import LOGISTIC, SQUARED

Make = Callable[..., nn.Module]
MakeBatch = Callable[..., Batch]


@pytest.mark.parametrize("units", [1, 64, 256, 257, 5000])
def test_measured_error_is_below_the_bound(
    make_model: Make, make_batch: MakeBatch, units: int
) -> None:
    module = make_model("mlp:32", 6)
    batch = make_batch(min(units, 600), 6, dtype=torch.float32)
    assert _error(module, batch) <= summation_error(units, torch.float32)


@pytest.mark.parametrize("sites", [(96, 96), (1, 191), (96, 97), (120, 73, 64)])
def test_pairs_of_sites_stay_below_their_bound(
    make_model: Make, make_batch: MakeBatch, sites: tuple[int, ...]
) -> None:
    module = make_model("mlp:32", 6)
    batch = make_batch(sum(sites), 6, dtype=torch.float32, sites=sites)
    error = _error(module, batch)
    bound = summation_error(batch.units, torch.float32, sites=len(sites))
    assert error <= bound
    # What one chunk of so many units adds is more than a site alone is charged for.
    assert bound > summation_error(batch.units, torch.float32)
    assert gamma(PAIR_UNITS**2, torch.float32) <= bound


def _error(module: nn.Module, batch: Batch) -> float:
    # The exact sum: each unit alone, in float64 sums of the same float32 vectors.
    # Empty sites between them keep units from becoming pairs.
    alone = Batch(
        batch.inputs,
        batch.targets,
        batch.offset,
        batch.weights,
        sites=(1, 0) * batch.units,
    )
    whole = clipped_sum(module, LOGISTIC, batch, (0.1,))
    exact = clipped_sum(module, LOGISTIC, alone, (0.1,))
    return float((whole - exact).norm()) / 0.1


def test_the_bound_is_not_idle() -> None:
    # Negative control: one float32 running sum over many units breaks what is charged
    # for them, because the bound assumes chunks and float64 between them.
    units = 100_000
    values = torch.full((units,), 0.1)
    running = torch.zeros(())
    for part in values.split(1):  # type: ignore[no-untyped-call]  # torch's stub
        running += part[0]
    error = (running.double() - values.double().sum()).abs() / 0.1
    assert error > summation_error(units, torch.float64)
    assert error > summation_error(units, torch.float32)


def test_float32_is_cheap_enough_to_charge() -> None:
    for units in (1, 64, FLOAT32_UNITS, 10_000, 10**6):
        assert summation_error(units, torch.float32) <= 1e-3
        assert summation_error(units, torch.float32, sites=120) <= 2.3e-3
    assert summation_error(64, torch.float32) <= 2.6e-4


def test_float64_costs_nothing() -> None:
    assert summation_error(10_000, torch.float64) <= 1e-9
    assert summation_error(10_000, torch.float64, terms=4) <= 1e-4
    assert summation_error(10_000, torch.float64, terms=4, sites=120) <= 1e-4


def test_bound_grows_with_everything() -> None:
    base = summation_error(100, torch.float64)
    assert summation_error(200, torch.float64) > base
    assert summation_error(100, torch.float64, terms=2) > base
    assert summation_error(100, torch.float64, sites=2) > base
    assert summation_error(100, torch.float32) > base
    with pytest.raises(ValueError, match="units"):
        summation_error(0, torch.float32)


def test_gamma_is_the_textbook_bound() -> None:
    assert gamma(1, torch.float64) == pytest.approx(2.0**-53)
    assert gamma(64, torch.float32) == pytest.approx(64 * 2.0**-24, rel=1e-5)


@pytest.mark.parametrize("records", [2, 5])
def test_terms_that_cancel_do_not_escape_the_clip(
    make_model: Make, records: int
) -> None:
    # Rows of a unit that nearly cancel: a norm computed with rounding could be far too
    # small. The bound must hold against the same sum in exact rational steps.
    module = make_model("logistic", 4)
    generator = torch.Generator().manual_seed(7)
    for power in (0, 4, 8, 12):
        size = 10.0**power
        rows = torch.randn(1, 1, 4, generator=generator, dtype=torch.float64)
        inputs = size * rows.repeat(1, records, 1)
        targets = torch.zeros(1, records, dtype=torch.float64)
        targets[0, 0] = 1 + size**2  # residuals of opposite sign
        batch = Batch(
            inputs,
            targets,
            torch.full((1, records, 1), size**2, dtype=torch.float64),
            torch.full((1, records), 1 / records, dtype=torch.float64),
        )
        total = clipped_sum(module, SQUARED, batch, (0.5,))
        assert total.norm() <= 0.5 * (1 + 1e-9)


def test_slack_covers_the_rounding_of_the_norm() -> None:
    assert norm_slack(512, 4, 1, torch.float32) < 4e-5
    assert norm_slack(512, 4, 1, torch.float64) < 1e-12
    assert norm_slack(512, 4, 3, torch.float64) == 2.0**-26
    assert norm_slack(10**9, 4, 3, torch.float64) > 2.0**-26
