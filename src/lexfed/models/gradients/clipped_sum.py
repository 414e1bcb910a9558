# SPDX-License-Identifier: Apache-2.0
"""The sum over units of their clipped gradients: the one thing a site computes.

    Σ_units  g · min(1, C / |g|),    g = Σ_records weight · ∇ loss

For Linear and Conv1d layers the norms come from every layer's inputs A and slopes D
(`clipping.py`), and the sum is one more matrix product per layer, Aᵀ diag(factor) D: no
unit's gradient is ever formed. Of models without a closed form
(`known_layers.fallback_reason`) a unit's gradient is the sum over its records of
gradients that see one record each (`captured_model.py`), so it is the same to the bit
whoever else takes part. There everything is float64, and pieces are small enough that
their gradients fit in memory.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from lexfed.checks import in_range
from lexfed.errors import ConfigError, Problem
from lexfed.models.gradients.batch import Batch
from lexfed.models.gradients.clipping import Clipping, CutBits, clip_block
from lexfed.models.gradients.layer_sum import LayerSum, capacity, round_blocks
from lexfed.models.gradients.rounding_error import norm_slack
from lexfed.models.losses import Loss
from lexfed.models.networks.captured_model import CapturedModel
from lexfed.models.networks.flat_parameters import count, group_index
from lexfed.models.networks.known_layers import (
    DenseModel,
    Slope,
    chain,
    is_dense,
    trace,
)


@torch.no_grad()
def clipped_sum(
    module: nn.Module,
    loss: Loss,
    batch: Batch,
    clips: Sequence[float],
    groups: Sequence[int] | None = None,
    *,
    shares: Tensor | None = None,
    bits: CutBits | None = None,
) -> Tensor:
    """Sum the clipped gradients of all units of a round, in the order of `flatten`.

    Args:
        module: The model, [rows, slots] to [rows, outputs]: a chain of known layers,
            or captured.
        loss: Evaluated on offset plus logits.
        batch: Of one site, or of several sites.
        clips: One clip, or one per group; `[math.inf]` does not clip.
        groups: Group of every slot, for per-group clipping (`group_index`).
        shares: Factor of every unit's clipped gradient, [units], in [0, 1]; None:
            all 1.
        bits: Adds up one bit per unit that tells whether the clip cut; only where the
            whole gradient has one clip.

    Guarantees:
        - Every unit's contribution to a group has norm at most that group's clip times
          its share, before summation; summation adds at most
          `rounding_error.summation_error`.
        - A unit whose gradient is not finite contributes exactly zero (when clipped).
        - A zero gradient contributes zero, whatever the clip.
        - Several sites at once give the sum of the sites one by one, within the
          rounding that is charged.
        - The model's parameters and the global generator are left as they were.
    """
    clipping = Clipping.of(module, clips, groups)
    shares = _shares(shares, batch.units)
    if isinstance(module, CapturedModel):
        return captured_clipped_sum(module, loss, batch, clipping, shares, bits)
    layers = chain(module)
    parametrised = [x for x in layers if isinstance(x, nn.Linear | nn.Conv1d)]
    width = batch.records * (batch.slots + sum(map(_width, parametrised)))
    most = min(capacity(width), batch.units)
    narrow = batch.records == 1 and batch.inputs.dtype == torch.float32
    dense = is_dense(layers)
    dtype = torch.float32 if narrow and dense else torch.float64
    if dense:
        model = DenseModel(layers, dtype, most * batch.records, batch.records)
    sums = [LayerSum(layer) for layer in parametrised]
    for block in round_blocks(batch.sites, most):
        rows = slice(block[0].start, block[-1].stop)
        inputs = batch.inputs[rows].flatten(0, 1)
        slope = _slope(loss, batch, rows, dtype)
        if dense:
            taps = model.run(inputs, slope)
        else:
            taps = trace(layers, inputs.to(dtype), slope, batch.records)
        part = None if shares is None else shares[rows].to(dtype)
        pieces = clip_block(taps, clipping, part, bits, len(batch.targets[rows]))
        for layer_sum, piece in zip(sums, pieces, strict=True):
            layer_sum.add(piece, block)
    return torch.cat([part for layer_sum in sums for part in layer_sum.parts()])


def _shares(shares: Tensor | None, units: int) -> Tensor | None:
    if shares is None or not len(shares) or bool((shares == 1).all()):
        return None
    if shares.shape != (units,):
        what = f"expected {units} shares, got: {len(shares)}"
        raise ConfigError([Problem("shares of units", what)])
    smallest, largest = shares.aminmax()
    in_range(0.0, 1.0, smallest=float(smallest), largest=float(largest))
    return shares


def _width(layer: nn.Linear | nn.Conv1d) -> int:
    # Inputs and slopes of a layer; a convolution has one row per position.
    if isinstance(layer, nn.Linear):
        return layer.in_features + layer.out_features
    return 64 * (layer.in_channels * layer.kernel_size[0] + layer.out_channels)


def _slope(loss: Loss, batch: Batch, rows: slice, dtype: torch.dtype) -> Slope:
    weights = batch.weights[rows].reshape(-1, 1).to(dtype)
    targets = batch.targets[rows].reshape(-1)
    offset = batch.offset[rows].flatten(0, 1)

    def slope(logits: Tensor) -> Tensor:
        slopes = loss.slope((logits + offset).to(dtype), targets)
        return torch.where(weights > 0, slopes.mul_(weights), 0.0)

    return slope


def captured_clipped_sum(
    module: CapturedModel,
    loss: Loss,
    batch: Batch,
    clipping: Clipping,
    shares: Tensor | None = None,
    bits: CutBits | None = None,
) -> Tensor:
    """Sum the clipped gradients of a captured model, [parameters] in float64."""
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
    columns = torch.zeros(gradients.shape[1], dtype=torch.int64)
    if clipping.groups is not None:
        columns = torch.from_numpy(group_index(module, clipping.groups))
    squares = gradients.new_zeros(len(gradients), len(clipping.clips))
    squares.index_add_(1, columns, gradients.square())
    factors = torch.rsqrt(squares * (1 + slack)) * squares.new_tensor(clipping.clips)
    # A finite gradient may have an infinite square; its factor is zero, as it should.
    factors.clamp_max_(1.0)
    return gradients * factors[:, columns], factors, finite
