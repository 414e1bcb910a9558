# SPDX-License-Identifier: Apache-2.0
"""The shape of `[adapt]`: what follows the released values, and inside which fence."""

from typing import Annotated

from pydantic import Field

from lexfed.budget.adaptation.tower_steering import (
    Adaptation,
    ClipRule,
    NoiseRule,
    RateRule,
)
from lexfed.config.tables.field_types import (
    ConfigTable,
    Positive,
    PositiveCount,
    Real,
    RoundCount,
)
from lexfed.privacy.filters.names import Guarantee

_DEFAULT = Adaptation()


class AdaptTable(ConfigTable):
    """`[adapt]`: noise, clip, step length and number of rounds along the way."""

    noise: NoiseRule = "none"
    guarantee: Guarantee = "envelope"
    beta: Annotated[Real, Field(gt=0, le=0.9)] = _DEFAULT.beta
    decay: Positive = _DEFAULT.decay
    window: PositiveCount = _DEFAULT.window
    clip: ClipRule = "none"
    quantile: Annotated[Real, Field(gt=0, lt=1)] = _DEFAULT.quantile
    clip_rate: Annotated[Real, Field(gt=0, le=1)] = _DEFAULT.clip_rate
    learning_rate: RateRule = "none"
    patience: PositiveCount | None = None
    rounds_at_most: RoundCount | None = None

    @property
    def adapting(self) -> Adaptation:
        """The same as the rest of lexfed knows it."""
        return Adaptation(**self.model_dump())
