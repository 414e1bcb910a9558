# SPDX-License-Identifier: Apache-2.0
"""One factor at a time around a base cell: budget, partition, sites, model, tiers.

Beside these a first look at every method, and rows of shapes that no public table has.
"""

from lexfed.evaluate.catalogue.job_grids import (
    ADULT,
    CELL,
    GERMAN,
    HEART,
    TAIWAN,
    WITHOUT_PRIVACY,
    attribute,
    jobs,
    record,
)
from lexfed.evaluate.datasets.preparation import (
    EICU_FOUR,
    GERMAN_FOUR,
    NEXT_HOUR,
    NO_GENETICS,
)
from lexfed.evaluate.harness.tables import PublishedFigure, ResultTable, asked
from lexfed.evaluate.methods import METHODS
from lexfed.evaluate.methods.ablations import ABLATIONS, MULTIPLIERS

SEEDS = 5
_HETEROGENEITY = {0.5: 0.938, 0.1: 0.904, 0.05: 0.869, 0.01: 0.803}
JACS = "sensitivity-aware dynamic DP, JACS 2025"


def methods() -> ResultTable:
    """Every method in the base cell, under both comparisons."""
    return ResultTable(
        *asked(__package__, "methods"),
        jobs=jobs((HEART, TAIWAN), map(_tuned, METHODS), SEEDS, (CELL, record(1.0))),
        across=("dataset", "rows", "equal", "method"),
        shows=(
            *("auc", "ap", "accuracy", "majority", "f1", "brier"),
            *("worst_site_auc", "gap_auc_sex", "gap_auc_age", "gap_auc_ethnicity"),
            *("retention", "record_epsilon", "attribute_epsilon", "rounds"),
            *("rounds_to_target", "budget_per_round"),
            *("noise_sensitive", "noise_others", "seconds"),
        ),
    )


def _tuned(method: str) -> str:
    return method if method in WITHOUT_PRIVACY else f"{method}-tuned"


def learning() -> ResultTable:
    """The rounds and the budget needed until a model is good enough."""
    chosen = (
        *("none", "uniform", "fedsgd", "time-adaptive", "grouped-inverse"),
        *("dp-ftrl", "cascade", "cascade-plain"),
    )
    return ResultTable(
        *asked(__package__, "learning"),
        jobs=jobs((HEART, TAIWAN), chosen, SEEDS, (CELL,)),
        across=("dataset", "rows", "method"),
        shows=(
            *("auc", "retention", "rounds_to_target", "budget_to_target"),
            *("rounds", "budget_per_round"),
        ),
        drawing="learning",
    )


def radar() -> ResultTable:
    """The same methods on several qualities at once, drawn."""
    chosen = ("uniform", "fedsgd", "grouped-inverse", "time-adaptive", "cascade")
    return ResultTable(
        *asked(__package__, "radar"),
        jobs=jobs((TAIWAN,), map(_tuned, chosen), SEEDS, (CELL,)),
        across=("dataset", "rows", "method"),
        shows=("auc", "ap", "worst_site_auc", "gap_auc_sex", "brier", "seconds"),
        drawing="radar",
    )


def epsilon() -> ResultTable:
    """AUC against the record's epsilon."""
    chosen = ("uniform", "fedsgd", "grouped-inverse", "cascade")
    cells = tuple(record(value) for value in (0.1, 0.3, 1.0, 1.9, 4.0))
    return ResultTable(
        *asked(__package__, "epsilon"),
        jobs=jobs((HEART, ADULT), chosen, SEEDS, cells),
        across=("dataset", "rows", "record_epsilon", "method"),
        shows=("auc", "accuracy", "majority"),
        drawing="epsilon",
    )


def alpha() -> ResultTable:
    """Sites that differ more and more."""
    chosen = ("none", "fedsgd", "cascade")
    reason = (
        "the published data are not available; accuracy is shown beside the majority "
        "class, which on this table is 76 %. Sums over all sites do not depend on how "
        "rows are spread, so the curve of the product is flat by construction"
    )
    cells = [
        record(1.9, sites=10, partition="dirichlet", alpha=value)
        for value in (1.0, 0.5, 0.1, 0.05, 0.01)
    ]
    return ResultTable(
        *asked(__package__, "alpha"),
        jobs=jobs((ADULT,), chosen, SEEDS, cells),
        across=("dataset", "rows", "alpha", "method"),
        shows=("accuracy", "majority", "auc", "worst_site_auc"),
        drawing="alpha",
        published=tuple(
            PublishedFigure(
                {"alpha": at, "method": "cascade"}, "accuracy", v, JACS, reason
            )
            for at, v in _HETEROGENEITY.items()
        ),
    )


