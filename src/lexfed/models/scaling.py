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

from lexfed.models import norms
from lexfed.models.clipping import Clipping
from lexfed.models.rounding import norm_slack
from lexfed.models.taps import Tap


@dataclass(frozen=True)
class Piece:
    """One layer's part of a block, ready to be summed as inputsᵀ slopes.

    Attributes:
        inputs: [units * terms, fan-in].
        slopes: [units * terms, fan-out].
        bias: Slopes that the bias sums; None for a layer without bias.
        terms: Rows per unit.
    """

    inputs: Tensor
    slopes: Tensor
    bias: Tensor | None
    terms: int


def clip_block(taps: Sequence[Tap], clipping: Clipping) -> list[Piece]:
    """Scale the taps of a block so that no unit exceeds a clip.

    Guarantees:
        - In exact arithmetic every unit's part of a group has norm at most its clip.
        - Units whose gradient is not finite become zeros, not products with zero.
    """
    if clipping.unbounded:
        return [_piece(tap, tap.inputs, tap.slopes, tap.slopes) for tap in taps]
    slack = norm_slack(
        max(tap.inputs.shape[1] + tap.slopes.shape[1] for tap in taps),
        len(taps),
        max(tap.terms for tap in taps),
        taps[0].inputs.dtype,
    )
    if clipping.groups is not None:
        return _clip_groups(taps, clipping.clips, clipping.groups, slack)
    squares = norms.total(list(map(norms.layer_squares, taps)), slack)
    broken = _broken(squares)
    if broken is not None:
        taps = _erase(taps, broken)
        squares = torch.where(broken, 0.0, squares)
    factors = norms.clip_factors(squares, clipping.clips[0])
    return [_scaled(tap, factors) for tap in taps]


def _clip_groups(
    taps: Sequence[Tap], clips: Sequence[float], groups: Sequence[int], slack: float
) -> list[Piece]:
    first = taps[0]
    # Columns that pad the input are zero in every row; they may join any group.
    index = torch.tensor([*groups, *[0] * (first.inputs.shape[1] - len(groups))])
    limits = first.inputs.new_tensor(clips[:-1])
    alone = len(limits) == len(groups)
    members = None if alone else functional.one_hot(index).to(limits.dtype)
    columns = norms.total([norms.column_squares(first, members)], slack)
    rest = [norms.layer_squares(tap) for tap in taps[1:]]
    if first.bias:
        rest.append(norms.bias_squares(first))
    shared = norms.total(rest, slack) if rest else torch.zeros_like(columns[:, 0])
    broken = _broken(shared + columns.sum(1))
    if broken is not None:
        taps = _erase(taps, broken)
        shared = torch.where(broken, 0.0, shared)
        columns = torch.where(broken.unsqueeze(1), 0.0, columns)
    factors = norms.clip_factors(columns, limits[index] if alone else limits)
    if not alone:
        factors = factors[:, index]
    first, *later = taps
    rest_factors = norms.clip_factors(shared, clips[-1])
    inputs = first.inputs * _per_row(factors, first.terms)
    bias = _scaled(first, rest_factors).bias
    return [
        Piece(inputs, first.slopes, bias, first.terms),
        *(_scaled(tap, rest_factors) for tap in later),
    ]


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
    slopes = tap.slopes * _per_row(factors, tap.terms).unsqueeze(1)
    return _piece(tap, tap.inputs, slopes, slopes)


def _piece(tap: Tap, inputs: Tensor, slopes: Tensor, bias: Tensor) -> Piece:
    return Piece(inputs, slopes, bias if tap.bias else None, tap.terms)


def _per_row(values: Tensor, terms: int) -> Tensor:
    return values if terms == 1 else values.repeat_interleave(terms, dim=0)
