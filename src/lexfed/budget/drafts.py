# SPDX-License-Identifier: Apache-2.0
"""Drafts: what will be released, before it is known how much noise it needs."""

from dataclasses import dataclass

from lexfed.tiers import Tier


@dataclass(frozen=True)
class DraftGroup:
    """A group before its noise is known.

    `weight` is its part in the joint multiplier: the weights of a release are
    proportional to clip / sigma.
    """

    name: str
    clip: float
    dimension: int
    weight: float = 1.0


@dataclass(frozen=True)
class Draft:
    """A release of several rounds before its noise is known.

    Attributes:
        name: of the sum.
        tower: index of the tower that pays for it.
        groups: blocks that leave together.
        sampling_rate: of its rounds.
        profile: relative noise of each round; all ones for a constant schedule.
        reads: the most sensitive tier it depends on; None for the label alone.
        share: its part of the tower's square.
        senders: parties that draw noise of their own for one round.
        rates: factor on the sampling rate of each round; empty: 1 in all.
    """

    name: str
    tower: int
    groups: tuple[DraftGroup, ...]
    sampling_rate: float
    profile: tuple[float, ...]
    reads: Tier | None
    share: float
    senders: int = 1
    rates: tuple[float, ...] = ()

    @property
    def round_rates(self) -> tuple[float, ...]:
        """Sampling rate of each round."""
        factors = self.rates or (1.0,) * len(self.profile)
        return tuple(self.sampling_rate * factor for factor in factors)

    @property
    def samples(self) -> int:
        """Noise values drawn in one round."""
        return self.senders * sum(group.dimension for group in self.groups)