def sites() -> ResultTable:
    """More sites, each with fewer rows."""
    chosen = ("fedsgd", "fedavg-clients", "local", "cascade")
    cells = [record(1.9, sites=count) for count in (10, 50, 100, 120)]
    return ResultTable(
        *asked(__package__, "sites"),
        jobs=jobs((ADULT,), chosen, SEEDS, cells),
        across=("dataset", "rows", "sites", "method"),
        shows=("auc", "worst_site_auc", "accuracy", "majority", "seconds"),
        drawing="sites",
    )


def models() -> ResultTable:
    """Linear models and networks."""
    architectures = ("logistic", "mlp:256,128,64", "cnn")
    cells = [record(4.0, model=model) for model in architectures]
    return ResultTable(
        *asked(__package__, "models"),
        jobs=jobs((ADULT,), ("none", "fedsgd", "cascade"), SEEDS, cells),
        across=("dataset", "rows", "model", "method"),
        shows=("auc", "accuracy", "majority", "retention", "rounds", "seconds"),
    )


def tiers() -> ResultTable:
    """Two, three and four tiers."""
    sets = ((GERMAN_FOUR, None), (EICU_FOUR, None))
    cells = [attribute(0.3, 2.0, tiers=count) for count in (2, 3, 4)]
    return ResultTable(
        *asked(__package__, "tiers"),
        jobs=jobs(sets, ("cascade", "cascade-plain"), 20, cells),
        across=("dataset", "tiers", "method"),
        shows=("auc", "accuracy", "majority", "noise_sensitive", "noise_others"),
    )


def ablations() -> ResultTable:
    """One idea taken out at a time."""
    return ResultTable(
        *asked(__package__, "ablations"),
        jobs=jobs((GERMAN, HEART, TAIWAN), ABLATIONS, SEEDS, (CELL,)),
        across=("dataset", "rows", "method"),
        shows=("auc", "accuracy", "majority", "rounds"),
        against="dynamic",
    )


def multipliers() -> ResultTable:
    """The strength with which noise follows sensitivity."""
    return ResultTable(
        *asked(__package__, "multipliers"),
        jobs=jobs((GERMAN, TAIWAN), MULTIPLIERS, SEEDS, (record(1.9),)),
        across=("dataset", "rows", "method"),
        shows=("auc", "accuracy", "majority", "attribute_epsilon"),
    )


def quick() -> ResultTable:
    """Every method on the heart table, both comparisons, two splits."""
    return ResultTable(
        *asked(__package__, "quick"),
        jobs=jobs((HEART,), METHODS, 2, (CELL, record(1.0))),
        across=("dataset", "equal", "method"),
        shows=(
            *("auc", "accuracy", "majority", "worst_site_auc", "retention"),
            *("record_epsilon", "attribute_epsilon", "rounds", "seconds"),
        ),
    )


def synthetic_table() -> ResultTable:
    """Wide, repeated and streaming rows, all made up."""
    tables = (
        *(("adni_like", None), ("ehr_like", 25_000)),
        *(("iot_like", 500_000), (NEXT_HOUR, 500_000)),
    )
    chosen, cells = ("none", "uniform", "cascade"), (record(1.0), record(4.0))
    found = (
        *jobs(tables, ("none", "boosted", "uniform", "cascade"), SEEDS, cells),
        *jobs(((NO_GENETICS, None),), chosen, SEEDS, cells),
    )
    # Seed after seed, as methods share the rows of a split and these tables are large.
    in_order = sorted(found, key=lambda job: (job.dataset, job.seed))
    return ResultTable(
        *asked(__package__, "made"),
        jobs=tuple(in_order),
        across=("dataset", "record_epsilon", "method"),
        shows=(
            *("auc", "ap", "retention", "brier", "rmse", "r2"),
            *("worst_site_auc", "worst_site_rmse", "attribute_epsilon", "seconds"),
        ),
    )
