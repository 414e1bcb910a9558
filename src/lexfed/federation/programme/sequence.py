# SPDX-License-Identifier: Apache-2.0
"""The programme: everything that is fixed and public before the first round.

Sites and coordinator build the same programme from the configuration and the public
declarations, and every query carries its hash. Nothing in it depends on data, so the
guarantee of the whole run is known before it starts (filter F0: a pre-committed
envelope).

A round stands at a place: a stage and a step within it. A stage may end before its last
planned step, and under a filter it may have further ones. Everything about a release is
as planned but the noise, which stays within the stage's range.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from lexfed.arrays import Floats
from lexfed.budget.tower_steering import Adaptation
from lexfed.canonical import digest
from lexfed.federation.programme.messages import QueryKind
from lexfed.federation.programme.sketch_schedule import SketchSchedule
from lexfed.models.losses import LossName
from lexfed.models.tower_shapes import TowerShape
from lexfed.privacy.noise.grids import CLIP_ROUNDING, Grid, GridVector
from lexfed.privacy.noise.shares import NoiseCohort
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.sketch.queries.requested_tables import RequestedTable
from lexfed.terms import Guarantee, Mechanism, StepSchedule, Trust, Unit

if TYPE_CHECKING:
    import torch

SITE_WEIGHTS = "site_weights"
"""Name of the weights of sites in a query, and in a run's memory."""


@dataclass(frozen=True)
class Block:
    """A run of coordinates of a release that share one grid: one group."""

    start: int
    stop: int
    grid: Grid


@dataclass(frozen=True)
class SavingPhase:
    """Weights, rates and divisor of a stage before step `until`, while some save."""

    until: int
    weights: tuple[float, ...]
    rates: tuple[float, ...]
    divisor: float


