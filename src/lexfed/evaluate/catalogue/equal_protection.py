# SPDX-License-Identifier: Apache-2.0
"""Tables that compare methods at equal protection, and beside published figures."""

from collections.abc import Iterable

from lexfed.evaluate.catalogue.job_grids import (
    CELL,
    COMPARED,
    EICU,
    GERMAN,
    SMALL,
    SUPPORT,
    WHOLE,
    DatasetSample,
    attribute,
    jobs,
    record,
)
from lexfed.evaluate.catalogue.sweeps import JACS
from lexfed.evaluate.datasets.preparation import FLAMBY
from lexfed.evaluate.harness.paired_lines import OVER_UNIFORM, UNIFORM, over_the_best
from lexfed.evaluate.harness.tables import (
    Job,
    PublishedFigure,
    ResultTable,
    TableTarget,
    asked,
)

SPLITS = 20
"""Splits of every table where two methods are compared, paired; twice as many of small
ones, where the noise of a run moves its AUC most."""
CELLS = (attribute(0.1, 1.0), CELL)
FACTS = ("dataset", "rows", "attribute_epsilon", "record_epsilon", "method")
_FEWER = (("adult", 4000), ("taiwan_default", 4000))
"""The two large tables with 2,800 rows to learn from."""
_SIZES = (3000, 4000, 4400, 4800, 5200, 5714, 7000, 10000)


def equal_attribute() -> ResultTable:
    """Cascade and uniform noise, the sensitive tier at the same epsilon."""
    return ResultTable(
        *asked(__package__, "equal-attribute"),
        jobs=_paired(("uniform", "cascade")),
        across=FACTS,
        shows=("auc", "ap", "accuracy", "majority", "worst_site_auc"),
        against="uniform",
        targets=_tailored("cascade"),
    )


def comparison() -> ResultTable:
    """Cascade, every uniform rule, and the sensitive columns dropped."""
    return ResultTable(
        *asked(__package__, "comparison"),
        jobs=_paired((*UNIFORM, "dropped", "none", "cascade"), _FEWER),
        across=FACTS,
        shows=("auc", "accuracy", "majority", OVER_UNIFORM),
        against="uniform",
        lines=over_the_best(UNIFORM, OVER_UNIFORM),
    )


def adult_rows() -> ResultTable:
    """The comparison at several numbers of rows."""
    sizes = [("adult", size) for size in _SIZES]
    return ResultTable(
        *asked(__package__, "adult-rows"),
        jobs=jobs(sizes, ("uniform", "cascade"), 16, CELLS[:1]),
        across=("dataset", "rows", "method"),
        shows=("auc", "accuracy", "majority"),
        against="uniform",
    )


def tuned() -> ResultTable:
    """The same comparison after an equal search for settings."""
    return ResultTable(
        *asked(__package__, "tuned"),
        jobs=_paired(("uniform-tuned", "cascade-tuned")),
        across=FACTS,
        shows=("auc", "accuracy", "majority"),
        against="uniform-tuned",
        targets=_tailored("cascade-tuned"),
    )


def _paired(
    methods: Iterable[str], more: Iterable[DatasetSample] = ()
) -> tuple[Job, ...]:
    methods, large = tuple(methods), (one for one in COMPARED if one not in SMALL)
    return (
        *jobs(SMALL, methods, 2 * SPLITS, CELLS),
        *jobs((*large, *more), methods, SPLITS, CELLS),
    )


def _tailored(method: str) -> tuple[TableTarget, ...]:
    """Return what tailoring must show over uniform noise of equal protection."""
    where = {"method": method, "record_epsilon": 1.0}
    return (
        TableTarget(
            {"method": method},
            "gain auc",
            at_least=-0.005,
            reason="The difference is lost in the noise of the runs.",
        ),
        TableTarget({**where, "dataset": GERMAN[0]}, "gain auc", at_least=0.05),
        TableTarget({**where, "dataset": EICU[0]}, "gain auc", at_least=0.03),
    )


_EBM = {
    "heart_uci4": (0.619, 0.859),
    "german_credit": (0.514, 0.671),
    "eicu_demo": (0.536, 0.683),
    "adult": (0.705, 0.867),
    "taiwan_default": (0.561, 0.734),
    "support2": (0.655, 0.790),
}
"""Test AUC of DP-EBM at record epsilon .1 and 1, InterpretML defaults, delta 1e-5."""


_HOPELESS = {"dataset": GERMAN[0], "record_epsilon": 0.1}
_FEW = (
    "700 rows at ε .1: the noise of a single sum over all of them is larger than what "
    "the columns say."
)


