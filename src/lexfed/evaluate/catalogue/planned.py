# SPDX-License-Identifier: Apache-2.0
"""Tables of plans, of which nothing is trained, and of what whole runs cost."""

from lexfed.evaluate.catalogue.base import GERMAN, HEART, TAIWAN, attribute, jobs
from lexfed.evaluate.overhead import PARTS, VARIANTS
from lexfed.evaluate.plans import MECHANISMS
from lexfed.evaluate.sampled import OTHER
from lexfed.evaluate.tables import Table

_CELL = attribute(0.3, 2.0)
_SETS = (GERMAN, HEART, TAIWAN)
_PRIVATE = tuple(name for name in MECHANISMS if name != "none")


def rounds() -> Table:
    """Epsilon after each round, for the record and every tier."""
    return Table(
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


def noise() -> Table:
    """Noise on columns of each tier."""
    return Table(
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


def overhead() -> Table:
    """Time, bytes and memory of whole runs, by part."""
    return Table(
        name="overhead",
        title="Overhead",
        question=(
            "Whole runs with folder, log and ledgers, 20 rounds of descent for each "
            "tower: without privacy, with noise, with sites as objects of their own, "
            "with noise in shares. Seconds by part from sampled stacks; bytes of one "
            "site's messages, of the folder, and growth of memory. The same machine "
            "may be busy with other jobs: compare shares, not seconds."
        ),
        jobs=jobs((GERMAN, HEART), VARIANTS, 2, (_CELL,), "overhead"),
        across=("dataset", "method"),
        shows=(
            *("seconds", "rounds", "client_seconds", "coordinator_seconds"),
            *(f"{part}_seconds" for part in (*PARTS, OTHER)),
            *("received_bytes", "sent_bytes", "folder_bytes", "memory_bytes"),
        ),
    )
