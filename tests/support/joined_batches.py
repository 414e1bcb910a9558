# SPDX-License-Identifier: Apache-2.0
"""Batches of several sites, made from one batch for each site."""

from collections.abc import Sequence

import torch
from torch import Tensor

from lexfed.models.gradients.batch import Batch


def join(batches: Sequence[Batch]) -> Batch:
    """Put the batches of several sites behind each other.

    Units with fewer records than the longest are padded with rows of weight zero.
    """
    records = max(batch.records for batch in batches)
    return Batch(
        inputs=torch.cat([_pad(batch.inputs, records) for batch in batches]),
        targets=torch.cat([_pad(batch.targets, records) for batch in batches]),
        offset=torch.cat([_pad(batch.offset, records) for batch in batches]),
        weights=torch.cat([_pad(batch.weights, records) for batch in batches]),
        sites=tuple(units for batch in batches for units in batch.sites),
    )


def _pad(values: Tensor, records: int) -> Tensor:
    missing = records - values.shape[1]
    shape = (values.shape[0], missing, *values.shape[2:])
    return torch.cat([values, values.new_zeros(shape)], dim=1)
