# SPDX-License-Identifier: Apache-2.0
"""Membership: was a person among those a model was trained on?

**The game.** A coin decides for every person whether a model is trained on them, for
every model anew. The attacker sees a model, everybody's record and the coins of all
other models, and scores every person. A model in turn is attacked with all the others
as its *shadows*: models of the same making whose members are known. Coins of one model
say nothing about those of another, so no model is attacked with hindsight.

**What is looked at.** The margin of a person's own label, ln p/(1 - p), averaged over
the person's rows; for numbers the negative loss.

    threshold   members fit better: the margin itself is the score [YGFJ18]
    LiRA        how much likelier the margin is among shadows that had the person than
                among those that had not, by two normal laws per person [CCN+22]
    calibrated  the margin less the person's mean over all shadows: a model's fit,
                less the usual fit of that person [WGCS22]

Under strong noise a person's two laws, of some eight shadows each, differ by chance
more than by the person, and LiRA is weaker than the calibrated margin, which needs one
mean only. With few shadows a person's own variance is too rough, so one variance for
everybody is used, as [CCN+22, Sec. VI] does for fewer than 64 of them.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Protocol

import numpy as np

from lexfed.arrays import Bools, Floats
from lexfed.evaluate.attacks.auc_intervals import (
    CONFIDENCE,
    AttackResult,
    auc_of,
    several_releases,
)
from lexfed.evaluate.attacks.bounds import TradeOff

SHADOWS = 16
"""Models that an attacked model is compared with."""

_LEAST_DEVIATION = 1e-6  # a law that is a point would make its person's score infinite


class Trainer(Protocol):
    """Trains models on some of a number of people."""

    @property
    def people(self) -> int:
        """Number of people."""
        ...

    def margins(self, members: Bools) -> Floats:
        """Train a model for each row of members; return margins, [models, people]."""
        ...


def flip_memberships(people: int, models: int, seed: int) -> Bools:
    """Flip a fair coin for every person and model.

    Independent ones: were everybody a member of exactly half of the models, counting a
    person's shadows would tell whether the attacked model had them.
    """
    generator = np.random.default_rng([seed, 0xA77AC])
    return generator.random((models, people)) < 0.5


def attack_membership(
    trainer: Trainer,
    trade_off: TradeOff | None,
    *,
    shadows: int = SHADOWS,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> tuple[AttackResult, AttackResult, AttackResult]:
    """Train models and attack each by threshold, LiRA and the calibrated margin.

    The `trade_off` is that of one model, for the presence of a record; None without a
    guarantee. An attacked model is compared with two `shadows` or more.

    Guarantees:
        A trainer that does not look at its members has an AUC of .5 in expectation.
    """
    if shadows < 2:
        raise ValueError(f"expected `shadows` >= 2, got: {shadows}")
    begun = time.perf_counter()
    members = flip_memberships(trainer.people, shadows + 1, seed)
    margins = trainer.margins(members)
    trained = time.perf_counter()
    bound = 1.0 if trade_off is None else trade_off.ranking

    def result(name: str, score: Callable[[int], Floats]) -> AttackResult:
        start = time.perf_counter()
        each = [auc_of(score(model), members[model]) for model in range(len(members))]
        auc = several_releases(each, confidence)
        seconds = time.perf_counter() - start + trained - begun
        return AttackResult.of(name, auc, bound, members.size, seconds)

    def ratios(model: int) -> Floats:
        return likelihood_ratios(margins, members, model)

    return (
        result("membership by threshold", lambda model: margins[model]),
        result(f"membership by LiRA-{shadows}", ratios),
        result("membership by calibrated margin", partial(calibrated, margins)),
    )


def calibrated(margins: Floats, attacked: int) -> Floats:
    """Return everybody's margin under a model less their mean under all others."""
    others = np.arange(len(margins)) != attacked
    return np.asarray(margins[attacked] - margins[others].mean(axis=0))


def likelihood_ratios(margins: Floats, members: Bools, attacked: int) -> Floats:
    """Return the LiRA scores of one of the models, whose own members are not used."""
    others = np.arange(len(margins)) != attacked
    shadows, held = margins[others], members[others]
    own = margins[attacked]
    score: Floats = np.zeros(len(own))
    for sign, side in ((1.0, held), (-1.0, ~held)):
        mean, deviation = _law(shadows, side)
        off = (own - mean) / deviation
        score = score - sign * (0.5 * off * off + np.log(deviation))
    return score


def _law(shadows: Floats, side: Bools) -> tuple[Floats, float]:
    """Return each person's mean over some shadows, and everybody's common deviation."""
    counts = side.sum(axis=0)
    sums = np.where(side, shadows, 0.0).sum(axis=0)
    everybody = float(sums.sum() / max(1, counts.sum()))
    mean: Floats = np.where(counts > 0, sums / np.maximum(counts, 1), everybody)
    squares = float(np.square(np.where(side, shadows - mean, 0.0)).sum())
    # One degree of freedom is lost for each person whose mean was taken.
    freedom = max(1, int(np.maximum(counts - 1, 0).sum()))
    return mean, max(float(np.sqrt(squares / freedom)), _LEAST_DEVIATION)
