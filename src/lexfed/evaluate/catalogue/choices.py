# SPDX-License-Identifier: Apache-2.0
"""Tables about choices: simpler rules, sizes, courses of noise, charged searches."""

from lexfed.evaluate.catalogue.equal_protection import CELLS, FACTS, SPLITS
from lexfed.evaluate.catalogue.job_grids import (
    COMPARED,
    SMALL,
    attribute,
    jobs,
    record,
)
from lexfed.evaluate.harness.hindsight import OVER_UNIFORM, UNIFORM, over_the_best
from lexfed.evaluate.harness.jobs import Job
from lexfed.evaluate.harness.schedule_gains import LENGTHS, PARTS, schedule_lines
from lexfed.evaluate.harness.tables import ResultTable
from lexfed.evaluate.measurement.charged_search import NAME, RATES
from lexfed.evaluate.measurement.charged_search import ROUNDS as SEARCHED_ROUNDS
from lexfed.evaluate.methods.noise_courses import PLANNED
from lexfed.privacy.accountants.calibration import epsilon_from, mu_from

_FEWER = (("adult", 4000), ("taiwan_default", 4000))
"""The two large tables with 2,800 rows to learn from."""
_SIZES = (3000, 4000, 4400, 4800, 5200, 5714, 7000, 10000)
_DELTA = 1e-5


def comparison() -> ResultTable:
    """Cascade, every uniform rule, and the sensitive columns dropped."""
    large = tuple(one for one in COMPARED if one not in SMALL)
    methods = (*UNIFORM, "dropped", "none", "cascade")
    return ResultTable(
        name="comparison",
        title="Tailored noise, uniform rules, and dropped columns",
        question=(
            "The comparison at equal protection of the sensitive attribute (replace-"
            "one, δ 1e-5) with more peers: three variants of a simpler rule for one "
            "noise, the sensitive columns dropped (the rest then has the record's ε), "
            "and the same model without privacy. `uniform` is always the product's "
            "own rule. The last column compares with the best of the four uniform "
            "rules in each cell, chosen after seeing the test rows: a generous peer "
            "that nobody could have run. Adult and Taiwan in two sizes, because the "
            "size decides which plan the rule makes (docs/theory/rule.md). 40 splits "
            "of small tables, 20 of others; differences are paired by split."
        ),
        jobs=(
            *jobs(SMALL, methods, 2 * SPLITS, CELLS),
            *jobs((*large, *_FEWER), methods, SPLITS, CELLS),
        ),
        across=FACTS,
        shows=("auc", "accuracy", "majority", OVER_UNIFORM),
        against="uniform",
        lines=over_the_best(UNIFORM, OVER_UNIFORM),
    )


def adult_rows() -> ResultTable:
    """How the comparison depends on the number of rows."""
    return ResultTable(
        name="adult-rows",
        title="The same table in eight sizes",
        question=(
            "Adult at attribute ε .1 and record ε 1 (replace-one, δ 1e-5), 16 splits "
            "of each size: AUC is no smooth function of the number of rows, because "
            "the plan of the rule is a step function of it. `uniform` begins to buy "
            "column statistics between 3,080 and 3,360 rows to learn from, the "
            "cascade's special tower gets its second round between 4,000 and 4,900."
        ),
        jobs=jobs(
            (("adult", size) for size in _SIZES),
            ("uniform", "cascade"),
            16,
            (attribute(0.1, 1.0),),
        ),
        across=("dataset", "rows", "method"),
        shows=("auc", "accuracy", "majority"),
        against="uniform",
    )


def schedules() -> ResultTable:
    """What moving the budget over rounds is worth, at equal claims."""
    return ResultTable(
        name="schedules",
        title="Noise that moves over rounds",
        question=(
            "Noisy descent (40 planned rounds, step 1, clip 1) under uniform noise at "
            "ε 1 (replace-one, δ 1e-5), 10 splits. `less budget`: part of the budget "
            "per round (μ²) that a course can do without and still be within .005 of "
            "the AUC that constant noise has with all of it. `more rounds`: how many "
            "more rounds it runs for the same claim, as a part of those of constant "
            "noise, and is still within .005 of its AUC. Both are read off a grid and "
            "end where it ends; half-widths are those of a bootstrap over splits. "
            "Constant noise gains by this measure too where its AUC hardly depends on "
            "budget or rounds: only what a course gains beyond it is worth something. "
            "Published are 44 % less budget and 69 % more rounds."
        ),
        jobs=tuple(_courses(10)),
        across=("dataset", "rows", "method"),
        shows=("auc", "rounds", "less_budget", "more_rounds"),
        against="course-constant",
        lines=schedule_lines,
    )


def _courses(seeds: int) -> list[Job]:
    grid = dict.fromkeys(
        (*((part, 1.0) for part in PARTS), *((1.0, length) for length in LENGTHS))
    )
    found: list[Job] = []
    for method, rounds in PLANNED.items():
        for part, length in grid:
            epsilon = epsilon_from(mu_from(1.0, _DELTA) * part**0.5, _DELTA)
            settings = {"learning_rate": 1.0, "rounds": round(length * rounds)}
            cell = attribute(
                epsilon, epsilon, part=part, length=length, settings=settings
            )
            found += jobs(COMPARED, (method,), seeds, (cell,))
    return found


def charged_search() -> ResultTable:
    """How often a charged search finds the best step, and what the steps are worth."""
    sets = (("adult", 20000),)
    fixed = [
        job
        for rate in RATES
        for job in jobs(
            sets,
            ("cascade",),
            10,
            (
                record(
                    2.0,
                    settings={"learning_rate": rate, "rounds": SEARCHED_ROUNDS},
                    step=f"{rate:g}",
                ),
            ),
        )
    ]
    return ResultTable(
        name="charged-search",
        title="What a charged search finds",
        question=(
            "Adult with 14,000 rows to learn from, record ε 2 (add-remove, δ 1e-5): "
            "the AUC of three steps in 20 rounds, each with the whole budget, that of "
            "the built-in rule without any search, and what a charged search over the "
            "three steps chooses (a Poisson number of runs with mean 5), with the part "
            "of the budget that one of its runs has. 10 splits."
        ),
        jobs=(
            *fixed,
            *jobs(sets, ("cascade",), 10, (record(2.0, step="rule"),)),
            *jobs(sets, (NAME,), 10, (record(2.0, step="searched"),), "search"),
        ),
        across=("dataset", "rows", "method", "step"),
        shows=(
            *("auc", "part"),
            *(f"chose_{rate:g}" for rate in RATES),
            "chose_nothing",
        ),
    )
