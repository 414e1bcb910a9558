# SPDX-License-Identifier: Apache-2.0
"""Tables of attacks and audits: whether what somebody finds agrees with the proofs."""

from lexfed.evaluate.catalogue.job_grids import (
    CELL,
    GERMAN,
    HEART,
    TAIWAN,
    WHOLE,
    attribute,
    jobs,
    record,
)
from lexfed.evaluate.catalogue.sweeps import JACS
from lexfed.evaluate.harness.tables import (
    PublishedFigure,
    ResultTable,
    TableTarget,
    asked,
)

_SHOWS = ("auc", "low", "high", "bound")
_CASCADE, _CONTROL = {"method": "cascade"}, {"method": "none"}
"""Where an attack finds nothing either, finding nothing says nothing."""


def membership() -> ResultTable:
    """Was a person among those a model was trained on?"""
    reason = (
        "the publication attacks other data by an attack that it does not describe; "
        "68.4 % is its figure without its method"
    )
    few = (
        "Where a model learns from few people, one of them moves it enough to be seen "
        "a little. ε 1.9 promises no more: its bound is .684."
    )
    cells = (record(1.9, attack="membership"),)
    return ResultTable(
        *asked(__package__, "membership"),
        jobs=jobs(WHOLE, ("none", "cascade"), 3, cells, "attack"),
        across=("dataset", "rows", "method"),
        shows=(
            *_SHOWS,
            *("threshold_auc", "threshold_low", "threshold_high"),
            *("calibrated_auc", "calibrated_low", "calibrated_high"),
        ),
        drawing="attack",
        published=(
            PublishedFigure(_CASCADE, "auc", 0.512, JACS, reason),
            PublishedFigure(_CONTROL, "auc", 0.684, JACS, reason),
        ),
        targets=(
            TableTarget(_CASCADE, "low", at_most=0.52),
            TableTarget(_CASCADE, "threshold_low", at_most=0.52),
            TableTarget({**_CONTROL, "dataset": "german_credit"}, "low", at_least=0.52),
            TableTarget({**_CONTROL, "dataset": "heart_uci4"}, "low", at_least=0.52),
            TableTarget(_CASCADE, "calibrated_low", at_most=0.52, reason=few),
        ),
    )


def inference() -> ResultTable:
    """Attacks that guess a person's sensitive value."""
    cells = (attribute(0.3, 2.0, attack="attribute"),)
    return ResultTable(
        *asked(__package__, "attribute-inference"),
        jobs=jobs(WHOLE, ("none", "uniform", "cascade"), 1, cells, "attack"),
        across=("dataset", "rows", "method"),
        shows=(
            *(*_SHOWS, "imputation_auc", "gain", "gain_low", "gain_high"),
            *("leak", "leak_low", "excess", "columns"),
        ),
        drawing="attack",
        targets=(
            TableTarget(_CASCADE, "gain_low", at_most=0.0),
            TableTarget({}, "excess", at_most=0.0),
        ),
    )


def reconstruction() -> ResultTable:
    """Reconstruction of a value from the rounds."""
    attacks = ("rounds", "rounds, central")
    cells = [attribute(0.3, 2.0, attack=attack) for attack in attacks]
    return ResultTable(
        *asked(__package__, "reconstruction"),
        jobs=jobs((GERMAN, HEART), ("uniform", "cascade"), 1, cells, "attack"),
        across=("dataset", "attack", "method"),
        shows=(*_SHOWS, "excess", "surest", "surest_excess", "noise"),
        drawing="attack",
        targets=(
            TableTarget({"attack": "rounds"}, "excess", at_most=0.0),
            TableTarget({"attack": "rounds"}, "surest_excess", at_most=0.0),
            TableTarget({"attack": "rounds"}, "noise", at_least=0.95),
            TableTarget({"attack": "rounds, central"}, "low", at_least=0.9),
        ),
    )


def inversion() -> ResultTable:
    """Inversion of a small site's update by an attacker who knows nobody."""
    attacks = ("inversion", "inversion, central")
    cells = [attribute(0.3, 2.0, attack=one, model="mlp:16") for one in attacks]
    return ResultTable(
        *asked(__package__, "inversion"),
        jobs=jobs((GERMAN, HEART), ("uniform",), 1, cells, "attack"),
        across=("dataset", "attack", "method"),
        shows=(*_SHOWS, "excess"),
        drawing="attack",
        targets=(
            TableTarget({"attack": "inversion"}, "excess", at_most=0.0),
            TableTarget({"attack": "inversion, central"}, "low", at_least=0.6),
        ),
    )


def audit() -> ResultTable:
    """A lower bound on epsilon beside every claim."""
    return ResultTable(
        *asked(__package__, "audit"),
        jobs=jobs((GERMAN, HEART, TAIWAN), ("uniform", "cascade"), 4, (CELL,), "audit"),
        across=("dataset", "method"),
        shows=(
            *("record_claimed", "record_found", "special_claimed", "special_found"),
            *("personal_claimed", "personal_found", "refuted"),
        ),
        targets=(TableTarget({}, "refuted", at_most=0.0),),
    )
