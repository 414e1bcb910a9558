# SPDX-License-Identifier: Apache-2.0
"""The integer pipeline of a release: grid, exact sums, noise, descale.

Each coordinate has the grid and the noise of its group and is treated alone, so
nothing spans two groups.
"""

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from lexfed.arrays import Floats, Integers
from lexfed.federation.programme.sequence import Stage
from lexfed.privacy.noise.gaussian import rounded_gaussian
from lexfed.privacy.releases import Release
from lexfed.randomness import RandomSource


def to_grid(total: Tensor, stage: Stage) -> Integers:
    """Put a site's float64 sum on the integer grid."""
    return stage.grids.encode(total.numpy())


def add_noise(
    total: Integers, stage: Stage, release: Release | None, source: RandomSource
) -> Integers:
    """Add the release's noise, fresh for every coordinate and every call."""
    if release is None:
        return total
    scales = stage.grids.scales([group.sigma for group in release.groups])
    noise = rounded_gaussian(source, scales, len(total))
    return np.add(total, noise, out=noise)


def exact_sum(totals: Sequence[Integers]) -> Integers:
    """Add the sites' integers; the grid leaves room, so nothing can overflow."""
    first, *others = totals
    total = first.copy()
    for other in others:
        total += other
    return total


def descale(total: Integers, stage: Stage) -> Floats:
    """Return the released numbers in their own unit."""
    return stage.grids.decode(total)
