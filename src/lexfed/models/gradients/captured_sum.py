# SPDX-License-Identifier: Apache-2.0
"""Clipped sums of a captured model: one record's gradient at a time.

The road for models without a closed form (`known_layers.fallback_reason`). A unit's
gradient is the sum over its records of gradients that see one record each
(`captured_model.py`), so it is the same to the bit whoever else takes part. Everything
is float64, and pieces are small enough that their gradients fit in memory.
"""

import numpy as np
import torch
from torch import Tensor

from lexfed.models.gradients.batch import Batch
from lexfed.models.gradients.clips import Clipping
from lexfed.models.gradients.cut_bits import CutBits
from lexfed.models.gradients.rounding_error import norm_slack
from lexfed.models.losses import Loss
from lexfed.models.networks.captured_model import CapturedModel
from lexfed.models.networks.flat_parameters import count, group_index


def captured_clipped_sum(
    module: CapturedModel,
    loss: Loss,
    batch: Batch,
    clipping: Clipping,
    shares: Tensor | None = None,
    bits: CutBits | None = None,
) -> Tensor:
    """Sum the clipped gradients of all units, [parameters] in float64.

    `shares` is every unit's weight in the sum, at most 1; None: all 1. `bits` counts
    the units that were cut.
    """
    total = torch.zeros(count(module), dtype=torch.float64)
    if shares is None:
        shares = torch.ones(batch.units, dtype=torch.float64)
    for start in range(0, batch.units, module.rows):
        units = slice(start, start + module.rows)
        gradients = _gradients(module, loss, batch, units)
        clipped, factors, finite = _clip(gradients, module, clipping)
        total += shares[units] @ clipped
        if bits is not None:
            bits.add(factors[:, 0], shares[units], ~finite[:, 0])
    return total


def _gradients(module: CapturedModel, loss: Loss, batch: Batch, units: slice) -> Tensor:
    """Return the gradients of some units, one row each."""
    total = torch.zeros((), dtype=torch.float64)
    for place in range(batch.records):
        inputs = batch.inputs[units, place]
        weights = batch.weights[units, place].double().unsqueeze(1)
        logits = module.logits(inputs) + batch.offset[units, place].double()
        slopes = loss.slope(logits, batch.targets[units, place].double()) * weights
        parts = module.gradients(inputs, slopes)
        # Not by a product: a place that pads may hold anything.
        total = total + torch.where(weights > 0, parts, 0.0)
    return total


def _clip(
    gradients: Tensor, module: CapturedModel, clipping: Clipping
) -> tuple[Tensor, Tensor, Tensor]:
    """Return clipped gradients, their factors, and a mask of the finite ones."""
    if clipping.unbounded:
        ones = gradients.new_ones(len(gradients), 1)
        return gradients, ones, ones > 0
    finite = torch.isfinite(gradients).all(1, keepdim=True)
    gradients = torch.where(finite, gradients, 0.0)
    slack = norm_slack(gradients.shape[1], 1, 1, torch.float64)
    if clipping.groups is None:
        index = np.zeros(gradients.shape[1], dtype=np.int64)
    else:
        index = group_index(module, clipping.groups)
    columns = torch.from_numpy(index)
    squares = gradients.new_zeros(len(gradients), len(clipping.clips))
    squares.index_add_(1, columns, gradients.square())
    factors = torch.rsqrt(squares * (1 + slack)) * squares.new_tensor(clipping.clips)
    # A finite gradient may have an infinite square; its factor is zero, as it should.
    factors.clamp_max_(1.0)
    return gradients * factors[:, columns], factors, finite
