# SPDX-License-Identifier: Apache-2.0
"""The shape of `[adapt]`: what follows the released values, and inside which fence."""

from typing import Annotated, Literal

from pydantic import Field

from lexfed.budget.adaptation.tower_steering import Adaptation
from lexfed.config.tables.field_types import (
    ConfigTable,
    Positive,
    PositiveCount,
    Real,
    RoundCount,
)

_DEFAULT = Adaptation()


class AdaptTable(ConfigTable):
    """`[adapt]`: noise, clip, step length and number of rounds along the way."""

    noise: Literal["none", "convergence", "linear", "feedback"] = "none"
    guarantee: Literal["envelope", "filter"] = "envelope"
    beta: Annotated[Real, Field(gt=0, le=0.9)] = _DEFAULT.beta
    decay: Positive = _DEFAULT.decay
    window: PositiveCount = _DEFAULT.window
    clip: Literal["none", "quantile", "feedback"] = "none"
    quantile: Annotated[Real, Field(gt=0, lt=1)] = _DEFAULT.quantile
    clip_rate: Annotated[Real, Field(gt=0, le=1)] = _DEFAULT.clip_rate
    learning_rate: Literal["none", "feedback"] = "none"
    patience: PositiveCount | None = None
    rounds_at_most: RoundCount | None = None

    @property
    def adapting(self) -> Adaptation:
        """The same as the rest of lexfed knows it."""
        return Adaptation(**self.model_dump())
