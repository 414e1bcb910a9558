# SPDX-License-Identifier: Apache-2.0
"""What a charged search chooses among three steps, and the part one run of it has."""

from typing import Any

from lexfed.config.search_grid import parse_grid, searched_configs
from lexfed.evaluate.comparison.case import Case, plain_configuration
from lexfed.evaluate.comparison.split_rows import rows_of
from lexfed.evaluate.datasets import Dataset
from lexfed.privacy.selection import Repetitions
from lexfed.randomness import SecureSource
from lexfed.run.tuning.charged_search import plan_search, run_search

NAME = "charged-search"
RATES, ROUNDS = (0.02, 0.2, 2.0), 20
"""Steps that are searched, in runs of so many rounds."""
_LAW = Repetitions("poisson", 5.0)


def measure_search(dataset: Dataset, case: Case) -> dict[str, Any]:
    """Run one search with fresh coins.

    Returns:
        `part`, the part of the budget that one run has, and for each step whether the
        search chose it; `chose_nothing` if its secret number of runs was 0.
    """
    tables = plain_configuration(
        dataset,
        case,
        {"federation": {"rounds": ROUNDS}, "evaluation": {"metrics": "paid"}},
    )
    rates = ",".join(map(str, RATES))
    settings = parse_grid([f"federation.learning_rate={rates}"]).settings()
    planned = plan_search(
        settings,
        searched_configs(tables, settings),
        rows_of(dataset, case).population,
        _LAW,
        dataset.folder,
    )
    chosen = run_search(planned, SecureSource())
    names = [f"chose_{rate:g}" for rate in RATES]
    found = None if chosen is None else settings.index(chosen.setting)
    return {
        "part": planned.part,
        **{name: float(place == found) for place, name in enumerate(names)},
        "chose_nothing": float(found is None),
    }
