# SPDX-License-Identifier: Apache-2.0
"""Tables of plans: courses of noise, charged searches, spending and cost of runs."""

from lexfed.evaluate.catalogue.job_grids import (
    COMPARED,
    GERMAN,
    HEART,
    TAIWAN,
    attribute,
    jobs,
    record,
)
from lexfed.evaluate.harness.paired_lines import LENGTHS, schedule_lines
from lexfed.evaluate.harness.paired_lines import PARTS as BUDGETS
from lexfed.evaluate.harness.tables import Job, ResultTable
from lexfed.evaluate.measurement.overhead import PARTS, VARIANTS
from lexfed.evaluate.measurement.setting_search import NAME, RATES
from lexfed.evaluate.measurement.setting_search import ROUNDS as SEARCHED_ROUNDS
from lexfed.evaluate.methods import MECHANISMS
from lexfed.evaluate.methods.ablations import PLANNED
from lexfed.privacy.accountants.calibration import epsilon_from, mu_from

_DELTA = 1e-5
_CELL = attribute(0.3, 2.0)
_SETS = (GERMAN, HEART, TAIWAN)
_PRIVATE = tuple(name for name in MECHANISMS if name != "none")


def schedules() -> ResultTable:
    """The gain of moving the budget over rounds, at equal claims."""
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
        (*((part, 1.0) for part in BUDGETS), *((1.0, length) for length in LENGTHS))
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
    """The rate at which a charged search finds the best step, and each step's worth."""
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


def rounds() -> ResultTable:
    """Epsilon after each round, for the record and every tier."""
    return ResultTable(
        name="rounds",
        title="Epsilon by round",
        question=(
            "What does a plan spend round by round? Attribute ε .3 of the sensitive "
            "tier, record ε 2 (replace-one, δ 1e-5)."
        ),
        jobs=jobs(_SETS, _PRIVATE, 1, (_CELL,), "plan"),
        across=("dataset", "rows", "method"),
        shows=("rounds", "record_epsilon", "budget_per_round"),
        drawing="rounds",
    )


def noise() -> ResultTable:
    """Noise on columns of each tier."""
    return ResultTable(
        name="noise",
        title="Noise by column",
        question=(
            "How much noise do the weights of a column carry over all rounds, in units "
            "of the clip? The same plans as above; averaged over the columns of a tier "
            "here, by column in the figures."
        ),
        jobs=jobs(_SETS, _PRIVATE, 1, (_CELL,), "plan"),
        across=("dataset", "rows", "method"),
        shows=("noise_special", "noise_personal", "noise_non_personal"),
        drawing="noise",
    )


def overhead() -> ResultTable:
    """Time, bytes and memory of whole runs, by part, with each thing and without."""
    return ResultTable(
        name="overhead",
        title="Overhead",
        question=(
            "What does each part of protection cost, against the same run without it? "
            "Every line has exactly one thing more than the line above: clipping, "
            "noise and accounting by `uniform`; one tower for each tier instead of one "
            "(20 rounds of descent each, so compare milliseconds by round); "
            "folder, log, receipts and lasting ledgers; the accountant `rdp`, which "
            "masks need; noise in shares behind masks. Ratios are those to the line "
            "above, which is run again beside each run. Every run tags its columns "
            "once, so without tagging it takes that much less. All sites are objects "
            "of one process that pass messages as bytes. Seconds are processor time, "
            "by part from a look each millisecond, so small parts are rough; those "
            "of clients are all sites together, those of the coordinator the rest of "
            "the rounds. Noise that is solved for before the first round counts as "
            "allocation. Without privacy the code that clips runs too, with a clip "
            "that nothing reaches. Waiting is no work: it is for the disk, because "
            "every charge and entry of the log is durable before the next step, and "
            "for other jobs of the machine. Bytes received and sent are those of the "
            "messages of one site in all rounds, set-up of masks included, without "
            "what a network adds; memory is growth over the loaded program."
        ),
        jobs=jobs((GERMAN, HEART), VARIANTS, 2, (_CELL,), "overhead"),
        across=("dataset", "method"),
        shows=(
            *("cpu_seconds", "cpu_ratio", "rounds", "round_milliseconds"),
            *("round_ratio", "message_ratio", "memory_ratio"),
            *("client_seconds", "coordinator_seconds"),
            *(f"{part}_seconds" for part in PARTS),
            *("waiting_seconds", "received_bytes", "sent_bytes", "folder_bytes"),
            "memory_bytes",
        ),
    )
