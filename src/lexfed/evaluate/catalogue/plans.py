# SPDX-License-Identifier: Apache-2.0
"""Tables of plans: courses of noise, charged searches, spending and cost of runs."""

from lexfed.evaluate.catalogue.job_grids import (
    CELL,
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
from lexfed.evaluate.harness.tables import Job, ResultTable, asked
from lexfed.evaluate.measurement.overhead import PARTS, VARIANTS
from lexfed.evaluate.measurement.setting_search import NAME, RATES
from lexfed.evaluate.measurement.setting_search import ROUNDS as SEARCHED_ROUNDS
from lexfed.evaluate.methods import MECHANISMS
from lexfed.evaluate.methods.ablations import PLANNED
from lexfed.privacy.accountants.gdp import epsilon_from, mu_from

_DELTA = 1e-5
_SETS = (GERMAN, HEART, TAIWAN)
_PRIVATE = tuple(name for name in MECHANISMS if name != "none")


def schedules() -> ResultTable:
    """The gain of moving the budget over rounds, at equal claims."""
    return ResultTable(
        *asked(__package__, "schedules"),
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
            more = {"part": part, "length": length, "settings": settings}
            cells = (attribute(epsilon, epsilon, **more),)
            found += jobs(COMPARED, (method,), seeds, cells)
    return found


def charged_search() -> ResultTable:
    """The rate at which a charged search finds the best step, and each step's worth."""
    sets = (("adult", 20000),)
    cells = []
    for rate in RATES:
        settings = {"learning_rate": rate, "rounds": SEARCHED_ROUNDS}
        cells.append(record(2.0, settings=settings, step=f"{rate:g}"))
    return ResultTable(
        *asked(__package__, "charged-search"),
        jobs=(
            *jobs(sets, ("cascade",), 10, (*cells, record(2.0, step="rule"))),
            *jobs(sets, (NAME,), 10, (record(2.0, step="searched"),), "search"),
        ),
        across=("dataset", "rows", "method", "step"),
        shows=("auc", "part", *(f"chose_{rate:g}" for rate in RATES), "chose_nothing"),
    )


def rounds() -> ResultTable:
    """Epsilon after each round, for the record and every tier."""
    return ResultTable(
        *asked(__package__, "rounds"),
        jobs=jobs(_SETS, _PRIVATE, 1, (CELL,), "plan"),
        across=("dataset", "rows", "method"),
        shows=("rounds", "record_epsilon", "budget_per_round"),
        drawing="rounds",
    )


def noise() -> ResultTable:
    """Noise on columns of each tier."""
    return ResultTable(
        *asked(__package__, "noise"),
        jobs=jobs(_SETS, _PRIVATE, 1, (CELL,), "plan"),
        across=("dataset", "rows", "method"),
        shows=("noise_special", "noise_personal", "noise_non_personal"),
        drawing="noise",
    )


def overhead() -> ResultTable:
    """Time, bytes and memory of whole runs, by part, with each thing and without."""
    return ResultTable(
        *asked(__package__, "overhead"),
        jobs=jobs((GERMAN, HEART), VARIANTS, 2, (CELL,), "overhead"),
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
