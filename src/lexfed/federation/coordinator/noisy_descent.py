# SPDX-License-Identifier: Apache-2.0
"""Noisy descent of a tower: what sites are asked, and the step from what they release.

For towers that no rule trains: gradients of persons, or updates of clients. Where it is
asked for, noise, clip and step follow the tower's own releases (`steering`).
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lexfed.arrays import Floats, Integers
from lexfed.federation.coordinator.progress import Memory
from lexfed.federation.coordinator.steering import DescentRelease, TowerSteering
from lexfed.federation.programme.sequence import Programme, Stage
from lexfed.models.descent import Descent, default_learning_rate
from lexfed.models.networks.flat_parameters import group_order
from lexfed.models.towers.cascade import Tower


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
        self, released: DescentRelease, tower: Tower, memory: Memory
    ) -> tuple[Tower, dict[str, NDArray[Any]]]:
        """Return tower and memory after a release, from those before it."""
        stage, mean = released.stage, released.mean
        after = dict(memory)
        steering = self._steering.state(stage, memory)
        if self._steering.steers(stage):
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
        default = default_learning_rate(programme.unit)
        return Descent(
            learning_rate=programme.learning_rate or default,
            momentum=programme.momentum,
            schedule=programme.learning_rate_schedule,
            rounds=len(stage.releases),
        )

    def _order(self, tower: Tower) -> Integers:
        # One tower has all groups; to load a network only to look at its layers would
        # take a good part of a round.
        if self._group_order is None:
            self._group_order = group_order(tower.module(), self._programme.groups)
        return self._group_order
