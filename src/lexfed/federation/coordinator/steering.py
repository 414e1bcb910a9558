# SPDX-License-Identifier: Apache-2.0
"""Steering the descent of a tower by its own releases (`budget.adaptation`).

Here released means meet what is public about them: the noise they carry, the clip, the
radius that contributions were divided by, and where the clip bits stand.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lexfed.arrays import Floats
from lexfed.budget.adaptation.clip_quantile import has_clip_bits
from lexfed.budget.adaptation.release_signals import Signal
from lexfed.budget.adaptation.tower_steering import ObservedRelease, Steering
from lexfed.federation.coordinator.progress import Memory
from lexfed.federation.programme.admission import planned_release
from lexfed.federation.programme.sequence import Programme, Stage
from lexfed.privacy.releases import CLIP_BIT, Release
from lexfed.tiers import Tier


def last_terms(tower: int, memory: Memory) -> dict[str, float]:
    """Return the terms of a tower's last release."""
    noise, radius, rate = memory[_used(tower)].tolist()
    return {"noise": noise, "radius": radius, "learning_rate": rate}


def _used(tower: int) -> str:
    return f"{tower}.steer.used"


@dataclass(frozen=True)
class DescentRelease:
    """A release of a descending tower.

    Attributes:
        stage: the round's.
        step: place of the round in its stage.
        release: what was charged for it.
        mean: the released numbers, divided by their public divisor.
    """

    stage: Stage
    step: int
    release: Release | None
    mean: Floats


class TowerSteering:
    """Reads and writes the steering of each tower in the memory of a run.

    Guarantees:
        What it says of a tower depends on that tower's releases alone.
    """

    def __init__(self, programme: Programme) -> None:
        self._programme = programme
        self._adapting = programme.adapting

    def steers(self, stage: Stage) -> bool:
        """Return True if a stage adapts."""
        descends = stage.kind in ("gradient", "update")
        return self._adapting.active and descends and stage.releases[0] is not None

    def state(self, stage: Stage, memory: Memory) -> Steering:
        """Return the state of the steering of a stage's tower."""
        found = Steering.from_memory(stage.tower, memory)
        return self._adapting.start(self._tier(stage)) if found is None else found

    def is_over(self, stage: Stage, memory: Memory) -> bool:
        """Return True if releases show no more progress."""
        if not self.steers(stage):
            return False
        return self._adapting.is_over(self.state(stage, memory))

    def after(
        self, released: DescentRelease, memory: Memory
    ) -> dict[str, NDArray[Any]]:
        """Return the additions to the memory after a release."""
        stage, release = released.stage, released.release
        before = self.state(stage, memory)
        seen = self._seen(stage, before, release, released.mean)
        after = self._adapting.after(before, seen, self._tier(stage))
        noise, planned = before.noise, planned_release(stage, released.step)
        if release is not None and planned is not None:
            noise = release.groups[0].sigma / planned.groups[0].sigma
        used = np.array([noise, before.radius, before.rate])
        return {**after.to_memory(stage.tower), _used(stage.tower): used}

    def unscaled(self, stage: Stage, state: Steering, mean: Floats) -> Floats:
        """Return a released mean in the unit of the model, without the clip bits."""
        return mean[: self._length(stage)] * state.radius

    def _seen(
        self, stage: Stage, state: Steering, release: Release | None, mean: Floats
    ) -> ObservedRelease:
        clips, power = [], 0.0
        divisor = stage.divisor_of(release)
        loudness = self._programme.loudness()
        groups = () if release is None else release.groups
        for group, block in zip(groups, stage.blocks, strict=True):
            if group.name != CLIP_BIT:
                clips.append(group.clip)
                deviation = group.sigma * state.radius / divisor
                power += (block.stop - block.start) * loudness * deviation**2
        clip = math.hypot(*clips) * state.radius
        # Twice the declared units: a declaration may be a little off.
        honest = 2.0 * stage.divisor * clip / divisor
        return ObservedRelease(
            signal=Signal(self.unscaled(stage, state, mean), power),
            clip=clip,
            longest=honest + 20.0 * math.sqrt(power),
            bits=float(mean[-1]) if has_clip_bits(release) else None,
        )

    def _length(self, stage: Stage) -> int:
        """Return the number of values of a release that are the tower's own."""
        return stage.dimension - int(has_clip_bits(stage.releases[0]))

    def _tier(self, stage: Stage) -> Tier:
        return self._programme.shapes[stage.tower].tier
