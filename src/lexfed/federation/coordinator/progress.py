# SPDX-License-Identifier: Apache-2.0
"""The state of a run: all of it is released or public."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from lexfed.models.towers.cascade import Model

Memory = Mapping[str, NDArray[Any]]
"""Released vectors that a run keeps beside its model, by name."""


@dataclass(frozen=True)
class Progress:
    """The state of a run: a function of released values and public facts.

    Attributes:
        done: rounds of the programme that are over, whether released or lost.
        model: the model so far.
        memory: further released vectors, by name.
        stage: stage of the next round, unless it is over.
        step: place of the next round in that stage.
    """

    done: int
    model: Model
    memory: Memory
    stage: int = 0
    step: int = 0

    def after_round(self, stage: int, step: int) -> "Progress":
        """Return the state once a round at that place is over."""
        return replace(self, done=self.done + 1, stage=stage, step=step + 1)
