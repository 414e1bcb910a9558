# SPDX-License-Identifier: Apache-2.0
"""Tables of plans: nothing is trained, so there is one seed."""

from lexfed.evaluate.catalogue.base import GERMAN, HEART, TAIWAN, attribute, jobs
from lexfed.evaluate.plans import MECHANISMS
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
