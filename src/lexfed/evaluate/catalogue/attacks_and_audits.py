# SPDX-License-Identifier: Apache-2.0
"""Tables of attacks and audits: whether what somebody finds agrees with the proofs."""

from lexfed.evaluate.catalogue.job_grids import (
    GERMAN,
    HEART,
    TAIWAN,
    WHOLE,
    attribute,
    jobs,
    record,
)
from lexfed.evaluate.catalogue.sweeps import JACS
from lexfed.evaluate.harness.tables import PublishedFigure, ResultTable, TableTarget

_SHOWS = ("auc", "low", "high", "bound")
_CONTROL = {"method": "none"}
"""Where an attack finds nothing either, finding nothing says nothing."""


def membership() -> ResultTable:
    """Was a person among those a model was trained on?"""
    reason = (
        "the publication attacks other data by an attack that it does not describe; "
        "68.4 % is its figure without its method"
    )
    return ResultTable(
        name="membership",
        title="Membership attacks",
        question=(
            "LiRA with 16 shadow models, the loss threshold, and the margin calibrated "
            "by the same shadows, on models trained by the product at record ε 1.9 "
            "(add-remove, δ 1e-5) and without privacy. `low` and `high` are over 17 "
            "models with noise of their own and hold for the three attacks together, "
            "means of three such sets; the bound is what the proof leaves to any "
            "attack. Models of few people without privacy "
            "are the control: there it must work."
        ),
        jobs=jobs(
            WHOLE,
            ("none", "cascade"),
            3,
            (record(1.9, attack="membership"),),
            "attack",
        ),
        across=("dataset", "rows", "method"),
        shows=(
            *_SHOWS,
            *("threshold_auc", "threshold_low", "threshold_high"),
            *("calibrated_auc", "calibrated_low", "calibrated_high"),
        ),
        drawing="attack",
        published=(
            PublishedFigure({"method": "cascade"}, "auc", 0.512, JACS, reason),
            PublishedFigure({"method": "none"}, "auc", 0.684, JACS, reason),
        ),
        targets=(
            TableTarget({"method": "cascade"}, "low", at_most=0.52),
            TableTarget({"method": "cascade"}, "threshold_low", at_most=0.52),
            TableTarget({**_CONTROL, "dataset": "german_credit"}, "low", at_least=0.52),
            TableTarget({**_CONTROL, "dataset": "heart_uci4"}, "low", at_least=0.52),
            TableTarget(
                {"method": "cascade"},
                "calibrated_low",
                at_most=0.52,
                reason=(
                    "Where a model learns from few people, one of them moves it enough "
                    "to be seen a little. ε 1.9 promises no more: its bound is .684."
                ),
            ),
        ),
    )


def inference() -> ResultTable:
    """Attacks that guess a person's sensitive value."""
    return ResultTable(
        name="attribute-inference",
        title="Attribute inference",
        question=(
            "Inversion, CSMIA, and imputation together with the model (`both`, learned "
            "on a shadow) on every column of the most sensitive tier, at attribute ε "
            ".3 (record 2, replace-one, δ 1e-5) and without privacy. The line shows "
            "the column and attack whose gain over imputation is surest; imputation "
            "knows no model, so what it finds is correlation and no leak. Ends of "
            "gains hold together with 95 % over all columns, attacks and lines: where "
            "no gain is found, one up to `gain high` would have escaped. `leak` is the "
            "gain less that among outsiders; the bound is the better of both guesses "
            "plus the proven advantage, and `excess` compares ends of all columns and "
            "attacks with it. Where `none` gains nothing either, little can be read "
            "from a failure: the rounds below tell more."
        ),
        jobs=jobs(
            WHOLE,
            ("none", "uniform", "cascade"),
            1,
            (attribute(0.3, 2.0, attack="attribute"),),
            "attack",
        ),
        across=("dataset", "rows", "method"),
        shows=(
            *(*_SHOWS, "imputation_auc", "gain", "gain_low", "gain_high"),
            *("leak", "leak_low", "excess", "columns"),
        ),
        drawing="attack",
        targets=(
            TableTarget({"method": "cascade"}, "gain_low", at_most=0.0),
            TableTarget({}, "excess", at_most=0.0),
        ),
    )


def reconstruction() -> ResultTable:
    """Reconstruction of a value from the rounds."""
    return ResultTable(
        name="reconstruction",
        title="Reconstruction from the rounds",
        question=(
            "An observer who knows every other record and all of a person but one "
            "value sees every round: as released, or (`central`) before the noise, as "
            "the trusted coordinator does. Ten runs of other splits, each about the "
            "next column of the most sensitive tier, 40 games of each (central: 4); "
            "attribute ε .3, record ε 2 (replace-one, δ 1e-5). Intervals are over "
            "games and hold for all lines at once with 95 %; `excess` is the lower end "
            "less the bound. `surest` has no chance in it: the AUC that the best "
            "observer has against the person whom contributions tell apart most, and "
            "`noise` is what was drawn over what was planned."
        ),
        jobs=jobs(
            (GERMAN, HEART),
            ("uniform", "cascade"),
            1,
            tuple(
                attribute(0.3, 2.0, attack=attack)
                for attack in ("rounds", "rounds, central")
            ),
            "attack",
        ),
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
    return ResultTable(
        name="inversion",
        title="Gradient inversion",
        question=(
            "Rows are sought whose clipped gradients are nearest to what a site of two "
            "people sends in three rounds: as released, or (`central`) before the "
            "noise. A network of 16 hidden units under uniform noise at attribute ε .3 "
            "(δ 1e-5), since a cascade that follows the default rule sends no "
            "gradients. Labels are known; intervals are over 40 sites and hold for all "
            "lines at once with 95 %; the bound is that of the three rounds."
        ),
        jobs=jobs(
            (GERMAN, HEART),
            ("uniform",),
            1,
            tuple(
                attribute(0.3, 2.0, attack=attack, model="mlp:16")
                for attack in ("inversion", "inversion, central")
            ),
            "attack",
        ),
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
        name="audit",
        title="Empirical epsilon",
        question=(
            "The one-run audit with 5,000 canaries for each claim (confidence 95 %), "
            "at attribute ε .3 and record ε 2 (replace-one, δ 1e-5), 24 runs in all. A "
            "lower bound above its claim would prove a defect; one below it proves "
            "nothing by itself. That the audit catches σ/3, a missing clip and a tower "
            "that leaks is measured by `python -m benchmarks.empirical`, and stands in "
            "docs/theory/empirical.md."
        ),
        jobs=jobs(
            (GERMAN, HEART, TAIWAN),
            ("uniform", "cascade"),
            4,
            (attribute(0.3, 2.0),),
            "audit",
        ),
        across=("dataset", "method"),
        shows=(
            *("record_claimed", "record_found", "special_claimed", "special_found"),
            *("personal_claimed", "personal_found", "refuted"),
        ),
        targets=(TableTarget({}, "refuted", at_most=0.0),),
    )
