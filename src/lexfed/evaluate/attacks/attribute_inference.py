# SPDX-License-Identifier: Apache-2.0
"""Attribute inference: a person's other columns and label are known, one value is not.

    inversion    the value under which the label is likeliest, weighed by how frequent
                 the values are: Bayes' rule with the model as likelihood [FJR15]
    CSMIA        by cases: one value predicts the label rightly: that one; several do:
                 the one with most confidence; none does: with least [MDK+22]
    imputation   no model at all: a regression of the value on the other columns and
                 the label, from auxiliary people
    both         imputation and the model's odds together, weighed as they serve best
                 on auxiliary people and a model that was trained on those [JE22]

Columns that correlate are no leak of a model, so an attack counts by its *gain* over
imputation on the same people. Its bound is the best guess plus the advantage that the
proven guarantee of the value leaves (`bounds.with_guesses`). The better of imputation
and of the same attack on outsiders, of whom the model holds nothing, stands for the
best guess, as a model knows its population better than a regression on few people.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from lexfed.arrays import Bools, Floats, Integers
from lexfed.errors import DataError, Problem
from lexfed.evaluate.attacks.auc_intervals import (
    CONFIDENCE,
    AttackResult,
    Interval,
    auc_of,
    gain_over,
    more_gain_among,
    one_release,
)
from lexfed.evaluate.attacks.bounds import TradeOff, with_guesses
from lexfed.evaluate.attacks.target_value import TargetValue
from lexfed.models.losses import Loss
from lexfed.models.towers import Model

ATTACKS = ("inversion", "CSMIA", "both")
"""All that see the model; `both` needs a shadow."""

_NEAR = 1e-300  # of a probability of zero no logarithm is taken


@dataclass(frozen=True)
class LabelledRows:
    """Encoded rows, [rows, slots], and their labels; one row of each person."""

    inputs: Floats
    labels: Floats

    def of(self, chosen: Bools) -> "LabelledRows":
        """Return some of the rows."""
        return LabelledRows(self.inputs[chosen], self.labels[chosen])


@dataclass(frozen=True)
class InferencePeople:
    """The people of an attack, in three groups.

    Attributes:
        members: the model was trained on them; their values score attacks only.
        auxiliary: it was not trained on them, and the attacker knows their values.
        outsiders: it was not trained on them, and they are attacked likewise.
    """

    members: LabelledRows
    auxiliary: LabelledRows
    outsiders: LabelledRows


@dataclass(frozen=True)
class AttributeInference:
    """Results of all attacks on one column: gains of each over imputation, and leaks.

    A leak is a gain less the same among outsiders. The excess is the largest lower end
    of an attack's AUC over the proven advantage added to the upper end of the best
    guess, both at the confidence that was asked for.
    """

    column: str
    attacks: tuple[AttackResult, ...]
    gains: Mapping[str, Interval]
    leaks: Mapping[str, Interval]
    excess: float


def attack_attribute(
    model: Model,
    loss: Loss,
    about: TargetValue,
    people: InferencePeople,
    *,
    trade_off: TradeOff | None,
    shadow: Model | None = None,
    confidence: float = CONFIDENCE,
) -> AttributeInference:
    """Infer one column of people that a model was trained on.

    Without privacy there is no `trade_off` of the column's values. The `shadow` is a
    model of the same making that was trained on the auxiliary people.

    Raises:
        ValueError: if labels are numbers: no confidence is known then.
        DataError: if people of a group do not differ in the column.
    """
    if loss.name == "squared":
        raise ValueError("expected a task with classes, got a regression")
    groups = people.members, people.auxiliary, people.outsiders
    known = [group.of(about.known(group.inputs)) for group in groups]
    members, auxiliary, outsiders = known
    truth, learned, apart = (about.has(group.inputs) for group in known)
    if any(kind.all() or not kind.any() for kind in (truth, learned, apart)):
        what = "everybody of a group has the value, or nobody has"
        raise DataError([Problem(f"column `{about.column}`", what, "take more rows")])
    scores: dict[str, Floats] = {}
    outside: dict[str, Floats] = {}
    seconds: dict[str, float] = {}

    def timed(name: str, attack: Callable[[LabelledRows], Floats]) -> None:
        begun = time.perf_counter()
        scores[name] = attack(members)
        seconds[name] = time.perf_counter() - begun
        outside[name] = attack(outsiders)

    classes = max(2, len(model.intercept))
    timed("imputation", lambda rows: _imputed(about, auxiliary, rows, classes))
    timed("inversion", lambda rows: inversion(model, loss, about, rows))
    timed("CSMIA", lambda rows: csmia(model, loss, about, rows))
    if shadow is not None:
        pair = model, shadow
        timed("both", lambda rows: _both(*pair, loss, about, rows, auxiliary))
    aucs = {name: one_release(score, truth) for name, score in scores.items()}
    base, guess = scores["imputation"], outside["imputation"]
    others = [name for name in scores if name != "imputation"]

    def bound(name: str) -> float:
        if trade_off is None:
            return 1.0
        guessed = max(aucs["imputation"].value, auc_of(outside[name], apart))
        return with_guesses(trade_off, guessed)

    def excess(name: str) -> float:
        """Return the lower end of an AUC less the upper end of its bound."""
        attacked = one_release(scores[name], truth, confidence).low
        guesses = (base, truth), (outside[name], apart)
        guessed = max(one_release(*each, confidence).high for each in guesses)
        most = 1.0 if trade_off is None else with_guesses(trade_off, guessed)
        return attacked - most

    return AttributeInference(
        about.column,
        tuple(
            AttackResult.of(
                f"{about.column} by {name}", auc, bound(name), len(truth), seconds[name]
            )
            for name, auc in aucs.items()
        ),
        {name: gain_over(scores[name], base, truth, confidence) for name in others},
        {
            name: more_gain_among(
                (scores[name], base, truth), (outside[name], guess, apart), confidence
            )
            for name in others
        },
        max(map(excess, others)),
    )


def inversion(
    model: Model, loss: Loss, about: TargetValue, rows: LabelledRows
) -> Floats:
    """Score by ln odds of the wanted value, given the label's chance under each."""
    own, _, _ = _answers(model, loss, about, rows)
    weighed = own * about.shares[:, None]
    others = np.delete(weighed, about.wanted, axis=0).sum(axis=0)
    return _log(weighed[about.wanted]) - _log(others)


