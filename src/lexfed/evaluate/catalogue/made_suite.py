# SPDX-License-Identifier: Apache-2.0
"""The table of the made-up suite, on which rules for models are developed."""

from lexfed.config.drafting.first_draft import PERSONAL_SHARE, SPECIAL_SHARE
from lexfed.evaluate.catalogue.job_grids import attribute, jobs
from lexfed.evaluate.datasets.synthetic.suite import TABLES
from lexfed.evaluate.harness.paired_lines import beside
from lexfed.evaluate.harness.tables import ResultTable, asked

SEEDS = 3
EPSILONS = (0.1, 1.0, 2.0, 8.0)
_REFERENCES = ("additive", "boosted")
_METHODS = ("truth", "boosted", "additive", "none", "uniform", "dropped", "cascade")


def made_suite() -> ResultTable:
    """Every table of the suite with a flag or a number to predict."""
    # Methods that are compared know two classes.
    sets = [
        (name, None)
        for name, factors in TABLES.items()
        if factors.outcome != "three classes"
    ]
    cells = [
        attribute(
            SPECIAL_SHARE * epsilon, epsilon, personal_epsilon=PERSONAL_SHARE * epsilon
        )
        for epsilon in EPSILONS
    ]
    found = jobs(sets, _METHODS, SEEDS, cells)
    places = {name: place for place, (name, _) in enumerate(sets)}
    # Seed after seed, as methods share the rows of a split.
    in_order = sorted(found, key=lambda job: (places[job.dataset], job.seed))
    return ResultTable(
        *asked(__package__, "made-suite", tables=len(sets), seeds=SEEDS),
        jobs=tuple(in_order),
        across=("dataset", "record_epsilon", "method"),
        shows=("auc", "r2", *(f"over {name}" for name in _REFERENCES)),
        drawing="distance",
        lines=beside(_REFERENCES),
    )
