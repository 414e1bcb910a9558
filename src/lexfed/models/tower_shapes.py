# SPDX-License-Identifier: Apache-2.0
"""Towers before they have learned anything, and what the rule guesses about them.

Everything here is public, and all that a plan needs to know of a model: only towers
that are trained need torch, which this module does not import.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lexfed.arrays import Bools, Floats, Indices
from lexfed.models.losses import LossName
from lexfed.models.networks.specifications import network_weights
from lexfed.tiers import Tier

if TYPE_CHECKING:
    from torch import nn

NUMBER_VARIANCE = 0.10
"""Variance of a number whose range is mapped to [-1, 1]: most values keep away from
the ends of a documented range."""

TAIL_CENTRE = 0.3
"""A number's mean is guessed this far from mid-range, away from the longer tail."""

SQUARE_GUESS = 0.3
"""Mean square of a number mapped to [-1, 1]."""


@dataclass(frozen=True)
class TowerShape:
    """A tower before it has learned anything: public.

    Attributes:
        tier: the most sensitive tier whose columns it reads.
        slots: indices of the encoded slots it reads.
        architecture: as in `federation.model`.
        outputs: number of logits.
        seed: seed of the initial weights.
        kinds: of each slot: `number`, `flag`, `onehot` or `missing`.
        levels: for each one-hot slot the number of values its column declares, else 1.
        columns: a number for each slot that the slots of one column share.
        tails: for each slot the public guess of its skewness.
        linear: for each slot whether it is a number mapped linearly by its range.
    """

    tier: Tier
    slots: tuple[int, ...]
    architecture: str
    outputs: int
    seed: int
    kinds: tuple[str, ...]
    levels: tuple[int, ...]
    columns: tuple[int, ...]
    tails: tuple[float, ...]
    linear: tuple[bool, ...]

    def untrained(self) -> "nn.Module":
        """Return the network with its initial weights."""
        from lexfed.models.networks.architectures import build

        size = len(self.slots)
        return build(self.architecture, size, self.outputs, self.seed)

    @property
    def weights(self) -> int:
        """The number of its weights."""
        known = network_weights(self.architecture, len(self.slots), self.outputs)
        return known or sum(value.numel() for value in self._trainable())

    def _trainable(self) -> "list[nn.Parameter]":
        return [p for p in self.untrained().parameters() if p.requires_grad]

    @property
    def by_column(self) -> list[Indices]:
        """The places of each column's slots."""
        column = np.array(self.columns)
        return [np.flatnonzero(column == number) for number in np.unique(column)]

    @property
    def categories(self) -> list[Indices]:
        """The places of each category's slots."""
        return [p for p in self.by_column if self.kinds[p[0]] == "onehot"]

    @property
    def flagged(self) -> list[tuple[int, int]]:
        """(number, missing flag) of every number that may be missing."""
        pairs = (map(int, places) for places in self.by_column if len(places) == 2)
        return [
            (number, flag)
            for number, flag in pairs
            if (self.kinds[number], self.kinds[flag]) == ("number", "missing")
        ]

    def presence(self, slots: Floats) -> Floats:
        """Return 1 where a slot's column has a value, and 0 elsewhere."""
        present = np.ones_like(slots)
        for number, flag in self.flagged:
            present[..., number] = 1.0 - slots[..., flag]
        for places in self.categories:
            present[..., places] = slots[..., places].sum(axis=-1, keepdims=True)
        return present


@dataclass(frozen=True)
class RuleFacts:
    """Public facts about a tower: its shape, and the loss of the task."""

    shape: TowerShape
    loss: LossName

    @property
    def size(self) -> int:
        """Number of slots."""
        return len(self.shape.slots)

    @property
    def outputs(self) -> int:
        """Number of logits."""
        return self.shape.outputs

    def mask(self, kind: str) -> Bools:
        """Return a mask of the slots of a kind."""
        return np.array([own == kind for own in self.shape.kinds], dtype=bool)

    @property
    def tails(self) -> Floats:
        """Side of the longer tail of each slot, seen from zero; a flag's is yes."""
        return np.where(self.mask("flag"), 1.0, np.array(self.shape.tails))

    @property
    def numbers(self) -> Indices:
        """Places of the numbers."""
        return np.flatnonzero(self.mask("number"))


@dataclass(frozen=True)
class SlotGuess:
    """Assumptions about slots; `doubt` is the variance of a centre around its guess."""

    centre: Floats
    variance: Floats
    doubt: Floats


def public_guess(facts: RuleFacts) -> SlotGuess:
    """Return guesses from the kinds of slots and the public ranges alone.

    A category's levels are assumed equally frequent; a flag is set for 30 % and a value
    missing for 15 %, with generous doubt.
    """
    levels = np.maximum(np.array(facts.shape.levels, dtype=np.float64), 2.0)
    kinds = [facts.mask("number"), facts.mask("onehot"), facts.mask("flag")]
    share = (1 / levels) * (1 - 1 / levels)
    # A transform of a wide range takes its tail away.
    tails = np.where(facts.shape.linear, facts.shape.tails, 0.0)
    return SlotGuess(
        centre=np.select(kinds, [-TAIL_CENTRE * tails, 1 / levels, 0.3], 0.15),
        variance=np.select(kinds, [NUMBER_VARIANCE, share, 0.2], 0.12),
        doubt=np.select(kinds, [0.2, share / levels, 0.06], 0.04),
    )


def statistics_clip(facts: RuleFacts) -> float:
    """Return the norm that a record's statistics are expected to have."""
    guess = public_guess(facts)
    squares = 0.06 * len(facts.numbers)
    return float(np.sqrt((guess.variance + guess.doubt).sum() + squares))
