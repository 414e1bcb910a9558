# SPDX-License-Identifier: Apache-2.0
"""Where a run stands: all of it is released or public."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from lexfed.models.towers.cascade import Model


@dataclass(frozen=True)
class Progress:
    """Where a run stands: a function of released values and public facts.

    Attributes:
        done: rounds of the programme that are over, whether released or lost.
        model: the model so far.
        memory: further released vectors, by name.
        stage: stage of the next round, unless it is over.
        step: place of the next round in that stage.
    """

    done: int
    model: Model
    memory: Mapping[str, NDArray[Any]]
    stage: int = 0
    step: int = 0

    def after_round(self, stage: int, step: int) -> "Progress":
        """Return where the run stands once a round at that place is over."""
        return replace(self, done=self.done + 1, stage=stage, step=step + 1)
