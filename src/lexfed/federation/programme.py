# SPDX-License-Identifier: Apache-2.0
"""The programme: everything that is fixed and public before the first round.

Sites and coordinator build the same programme from the configuration and the public
declarations, and every query carries its hash. It holds the sequence of stages (label
rate, column statistics, training rounds of tower 1, then of tower 2, ...), the priced
release of every round, the integer grid, and the public constants of the learner.
Nothing in it depends on data, so the guarantee of the whole run is known before it
starts (filter F0: a pre-committed envelope).
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Literal

import torch

from lexfed.budget.adapting import Adapting
from lexfed.canonical import digest
from lexfed.federation.messages import Kind
from lexfed.models.descent import Schedule
from lexfed.models.losses import LossName
from lexfed.models.shape import TowerShape
from lexfed.privacy.events import Group, Release
from lexfed.privacy.filters import Guarantee
from lexfed.privacy.grid import CLIP_ROUNDING, Grid, GridVector

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
        sampling_rate: highest probability that a unit takes part in a round.
        weights: public weight of each site's sum, at most 1; what the site is charged
            for is smaller by as much. At weight 0 a site contributes nothing.
        rates: public factor on each site's sampling rate, at most 1.
        divisor: public number that a sum over all units is divided by.
        releases: the event of each round, in order; None without privacy.
        blocks: the grid of each group of the release, in the order of the groups.
        noise_range: smallest and largest factor on the planned noise of a round.
        extra: rounds beyond the planned ones that a filter may admit.
    """

    name: str
    kind: Kind
    tower: int
    sampling_rate: float
    weights: tuple[float, ...]
    rates: tuple[float, ...]
    divisor: float
    releases: tuple[Release | None, ...]
    blocks: tuple[Block, ...]
    noise_range: tuple[float, float] = (1.0, 1.0)
    extra: int = 0

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

    @cached_property
    def factors(self) -> tuple[float, ...]:
        """What each site's clipped sum is multiplied by, at most its weight.

        A site of weight w is charged for the sensitivity w C. What the grid and float
        sums add to C is not smaller at a small weight, so that much is taken off.
        """
        return tuple(self._factor(weight) for weight in self.weights)

    def _factor(self, weight: float) -> float:
        if self.releases[0] is None:
            return weight
        return max(0.0, min(_inside(block.grid, weight) for block in self.blocks))

    @cached_property
    def rounding(self) -> float:
        """What grid and float sums add to a contribution, in contributions.

        It does not shrink with a unit's share (`contribute._factors`).
        """
        if self.releases[0] is None:
            return 0.0
        return max(_fixed(b.grid) / (b.grid.clip - _fixed(b.grid)) for b in self.blocks)

    def release_for(self, release: Release | None, site: int) -> Release | None:
        """Return what one site is charged for in a round.

        A unit's contribution is clipped to C and then multiplied by the site's weight
        w, so it has norm at most w C; its coin shows heads less often by the factor.

        Args:
            release: the round's event.
            site: place of the site in the programme.
        """
        return self.release_for_all(release, (site,))

    def release_for_all(
        self, release: Release | None, sites: Sequence[int]
    ) -> Release | None:
        """Return the most that one of these sites is charged for in a round."""
        weight = max(self.weights[site] for site in sites)
        factor = max(self.rates[site] for site in sites)
        if release is None or weight == factor == 1.0:
            return release
        if self._factor(weight) == 0.0:
            # Nobody takes part, so nothing is said; a clip of zero would be no release.
            return replace(release, sampling_rate=0.0)
        return replace(
            release,
            groups=tuple(
                Group(g.name, g.clip * weight, g.sigma) for g in release.groups
            ),
            sampling_rate=release.sampling_rate * factor,
        )

    def rate_for(self, release: Release | None, site: int) -> float:
        """Return the probability that a unit of a site takes part in a round."""
        own = self.release_for(release, site)
        if own is None:
            return self.sampling_rate * self.rates[site]
        return own.sampling_rate

    def divisor_of(self, release: Release | None) -> float:
        """Return the public number that the sum of a round is divided by."""
        if release is None:
            return self.divisor * self.sampling_rate
        return self.divisor * release.sampling_rate


def _inside(grid: Grid, weight: float) -> float:
    """Return the factor at which contributions and all errors fit in weight * clip."""
    if weight == 1.0:
        return 1.0
    fixed = _fixed(grid)
    # A little less, for the rounding of this line and of the product with a sum.
    return (weight * grid.clip - fixed) / (grid.clip - fixed) * (1.0 - 1e-12)


def _fixed(grid: Grid) -> float:
    """Return what the grid and float sums take of the charged clip."""
    return grid.clip - grid.clip_to * (1.0 + CLIP_ROUNDING)


@dataclass(frozen=True)
class ClassScale:
    """What the contributions of a class of records are multiplied by.

    Attributes:
        name: of the class.
        where: the public rule that makes a unit a member.
        scale: at most 1.
    """

    name: str
    where: str
    scale: float


@dataclass(frozen=True)
class Programme:
    """What is run, in which order, at which price.

    Attributes:
        mechanism: how noise is spread over tiers.
        trust: who adds the noise.
        unit: whom the guarantee is about.
        loss: of the task.
        sites: names of the sites.
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
        guarantee: whether rounds stay inside the planned ones, one by one (`envelope`)
            or only in their sums (`filter`); the price is that of the plan either way.
        adapting: what follows the released values.
        classes: records whose contributions are scaled down, by public rule.
    """

    mechanism: Mechanism
    trust: Trust
    unit: Unit
    loss: LossName
    sites: tuple[str, ...]
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
    guarantee: Guarantee = "envelope"
    adapting: Adapting = field(default_factory=Adapting)
    classes: tuple[ClassScale, ...] = ()

    @property
    def precision(self) -> torch.dtype:
        """Type in which sites keep their inputs."""
        return torch.float32 if self.float32 else torch.float64

    @property
    def networks(self) -> bool:
        """Whether the rule trains networks beside the linear parts of towers."""
        return self.follows_rule and any(s.kind == "gradient" for s in self.stages)

    @property
    def class_scales(self) -> tuple[float, ...]:
        """The scale of each class, in the order of `UnitBlock.members`."""
        return tuple(one.scale for one in self.classes)

    @property
    def rounds(self) -> int:
        """Number of rounds of all stages."""
        return sum(len(stage.releases) for stage in self.stages)

    def charges(self, *sites: int) -> tuple[tuple[Release, int], ...]:
        """Return what the whole programme releases, in order: the envelope.

        Args:
            *sites: places of sites, for the most that one of them is charged for;
                without any: the plan.
        """
        charges: list[tuple[Release, int]] = []
        for stage in self.stages:
            for planned in stage.releases:
                release = stage.release_for_all(planned, sites) if sites else planned
                if release is None:
                    continue
                if charges and charges[-1][0] == release:
                    charges[-1] = (release, charges[-1][1] + 1)
                else:
                    charges.append((release, 1))
        return tuple(charges)

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
                "weights": stage.weights,
                "rates": stage.rates,
                "divisor": stage.divisor,
                "noise_range": stage.noise_range,
                "extra": stage.extra,
                "releases": [
                    None if release is None else release.to_json()
                    for release in stage.releases
                ],
                "blocks": [asdict(block) for block in stage.blocks],
            }
            for stage in self.stages
        ]
        return digest(plain)
