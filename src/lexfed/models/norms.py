# SPDX-License-Identifier: Apache-2.0
"""Norms of per-unit gradients and the factors that clip them.

With a unit's rows r, a layer's gradient is Σ_r d_r ⊗ a_r and its squared norm is
Σ_rs (a_r·a_s)(d_r·d_s) [Goo15; Li22, Eq. 2]; one row: |a|²|d|². A bias is one more
input that is always 1. The squared norm of one column k of the weight is
Σ_r a_rk (D Dᵀ A)_rk, which gives the norms of groups of columns.

Every squared norm comes with S², the square of Σ_r |a_r||d_r|, by which it is enlarged
before use (`rounding.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from lexfed.models.taps import Tap


@dataclass(frozen=True)
class Squares:
    """Squared norms of units, [units] or [units, groups], and their S²."""

    norm: Tensor
    spread: Tensor


def total(parts: Sequence[Squares], slack: float) -> Tensor:
    """Add disjoint parts of a gradient to squared norms not below the true ones."""
    norm = parts[0].norm
    spread = parts[0].spread
    for part in parts[1:]:
        norm = norm + part.norm
        spread = spread + part.spread
    return norm + slack * spread


def layer_squares(tap: Tap) -> Squares:
    """Square the norms of one layer's gradients, weight and bias."""
    if tap.terms == 1:
        inputs = _length(tap.inputs).square_()
        product = inputs.add_(float(tap.bias)) * _length(tap.slopes).square_()
        return Squares(product, product)
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
    return Squares(norm.clamp_min_(0), lengths.sum(1).square_())


def column_squares(tap: Tap, members: Tensor | None) -> Squares:
    """Square the norms of groups of columns of one layer's weight, [units, groups].

    Args:
        tap: The layer.
        members: Columns times groups, 1 where a column belongs to a group; None where
            every column is a group of its own.
    """
    d = _length(tap.slopes).unsqueeze(-1)
    squares = (tap.inputs * d).square_()
    if tap.terms == 1:
        norm = squares if members is None else squares @ members
        return Squares(norm, norm)
    spread = squares if members is None else squares @ members
    spread = _by_unit(spread.sqrt_(), tap.terms).sum(1).square_()
    a, slopes = _by_unit(tap.inputs, tap.terms), _by_unit(tap.slopes, tap.terms)
    inner = torch.bmm(slopes, slopes.transpose(1, 2))
    columns = torch.bmm(inner, a).mul_(a).sum(1)
    norm = columns if members is None else columns @ members
    return Squares(norm.clamp_min_(0), spread)


def bias_squares(tap: Tap) -> Squares:
    """Square the norms of the gradients of one layer's bias."""
    if tap.terms == 1:
        square = _length(tap.slopes).square_()
        return Squares(square, square)
    lengths = _by_unit(_length(tap.slopes), tap.terms)
    total = _by_unit(tap.slopes, tap.terms).sum(1).square_().sum(1)
    return Squares(total, lengths.sum(1).square_())


def clip_factors(squares: Tensor, clip: float | Tensor) -> Tensor:
    """Give min(1, clip / norm) from enlarged squared norms; a zero norm gives 1."""
    return torch.rsqrt(squares).mul_(clip).clamp_max_(1.0)


def _length(rows: Tensor) -> Tensor:
    # Squares of very small numbers vanish; the term added covers all that can, so that
    # a product with a very large factor is not taken for zero.
    info = torch.finfo(rows.dtype)
    lost = (2 * rows.shape[-1] * info.tiny) ** 0.5
    lengths: Tensor = torch.linalg.vector_norm(rows, dim=-1)
    return lengths.add_(lost)


def _by_unit(rows: Tensor, terms: int) -> Tensor:
    return rows.reshape(-1, terms, *rows.shape[1:])
