# SPDX-License-Identifier: Apache-2.0
"""Curves that numbers go through before their range is mapped to [-1, 1].

Amounts and counts have a heavy tail: mapped linearly from a range that is wide enough
to hold the largest of them, nearly all end up at one end of [-1, 1], where a linear
model cannot tell them apart. With s the resolution, below which a curve is nearly
straight,

    linear  v
    log     log1p(v / s),  s = max(low, high / 1000)
    symlog  asinh(v / s),  s = max(-low, high) / 1000

The choice and s depend on the declared range alone, never on data, so they cost no
privacy.
"""

from typing import Literal

import numpy as np

from lexfed.arrays import Floats

Transform = Literal["linear", "log", "symlog"]
Range = tuple[float, float]

WIDE_RATIO = 20.0
"""From this high/low on a range above zero spans orders of magnitude."""
WIDE_FROM_ZERO = 1000.0
"""A range from zero has no ratio; one this high is about amounts, not scores."""
RESOLUTION = 1000.0
"""The largest value is so many times the resolution: three decades are told apart."""


def suggested_transform(range_: Range) -> Transform:
    """Return the transform that a public range suggests."""
    low, high = range_
    if low > 0:
        return "log" if high / low >= WIDE_RATIO else "linear"
    if low == 0:
        return "log" if high >= WIDE_FROM_ZERO else "linear"
    wide = high > 0 and max(-low, high) > WIDE_FROM_ZERO
    return "symlog" if wide else "linear"


def resolution(transform: Literal["log", "symlog"], range_: Range) -> float:
    """Return s; zero if the range is too small for the numbers of a computer."""
    low, high = range_
    if transform == "log":
        return max(low, high / RESOLUTION)
    return max(-low, high) / RESOLUTION


def forward(transform: Transform, range_: Range, values: Floats) -> Floats:
    """Return values of the range on the transformed scale; NaN stays NaN."""
    if transform == "linear":
        return values
    ratio = values / resolution(transform, range_)
    return np.asarray(np.log1p(ratio) if transform == "log" else np.arcsinh(ratio))


def backward(transform: Transform, range_: Range, places: Floats) -> Floats:
    """Return the values, inside the range, of places on the transformed scale.

    Guarantees:
        Undoes `forward` on the range, up to rounding.
        A place at or beyond an end of the range, however far, becomes that end.
    """
    if transform == "linear":
        return np.asarray(np.clip(places, *range_))
    bottom, top = transformed_range(transform, range_)
    # Clamped before the exponential as well, which would overflow.
    inside = np.clip(places, bottom, top)
    ratio = np.expm1(inside) if transform == "log" else np.sinh(inside)
    values = np.clip(ratio * resolution(transform, range_), *range_)
    # Rounding would leave the exponential of an end just short of it.
    values = np.where(inside == bottom, range_[0], values)
    return np.where(inside == top, range_[1], values)


def transformed_range(transform: Transform, range_: Range) -> Range:
    """Return both ends of the range on the transformed scale."""
    low, high = forward(transform, range_, np.array(range_, dtype=np.float64))
    return float(low), float(high)
