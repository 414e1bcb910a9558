# SPDX-License-Identifier: Apache-2.0
"""The units that one program computes on: those of one site, or of all sites at once.

`inprocess` gives every site a batch of its own; `simulation` computes all sites in one.
The sums are the same up to rounding: every contribution depends on one unit alone.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from lexfed.arrays import Bools, Indices
from lexfed.data.people.unit_blocks import UnitBlock
from lexfed.federation.programme.sequence import Stage
from lexfed.randomness import RandomSource, bernoulli


@dataclass(frozen=True)
class UnitBatch:
    """Units of one or several sites, one site after the other.

    Attributes:
        inputs: encoded slots, [units, places, slots], in the programme's precision.
        weights: weight of a row in its unit, [units, places] as targets; 0 pads.
        sites: number of units of each site.
        shares: what each unit's clipped contribution is multiplied by, [units], at
            most 1; None where all are 1.
        keys: of the person behind each unit, [units]; None where there are none.
    """

    inputs: Tensor
    targets: Tensor
    weights: Tensor
    sites: tuple[int, ...]
    shares: Tensor | None = None
    keys: Tensor | None = None

    @classmethod
    def of(
        cls,
        blocks: Sequence[UnitBlock],
        dtype: torch.dtype = torch.float64,
        scales: Sequence[float] = (),
    ) -> "UnitBatch":
        """Put the units of these sites behind each other.

        Each class of records has a scale; a unit in several has the smallest.
        """
        inputs = np.concatenate([block.inputs for block in blocks])
        return cls(
            torch.from_numpy(inputs).to(dtype),
            torch.from_numpy(np.concatenate([block.targets for block in blocks])),
            torch.from_numpy(np.concatenate([block.weights for block in blocks])),
            tuple(len(block) for block in blocks),
            _shares(blocks, scales),
            _keys(blocks),
        )

    def __len__(self) -> int:
        return self.inputs.shape[0]

    def take(self, chosen: Bools) -> "UnitBatch":
        """Return the chosen units, in order."""
        if chosen.all():
            return self
        places = np.flatnonzero(chosen)
        ends = np.searchsorted(places, np.cumsum(self.sites))
        counts = np.diff(ends, prepend=0).tolist()
        return self._at(places, counts)

    def split(self) -> list["UnitBatch"]:
        """Return one batch per site."""
        ends = list(itertools.accumulate(self.sites, initial=0))
        return [self.between(*place) for place in itertools.pairwise(ends)]

    def between(self, start: int, stop: int) -> "UnitBatch":
        """Return the units from `start` to before `stop`, as those of one site."""
        units = len(self.targets[start:stop])
        return self._map(lambda rows: rows[start:stop], (units,))

    def sites_where(self, present: Sequence[bool]) -> "UnitBatch":
        """Return the units of some of the sites."""
        units = np.repeat(np.array(present), self.sites)
        kept = [n for n, there in zip(self.sites, present, strict=True) if there]
        return self._at(np.flatnonzero(units), kept)

    def _at(self, units: Indices, sites: Sequence[int]) -> "UnitBatch":
        # Five times as fast as indexing, which handles broadcasting and masks first.
        places = torch.from_numpy(units)
        return self._map(lambda rows: rows.index_select(0, places), sites)

    def _map(
        self, pick: Callable[[Tensor], Tensor], sites: Sequence[int]
    ) -> "UnitBatch":
        return UnitBatch(
            pick(self.inputs),
            pick(self.targets),
            pick(self.weights),
            tuple(sites),
            None if self.shares is None else pick(self.shares),
            None if self.keys is None else pick(self.keys),
        )


def _shares(blocks: Sequence[UnitBlock], scales: Sequence[float]) -> Tensor | None:
    if all(scale == 1.0 for scale in scales):
        return None
    shares = []
    for block in blocks:
        if block.members is None:
            raise ValueError("the programme has classes, a site's units have none")
        own = np.where(block.members, np.asarray(scales), 1.0)
        shares.append(own.min(axis=1, initial=1.0))
    return torch.from_numpy(np.concatenate(shares))


def _keys(blocks: Sequence[UnitBlock]) -> Tensor | None:
    keys = [block.keys for block in blocks if block.keys is not None]
    if len(keys) < len(blocks):
        return None
    return torch.from_numpy(np.concatenate(keys))


def flip_coins(
    sources: Sequence[RandomSource], sites: Sequence[int], rates: Sequence[float]
) -> Bools:
    """Flip a fresh, independent coin for every unit of every site.

    One coin per unit and round, whatever the unit's values: coins that looked at a
    row, or were shared between towers, would reveal who took part (Theorem C, 4).
    """
    if all(source is sources[0] for source in sources) and len(set(rates)) == 1:
        return bernoulli(sources[0], rates[0], sum(sites))
    coins = [
        bernoulli(source, rate, units)
        for source, rate, units in zip(sources, rates, sites, strict=True)
    ]
    return np.concatenate(coins)


def unit_factors(stage: Stage, shares: Tensor, weights: Tensor) -> Tensor:
    """Return the factor of each unit's clipped contribution.

    A unit of share s at a site of weight w is charged for s w C. Grid and float sums
    add a part r of C that does not shrink with the share (`Stage.rounding`): the site's
    factor f leaves it room in w C, and s f - (1 - s) r leaves it room in s w C.
    """
    return (shares * weights - (1.0 - shares) * stage.rounding).clamp_min(0.0)
