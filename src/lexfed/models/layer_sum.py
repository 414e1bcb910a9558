# SPDX-License-Identifier: Apache-2.0
"""The running sum of one layer's clipped gradients, in float64.

A chunk of units is one matrix product, inputsᵀ slopes: float32 for sites whose sum may
be taken so (`rounding.py`), float64 otherwise. Between chunks everything is float64.
"""

import numpy as np
import torch
from torch import Tensor, nn

from lexfed.models.blocks import Run
from lexfed.models.scaling import Piece

# Layers with fewer weights take all chunks of a run in one product, slopesᵀ inputs;
# larger ones take them one by one, through a product that stays in the cache.
_SMALL = 4096


class LayerSum:
    """Adds up the pieces of one Linear or Conv1d layer."""

    def __init__(self, layer: nn.Linear | nn.Conv1d) -> None:
        fan_out, fan_in = layer.weight.shape[0], layer.weight[0].numel()
        bias: Tensor | None = layer.bias
        self._small = fan_in * fan_out < _SMALL
        shape = (fan_out, fan_in) if self._small else (fan_in, fan_out)
        self._weight = torch.zeros(shape, dtype=torch.float64)
        self._fan_in, self._fan_out = fan_in, fan_out
        self._bias = None if bias is None else bias.new_zeros(fan_out).double()
        self._products: dict[torch.dtype, Tensor] = {}

    def add(self, piece: Piece, run: Run, origin: int) -> None:
        """Add a run of chunks of a block that starts at unit `origin`."""
        start, stop = run.start - origin, run.stop - origin
        rows = slice(start * piece.terms, stop * piece.terms)
        slopes = _chunks(piece.slopes[rows, : self._fan_out], run)
        inputs = _chunks(piece.inputs[rows, : self._fan_in], run)
        if self._small:
            products = torch.bmm(slopes.transpose(1, 2), inputs)
            self._weight += products.sum(0, dtype=torch.float64)
        else:
            self._add_products(inputs.transpose(1, 2), slopes)
        if self._bias is not None:
            if piece.bias_factors is None:
                sums = slopes.sum(1)
            else:
                factors = _chunks(piece.bias_factors[rows].unsqueeze(1), run)
                sums = torch.bmm(slopes.transpose(1, 2), factors).squeeze(2)
            self._bias += sums.sum(0, dtype=torch.float64)

    def parts(self) -> list[Tensor]:
        """Give the sums in the order and layout of the layer's parameters."""
        weight = (self._weight if self._small else self._weight.t()).reshape(-1)
        return [weight] if self._bias is None else [weight, self._bias]

    def _add_products(self, inputs: Tensor, slopes: Tensor) -> None:
        room = self._products.get(slopes.dtype)
        if room is None:
            room = torch.empty(self._weight.shape, dtype=slopes.dtype)
            self._products[slopes.dtype] = room
        # NumPy adds float32 to float64 in place; torch would copy the float32 first.
        total, product = self._weight.numpy(), room.numpy()
        for a, d in zip(inputs, slopes, strict=True):
            torch.mm(a, d, out=room)
            np.add(total, product, out=total)


def _chunks(rows: Tensor, run: Run) -> Tensor:
    chunks = rows.view(run.chunks, -1, rows.shape[1])
    return chunks.double() if run.wide else chunks
