# SPDX-License-Identifier: Apache-2.0
"""Towers before they have learned anything, and what the rule guesses about them.

Everything here is public, and all that a plan needs to know of a model: only towers
that are trained need torch, which this module does not import.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lexfed.arrays import Bools, Floats, Indices
from lexfed.models.losses import LossName
from lexfed.models.networks.specifications import network_weights
from lexfed.models.shape_functions import (
    BINS,
    EXPECTED_FUNCTIONS,
    FUNCTIONS,
    basis_values,
)
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
        binned: for each slot whether it is a number with a shape function, in an
            additive tower; empty in others.
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
    binned: tuple[bool, ...] = ()

    def untrained(self) -> "nn.Module":
        """Return the network with its initial weights."""
        from lexfed.models.networks.architectures import build

        return build(self.architecture, self.inputs, self.outputs, self.seed)

    def to_json(self) -> dict[str, Any]:
        """Return the shape as plain data; towers without shape functions as ever."""
        plain = {**asdict(self), "tier": self.tier.label}
        return plain if self.binned else {n: plain[n] for n in plain if n != "binned"}

    @property
    def inputs(self) -> int:
        """The number of inputs of its network: bins of shape functions, and slots."""
        return len(self.slots) + sum(self.binned) * (BINS - 1)

    @property
    def is_additive(self) -> bool:
        """True if a number has a shape function."""
        return any(self.binned)

    @property
    def shaped(self) -> Indices:
        """The places of the numbers with shape functions."""
        return np.flatnonzero(self.binned)

    @property
    def plain(self) -> Indices:
        """The places of all other slots."""
        return np.setdiff1d(np.arange(len(self.slots)), self.shaped)

    @cached_property
    def coordinates(self) -> "TowerShape":
        """The tower as the rule learns it: functions instead of shaped numbers.

        The functions of all shaped numbers come first, `FUNCTIONS` for each.
        """
        if not self.is_additive:
            return self
        first = np.repeat(self.shaped, FUNCTIONS).tolist()
        plain = self.plain.tolist()
        kinds = ["shape"] * len(first) + [self.kinds[place] for place in plain]
        return replace(self._at([*first, *plain], "linear"), kinds=tuple(kinds))

    @cached_property
    def plain_shape(self) -> "TowerShape":
        """The slots without shape functions as a linear tower, in their order."""
        return self._at(self.plain.tolist(), "linear")

    def _at(self, places: Sequence[int], architecture: str) -> "TowerShape":
        picked = ("slots", "kinds", "levels", "columns", "tails", "linear")
        own: dict[str, Any] = {
            name: tuple(getattr(self, name)[place] for place in places)
            for name in picked
        }
        return replace(self, **own, architecture=architecture, binned=())

    def coordinates_of(self, slots: Floats, basis: Floats) -> Floats:
        """Return what the rule learns from: functions of numbers, and other slots."""
        if not self.is_additive:
            return slots
        functions = basis.reshape(-1, BINS, FUNCTIONS)
        values = basis_values(slots[..., self.shaped], functions)
        values = values * self.presence(slots)[..., self.shaped, None]
        flat = values.reshape(*values.shape[:-2], -1)
        return np.concatenate([flat, slots[..., self.plain]], axis=-1)

    @property
    def weights(self) -> int:
        """The number of its weights."""
        known = network_weights(self.architecture, self.inputs, self.outputs)
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
    def families(self) -> list[Indices]:
        """The places that together stand for one value: of a category, or functions."""
        kind = np.array(self.kinds)
        return [
            places[kind[places] == shared]
            for places in self.by_column
            if (shared := self.kinds[places[0]]) in ("onehot", "shape")
        ]

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

    @property
    def expected_size(self) -> int:
        """Number of coordinates that are expected to be learned."""
        shaped = len(self.shape.shaped)
        return self.size + shaped * (EXPECTED_FUNCTIONS - 1)

    @property
    def coordinates(self) -> "RuleFacts":
        """The facts of the coordinates that the rule learns."""
        return RuleFacts(self.shape.coordinates, self.loss)

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
    kinds = [facts.mask(kind) for kind in ("number", "onehot", "flag", "shape")]
    share = (1 / levels) * (1 - 1 / levels)
    # A transform of a wide range takes its tail away.
    tails = np.where(facts.shape.linear, facts.shape.tails, 0.0)
    return SlotGuess(
        centre=np.select(kinds, [-TAIL_CENTRE * tails, 1 / levels, 0.3, 0.0], 0.15),
        variance=np.select(kinds, [NUMBER_VARIANCE, share, 0.2, 0.0], 0.12),
        doubt=np.select(kinds, [0.2, share / levels, 0.06, 0.0], 0.04),
    )


BIN_WEIGHT = 1.5
"""Weight of a number's bin in a record's statistics, against its other slots."""


def statistics_clip(facts: RuleFacts) -> float:
    """Return the norm that a record's statistics are expected to have.

    With shape functions it is the largest norm: a record is in one bin of a column, so
    there is nothing to gain from cutting it.
    """
    guess = public_guess(facts)
    if not facts.shape.is_additive:
        squares = 0.06 * len(facts.numbers)
        return float(np.sqrt((guess.variance + guess.doubt).sum() + squares))
    total = len(facts.shape.shaped) * BIN_WEIGHT**2
    for kind, most in (("flag", 0.7**2), ("missing", 0.15**2)):
        total += most * int(facts.mask(kind).sum())
    total += sum(1.0 - 1.0 / len(places) for places in facts.shape.categories)
    rest = [place for place in facts.numbers if place not in facts.shape.shaped]
    total += float((guess.variance + guess.doubt)[rest].sum()) + 0.06 * len(rest)
    return float(np.sqrt(total))


def statistics_size(facts: RuleFacts) -> int:
    """Return the length of a record's statistics."""
    shape = facts.shape
    return shape.inputs + len(facts.numbers) - len(shape.shaped)
