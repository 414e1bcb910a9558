# SPDX-License-Identifier: Apache-2.0
"""The running sum of one layer's clipped gradients, in float64, chunk by chunk.

A chunk of units is one matrix product, slopesᵀ inputs: float32 for sites whose sum may
be taken so (`rounding_error.py`), float64 otherwise. Two neighbouring sites, the first
and second, the third and fourth, ..., are one chunk if they have few units together;
otherwise each of them is cut into chunks of its own. So a chunk depends on the sizes of
its pair only, and a person who joins or leaves a site moves the rounding of that pair's
sum and no other. The product of a chunk must not depend on the chunks around it, to the
bit: padded widths see to that, as in `known_layers.py`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from lexfed.models.gradients.clipping import Piece
from lexfed.models.gradients.rounding_error import FLOAT32_UNITS, PAIR_UNITS, chunk_size

# Numbers a block may hold, inputs and slopes of all layers together: about 4 MB.
_CACHE = 2**20
_STEP = 64
LARGEST_CHUNK = 256
_SLICE = 2**16


@dataclass(frozen=True)
class Chunk:
    """Units of a round that are summed by one product, in float64 if it is wide."""

    start: int
    stop: int
    wide: bool


def capacity(width: int) -> int:
    """Return the most units of `width` numbers that a block holds."""
    return max(LARGEST_CHUNK, _CACHE // width // _STEP * _STEP)


def round_blocks(sites: Sequence[int], most: int) -> Iterator[list[Chunk]]:
    """Cut a round, given the units of every site, into blocks of whole chunks.

    A block, which fits the processor's cache, holds at most `most` units, which is no
    fewer than the largest chunk has.
    """
    block: list[Chunk] = []
    for chunk in _chunks(sites):
        if block and chunk.stop - block[0].start > most:
            yield block
            block = []
        block.append(chunk)
    if block:
        yield block


def _chunks(sites: Sequence[int]) -> Iterator[Chunk]:
    start = 0
    for first in range(0, len(sites), 2):
        pair = sites[first : first + 2]
        together = sum(pair)
        if len(pair) == 2 and 0 < together <= PAIR_UNITS:
            yield Chunk(start, start + together, wide=False)
            start += together
            continue
        for units in pair:
            wide = units > FLOAT32_UNITS
            end = start + units
            while start < end:
                stop = min(start + chunk_size(units), end)
                yield Chunk(start, stop, wide)
                start = stop


class LayerSum:
    """Adds up the pieces of one Linear or Conv1d layer."""

    def __init__(self, layer: nn.Linear | nn.Conv1d) -> None:
        bias: Tensor | None = layer.bias
        self._has_bias = bias is not None
        self._fan_out, self._fan_in = layer.weight.shape[0], layer.weight[0].numel()
        self._bias = torch.zeros(self._fan_out, dtype=torch.float64)
        # [fan-out, fan-in], padded as the pieces are.
        self._weight: Tensor | None = None
        self._products: dict[torch.dtype, Tensor] = {}

    def add(self, piece: Piece, block: Sequence[Chunk]) -> None:
        """Add a block."""
        if self._has_bias:
            slopes = piece.slopes[:, : self._fan_out]
            if piece.bias_factors is not None:
                slopes = slopes * piece.bias_factors.unsqueeze(1)
            # In slices whose float64 copies stay in the cache.
            for rows in torch.split(slopes, -(-_SLICE // self._fan_out)):
                self._bias += rows.sum(0, dtype=torch.float64)
        if self._weight is None:
            height = 1 if self._fan_out == 1 else piece.slopes.shape[1]
            shape = (height, piece.inputs.shape[1])
            self._weight = torch.zeros(shape, dtype=torch.float64)
        if self._fan_out == 1:
            products = piece.inputs * piece.slopes[:, :1]
            self._weight[0] += products.sum(0, dtype=torch.float64)
        else:
            self._add_products(self._weight, piece, block)

    def parts(self) -> list[Tensor]:
        """Give the sums in the order and layout of the layer's parameters."""
        if self._weight is None:
            flat = torch.zeros(self._fan_in * self._fan_out, dtype=torch.float64)
        else:
            flat = self._weight[: self._fan_out, : self._fan_in].reshape(-1)
        return [flat, self._bias] if self._has_bias else [flat]

    def _add_products(
        self, weight: Tensor, piece: Piece, block: Sequence[Chunk]
    ) -> None:
        origin = block[0].start
        inputs, slopes = piece.inputs, piece.slopes.t()
        total = weight.numpy()
        for chunk in block:
            start = (chunk.start - origin) * piece.terms
            stop = (chunk.stop - origin) * piece.terms
            a, d = inputs[start:stop], slopes[:, start:stop]
            if chunk.wide:
                a, d = a.double(), d.double()
            room = self._room(weight, d.dtype)
            torch.mm(d, a, out=room)
            # NumPy adds float32 to float64 in place; torch would copy the former.
            np.add(total, room.numpy(), out=total)

    def _room(self, weight: Tensor, dtype: torch.dtype) -> Tensor:
        if dtype not in self._products:
            self._products[dtype] = torch.empty(weight.shape, dtype=dtype)
        return self._products[dtype]
