# SPDX-License-Identifier: Apache-2.0
"""Figures of a plan: epsilon after every round, and the noise on every column."""

import math
from collections.abc import Mapping
from statistics import fmean

from lexfed.federation.programme.sequence import Programme
from lexfed.privacy.releases import Release
from lexfed.run.pricing.priced_run import PricedRun
from lexfed.tiers import Tier

LEARNS = frozenset({"residuals", "gradient", "update"})
"""Kinds of rounds whose sums move weights."""
RECORD = "record"


def spent_by_round(priced: PricedRun) -> dict[str, list[float]]:
    """Return epsilon of the record and of every tier after each round of the plan.

    Guarantees:
        No path falls, and none ends above its budget.
    """
    ledger = priced.ledger()
    paths: dict[str, list[float]] = {RECORD: []}
    if ledger is None:
        return paths
    for stage in priced.programme.stages:
        for release in (one for one in stage.releases if one is not None):
            ledger.charge(release)
            spent = ledger.spent()
            before = len(paths[RECORD])
            paths[RECORD].append(spent.record)
            for tier, epsilon in spent.tiers.items():
                paths.setdefault(tier.label, [0.0] * before).append(epsilon)
    return paths


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
        # Slots of a column are alike: the first that a tower reads stands for all.
        slots = priced.population.encoding.slots
        read = reversed(programme.shapes[stage.tower].slots)
        first = {slots[place].column: place for place in read}
        for release in (one for one in stage.releases if one is not None):
            for column, place in first.items():
                ratio = _ratio(programme, release, place)
                exact[column] = exact.get(column, 0.0) + ratio**-2
    return {column: 1.0 / math.sqrt(value) for column, value in exact.items()}


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
