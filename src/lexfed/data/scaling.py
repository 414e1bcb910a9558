# SPDX-License-Identifier: Apache-2.0
"""Numbers to public units and back, by the declared range or public statistics.

Nothing here looks at more than one value at a time, so scaling needs no budget.
"""

import numpy as np

from lexfed.data.schema import Column
from lexfed.data.table import Floats


def scaled(column: Column, values: Floats) -> Floats:
    """Return a number or flag in public units; NaN stays NaN.

    Guarantees:
        A number scaled by its range lies in [-1, 1]; a flag is unchanged.
    """
    if column.range is None:
        return values
    clamped = np.clip(values, *column.range)
    if column.public_stats is not None:
        centre, spread = column.public_stats
        return np.asarray((_on_scale(column, clamped) - centre) / spread)
    bottom, top = _ends(column)
    unit = (_on_scale(column, clamped) - bottom) / (top - bottom)
    return np.asarray(np.clip(2.0 * unit - 1.0, -1.0, 1.0))


def unscaled(column: Column, values: Floats) -> Floats:
    """Return numbers in their own units, clamped to the declared range."""
    if column.range is None:
        return values
    if column.public_stats is not None:
        centre, spread = column.public_stats
        place = values * spread + centre
    else:
        bottom, top = _ends(column)
        place = bottom + (values + 1.0) / 2.0 * (top - bottom)
    if column.scale == "log":
        # A prediction far outside the range would overflow before it is clamped.
        place = np.minimum(place, _ends(column)[1])
        place = np.expm1(place) if column.range[0] == 0 else np.exp(place)
    return np.asarray(np.clip(place, *column.range))


def _ends(column: Column) -> tuple[float, float]:
    low, high = _on_scale(column, np.array(column.range, dtype=np.float64))
    return float(low), float(high)


def _on_scale(column: Column, values: Floats) -> Floats:
    if column.scale == "linear" or column.range is None:
        return values
    # A range from zero has no logarithm at its low end; one unit is its resolution.
    return np.log1p(values) if column.range[0] == 0 else np.log(values)
