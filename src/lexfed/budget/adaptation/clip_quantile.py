# SPDX-License-Identifier: Apache-2.0
"""A clip that follows a quantile of the contributions, paid for [ATMR21].

Contributions are divided by a public radius c before they are clipped to the charged
clip C, so in effect they are clipped to c C while releases, noise and grid stay those
of the plan. Each unit also sends one bit, +1/2 where its contribution was not cut and
-1/2 where it was. The sum of bits is a group of its own in the same release, with clip
1/2 and noise of its own, and is charged together with the rest (joint groups,
`privacy.events`). From the released part b of units that were not cut

    c <- c exp(-rate (b - quantile)).
"""

import math

from lexfed.privacy.releases import CLIP_BIT, Release

BIT_CLIP = 0.5
"""Bound on one unit's centred bit."""

BIT_SHARE = 0.05
"""Part of a round's square that the bits take."""

SMALLEST, LARGEST = 2.0**-10, 2.0**10
"""Bounds of the radius."""


def has_clip_bits(release: Release | None) -> bool:
    """Return True if a release holds bits beside its own vector."""
    return release is not None and release.groups[-1].name == CLIP_BIT


def bit_weight(weight: float) -> float:
    """Return the weight of the bits in a release whose other groups weigh `weight`.

    Squares of weights are shares of the round's square.
    """
    return weight * math.sqrt(BIT_SHARE / (1.0 - BIT_SHARE))


def next_radius(radius: float, bits: float, quantile: float, rate: float) -> float:
    """Return the radius of the next round.

    Args:
        radius: of this round.
        bits: released mean of the centred bits.
        quantile: part of the units that shall not be cut.
        rate: speed of the radius.

    Guarantees:
        The radius stays within its bounds, and by noise alone it moves by no more
        than the factor exp(rate) in a round.
        What is not a number moves nothing.
    """
    if math.isnan(bits):
        return radius
    uncut = min(1.0, max(0.0, bits + 0.5))
    return min(LARGEST, max(SMALLEST, radius * math.exp(-rate * (uncut - quantile))))
