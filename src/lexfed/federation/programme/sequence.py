# SPDX-License-Identifier: Apache-2.0
"""The programme: everything that is fixed and public before the first round.

Sites and coordinator build the same programme from the configuration and the public
declarations, and every query carries its hash. It holds the sequence of stages (label
rate, column statistics, training rounds of tower 1, then of tower 2, ...), the priced
release of every round, the integer grid, and the public constants of the learner.
Nothing in it depends on data, so the guarantee of the whole run is known before it
starts (filter F0: a pre-committed envelope).
"""

import math
from collections.abc import Collection
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property

import torch

from lexfed.budget.adaptation.tower_steering import Adaptation
from lexfed.canonical import digest
from lexfed.federation.programme.sketch_schedule import SketchSchedule
from lexfed.federation.programme.stage import Block, SavingPhase, Stage
from lexfed.models.losses import LossName
from lexfed.models.towers.shape import TowerShape
from lexfed.privacy.noise.shares import NoiseCohort
from lexfed.privacy.releases import Release
from lexfed.terms import Guarantee, Mechanism, StepSchedule, Trust, Unit

__all__ = [
    "Block",
    "ClassScale",
    "Programme",
    "SavingPhase",
    "Stage",
]


@dataclass(frozen=True)
class ClassScale:
    """The factor on contributions of a class of records.

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
    """The whole run, fixed beforehand: its stages in order, with their prices.

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
        site_units: public guess of the number of units at each site; empty if all
            have the same.
        cohort: who adds shares of noise under `distributed` trust, and what is
            assumed about them; None for other trust.
        setup_rounds: how many rounds one set-up of masks serves.
        sketching: what is sketched between towers, and what follows from it.
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
    def precision(self) -> torch.dtype:
        """Type in which sites keep their inputs."""
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
        """Number of rounds of all stages."""
        return sum(len(stage.releases) for stage in self.stages)

    def loudness(self, missing: int = 0) -> float:
        """Return the variance of the noise on a sum, over the one that is charged.

        The sum lacks `missing` sites.

        With `local` trust every site adds all of it; in shares it is sized for the
        honest sites alone, and the others add theirs.
        """
        present = len(self.sites) - missing
        if self.trust == "local":
            return float(present)
        return 1.0 if self.cohort is None else present / self.cohort.honest

    def without(self, stage: Stage, missing: Collection[str]) -> Stage:
        """Return a stage with the divisor of sums in which sites are missing.

        From public numbers alone: units, weights and rates of the sites.
        """
        if not missing:
            return stage
        units = self.site_units or (1.0,) * len(self.sites)
        parts = [
            unit * weight * rate
            for unit, weight, rate in zip(
                units, stage.weights, stage.rates, strict=True
            )
        ]
        there = math.fsum(
            part
            for part, name in zip(parts, self.sites, strict=True)
            if name not in missing
        )
        return replace(stage, divisor=stage.divisor * there / math.fsum(parts))

    def charges(self, *sites: int) -> tuple[tuple[Release, int], ...]:
        """Return the releases of the whole programme, in order: the envelope.

        Args:
            *sites: places of sites, for the most that one of them is charged for;
                without any: the plan.
        """
        charges: list[tuple[Release, int]] = []
        for stage in self.stages:
            for step, planned in enumerate(stage.releases):
                release = planned
                if sites:
                    release = stage.at(step).release_for_all(planned, sites)
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
                "phases": [asdict(phase) for phase in stage.phases],
                "noise_range": stage.noise_range,
                "extra": stage.extra,
                "releases": [
                    None if release is None else release.to_json()
                    for release in stage.releases
                ],
                "blocks": [asdict(block) for block in stage.blocks],
                "tables": [asdict(table) for table in stage.tables],
            }
            for stage in self.stages
        ]
        return digest(plain)
