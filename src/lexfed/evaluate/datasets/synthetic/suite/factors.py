# SPDX-License-Identifier: Apache-2.0
"""The factors of a made-up table; the defaults are the centre of the suite."""

from dataclasses import dataclass
from typing import Literal

Shape = Literal["linear", "saturating", "u-shaped", "threshold", "periodic", "mixed"]
Tail = Literal["normal", "log-normal", "heavy"]
SignalPlace = Literal["both", "sensitive", "others"]
Outcome = Literal["flag", "three classes", "number"]

TEST_ROWS = 5000
"""Rows of every table beyond those to learn from; they are scored and nothing else."""


@dataclass(frozen=True)
class Factors:
    """All that tells one table of the suite from another.

    Attributes:
        rows: to learn from, on average over splits.
        shape: of the effect of a number on the log-odds; `mixed` draws one for each.
        tail: of numbers: `log-normal` like laboratory values, `heavy` like Student's t
            with two degrees of freedom.
        width: declared range over the range of the middle 98 % of the values.
        collinearity: correlation of numbers in groups of four of the same tier, of
            which only the first has an effect.
        positives: share of the outcome; of a number or three classes it says nothing.
        proxy: correlation of each number of a lower tier with one of the sensitive
            tier.
        sensitive: share of columns that are `special`.
        signal: the columns that have an effect.
        missing: share of cells; what is missing has no effect and tells nothing.
        categories: share of columns that are flags or lists.
        levels: of the longest list. Frequencies fall like 1/rank, so that some of a
            long list are rare.
        interactions: pairs of columns whose effects multiply.
        strength: standard deviation of the log-odds, or of the mean of a number over
            that of its noise.
    """

    rows: int = 3000
    columns: int = 15
    shape: Shape = "saturating"
    tail: Tail = "normal"
    width: float = 3.0
    collinearity: float = 0.0
    positives: float = 0.2
    proxy: float = 0.0
    sensitive: float = 0.5
    signal: SignalPlace = "both"
    missing: float = 0.0
    categories: float = 0.3
    levels: int = 5
    interactions: int = 0
    strength: float = 1.5
    outcome: Outcome = "flag"

    @property
    def all_rows(self) -> int:
        """Rows to learn from and rows to score on."""
        return self.rows + TEST_ROWS
