# SPDX-License-Identifier: Apache-2.0
"""The releases that a linear tower buys, chosen from public facts alone.

`kappa` is the largest possible norm of a mean gradient over the norm of its noise. It
says whether statistics are worth buying and whether more than one round can pay.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from lexfed.models.losses import LossName
from lexfed.models.tower_shapes import (
    BIN_WEIGHT,
    RuleFacts,
    statistics_clip,
    statistics_size,
)

CLIP = 1.0
"""Every record's vector is scaled to have at most this norm."""

LABEL_DEVIATION = 0.02
"""Wanted standard deviation of the released label rate."""

LABEL_SHARE = (0.02, 0.10)
"""Bounds of the label rate's part of the first tower's budget."""

LABEL_USELESS = 0.08
"""A rate noisier than this is not bought; a number's mean always is."""

STATISTICS_SHARE = 0.20
"""Part of the rest that means and mean squares take, if kappa is above:"""

STATISTICS_KAPPA = 5.0

DROP_KAPPA = 0.4
"""A tower noisier than this would only add noise: its tier is left out."""

LARGEST_BIN_NOISE = 0.06
"""Largest standard deviation of a bin's share for shape functions; a bin has 1/32 of a
flat column."""

UNITS_PER_FUNCTION = 8.0
"""Least units for each expected coordinate of a tower with shape functions."""

KAPPA_PER_ROUND = 6.0
MAX_ROUNDS = 8

LISTEN_ROUNDS = 8
"""With fewer rounds the towers below stay out of the residuals: they make residuals
smaller than their clip while the noise stays, so a noisy tower learns more alone."""

RuleReleaseKind = Literal["labels", "moments", "residuals"]


@dataclass(frozen=True)
class PurchasedRounds:
    """Rounds of one kind of release, which take a `share` of the tower's square."""

    kind: RuleReleaseKind
    share: float
    dimension: int
    rounds: int


def plan_tower(
    facts: RuleFacts, units: float, mu: float, first: bool, rounds: int | None = None
) -> tuple[PurchasedRounds, ...]:
    """Return the purchases of a tower; the first one also buys the label rate.

    `units` is public. `mu` is the tower's budget, as replace-one Gaussian privacy of
    the noise that reaches the model. A person may have chosen the rounds of training.
    """
    bought: list[PurchasedRounds] = []
    left = 1.0
    if first:
        need = 1.0 / (LABEL_DEVIATION * units * mu) ** 2
        share = float(np.clip(need, *LABEL_SHARE))
        noise = 1.0 / (units * mu * np.sqrt(share))
        if facts.loss == "squared" or noise <= LABEL_USELESS:
            bought.append(PurchasedRounds("labels", share, label_dimension(facts), 1))
            left -= share
    if _kappa(facts, units, mu, left) > STATISTICS_KAPPA:
        share = STATISTICS_SHARE * left
        size = statistics_size(facts)
        bought.append(PurchasedRounds("moments", share, size, 1))
        left -= share
    kappa, size = _kappa(facts, units, mu, left), facts.coordinates.size * facts.outputs
    chosen = rounds or int(np.clip(round(kappa / KAPPA_PER_ROUND), 1, MAX_ROUNDS))
    return (*bought, PurchasedRounds("residuals", left, size, chosen))


def shapes_pay(facts: RuleFacts, units: float, mu: float) -> bool:
    """Return True if the numbers of a tower get shape functions.

    Their histograms are the statistics that the tower buys, so it must buy some whose
    noise leaves regions of a range to be told apart, and there must be enough people
    for so many functions.
    """
    noise = 2.0 * statistics_clip(facts) / (units * mu * np.sqrt(STATISTICS_SHARE))
    return bool(
        _kappa(facts, units, mu, 1.0 - LABEL_SHARE[1]) > STATISTICS_KAPPA
        and noise / BIN_WEIGHT <= LARGEST_BIN_NOISE
        and units >= UNITS_PER_FUNCTION * facts.expected_size
    )


def worth_training(facts: RuleFacts, units: float, mu: float) -> bool:
    """Return True if a tower above the first can tell more than its noise."""
    return _kappa(facts, units, mu, 1.0) >= DROP_KAPPA


def listens(loss: LossName, rounds: int) -> bool:
    """Return True if a tower is trained on what the towers below leave unexplained."""
    return loss == "squared" or rounds >= LISTEN_ROUNDS


def label_dimension(facts: RuleFacts) -> int:
    """Return the length of the label's vector."""
    return {"logistic": 1, "softmax": facts.outputs, "squared": 2}[facts.loss]


def _kappa(facts: RuleFacts, units: float, mu: float, left: float) -> float:
    noise = 2.0 * np.sqrt(facts.expected_size * facts.outputs)
    return float(units * mu * np.sqrt(left) / noise)
