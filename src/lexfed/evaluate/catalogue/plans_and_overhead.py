# SPDX-License-Identifier: Apache-2.0
"""Tables of plans, of which nothing is trained, and of what whole runs cost."""

from lexfed.evaluate.catalogue.job_grids import GERMAN, HEART, TAIWAN, attribute, jobs
from lexfed.evaluate.harness.tables import ResultTable
from lexfed.evaluate.measurement.overhead import PARTS, VARIANTS
from lexfed.evaluate.measurement.plan_costs import MECHANISMS

_CELL = attribute(0.3, 2.0)
_SETS = (GERMAN, HEART, TAIWAN)
_PRIVATE = tuple(name for name in MECHANISMS if name != "none")


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
