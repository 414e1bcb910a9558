# SPDX-License-Identifier: Apache-2.0
"""The running sum of one layer's clipped gradients, in float64.

A chunk of units is one matrix product, inputsᵀ slopes: float32 for sites whose sum may
be taken so (`rounding.py`), float64 otherwise. Between chunks everything is float64.

The product of a chunk must not depend on the chunks around it, to the bit: then one
person moves the rounding of their own site's sum only. As in `dense.py`, padded widths
see to that; a single column needs no padding.
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
        bias: Tensor | None = layer.bias
        self._has_bias = bias is not None
        self._fan_out, self._fan_in = layer.weight.shape[0], layer.weight[0].numel()
        # [fan-out, fan-in], the sum of small products and of biases, ...
        self._rows = torch.zeros(self._fan_out, self._fan_in, dtype=torch.float64)
        self._bias = torch.zeros(self._fan_out, dtype=torch.float64)
        # ... and [fan-in, fan-out], padded, the sum of large products.
        self._columns: Tensor | None = None
        self._products: dict[torch.dtype, Tensor] = {}

    def add(self, piece: Piece, run: Run, origin: int) -> None:
        """Add a run of chunks of a block that starts at unit `origin`."""
        start, stop = run.start - origin, run.stop - origin
        rows = slice(start * piece.terms, stop * piece.terms)
        inputs = _chunks(piece.inputs[rows], run)
        slopes = _chunks(piece.slopes[rows], run)
        if self._fan_out == 1:
            slopes = slopes[:, :, :1]
        if self._fan_in * self._fan_out < _SMALL:
            products = torch.bmm(slopes.transpose(1, 2), inputs)
            total = products.sum(0, dtype=torch.float64)
            self._rows += total[: self._fan_out, : self._fan_in]
        else:
            self._add_products(inputs.transpose(1, 2), slopes)
        if self._has_bias:
            if piece.bias_factors is None:
                sums = slopes.sum(1)
            else:
                factors = _chunks(piece.bias_factors[rows].unsqueeze(1), run)
                sums = torch.bmm(slopes.transpose(1, 2), factors).squeeze(2)
            self._bias += sums.sum(0, dtype=torch.float64)[: self._fan_out]

    def parts(self) -> list[Tensor]:
        """Give the sums in the order and layout of the layer's parameters."""
        weight = self._rows
        if self._columns is not None:
            weight = self._columns[: self._fan_in, : self._fan_out].t()
        flat = weight.reshape(-1)
        return [flat, self._bias] if self._has_bias else [flat]

    def _add_products(self, inputs: Tensor, slopes: Tensor) -> None:
        shape = (inputs.shape[1], slopes.shape[2])
        if self._columns is None:
            self._columns = torch.zeros(shape, dtype=torch.float64)
        if slopes.dtype not in self._products:
            self._products[slopes.dtype] = torch.empty(shape, dtype=slopes.dtype)
        room = self._products[slopes.dtype]
        # NumPy adds float32 to float64 in place; torch would copy the float32 first.
        total, product = self._columns.numpy(), room.numpy()
        for a, d in zip(inputs, slopes, strict=True):
            torch.mm(a, d, out=room)
            np.add(total, product, out=total)


def _chunks(rows: Tensor, run: Run) -> Tensor:
    chunks = rows.view(run.chunks, -1, rows.shape[1])
    return chunks.double() if run.wide else chunks
