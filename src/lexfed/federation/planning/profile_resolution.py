# SPDX-License-Identifier: Apache-2.0
"""The resolution of a profile: how common a value must be to be seen.

A cell stands out of a table of m cells with noise of variance s² if it is above s
sqrt(2 ln(m / a)) (`lexfed.sketch.queries.refinements`). Divided by the public number of
persons that is the share of persons whose value would be hidden.

Two sites with n persons each share J of them. Their tables of keys, of m cells at rho
each, tell J with variance n²/m + n/rho + m/(4 rho²), beside what J itself adds
(`lexfed.sketch.estimates`). An overlap below 1.96 standard deviations is hidden.

Both follow from the programme alone, so they are known before anything is spent.
"""

import math
from dataclasses import dataclass

from lexfed.federation.programme.sequence import Programme, Stage
from lexfed.sketch.queries.refinements import ERROR, threshold
from lexfed.sketch.queries.requested_tables import RequestedTable

USEFUL = 0.1
"""A value that so many of all persons have must not be hidden in noise."""

USEFUL_OVERLAP = 0.5
"""Nor must an overlap of so many of a site's persons."""

PERSONS = ""
"""Stands for a column where the keys of persons are asked."""


@dataclass(frozen=True)
class HiddenShare:
    """The share of persons that a table hides.

    Attributes:
        column: whose values it counts; PERSONS for keys.
        share: part of all persons that must have a value so that it is seen; of keys,
            part of a site's persons that must be at another one as well.
    """

    column: str
    share: float

    @property
    def useful(self) -> bool:
        """True if the table says something worth its price."""
        most = USEFUL_OVERLAP if self.column == PERSONS else USEFUL
        return self.share <= most


def hidden_shares(programme: Programme, units: int) -> tuple[HiddenShare, ...]:
    """Return the share that each table of a profile hides, in the order of stages."""
    persons = units / len(programme.sites)
    return tuple(
        HiddenShare(table.column, _overlap(table, deviation, persons))
        if table.domain == "keys"
        else HiddenShare(
            table.column, threshold(table.cells, deviation**2, ERROR) / units
        )
        for stage in programme.stages
        for table, deviation in zip(
            stage.tables, _deviations(stage, programme), strict=True
        )
    )


def _deviations(stage: Stage, programme: Programme) -> list[float]:
    release = stage.releases[0]
    if release is None:
        return [0.0] * len(stage.tables)
    louder = math.sqrt(programme.loudness())
    return [louder * group.sigma for group in release.groups]


def _overlap(table: RequestedTable, deviation: float, persons: float) -> float:
    """Return the share of a site's persons below which an overlap is hidden."""
    cells = table.depth * table.width
    # Noise on every cell of variance depth / (2 rho).
    doubt = deviation * deviation / table.depth
    variance = persons**2 / cells + 2.0 * persons * doubt + cells * doubt**2
    return 1.96 * math.sqrt(variance) / persons
