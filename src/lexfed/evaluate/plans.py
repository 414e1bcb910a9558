# SPDX-License-Identifier: Apache-2.0
"""What a plan spends and where its noise falls, without training anything.

Two figures of the evaluation: epsilon after every round, for the record and for each
tier, and how much noise a column's weights carry over all rounds. Both are public
before the first round, so no seed changes them.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from lexfed.evaluate.datasets import Dataset
from lexfed.evaluate.methods.case import Case, configuration
from lexfed.evaluate.methods.rows import rows_of
from lexfed.federation.programme import Programme
from lexfed.privacy.events import Release
from lexfed.run.planning import Priced, price

MECHANISMS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "none": {"privacy": {"mechanism": "none"}},
    "uniform": {"privacy": {"mechanism": "uniform"}},
    "grouped-inverse": {
        "privacy": {"mechanism": "grouped"},
        "budget": {"allocation": "inverse"},
    },
    "cascade": {"privacy": {"mechanism": "cascade"}},
    "time-adaptive": {
        "privacy": {"mechanism": "uniform"},
        "budget": {"schedule": "time-adaptive"},
        "federation": {"learning_rate": 1.0},
    },
}
RECORD = "record"
LEARNS = frozenset({"residuals", "gradient", "update"})
"""Kinds of rounds whose sums move weights."""


def planned(dataset: Dataset, case: Case, method: str) -> dict[str, Any]:
    """Return what a plan spends round by round, and the noise on every column.

    Returns:
        `rounds_by_scope` with epsilon after each round, `noise` by column, and numbers
        for tables: rounds, record epsilon, noise on columns of each tier.
    """
    config = configuration(dataset, case, MECHANISMS[method])
    priced = price(config, rows_of(dataset, case).population, dataset.folder)
    spent = spent_by_round(priced)
    noise = noise_by_column(priced)
    return {
        "rounds_by_scope": spent,
        "noise": noise,
        "rounds": priced.programme.rounds,
        "record_epsilon": spent[RECORD][-1],
        "budget_per_round": spent[RECORD][-1] / priced.programme.rounds,
        **_noise_by_tier(priced, noise),
    }


def spent_by_round(priced: Priced) -> dict[str, list[float]]:
    """Return epsilon of the record and of every tier after each round of the plan.

    Guarantees:
        No path falls, and none ends above its budget.
    """
    ledger = priced.ledger()
    paths: dict[str, list[float]] = {RECORD: []}
    if ledger is None:
        return paths
    for stage in priced.programme.stages:
        for release in stage.releases:
            if release is None:
                continue
            ledger.charge(release)
            spent = ledger.spent()
            before = len(paths[RECORD])
            paths[RECORD].append(spent.record)
            for tier, epsilon in spent.tiers.items():
                paths.setdefault(tier.label, [0.0] * before).append(epsilon)
    return paths


def noise_by_column(priced: Priced) -> dict[str, float]:
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


def _first_slots(priced: Priced, read: Sequence[int]) -> dict[str, int]:
    """Return one slot for each column that a tower reads: all of them are alike."""
    slots = priced.population.encoding.slots
    return {slots[place].column: place for place in reversed(read)}


def _ratio(programme: Programme, release: Release, place: int) -> float:
    """Return noise over clip of the coordinate that belongs to a slot."""
    if programme.groups:
        group = release.groups[programme.groups[place]]
        return group.sigma / group.clip
    return release.noise_multiplier


def _noise_by_tier(priced: Priced, noise: Mapping[str, float]) -> dict[str, float]:
    tiers = {slot.column: slot.tier for slot in priced.population.encoding.slots}
    found: dict[str, list[float]] = {}
    for column, value in noise.items():
        found.setdefault(tiers[column].label, []).append(value)
    return {f"noise_{tier}": fmean(values) for tier, values in found.items()}
