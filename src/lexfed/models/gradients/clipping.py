# SPDX-License-Identifier: Apache-2.0
"""Clip the units of a block: their norms, the factors, and the taps scaled by them.

With a unit's rows r, a layer's gradient is Σ_r d_r ⊗ a_r and its squared norm is Σ_rs
(a_r·a_s)(d_r·d_s) [Goo15; Li22, Eq. 2]; one row: |a|²|d|². A bias is one more input
that is always 1. The squared norm of one column k of the weight is Σ_r a_rk (D Dᵀ
A)_rk. Every squared norm comes with S², the square of Σ_r |a_r||d_r|, by which it is
enlarged before use (`rounding_error.py`).

The factors go to the slopes D where the whole gradient has one clip. With groups of
columns they go to the columns of the first layer's inputs A, one per group, and to the
slopes of everything else.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from lexfed.errors import ConfigError, Problem
from lexfed.models.gradients.rounding_error import norm_slack
from lexfed.models.networks.flat_parameters import grouped_layer
from lexfed.models.networks.known_layers import Tap

# Outside, squares of float32 numbers vanish or overflow.
_SMALLEST, _LARGEST = 1e-9, 1e9


@dataclass(frozen=True)
class Clipping:
    """The clips of one release, positive: one per group, or an infinite one for none.

    `groups` has the group of every slot; None where the whole gradient is one group.
    The last clip is the one of biases and later layers.
    """

    clips: tuple[float, ...]
    groups: tuple[int, ...] | None

    @staticmethod
    def of(
        module: nn.Module, clips: Sequence[float], groups: Sequence[int] | None
    ) -> "Clipping":
        """Check clips and groups against each other and the model."""
        wanted = 1
        if groups is not None:
            grouped_layer(module, groups)
            wanted = max(groups) + 2
        if len(clips) != wanted:
            what = f"expected {wanted} clips, one per group, got: {len(clips)}"
            raise ConfigError([Problem("clip", what)])
        free = groups is None and clips[0] == math.inf
        if not free and not all(_SMALLEST <= clip <= _LARGEST for clip in clips):
            what = f"a clip must lie between {_SMALLEST:g} and {_LARGEST:g}"
            raise ConfigError([Problem("clip", what)])
        columns = None if groups is None else tuple(groups)
        return Clipping(tuple(map(float, clips)), columns)

    @property
    def unbounded(self) -> bool:
        """True if nothing is clipped."""
        return math.isinf(self.clips[0])


class CutBits:
    """The count of contributions that a clip cut: the sum of one centred bit per unit.

    A bit is +1/2 where the unit's contribution was not cut, -1/2 where it was and 0
    where it is not finite, as the contribution is. So one unit moves the sum by at most
    1/2 times its share. The sum is taken in float64, and exact where all shares are 1.
    """

    def __init__(self) -> None:
        self.total = torch.zeros(1, dtype=torch.float64)

    def add(
        self, factors: Tensor, shares: Tensor | None, broken: Tensor | None
    ) -> None:
        """Add the bits of units by their factors; `broken` ones are not finite."""
        bits = torch.where(factors < 1.0, -0.5, 0.5).double()
        if broken is not None:
            bits = torch.where(broken, 0.0, bits)
        self.total += (bits if shares is None else bits * shares.double()).sum()


@dataclass(frozen=True)
class Piece:
    """One layer's part of a block, ready to be summed as slopesᵀ inputs.

    Each has [units * terms] rows. `bias_factors` are the factors of the rows in the
    bias; None where the slopes are scaled already.
    """

    inputs: Tensor
    slopes: Tensor
    terms: int
    bias_factors: Tensor | None = None


def clip_block(
    taps: Sequence[Tap],
    clipping: Clipping,
    shares: Tensor | None = None,
    bits: CutBits | None = None,
    units: int = 0,
) -> list[Piece]:
    """Scale the taps of a block, in place, so that no unit exceeds a clip.

    `shares` are the weights of units in the sum, at most 1 (None: all 1), and `units`
    is the number of units in the block, without rows that pad it.

    Guarantees:
        - In exact arithmetic every unit's part of a group has norm at most its clip.
        - Units whose gradient is not finite become zeros, not products with zero.
    """
    if clipping.unbounded:
        if shares is None:
            return [Piece(tap.inputs, tap.slopes, tap.terms) for tap in taps]
        ones = taps[0].slopes.new_ones(len(taps[0].slopes) // taps[0].terms)
        factors = _shared_out(ones, shares)
        return [_scaled(tap, factors) for tap in taps]
    width = max(tap.inputs.shape[1] + tap.slopes.shape[1] for tap in taps)
    terms, dtype = max(tap.terms for tap in taps), taps[0].inputs.dtype
    slack = norm_slack(width, len(taps), terms, dtype)
    if clipping.groups is not None:
        return _clip_groups(taps, clipping.clips, clipping.groups, slack, shares)
    squares = layers_squares(taps).enlarged(slack)
    broken = _broken(squares)
    if broken is not None:
        taps = _erase(taps, broken)
        squares = torch.where(broken, 0.0, squares)
    factors = clip_factors(squares.sqrt_(), clipping.clips[0])
    if bits is not None:
        bits.add(factors[:units], shares, None if broken is None else broken[:units])
    factors = _shared_out(factors, shares)
    return [_scaled(tap, factors) for tap in taps]


def _clip_groups(
    taps: Sequence[Tap],
    clips: Sequence[float],
    groups: Sequence[int],
    slack: float,
    shares: Tensor | None,
) -> list[Piece]:
    first = taps[0]
    # Columns that pad the input are zero in every row; they may join any group.
    index = torch.tensor([*groups, *[0] * (first.inputs.shape[1] - len(groups))])
    limits = first.inputs.new_tensor(clips[:-1])
    alone = len(limits) == len(groups)
    members = None if alone else functional.one_hot(index).to(limits.dtype)
    everything = layers_squares([first]).norm
    shared = torch.zeros_like(everything)
    if len(taps) > 1:
        shared += layers_squares(taps[1:]).enlarged(slack)
    if first.bias:
        shared += bias_squares(first).enlarged(slack)
    broken = _broken(everything.add_(shared))
    if broken is not None:
        taps = _erase(taps, broken)
        shared = torch.where(broken, 0.0, shared)
    first, *later = taps
    lengths = column_lengths(first, members, slack)
    factors = clip_factors(lengths, limits[index] if alone else limits)
    if not alone:
        factors = factors[:, index]
    factors = _shared_out(factors, shares)
    rest_factors = clip_factors(shared.sqrt_(), clips[-1])
    rest_factors = _shared_out(rest_factors, shares)
    inputs = _per_row(factors, first.terms).mul_(first.inputs)
    bias_factors = _per_row(rest_factors, first.terms)
    return [
        Piece(inputs, first.slopes, first.terms, bias_factors),
        *(_scaled(tap, rest_factors) for tap in later),
    ]


def _shared_out(factors: Tensor, shares: Tensor | None) -> Tensor:
    if shares is not None:
        # Rows that pad a block have no share, and nothing to scale.
        units = factors[: len(shares)]
        units *= shares.view(-1, *[1] * (factors.dim() - 1))
    return factors


def _broken(squares: Tensor) -> Tensor | None:
    # A sum of squares is finite exactly when all of them are; one number decides
    # whether anything has to be repaired at all.
    if torch.isfinite(squares.sum()):
        return None
    return ~torch.isfinite(squares)


def _erase(taps: Sequence[Tap], broken: Tensor) -> list[Tap]:
    erased = []
    for tap in taps:
        rows = _per_row(broken, tap.terms).reshape(-1, 1)
        inputs = torch.where(rows, 0.0, tap.inputs)
        slopes = torch.where(rows, 0.0, tap.slopes)
        erased.append(replace(tap, inputs=inputs, slopes=slopes))
    return erased


def _scaled(tap: Tap, factors: Tensor) -> Piece:
    rows = _per_row(factors, tap.terms).unsqueeze(1)
    return Piece(tap.inputs, tap.slopes.mul_(rows), tap.terms)


def _per_row(values: Tensor, terms: int) -> Tensor:
    return values if terms == 1 else values.repeat_interleave(terms, dim=0)


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

    `members` is columns times groups, 1 where a column belongs to a group; None where
    every column is a group of its own. Squared norms are enlarged by `slack` times S².
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
