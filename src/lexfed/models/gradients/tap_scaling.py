# SPDX-License-Identifier: Apache-2.0
"""Clip the units of a block by scaling its taps.

The sum of a layer's clipped gradients is Aᵀ diag(factor) D. The factor goes to the
slopes D where the whole gradient has one clip. With groups of columns it goes to the
columns of the first layer's inputs A instead, one factor per group, and to the slopes
of everything else.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional

from lexfed.models.gradients import norms
from lexfed.models.gradients.clips import Clipping
from lexfed.models.gradients.cut_bits import CutBits
from lexfed.models.gradients.rounding_error import norm_slack
from lexfed.models.networks.taps import Tap


@dataclass(frozen=True)
class Piece:
    """One layer's part of a block, ready to be summed as slopesᵀ inputs.

    Attributes:
        inputs: [units * terms, fan-in].
        slopes: [units * terms, fan-out].
        terms: Rows per unit.
        bias_factors: Factor of every row in the bias; None where the slopes are
            scaled already.
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

    Args:
        taps: The layers of the model, in order.
        clipping: Clips and groups.
        shares: Weight of every unit in the sum, at most 1; None: all 1.
        bits: Counts the units that were cut, if that is asked for.
        units: Number of units in the block, without rows that pad it.

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
    slack = norm_slack(
        max(tap.inputs.shape[1] + tap.slopes.shape[1] for tap in taps),
        len(taps),
        max(tap.terms for tap in taps),
        taps[0].inputs.dtype,
    )
    if clipping.groups is not None:
        return _clip_groups(taps, clipping.clips, clipping.groups, slack, shares)
    squares = norms.layers_squares(taps).enlarged(slack)
    broken = _broken(squares)
    if broken is not None:
        taps = _erase(taps, broken)
        squares = torch.where(broken, 0.0, squares)
    factors = norms.clip_factors(squares.sqrt_(), clipping.clips[0])
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
    everything = norms.layers_squares([first]).norm
    shared = torch.zeros_like(everything)
    if len(taps) > 1:
        shared += norms.layers_squares(taps[1:]).enlarged(slack)
    if first.bias:
        shared += norms.bias_squares(first).enlarged(slack)
    broken = _broken(everything.add_(shared))
    if broken is not None:
        taps = _erase(taps, broken)
        shared = torch.where(broken, 0.0, shared)
    first, *later = taps
    lengths = norms.column_lengths(first, members, slack)
    factors = norms.clip_factors(lengths, limits[index] if alone else limits)
    if not alone:
        factors = factors[:, index]
    factors = _shared_out(factors, shares)
    rest_factors = norms.clip_factors(shared.sqrt_(), clips[-1])
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
