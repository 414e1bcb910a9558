# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable

import pytest
import torch

from lexfed.errors import DataError
from lexfed.models.gradients.batch import Batch
from support.joined_batches import join


def test_sizes_and_default_site(make_batch: Callable[..., Batch]) -> None:
    batch = make_batch(5, 3, records=2)
    assert (batch.units, batch.records, batch.slots) == (5, 2, 3)
    assert batch.sites == (5,)


def test_shapes_are_checked_all_at_once() -> None:
    with pytest.raises(DataError) as caught:
        Batch(
            torch.zeros(4, 1, 2, dtype=torch.int64),
            torch.zeros(4),
            torch.zeros(4, 1, 1),
            torch.zeros(3, 1),
            (1, 1),
        )
    message = str(caught.value)
    for part in ("`targets`", "`weights`", "float32 or float64", "`sites`"):
        assert part in message


def test_join_keeps_sites_and_pads_records(make_batch: Callable[..., Batch]) -> None:
    first, second = make_batch(2, 3, records=1), make_batch(4, 3, records=3)
    both = join([first, second])
    assert both.sites == (2, 4)
    assert both.records == 3
    assert torch.equal(both.inputs[2:], second.inputs)
    assert both.weights[:2, 1:].abs().sum() == 0
    assert torch.equal(both.weights.sum(1), torch.ones(6, dtype=torch.float64))
