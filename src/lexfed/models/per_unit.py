# SPDX-License-Identifier: Apache-2.0
"""Clipped sums of any model: one unit's gradient at a time, by `torch.func`.

The road for models without a closed form (`layers.fallback_reason`). The model sees one
unit per call, so it cannot mix the records of two people whatever its `forward` does.
Everything is float64, and chunks are small enough that their gradients fit in memory.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from lexfed.models.batch import Batch
from lexfed.models.clipping import Clipping
from lexfed.models.cut_bits import CutBits
from lexfed.models.losses import Loss
from lexfed.models.parameters import count, group_index, trainable
from lexfed.models.rounding import norm_slack

# Gradients of one chunk: at most 64 MB.
_CHUNK_NUMBERS = 2**23
_CHUNK = 64

Gradient = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def clipped_sum(
    module: nn.Module,
    loss: Loss,
    batch: Batch,
    clipping: Clipping,
    shares: Tensor | None = None,
    bits: CutBits | None = None,
) -> Tensor:
    """Sum the clipped gradients of all units, [parameters] in float64.

    `shares` is every unit's weight in the sum, at most 1; None: all 1. `bits` adds up
    which units were cut.
    """
    size = count(module)
    total = torch.zeros(size, dtype=torch.float64)
    units = max(1, min(_CHUNK, _CHUNK_NUMBERS // size))
    fields = (batch.inputs, batch.targets, batch.offset, batch.weights)
    gradients = _gradients(module, loss)
    if shares is None:
        shares = torch.ones(batch.units, dtype=torch.float64)
    parts = [torch.split(field, units) for field in (shares, *fields)]
    for weights, *chunk in zip(*parts, strict=True):
        clipped, factors, finite = _clip(gradients(*chunk), module, clipping)
        total += weights @ clipped
        if bits is not None:
            bits.add(factors[:, 0], weights, ~finite[:, 0])
    return total


def _gradients(module: nn.Module, loss: Loss) -> Gradient:
    parameters = {k: v.detach().double() for k, v in trainable(module).items()}
    fixed = {
        name: value.detach().double() if value.is_floating_point() else value
        for name, value in [*module.named_parameters(), *module.named_buffers()]
        if name not in parameters
    }

    def value(
        weights_of_model: dict[str, Tensor],
        inputs: Tensor,
        targets: Tensor,
        offset: Tensor,
        weights: Tensor,
    ) -> Tensor:
        logits = torch.func.functional_call(
            module, {**weights_of_model, **fixed}, (inputs.double(),)
        )
        losses = loss.value(logits + offset.double(), targets)
        return torch.where(weights > 0, weights.double() * losses, 0.0).sum()

    by_unit = torch.func.vmap(torch.func.grad(value), in_dims=(None, 0, 0, 0, 0))

    def gradients(*chunk: Tensor) -> Tensor:
        parts = by_unit(parameters, *chunk)
        return torch.cat([parts[name].flatten(1) for name in parameters], dim=1)

    return gradients


def _clip(
    gradients: Tensor, module: nn.Module, clipping: Clipping
) -> tuple[Tensor, Tensor, Tensor]:
    """Return clipped gradients, their factors, and which of them were finite."""
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
