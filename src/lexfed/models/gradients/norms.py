# SPDX-License-Identifier: Apache-2.0
"""Norms of per-unit gradients and the factors that clip them.

With a unit's rows r, a layer's gradient is Σ_r d_r ⊗ a_r and its squared norm is
Σ_rs (a_r·a_s)(d_r·d_s) [Goo15; Li22, Eq. 2]; one row: |a|²|d|². A bias is one more
input that is always 1. The squared norm of one column k of the weight is
Σ_r a_rk (D Dᵀ A)_rk, which gives the norms of groups of columns.

Every squared norm comes with S², the square of Σ_r |a_r||d_r|, by which it is enlarged
before use (`rounding_error.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from lexfed.models.networks.taps import Tap


@dataclass(frozen=True)
class SquaredNorms:
    """Squared norms of units, [units] or [units, groups], and their S²."""

    norm: Tensor
    spread: Tensor

    def enlarged(self, slack: float) -> Tensor:
        """Give squared norms that are not below the true ones."""
        if self.norm is self.spread:
            return self.norm * (1 + slack)
        return self.norm + slack * self.spread


def layers_squares(taps: Sequence[Tap]) -> SquaredNorms:
    """Square the norms of several layers' gradients, weights and biases."""
    if any(tap.terms > 1 for tap in taps):
        parts = [_layer_squares(tap) for tap in taps]
        norm = torch.stack([part.norm for part in parts]).sum(0)
        return SquaredNorms(norm, torch.stack([part.spread for part in parts]).sum(0))
    inputs = torch.stack([_length(tap.inputs) for tap in taps]).square_()
    biases = inputs.new_tensor([[float(tap.bias)] for tap in taps])
    slopes = torch.stack([_length(tap.slopes) for tap in taps]).square_()
    product = inputs.add_(biases).mul_(slopes).sum(0)
    return SquaredNorms(product, product)


def _layer_squares(tap: Tap) -> SquaredNorms:
    a, d = _by_unit(tap.inputs, tap.terms), _by_unit(tap.slopes, tap.terms)
    if tap.terms**2 <= a.shape[2] * d.shape[2]:
        inner = torch.bmm(a, a.transpose(1, 2)).add_(float(tap.bias))
        norm = inner.mul_(torch.bmm(d, d.transpose(1, 2))).sum((1, 2))
    else:
        # More rows than the layer has weights: the product itself is the smaller one.
        norm = torch.bmm(a.transpose(1, 2), d).square_().sum((1, 2))
        if tap.bias:
            norm += d.sum(1).square_().sum(1)
    lengths = _length(a).square_().add_(float(tap.bias)).sqrt_().mul_(_length(d))
    return SquaredNorms(norm.clamp_min_(0), lengths.sum(1).square_())


def column_lengths(tap: Tap, members: Tensor | None, slack: float) -> Tensor:
    """Give enlarged norms of groups of columns of one layer's weight, [units, groups].

    Args:
        tap: The layer.
        members: Columns times groups, 1 where a column belongs to a group; None where
            every column is a group of its own.
        slack: Part of the squared spread by which squared norms are enlarged.
    """
    steps = _length(tap.slopes).unsqueeze(-1)
    if tap.terms == 1 and members is None:
        return (tap.inputs * steps.mul_(1 + slack)).abs_()
    squares = (tap.inputs * steps).square_()
    if members is not None:
        squares = squares @ members
    if tap.terms == 1:
        return squares.mul_(1 + slack).sqrt_()
    spread = _by_unit(squares.sqrt_(), tap.terms).sum(1).square_()
    a, d = _by_unit(tap.inputs, tap.terms), _by_unit(tap.slopes, tap.terms)
    columns = torch.bmm(torch.bmm(d, d.transpose(1, 2)), a).mul_(a).sum(1)
    norm = columns if members is None else columns @ members
    return norm.clamp_min_(0).add_(spread, alpha=slack).sqrt_()


def bias_squares(tap: Tap) -> SquaredNorms:
    """Square the norms of the gradients of one layer's bias."""
    if tap.terms == 1:
        square = _length(tap.slopes).square_()
        return SquaredNorms(square, square)
    lengths = _by_unit(_length(tap.slopes), tap.terms)
    total = _by_unit(tap.slopes, tap.terms).sum(1).square_().sum(1)
    return SquaredNorms(total, lengths.sum(1).square_())


def clip_factors(lengths: Tensor, clip: float | Tensor) -> Tensor:
    """Give min(1, clip / length) in place of the lengths; a zero length gives 1."""
    return lengths.reciprocal_().mul_(clip).clamp_max_(1.0)


def _length(rows: Tensor) -> Tensor:
    # Squares of very small numbers vanish; the term added covers all that can, so that
    # a product with a very large factor is not taken for zero.
    info = torch.finfo(rows.dtype)
    lost = (2 * rows.shape[-1] * info.tiny) ** 0.5
    lengths: Tensor = torch.linalg.vector_norm(rows, dim=-1)
    return lengths.add_(lost)


def _by_unit(rows: Tensor, terms: int) -> Tensor:
    return rows.reshape(-1, terms, *rows.shape[1:])
