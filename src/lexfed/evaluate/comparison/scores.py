# SPDX-License-Identifier: Apache-2.0
"""What one trained model came to: a score for every test row, and what it cost."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from lexfed.arrays import Floats, Integers, Texts


class Point(NamedTuple):
    """How a run stands after a round.

    Attributes:
        number: of the round, from 1.
        quality: AUC of the test rows, or RMSE.
        spent: the record's epsilon that the ledger has charged; None if nobody knows
            it before the end.
    """

    number: int
    quality: float
    spent: float | None


@dataclass(frozen=True)
class Scores:
    """Of one trained model on one split.

    Attributes:
        method: name of the method, as in `METHODS`.
        seed: of the split; noise is fresh in every run.
        targets: of the test rows: 0 or 1, or a number on the encoded scale.
        scores: of the test rows: the probability of 1, or the predicted number.
        sites: place of the site of each test row.
        groups: fairness attribute, and its value in each test row; empty text where
            the value is missing.
        record_epsilon: proven for a whole record; None without a guarantee. The note
            names the relation between neighbours.
        attribute_epsilon: proven for one value of the most sensitive tier that the
            table has, under replace-one; None without a guarantee.
        delta: of both.
        rounds: how often something was released, or trees and steps where nothing is.
        seconds: that training took, reading left out.
        diverged: whether a score is not a number; such a run is reported, not dropped.
        note: what a reader of the table must know.
        path: what test rows come to after some of the rounds. Empty where a method
            has no rounds, or no model after each.
        noise: on the weights of columns, averaged over the most sensitive tier
            (`noise_sensitive`) and over all other columns (`noise_others`); empty
            where no plan says it.
    """

    method: str
    seed: int
    targets: Floats
    scores: Floats
    sites: Integers
    groups: Mapping[str, Texts]
    record_epsilon: float | None
    attribute_epsilon: float | None
    delta: float
    rounds: int
    seconds: float
    diverged: bool
    note: str
    path: tuple[Point, ...] = ()
    noise: Mapping[str, float] = field(default_factory=dict)
