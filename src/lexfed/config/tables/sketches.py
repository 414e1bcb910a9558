# SPDX-License-Identifier: Apache-2.0
"""The shape of `[sketches]`: what is sketched between towers, and what follows."""

from typing import Annotated

from pydantic import Field

from lexfed.config.tables.field_types import ConfigTable, Real
from lexfed.terms import WeightRule


class SketchesTable(ConfigTable):
    """`[sketches]`: tables of counts while a model is trained."""

    share: Annotated[Real, Field(ge=0, le=0.5)] = 0.0
    every: Annotated[int, Field(ge=0, le=64)] = 1
    weights: WeightRule = "none"
    columns: Annotated[int, Field(ge=0, le=64)] = 3
