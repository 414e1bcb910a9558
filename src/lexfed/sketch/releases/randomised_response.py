# SPDX-License-Identifier: Apache-2.0
"""Randomised response for the bits of a Bloom filter, with its pure epsilon.

Every bit is flipped by its own coin with probability p < 1/2 (Warner 1965). If
neighbouring filters differ in at most B bits, epsilon = B ln((1 - p)/p), pure and
tight: with one hash a person with n items has B = n, and B = 2n if replaced. p is a
multiple of 2^-40, rounded upwards, so coins have exactly their law and no sampler is
charged (docs/theory/sketches.md#noise). Ledgers charge the Gaussian that dominates the
epsilon of one person more or less (`lexfed.privacy.pure_epsilon`).
"""

import math
from dataclasses import dataclass

import numpy as np

from lexfed import checks
from lexfed.arrays import Bools
from lexfed.errors import ConfigError, Problem
from lexfed.privacy.accountants.gdp import sensitivity
from lexfed.privacy.pure_epsilon import pure_release
from lexfed.privacy.releases import Release
from lexfed.privacy.run_ledger import Ledger
from lexfed.randomness import RandomSource, bernoulli
from lexfed.sketch.releases.noised_sketch import Contribution
from lexfed.terms import Neighbours
from lexfed.tiers import Tier

MOST_FLIPPED = 0.49
"""Beyond this, a filter is all but coins, and says nothing."""

_PARTS = 2**40  # the flip probability is a multiple of 1/_PARTS
_LARGEST = 25.0  # epsilon of one bit: p of at least 15/_PARTS
_ROUNDING = 1e-14


@dataclass(frozen=True)
class FlipPlan:
    """Flips of a filter of one row, for a pure epsilon of at most `budget`; public."""

    person: Contribution
    budget: float
    neighbours: Neighbours = "add-remove"

    def __post_init__(self) -> None:
        checks.in_range(1, 1, depth=self.person.depth)
        checks.finite_positive(budget=self.budget)
        checks.in_range(0.0, _LARGEST * self.changed, budget=self.budget)
        if self.flip > MOST_FLIPPED:
            least = self.changed * math.log((1 - MOST_FLIPPED) / MOST_FLIPPED)
            what = (
                f"with ε = {self.budget:g} for {self.changed} bits of a person "
                "nearly half of all bits would be flipped"
            )
            hint = f"allow ε = {least * 1.001:.3g} or more, or fewer items"
            raise ConfigError([Problem("randomised response", what, hint)])

    @property
    def changed(self) -> int:
        """Bits in which neighbouring filters differ at most."""
        return int(sensitivity(self.neighbours)) * self.person.occurrences

    @property
    def flip(self) -> float:
        """Probability that a bit is flipped; exactly that of the coins."""
        return self._parts / _PARTS

    @property
    def epsilon(self) -> float:
        """The pure epsilon of what is returned.

        Guarantees:
            Not below that of `flip`, and not above `budget`.
        """
        # ln((1 - p)/p) = ln(1 + (1 - 2p)/p), which loses nothing for p close to 1/2.
        bit = math.log1p((_PARTS - 2 * self._parts) / self._parts)
        return self.changed * bit * (1.0 + _ROUNDING)

    def event(self, name: str, reads: Tier | None) -> Release:
        """Return the event that one flipped filter is charged for.

        Guarantees:
            It is that of the pure epsilon under add/remove, whatever `neighbours` is.
        """
        joined = self.epsilon * self.person.occurrences / self.changed
        return pure_release(name, joined * (1.0 + _ROUNDING), reads, samples=0)

    @property
    def _parts(self) -> int:
        wanted = _PARTS / (1.0 + math.exp(self.budget / self.changed))
        # Rounded upwards, and one more, which is above all errors of floats here.
        return math.floor(wanted) + 2


@dataclass(frozen=True, eq=False)
class FlippedFilter:
    """A filter after randomised response; `private` if nobody can repeat its coins."""

    bits: Bools
    flip: float
    epsilon: float
    neighbours: Neighbours
    private: bool


def release_bits(
    plan: FlipPlan, event: Release, bits: Bools, ledger: Ledger, source: RandomSource
) -> FlippedFilter:
    """Charge for a flipped filter, then flip its bits, bounded as the plan says.

    Guarantees:
        The ledger is charged before a coin is flipped, and nothing for what is no row
        of bits, or for an event that is not the plan's.
    """
    _check(bits)
    if event != plan.event(event.name, event.reads):
        raise ValueError("expected the event of this plan")
    ledger.charge(event)
    return flip_bits(plan, bits, source)


def flip_bits(plan: FlipPlan, bits: Bools, source: RandomSource) -> FlippedFilter:
    """Flip each bit by a coin of its own; the caller has paid for it.

    Guarantees:
        Every bit, set or not, is flipped independently with probability `plan.flip`.
        The bits that are given stay what they are.
    """
    _check(bits)
    coins = bernoulli(source, plan.flip, len(bits))
    return FlippedFilter(
        bits ^ coins, plan.flip, plan.epsilon, plan.neighbours, source.private
    )


def _check(bits: Bools) -> None:
    if bits.ndim != 1 or bits.dtype != np.bool_:
        raise ValueError("expected one row of bits")