def csmia(model: Model, loss: Loss, about: TargetValue, rows: LabelledRows) -> Floats:
    """Score by the guess of [MDK+22]; within a case confidences' distance serves."""
    _, confidence, right = _answers(model, loss, about, rows)
    many = right.sum(axis=0)
    ranked = np.where(right, confidence, np.where(many == 0, -confidence, -np.inf))
    guess = ranked.argmax(axis=0)
    spread = confidence.max(axis=0) - confidence.min(axis=0)
    sureness = spread + np.where(many == 1, 2.0, np.where(many > 1, 1.0, 0.0))
    return np.asarray(np.where(guess == about.wanted, sureness, -sureness))


def _answers(
    model: Model, loss: Loss, about: TargetValue, rows: LabelledRows
) -> tuple[Floats, Floats, Bools]:
    """Return the label's chance, the predicted class's, and whether they are one."""
    count = len(about.candidates)
    asked = np.stack([about.filled(rows.inputs, k) for k in range(count)])
    shares = loss.predict(model.logits(torch.from_numpy(asked))).numpy()
    if loss.name == "logistic":
        shares = np.concatenate([1.0 - shares, shares], axis=-1)
    labels: Integers = np.broadcast_to(
        rows.labels.astype(np.int64), (count, len(rows.labels))
    )
    own = np.take_along_axis(shares, labels[..., None], axis=-1)[..., 0]
    return own, shares.max(axis=-1), shares.argmax(axis=-1) == labels


def _facts(about: TargetValue, rows: LabelledRows, classes: int) -> Floats:
    """Return everything but the column itself: other slots, and the label's class."""
    others = np.delete(rows.inputs, about.slots, axis=1)
    return np.concatenate([others, rows.labels[:, None] == np.arange(classes)], axis=1)


def _regression() -> LogisticRegression:
    return LogisticRegression(C=0.3, max_iter=1000)


def _imputed(
    about: TargetValue, auxiliary: LabelledRows, rows: LabelledRows, classes: int
) -> Floats:
    """Return ln odds of the wanted value by regression on auxiliary people."""
    fitted = _regression().fit(
        _facts(about, auxiliary, classes), about.has(auxiliary.inputs)
    )
    return np.asarray(fitted.decision_function(_facts(about, rows, classes)))


def _both(
    model: Model,
    shadow: Model,
    loss: Loss,
    about: TargetValue,
    rows: LabelledRows,
    auxiliary: LabelledRows,
) -> Floats:
    """Weigh imputation and the model's odds as they serve best on auxiliary people.

    Those are members of the shadow. Their imputations are cross-fitted: of people that
    the regression was fitted on it would know more than of the attacked ones.
    """
    classes = max(2, len(model.intercept))
    truth = about.has(auxiliary.inputs)
    guessed = cross_val_predict(
        _regression(),
        _facts(about, auxiliary, classes),
        truth,
        cv=StratifiedKFold(5, shuffle=True, random_state=0),
        method="decision_function",
    )
    told = inversion(shadow, loss, about, auxiliary)
    fitted = _regression().fit(np.stack([guessed, told], axis=1), truth)
    # Neither is ever worth less than nothing: a negative weight is chance.
    weights = np.maximum(fitted.coef_[0], 0.0)
    imputed = _imputed(about, auxiliary, rows, classes)
    both = np.stack([imputed, inversion(model, loss, about, rows)], axis=1)
    return np.asarray(both @ weights)


def _log(shares: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(shares, _NEAR)))
