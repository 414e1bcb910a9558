# SPDX-License-Identifier: Apache-2.0
"""A first look in minutes: one table, every method, two splits."""

from lexfed.evaluate.catalogue.job_grids import HEART, attribute, jobs, record
from lexfed.evaluate.harness.tables import ResultTable
from lexfed.evaluate.methods import METHODS


def quick() -> ResultTable:
    """Every method on the heart table, both comparisons, two splits."""
    return ResultTable(
        name="quick",
        title="A first look",
        question=(
            "Every method on the heart table, 2 splits, which is far too few to rank "
            "them: equal attribute ε .3 (record 2, replace-one) and equal record ε 1 "
            "(add-remove), δ 1e-5."
        ),
        jobs=jobs((HEART,), METHODS, 2, (attribute(0.3, 2.0), record(1.0))),
        across=("dataset", "equal", "method"),
        shows=(
            *("auc", "accuracy", "majority", "worst_site_auc", "retention"),
            *("record_epsilon", "attribute_epsilon", "rounds", "seconds"),
        ),
    )
