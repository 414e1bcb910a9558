# SPDX-License-Identifier: Apache-2.0
"""A stage: rounds of one kind for one tower, and how much each site takes part in them.

A site with a stricter budget than the plan's takes part with a smaller weight or rate
(`lexfed.budget.sites.profiles`), and may save in the first rounds what it spends later.
What it is charged for is computed here, from the same numbers that its sum is.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from lexfed.federation.programme.messages import QueryKind
from lexfed.privacy.noise.grids import CLIP_ROUNDING, Grid, GridVector
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.sketch.queries.requested_tables import RequestedTable


@dataclass(frozen=True)
class Block:
    """A run of coordinates of a release that share one grid: one group."""

    start: int
    stop: int
    grid: Grid


@dataclass(frozen=True)
class SavingPhase:
    """The part of sites in the first rounds of a stage, while some save.

    Attributes:
        until: the first step of the stage that is no longer in this phase.
        weights: as `Stage.weights`.
        rates: as `Stage.rates`.
        divisor: as `Stage.divisor`.
    """

    until: int
    weights: tuple[float, ...]
    rates: tuple[float, ...]
    divisor: float


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
        phases: the first rounds, where some sites save; in order.
        tables: what is counted in a stage of kind `sketch`, one for each group.

    Raises:
        ValueError: if a table does not fit its block.
    """

    name: str
    kind: QueryKind
    tower: int
    sampling_rate: float
    weights: tuple[float, ...]
    rates: tuple[float, ...]
    divisor: float
    releases: tuple[Release | None, ...]
    blocks: tuple[Block, ...]
    noise_range: tuple[float, float] = (1.0, 1.0)
    extra: int = 0
    phases: tuple[SavingPhase, ...] = ()
    tables: tuple[RequestedTable, ...] = ()

    def __post_init__(self) -> None:
        if self.kind != "sketch" and not self.tables:
            return
        sizes = [block.stop - block.start for block in self.blocks]
        if self.kind != "sketch" or sizes != [table.cells for table in self.tables]:
            raise ValueError("expected one table for every block of a sketch, as long")

    def at(self, step: int) -> "Stage":
        """Return the stage with weights, rates and divisor as they are at a step."""
        return next((stage for until, stage in self._by_phase if step < until), self)

    @cached_property
    def _by_phase(self) -> tuple[tuple[int, "Stage"], ...]:
        return tuple(
            (
                phase.until,
                replace(
                    self,
                    weights=phase.weights,
                    rates=phase.rates,
                    divisor=phase.divisor,
                    phases=(),
                ),
            )
            for phase in self.phases
        )

    @property
    def dimension(self) -> int:
        """Length of the released vector."""
        return self.blocks[-1].stop

    @cached_property
    def limits(self) -> tuple[float, ...]:
        """Clips of contributions to each group where there is privacy."""
        return tuple(block.grid.clip_to for block in self.blocks)

    @cached_property
    def grids(self) -> GridVector:
        """The grids of all groups, as one for the whole vector."""
        return GridVector(tuple(block.grid for block in self.blocks))

    @cached_property
    def factors(self) -> tuple[float, ...]:
        """Factors of the sites' clipped sums, each at most the site's weight.

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
        """The error of grid and float sums per contribution, in contributions.

        It does not shrink with a unit's share (`unit_factors`).
        """
        if self.releases[0] is None:
            return 0.0
        return max(_fixed(b.grid) / (b.grid.clip - _fixed(b.grid)) for b in self.blocks)

    @cached_property
    def shrinking(self) -> tuple[float, ...]:
        """Factors of contributions of at most the clip, in each group.

        Tables count in whole persons, whose norm is the charged clip itself. So that
        grid and float sums fit in it too, all are scaled alike, rather than clipped.
        """
        if self.releases[0] is None:
            return (1.0,) * len(self.blocks)
        return tuple(block.grid.clip_to / block.grid.clip for block in self.blocks)

    def release_for(self, release: Release | None, site: int) -> Release | None:
        """Return the release that one site, by its place, is charged for in a round.

        A unit's contribution is clipped to C and then multiplied by the site's weight
        w, so it has norm at most w C; its coin shows heads less often by the factor.
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
                ReleaseGroup(g.name, g.clip * weight, g.sigma) for g in release.groups
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
    """Return the part of the charged clip that grid and float sums take."""
    return grid.clip - grid.clip_to * (1.0 + CLIP_ROUNDING)
