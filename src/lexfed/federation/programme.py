# SPDX-License-Identifier: Apache-2.0
"""The programme: everything that is fixed and public before the first round.

Sites and coordinator build the same programme from the configuration and the public
declarations, and every query carries its hash. It holds the sequence of stages (label
rate, column statistics, training rounds of tower 1, then of tower 2, ...), the priced
release of every round, the integer grid, and the public constants of the learner.
Nothing in it depends on data, so the guarantee of the whole run is known before it
starts (filter F0: a pre-committed envelope).
"""

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Literal

import torch

from lexfed.canonical import digest
from lexfed.federation.messages import Kind
from lexfed.models.descent import Schedule
from lexfed.models.losses import LossName
from lexfed.models.shape import TowerShape
from lexfed.privacy.events import Release
from lexfed.privacy.grid import Grid, GridVector

Mechanism = Literal["cascade", "grouped", "uniform", "none"]
Trust = Literal["central", "local"]
Unit = Literal["record", "client"]


@dataclass(frozen=True)
class Block:
    """A run of coordinates of a release that share one grid: one group."""

    start: int
    stop: int
    grid: Grid


@dataclass(frozen=True)
class Stage:
    """Rounds of one kind for one tower.

    Attributes:
        name: what people read in progress lines and plans.
        kind: what is summed.
        tower: index of the tower.
        sampling_rate: probability that a unit takes part in a round.
        releases: the event of each round, in order; None without privacy.
        blocks: the grid of each group of the release, in the order of the groups.
    """

    name: str
    kind: Kind
    tower: int
    sampling_rate: float
    releases: tuple[Release | None, ...]
    blocks: tuple[Block, ...]

    @property
    def dimension(self) -> int:
        """Length of the released vector."""
        return self.blocks[-1].stop

    @cached_property
    def limits(self) -> tuple[float, ...]:
        """What contributions to each group are clipped to where there is privacy."""
        return tuple(block.grid.clip_to for block in self.blocks)

    @cached_property
    def grids(self) -> GridVector:
        """The grids of all groups, as one for the whole vector."""
        return GridVector(tuple(block.grid for block in self.blocks))


@dataclass(frozen=True)
class Programme:
    """What is run, in which order, at which price.

    Attributes:
        mechanism: how noise is spread over tiers.
        trust: who adds the noise.
        unit: whom the guarantee is about.
        loss: of the task.
        divisor: public number that full-batch sums are divided by.
        sites: names of the sites.
        site_weights: public weight of each site's sum, at most 1.
        shapes: the towers, least sensitive first.
        stages: in the order in which they are run.
        groups: for `grouped`, the group of every slot; else empty.
        float32: whether gradients are computed in single precision.
        follows_rule: whether towers are trained by `lexfed.models.rule`.
        learning_rate: step of plain descent; None for its default.
        learning_rate_schedule: of plain descent.
        momentum: of plain descent.
        local_steps: gradient steps of a client between two rounds.
        batch_size: rows of a client's local step; None for all.
        seed: of everything that is random but not private.
    """

    mechanism: Mechanism
    trust: Trust
    unit: Unit
    loss: LossName
    divisor: float
    sites: tuple[str, ...]
    site_weights: tuple[float, ...]
    shapes: tuple[TowerShape, ...]
    stages: tuple[Stage, ...]
    groups: tuple[int, ...]
    float32: bool
    follows_rule: bool
    learning_rate: float | None
    learning_rate_schedule: Schedule
    momentum: float
    local_steps: int
    batch_size: int | None
    seed: int

    @property
    def precision(self) -> torch.dtype:
        """Type in which sites keep their inputs."""
        return torch.float32 if self.float32 else torch.float64

    @property
    def networks(self) -> bool:
        """Whether the rule trains networks beside the linear parts of towers."""
        return self.follows_rule and any(s.kind == "gradient" for s in self.stages)

    @property
    def rounds(self) -> int:
        """Number of rounds of all stages."""
        return sum(len(stage.releases) for stage in self.stages)

    def charges(self) -> tuple[tuple[Release, int], ...]:
        """Return what the whole programme releases, in order: the envelope."""
        charges: list[tuple[Release, int]] = []
        for stage in self.stages:
            for release in stage.releases:
                if release is None:
                    continue
                if charges and charges[-1][0] == release:
                    charges[-1] = (release, charges[-1][1] + 1)
                else:
                    charges.append((release, 1))
        return tuple(charges)

    def position(self, done: int) -> tuple[int, int] | None:
        """Return stage and step of the round after `done` rounds; None at the end."""
        for index, stage in enumerate(self.stages):
            if done < len(stage.releases):
                return index, done
            done -= len(stage.releases)
        return None

    @cached_property
    def digest(self) -> str:
        """Hash of everything both sides must agree on."""
        plain = asdict(self)
        plain["shapes"] = [
            {**asdict(shape), "tier": shape.tier.label} for shape in self.shapes
        ]
        plain["stages"] = [
            {
                "name": stage.name,
                "kind": stage.kind,
                "tower": stage.tower,
                "sampling_rate": stage.sampling_rate,
                "releases": [
                    None if release is None else release.to_json()
                    for release in stage.releases
                ],
                "blocks": [asdict(block) for block in stage.blocks],
            }
            for stage in self.stages
        ]
        return digest(plain)
