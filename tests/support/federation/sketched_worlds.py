# SPDX-License-Identifier: Apache-2.0
"""Small federations that are sketched while they train."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lexfed.budget.noise_plan import Budget
from lexfed.federation.coordinator.progress import tables_so_far
from lexfed.federation.programme.sketch_schedule import SketchSchedule
from lexfed.sketch.queries.drift import watched_columns
from lexfed.sketch.queries.requested_tables import ReleasedTable
from lexfed.tiers import Tier
from support.federation.worlds import Played, World, encoding, world

BUDGET = Budget(25.0, 1e-6, "add-remove", {Tier.SPECIAL: 20.0})
"""So much that tables of some hundred persons say something."""


def sketching(**changed: Any) -> SketchSchedule:
    """Return sketches of persons and columns, and weights by overlap."""
    code = encoding(changed.pop("loss", "logistic"))
    given = {
        "share": 0.3,
        "weights": "overlap",
        "columns": 3,
        "persons": True,
        "watched": watched_columns(code),
    }
    return SketchSchedule(**{**given, **changed})


def sketched(
    *, sizes: Sequence[int] = (700, 500, 600), common: int = 450, **options: Any
) -> World:
    """Return a world in which the first two sites have some persons in common."""
    options.setdefault("sketching", sketching(loss=options.get("loss", "logistic")))
    options.setdefault("budget", BUDGET)
    made = world(sizes=sizes, **options)
    sites, start = [], 0
    for at, site in enumerate(made.sites):
        keys = np.arange(start, start + len(site.train), dtype=np.int64)
        if at == 1:
            keys[:common] = np.arange(common)
        start += len(site.train)
        train = replace(site.train, keys=keys)
        sites.append(replace(site, train=train))
    return replace(made, sites=tuple(sites))


def told_in(of: World, played: Played) -> tuple[ReleasedTable, ...]:
    """Return the tables that were released."""
    assert played.progress is not None
    return tables_so_far(of.programme, played.progress.memory)