def equal_record() -> ResultTable:
    """All columns alike: the same epsilon for the whole record, beside DP-EBM."""
    reason = (
        "InterpretML defaults on pooled rows and other splits; `dp-ebm` is our run of "
        "it with declared ranges on the very splits of the other lines"
    )
    cells = (record(0.1), record(1.0))
    figures = [
        ({"dataset": name, "record_epsilon": epsilon}, value)
        for name, values in _EBM.items()
        for epsilon, value in zip((0.1, 1.0), values, strict=True)
    ]
    return ResultTable(
        *asked(__package__, "equal-record"),
        jobs=jobs(COMPARED, ("dp-ebm", "uniform", "cascade"), SPLITS, cells),
        across=("dataset", "rows", "record_epsilon", "method"),
        shows=("auc", "ap", "accuracy", "majority", "attribute_epsilon"),
        against="dp-ebm",
        published=tuple(
            PublishedFigure(
                {**where, "method": "dp-ebm"}, "auc", value, "DP-EBM", reason
            )
            for where, value in figures
        ),
        targets=(
            TableTarget({"method": "cascade"}, "gain auc", at_least=0.0),
            *(
                TableTarget(
                    {**where, "method": "cascade"},
                    "auc",
                    at_least=value,
                    reason=_FEW if where == _HOPELESS else "",
                )
                for where, value in figures
            ),
        ),
    )


_RETAINED = {
    "heart_uci4": 0.90,
    "eicu_demo": 0.75,
    **dict.fromkeys(("support2", "adult", "taiwan_default", "diabetes130"), 0.97),
}


_SLOW = (
    "It is not the noise: in a trial on 20,000 rows .90 was left at ε 30 too. Columns "
    "that use a small part of their declared range are learned slowly by few steps."
)


def retention() -> ResultTable:
    """The utility retained at the published budget, of a model without privacy."""
    whole = [(name, None) for name, _ in WHOLE]
    return ResultTable(
        *asked(__package__, "retention"),
        jobs=jobs(whole, ("none", "cascade"), 5, (record(1.9),)),
        across=("dataset", "rows", "method"),
        shows=("auc", "retention", "accuracy", "majority", "worst_site_auc", "brier"),
        targets=tuple(
            TableTarget(
                {"dataset": name, "method": "cascade"},
                "retention",
                at_least=least,
                reason=_SLOW if name == "diabetes130" else "",
            )
            for name, least in _RETAINED.items()
        ),
    )


_HEALTH = {"none": 0.982, "static-tiers": 0.732, "dynamic": 0.961}
_FINANCE = {"none": 0.991, "static-tiers": 0.815, "dynamic": 0.924}
_DYNAMIC = {
    **dict.fromkeys(("support2", "diabetes130"), _HEALTH),
    **dict.fromkeys(("german_credit", "taiwan_default"), _FINANCE),
}


def dynamic() -> ResultTable:
    """Accuracy without privacy, with static and with dynamic noise."""
    reason = (
        "data and code of the publication are not available. On public tables of the "
        "same kind no model reaches such accuracy even without privacy, so the figure "
        "cannot be reached honestly here; compare the distance between the lines"
    )
    sets = (SUPPORT, ("diabetes130", 20000), GERMAN, ("taiwan_default", None))
    return ResultTable(
        *asked(__package__, "dynamic"),
        jobs=jobs(sets, (*_HEALTH, "cascade"), 5, (record(1.9),)),
        across=("dataset", "rows", "method"),
        shows=("accuracy", "majority", "auc", "retention", "budget_to_target"),
        published=tuple(
            PublishedFigure(
                {"dataset": name, "method": method}, "accuracy", value, JACS, reason
            )
            for name, values in _DYNAMIC.items()
            for method, value in values.items()
        ),
    )


_DISTANCE = (
    "FLamby does not scale its columns and each of its hospitals adds noise of its "
    "own; here ranges are public knowledge and noise is added once to the sum of all "
    "hospitals (with trusted or secure aggregation)"
)


def flamby() -> ResultTable:
    """The heart table as FLamby uses it."""
    cells = (record(1.0), record(0.1))
    return ResultTable(
        *asked(__package__, "flamby"),
        jobs=jobs(((FLAMBY, None),), ("none", "uniform", "cascade"), 10, cells),
        across=("dataset", "record_epsilon", "method"),
        shows=("accuracy", "majority", "auc", "worst_site_auc"),
        published=tuple(
            PublishedFigure(where, "accuracy", value, "FLamby", _DISTANCE)
            for where, value in (
                ({"record_epsilon": None, "method": "none"}, 0.712),
                ({"record_epsilon": 1.0, "method": "uniform"}, 0.699),
                ({"record_epsilon": 0.1, "method": "uniform"}, 0.653),
            )
        ),
        targets=tuple(
            TableTarget(
                {"record_epsilon": epsilon, "method": "uniform"}, "accuracy", least
            )
            for epsilon, least in ((1.0, 0.78), (0.1, 0.73))
        ),
    )
