# SPDX-License-Identifier: Apache-2.0
"""Numbers to public units and back, by the declared range or public statistics.

Nothing here looks at more than one value at a time, so scaling needs no budget. A
number first goes through the transform that `Column.resolved_scale` names; `target`
says that the column is what is learned, where `auto` never bends the scale.
"""

import numpy as np

from lexfed.arrays import Floats
from lexfed.data.schema import Column
from lexfed.data.transforms import backward, forward, transformed_range


def scaled_values(column: Column, values: Floats, *, target: bool = False) -> Floats:
    """Return a number or flag in public units; NaN stays NaN.

    Guarantees:
        A number scaled by its range lies in [-1, 1]; a flag is unchanged.
    """
    if column.range is None:
        return values
    transform = column.resolved_scale(target)
    places = forward(transform, column.range, np.clip(values, *column.range))
    if column.public_stats is not None:
        centre, spread = column.public_stats
        return np.asarray((places - centre) / spread)
    bottom, top = transformed_range(transform, column.range)
    unit = (places - bottom) / (top - bottom)
    return np.asarray(np.clip(2.0 * unit - 1.0, -1.0, 1.0))


def unscaled_values(column: Column, values: Floats, *, target: bool = False) -> Floats:
    """Return numbers in their own units, clamped to the declared range.

    Guarantees:
        Undoes `scaled_values` of the same column and `target`, up to rounding.
    """
    if column.range is None:
        return values
    transform = column.resolved_scale(target)
    if column.public_stats is not None:
        centre, spread = column.public_stats
        places = values * spread + centre
    else:
        bottom, top = transformed_range(transform, column.range)
        places = bottom + (values + 1.0) / 2.0 * (top - bottom)
    return backward(transform, column.range, places)


def tail(column: Column) -> float:
    """Return the direction of a feature's longer tail as its public range shows it.

    This is a public guess of skewness: a range [0, 100] reaches far above zero and
    gives 1, [-5, 5] gives 0, [-100, 0] gives -1. Public statistics centre the column,
    so they give 0.
    """
    if column.range is None or column.public_stats is not None:
        return 0.0
    low, high = column.range
    return min(1.0, max(-1.0, (high + low) / (high - low)))
