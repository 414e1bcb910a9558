# SPDX-License-Identifier: Apache-2.0
"""Few noise levels instead of many, on the safe side.

An accountant's work grows with the number of *different* noise multipliers. Less
noise is never more private, so a multiplier may be rounded down; a higher sampling
rate is never more private either (by joint convexity of divergences), so a rate may
be rounded up.
"""

import math
from collections.abc import Sequence

from lexfed.privacy.steps import Step, merge


def round_down(steps: Sequence[Step], limit: int) -> tuple[Step, ...]:
    """Return steps with at most `limit` different (multiplier, rate) pairs.

    Steps are sorted into bands of equal ratio, and each band takes the smallest
    multiplier and the largest rate that occurs in it.

    Guarantees:
        Every step is replaced by one that is at least as costly.
        Nothing changes if there are no more than `limit` different pairs.
    """
    steps = merge(steps)
    if len(steps) <= limit:
        return steps
    rates = [step.sampling_rate for step in steps]
    rate_bands = min(len(set(rates)), math.isqrt(limit))
    keys = zip(
        _bands([step.noise_multiplier for step in steps], limit // rate_bands),
        _bands(rates, rate_bands),
        strict=True,
    )
    bands: dict[tuple[int, int], list[Step]] = {}
    for key, step in zip(keys, steps, strict=True):
        bands.setdefault(key, []).append(step)
    return merge(
        Step(
            min(step.noise_multiplier for step in band),
            max(step.sampling_rate for step in band),
            sum(step.count for step in band),
        )
        for band in bands.values()
    )


def _bands(values: Sequence[float], count: int) -> list[int]:
    """Return the band of each value when their range is cut into equal ratios."""
    low, high = min(values), max(values)
    if low == high:
        return [0] * len(values)
    scale = count / math.log(high / low)
    return [min(count - 1, int(scale * math.log(value / low))) for value in values]
