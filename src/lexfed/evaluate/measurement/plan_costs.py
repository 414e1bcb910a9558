# SPDX-License-Identifier: Apache-2.0
"""What a plan spends and where its noise falls, without training anything.

Two figures of the evaluation: epsilon after every round, for the record and for each
tier, and how much noise a column's weights carry over all rounds (`noise.py`). Both are
public before the first round, so no seed changes them.
"""

from collections.abc import Mapping
from typing import Any

from lexfed.evaluate.comparison.case import Case, configuration
from lexfed.evaluate.comparison.column_noise import noise_by_column, noise_by_tier
from lexfed.evaluate.comparison.split_rows import rows_of
from lexfed.evaluate.datasets import Dataset
from lexfed.run.pricing.priced_run import PricedRun, price

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


def measure_plan(dataset: Dataset, case: Case, method: str) -> dict[str, Any]:
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
        **noise_by_tier(priced, noise),
    }


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
