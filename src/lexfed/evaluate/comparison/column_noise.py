# SPDX-License-Identifier: Apache-2.0
"""How much noise the weights of a column carry when all rounds of a plan are over."""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

from lexfed.federation.programme.sequence import Programme
from lexfed.privacy.releases import Release
from lexfed.run.pricing.priced_run import PricedRun
from lexfed.tiers import Tier

LEARNS = frozenset({"residuals", "gradient", "update"})
"""Kinds of rounds whose sums move weights."""


def noise_by_column(priced: PricedRun) -> dict[str, float]:
    """Return the noise on each column's weights over all rounds, in units of the clip.

    Rounds are averaged by precision: noise z_t over clip in round t leaves
    1 / sqrt(sum 1/z_t^2), the deviation of the best estimate from all of them.
    """
    programme = priced.programme
    exact: dict[str, float] = {}
    for stage in programme.stages:
        if stage.kind not in LEARNS:
            continue
        read = programme.shapes[stage.tower].slots
        for release in stage.releases:
            if release is None:
                continue
            for column, place in _first_slots(priced, read).items():
                ratio = _ratio(programme, release, place)
                exact[column] = exact.get(column, 0.0) + ratio**-2
    return {column: 1.0 / math.sqrt(value) for column, value in exact.items()}


def _first_slots(priced: PricedRun, read: Sequence[int]) -> dict[str, int]:
    """Return one slot for each column that a tower reads: all of them are alike."""
    slots = priced.population.encoding.slots
    return {slots[place].column: place for place in reversed(read)}


def _ratio(programme: Programme, release: Release, place: int) -> float:
    """Return noise over clip of the coordinate that belongs to a slot."""
    if programme.groups:
        group = release.groups[programme.groups[place]]
        return group.sigma / group.clip
    return release.noise_multiplier


def noise_by_tier(priced: PricedRun, noise: Mapping[str, float]) -> dict[str, float]:
    """Return the mean noise on the columns of each tier."""
    tiers = {slot.column: slot.tier for slot in priced.population.encoding.slots}
    found: dict[str, list[float]] = {}
    for column, value in noise.items():
        found.setdefault(tiers[column].label, []).append(value)
    return {f"noise_{tier}": fmean(values) for tier, values in found.items()}


def sensitive_and_others(priced: PricedRun, tier: Tier) -> dict[str, float]:
    """Return the mean noise on the columns of a tier, and on all others.

    Guarantees:
        What has no column has no entry; a plan without noise has none at all.
    """
    slots = priced.population.encoding.slots
    within = {slot.column for slot in slots if slot.tier is tier}
    noise = noise_by_column(priced)
    parts = {
        "noise_sensitive": [value for name, value in noise.items() if name in within],
        "noise_others": [value for name, value in noise.items() if name not in within],
    }
    return {name: fmean(values) for name, values in parts.items() if values}