@dataclass(frozen=True)
class Stage:
    """Rounds of one kind for one tower, and how much each site takes part in them.

    A site with a stricter budget than the plan's takes part with a smaller weight or
    rate (`lexfed.budget.sites`), and may save in the first rounds, by `phases`, what it
    spends later. Its charge is computed here, from the same numbers as its sum.

    Attributes:
        sampling_rate: highest probability that a unit takes part in a round.
        weights: public weight of each site's sum, at most 1; the site's charge is
            smaller by as much. At weight 0 a site contributes nothing.
        rates: public factor on each site's sampling rate, at most 1.
        divisor: public number that a sum over all units is divided by.
        releases: the event of each round, in order; None without privacy.
        blocks: the grid of each group of the release, in the order of the groups.
        noise_range: smallest and largest factor on the planned noise of a round.
        extra: rounds beyond the planned ones that a filter may admit.
        tables: those of a stage of kind `sketch`, one for each group.
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
        blocks = self.blocks if self.kind == "sketch" else ()
        sizes = [block.stop - block.start for block in blocks]
        if sizes != [table.cells for table in self.tables]:
            raise ValueError("expected one table for every block of a sketch, as long")

    @property
    def most_rounds(self) -> int:
        """The largest number of rounds."""
        return len(self.releases) + self.extra

    def planned(self, step: int) -> Release | None:
        """Return the planned release of a step; beyond the plan it is the last one."""
        return self.releases[min(step, len(self.releases) - 1)]

    def with_noise(self, release: Release | None, factor: float) -> Release | None:
        """Return a planned release with its noise changed, within the range."""
        if release is None:
            return None
        low, high = self.noise_range
        kept = min(high, max(low, factor))
        groups = (ReleaseGroup(g.name, g.clip, g.sigma * kept) for g in release.groups)
        return replace(release, groups=tuple(groups))

    def admits(self, step: int, release: Release | None) -> bool:
        """Return True if a release is one that was agreed on for a step."""
        if not 0 <= step < self.most_rounds:
            return False
        planned = self.planned(step)
        if planned is None or release is None:
            return planned is release
        low, high = self.noise_range
        return (
            replace(release, groups=planned.groups) == planned
            and len(release.groups) == len(planned.groups)
            and all(
                (own.name, own.clip) == (group.name, group.clip)
                and low * group.sigma <= own.sigma <= high * group.sigma
                for own, group in zip(release.groups, planned.groups, strict=True)
            )
        )

    def at(self, step: int) -> "Stage":
        """Return the stage with the weights, rates and divisor of a step."""
        return next((stage for until, stage in self._by_phase if step < until), self)

    @cached_property
    def _by_phase(self) -> tuple[tuple[int, "Stage"], ...]:
        whole = replace(self, phases=())
        return tuple(
            (
                one.until,
                replace(
                    whole, weights=one.weights, rates=one.rates, divisor=one.divisor
                ),
            )
            for one in self.phases
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
        """The error of grid and float sums, in contributions; no share shrinks it."""
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

    def release_for(self, release: Release | None, *sites: int) -> Release | None:
        """Return the most that one of these sites, by place, is charged for in a round.

        A unit's contribution is clipped to C and then multiplied by the site's weight
        w, so it has norm at most w C; its coin shows heads less often by the factor.
        """
        weight = max(self.weights[site] for site in sites)
        factor = max(self.rates[site] for site in sites)
        if release is None or weight == factor == 1.0:
            return release
        if self._factor(weight) == 0.0:
            # No unit takes part, so nothing is revealed; a clip of zero is no release.
            return replace(release, sampling_rate=0.0)
        parts = (ReleaseGroup(g.name, g.clip * weight, g.sigma) for g in release.groups)
        rate = release.sampling_rate * factor
        return replace(release, groups=tuple(parts), sampling_rate=rate)

    def rate_for(self, release: Release | None, site: int) -> float:
        """Return the probability that a unit of a site takes part in a round."""
        own = self.release_for(release, site)
        if own is None:
            return self.sampling_rate * self.rates[site]
        return own.sampling_rate

    def divisor_of(self, release: Release | None) -> float:
        """Return the public number that the sum of a round is divided by."""
        rate = self.sampling_rate if release is None else release.sampling_rate
        return self.divisor * rate


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


@dataclass(frozen=True)
class ClassScale:
    """The factor, at most 1, on contributions of units where a public rule holds."""

    name: str
    where: str
    scale: float


@dataclass(frozen=True)
class Programme:
    """The whole run, fixed beforehand: its stages in order, with their prices.

    Attributes:
        shapes: the towers, least sensitive first.
        groups: for `grouped`, the group of every slot; else empty.
        follows_rule: whether towers are trained by `lexfed.models.rule`.
        learning_rate: step of plain descent; None for its default.
        local_steps: gradient steps of a client between two rounds.
        batch_size: rows of a client's local step; None for all.
        seed: of everything that is random but not private.
        guarantee: whether rounds stay inside the planned ones, one by one (`envelope`)
            or only in their sums (`filter`); the price is that of the plan either way.
        site_units: public guess of the number of units at each site; empty if all
            have the same.
        cohort: the sites that add shares of noise under `distributed` trust, and the
            assumptions about them; None for other trust.
        setup_rounds: how many rounds one set-up of masks serves.
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
    learning_rate_schedule: StepSchedule
    momentum: float
    local_steps: int
    batch_size: int | None
    seed: int
    guarantee: Guarantee = "envelope"
    adapting: Adaptation = field(default_factory=Adaptation)
    classes: tuple[ClassScale, ...] = ()
    site_units: tuple[float, ...] = ()
    cohort: NoiseCohort | None = None
    setup_rounds: int = 32
    sketching: SketchSchedule = field(default_factory=SketchSchedule)

    @property
    def precision(self) -> "torch.dtype":
        """Type in which sites keep their inputs."""
        import torch

        return torch.float32 if self.float32 else torch.float64

    @property
    def networks(self) -> bool:
        """True if the rule trains networks beside the linear parts of towers."""
        return self.follows_rule and any(s.kind == "gradient" for s in self.stages)

    @property
    def class_scales(self) -> tuple[float, ...]:
        """The scale of each class, in the order of `UnitBlock.members`."""
        return tuple(one.scale for one in self.classes)

    @property
    def rounds(self) -> int:
        """Number of planned rounds of all stages."""
        return self.rounds_before(len(self.stages))

    def rounds_before(self, stage: int, step: int = 0) -> int:
        """Return the number of rounds planned before a step of a stage."""
        return sum(len(each.releases) for each in self.stages[:stage]) + step

    def steers(self, stage: Stage) -> bool:
        """Return True if a stage's rounds follow the tower's own releases."""
        descends = stage.kind in ("gradient", "update")
        return self.adapting.active and descends and stage.releases[0] is not None

    def loudness(self, missing: int = 0) -> float:
        """Return the variance of the noise on a sum, over the charged variance.

        The sum lacks `missing` sites. With `local` trust every site adds all of the
        noise; shares are sized for the honest sites alone, and the others add theirs.
        """
        present = len(self.sites) - missing
        if self.trust == "local":
            return float(present)
        return 1.0 if self.cohort is None else present / self.cohort.honest

    def without(self, stage: Stage, missing: Collection[str]) -> Stage:
        """Return a stage whose divisor leaves out missing sites, by public numbers."""
        if not missing:
            return stage
        parts = _expected_parts(stage, self._units)
        present = math.fsum(
            part
            for part, name in zip(parts, self.sites, strict=True)
            if name not in missing
        )
        return replace(stage, divisor=stage.divisor * present / math.fsum(parts))

    def is_weighed(self, stage: int) -> bool:
        """Return True if queries of a stage carry `SITE_WEIGHTS`: those after keys."""
        if self.sketching.weights == "none":
            return False
        before = (table for each in self.stages[:stage] for table in each.tables)
        asked = any(table.domain == "keys" for table in before)
        return asked and self.stages[stage].kind not in ("sketch", "metrics")

    def weighted(
        self, stage: Stage, weights: Floats, persons: Floats | None = None
    ) -> Stage:
        """Return a stage with the weights of its sums, and the divisor to match.

        The divisor follows from public units, weights and rates, as in `without`. Where
        sizes of sites are private, all have the same public units. Sites that overlap
        are then weighed less and are larger than that, so sums would be divided by too
        much: the `persons` at each site are used instead, if they were released with
        the weights.
        """
        units = self._units
        if persons is not None and persons.any() and len(set(units)) == 1:
            units = tuple(persons.tolist())
        parts = np.array(_expected_parts(stage, units))
        return replace(
            stage,
            weights=tuple((np.array(stage.weights) * weights).tolist()),
            divisor=stage.divisor * math.fsum(parts * weights) / math.fsum(parts),
        )

    @property
    def _units(self) -> tuple[float, ...]:
        return self.site_units or (1.0,) * len(self.sites)

    def charges(self, *sites: int) -> tuple[tuple[Release, int], ...]:
        """Return the releases of the whole programme, in order: the envelope.

        With places of sites, it is the most that one of them is charged for; else the
        plan.
        """
        charges = (
            stage.at(step).release_for(planned, *sites) if sites else planned
            for stage in self.stages
            for step, planned in enumerate(stage.releases)
        )
        charged = (release for release in charges if release is not None)
        return tuple((release, len([*same])) for release, same in groupby(charged))

    @cached_property
    def digest(self) -> str:
        """Hash of everything both sides must agree on."""
        plain = asdict(self)
        plain["shapes"] = [shape.to_json() for shape in self.shapes]
        for entry, stage in zip(plain["stages"], self.stages, strict=True):
            entry["releases"] = [
                None if release is None else release.to_json()
                for release in stage.releases
            ]
        return digest(plain)


def _expected_parts(stage: Stage, units: Sequence[float]) -> list[float]:
    """Return each site's expected part of a sum, from its number of units."""
    sites = zip(units, stage.weights, stage.rates, strict=True)
    return [unit * weight * rate for unit, weight, rate in sites]
