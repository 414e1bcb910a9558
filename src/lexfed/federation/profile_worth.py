# SPDX-License-Identifier: Apache-2.0
"""Whether a profile can say anything: how common a value must be to be seen.

A cell stands out of a table of m cells with noise of variance s² if it is above
s sqrt(2 ln(m / a)) (`lexfed.sketch.following`). Divided by the public number of persons
that is the share of persons whose value would be hidden. It follows from the programme
alone, so it is known before anything is spent.
"""

import math
from dataclasses import dataclass

from lexfed.federation.programme import Programme, Stage
from lexfed.sketch.following import ERROR, threshold

USEFUL = 0.1
"""A value that so many of all persons have must not be hidden in noise."""


@dataclass(frozen=True)
class Hidden:
    """What a table hides.

    Attributes:
        column: whose values it counts.
        tower: who pays for it.
        share: part of all persons that must have a value so that it is seen.
    """

    column: str
    tower: int
    share: float

    @property
    def useful(self) -> bool:
        """Whether the table says anything worth its price."""
        return self.share <= USEFUL


def hidden_shares(programme: Programme, units: int) -> tuple[Hidden, ...]:
    """Return what the tables of columns hide, in the order in which they are asked.

    Args:
        programme: of a profile.
        units: public number of persons.
    """
    return tuple(
        Hidden(table.column, stage.tower, _least(cells, sigma, programme) / units)
        for stage in programme.stages
        for table, cells, sigma in zip(
            stage.tables, _cells(stage), _sigmas(stage), strict=True
        )
        if table.column
    )


def _cells(stage: Stage) -> list[int]:
    return [table.cells for table in stage.tables]


def _sigmas(stage: Stage) -> list[float]:
    release = stage.releases[0]
    if release is None:
        return [0.0] * len(stage.tables)
    return [group.sigma for group in release.groups]


def _least(cells: int, sigma: float, programme: Programme) -> float:
    spread = sigma * math.sqrt(programme.loudness())
    return threshold(cells, spread * spread, ERROR)
