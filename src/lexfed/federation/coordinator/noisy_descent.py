# SPDX-License-Identifier: Apache-2.0
"""Noisy descent of a tower: the question to the sites, and the step from the release.

For towers that no rule trains: gradients of persons, or updates of clients. Where it is
asked for, noise, clip and step follow the tower's own releases
(`budget.tower_steering`).
"""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lexfed.arrays import Floats, Integers
from lexfed.budget.noise_feedback import Signal
from lexfed.budget.tower_steering import ObservedRelease, Steering, has_clip_bits
from lexfed.federation.coordinator.progress import Memory
from lexfed.federation.programme.sequence import Programme, Stage
from lexfed.models.descent import Descent, default_learning_rate
from lexfed.privacy.releases import CLIP_BIT, Release
from lexfed.tiers import Tier

if TYPE_CHECKING:
    from lexfed.models.towers import Tower


@dataclass(frozen=True)
class DescentRelease:
    """A descending tower's release at a step; `mean` is over the public divisor."""

    stage: Stage
    step: int
    release: Release | None
    mean: Floats


class TowerSteering:
    """Reads and writes the steering of each tower in the memory of a run.

    Guarantees:
        A tower's steering depends on that tower's releases alone.
    """

    def __init__(self, programme: Programme) -> None:
        self._programme = programme
        self._adapting = programme.adapting

    def state(self, stage: Stage, memory: Memory) -> Steering:
        """Return the state of the steering of a stage's tower."""
        state = Steering.from_memory(stage.tower, memory)
        return self._adapting.start(self._tier(stage)) if state is None else state

    def is_over(self, stage: Stage, memory: Memory) -> bool:
        """Return True if releases show no more progress."""
        return self._adapting.is_over(self.state(stage, memory))

    def after(
        self, released: DescentRelease, memory: Memory
    ) -> dict[str, NDArray[Any]]:
        """Return the additions to the memory after a release."""
        stage, release = released.stage, released.release
        before = self.state(stage, memory)
        observed = self._observed(stage, before, release, released.mean)
        after = self._adapting.after(before, observed, self._tier(stage))
        noise, planned = before.noise, stage.planned(released.step)
        if release is not None and planned is not None:
            noise = release.groups[0].sigma / planned.groups[0].sigma
        used = np.array([noise, before.radius, before.rate])
        return {**after.to_memory(stage.tower), _used(stage.tower): used}

    def unscaled(self, stage: Stage, state: Steering, mean: Floats) -> Floats:
        """Return a released mean in the unit of the model, without the clip bits."""
        own = stage.dimension - int(has_clip_bits(stage.releases[0]))
        return mean[:own] * state.radius

    def _observed(
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

    def _tier(self, stage: Stage) -> Tier:
        return self._programme.shapes[stage.tower].tier


class NoisyDescent:
    """Asks and steps; holds public constants only."""

    def __init__(self, programme: Programme, steering: TowerSteering) -> None:
        self._programme = programme
        self._steering = steering
        self._group_order: Integers | None = None

    def question(self, stage: Stage, memory: Memory, step: int) -> dict[str, Floats]:
        """Return the numbers that sites need to answer a round."""
        steering = self._steering.state(stage, memory)
        rate = self._descent(stage).rate(step) * steering.rate
        arrays = {"learning_rate": np.array([rate])}
        if self._programme.adapting.clip != "none":
            arrays["radius"] = np.array([steering.radius])
        return arrays

    def learn(
        self, released: DescentRelease, tower: "Tower", memory: Memory
    ) -> "tuple[Tower, dict[str, NDArray[Any]]]":
        """Return tower and memory after a release, from those before it."""
        stage, mean = released.stage, released.mean
        after = dict(memory)
        steering = self._steering.state(stage, memory)
        if self._programme.steers(stage):
            after |= self._steering.after(released, memory)
            mean = self._steering.unscaled(stage, steering, mean)
        if self._programme.groups:
            # Sites send group after group; the parameters have their own order.
            ordered = np.empty_like(mean)
            ordered[self._order(tower)] = mean
            mean = ordered
        key = f"velocity.{stage.tower}"
        velocity = memory.get(key, np.zeros_like(tower.parameters))
        if stage.kind == "update":
            parameters = tower.parameters + mean
        else:
            descent = self._descent(stage)
            length = descent.learning_rate * steering.rate
            parameters, velocity = replace(descent, learning_rate=length).step(
                tower.parameters, velocity, mean, released.step
            )
        return replace(tower, parameters=parameters), {**after, key: velocity}

    def _descent(self, stage: Stage) -> Descent:
        programme = self._programme
        return Descent(
            programme.learning_rate or default_learning_rate(programme.unit),
            momentum=programme.momentum,
            schedule=programme.learning_rate_schedule,
            rounds=len(stage.releases),
        )

    def _order(self, tower: "Tower") -> Integers:
        from lexfed.models.networks.flat_parameters import group_order

        # One tower has all groups; to load a network only to look at its layers would
        # take a good part of a round.
        if self._group_order is None:
            self._group_order = group_order(tower.module(), self._programme.groups)
        return self._group_order


def last_terms(tower: int, memory: Memory) -> dict[str, float]:
    """Return the terms of a tower's last release."""
    noise, radius, rate = memory[_used(tower)].tolist()
    return {"noise": noise, "radius": radius, "learning_rate": rate}


def _used(tower: int) -> str:
    return f"{tower}.steer.used"
