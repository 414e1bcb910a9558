# SPDX-License-Identifier: Apache-2.0
"""The shape of a tower, before it has learned anything."""

from dataclasses import dataclass

from torch import nn

from lexfed.models.networks.architectures import build
from lexfed.tiers import Tier


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

    def untrained(self) -> nn.Module:
        """Return the network with its initial weights."""
        size = len(self.slots)
        return build(self.architecture, size, self.outputs, self.seed)
