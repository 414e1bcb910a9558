# SPDX-License-Identifier: Apache-2.0
"""Weights of sites that follow from released tables, on their way to the sites.

A query carries one weight for each site, between a half and one. A site multiplies its
clipped sum by its own, so a contribution is no longer than the clip that is charged
for; whoever sends other weights is refused, or gets less than was paid for.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lexfed.arrays import Floats
from lexfed.budget.sites.overlap_weights import LEAST
from lexfed.federation.programme.messages import Query
from lexfed.federation.programme.sequence import Programme, Stage

NAME = "site_weights"
"""Name of the weights in a query, and in a run's memory."""

_UNWEIGHED = ("sketch", "metrics")


def is_weighed(programme: Programme, stage: int) -> bool:
    """Return True if queries of a stage carry weights: those after the keys."""
    if programme.sketching.weights == "none":
        return False
    before = (table for each in programme.stages[:stage] for table in each.tables)
    asked = any(table.domain == "keys" for table in before)
    return asked and programme.stages[stage].kind not in _UNWEIGHED


def are_weights(array: NDArray[Any]) -> bool:
    """Return True if numbers of the right length are weights that a site takes.

    Guarantees:
        None is above 1, nor below the least.
    """
    return bool(((array >= LEAST) & (array <= 1.0)).all())


def sum_weights(query: Query, factors: Tensor, places: Sequence[int]) -> Tensor:
    """Return the factors of the sums of some sites.

    Args:
        query: was checked.
        factors: public factor of each of these sites, at most 1.
        places: of these sites in the programme.

    Guarantees:
        At most the public factor.
    """
    if NAME not in query.arrays:
        return factors
    return factors * torch.from_numpy(query.arrays[NAME])[list(places)]


def weighted_stage(
    programme: Programme,
    stage: Stage,
    weights: Floats,
    persons: Floats | None = None,
) -> Stage:
    """Return a stage with the weights that its sums have, and the divisor to match.

    The divisor follows from public units, weights and rates, as `Programme.without`.
    Where sizes of sites are private, all have as many public units. Sites that overlap
    are then weighed less and are larger than that, and sums would be divided by too
    much: what keys of persons told of their sizes is used instead.

    Args:
        programme: what is run.
        stage: of it.
        weights: of the sites.
        persons: at each site, as released with the weights; None if nothing was.
    """
    units = np.array(programme.site_units or (1.0,) * len(programme.sites))
    if persons is not None and persons.any() and len(set(units.tolist())) == 1:
        units = persons
    every = zip(units.tolist(), stage.weights, stage.rates, strict=True)
    parts = np.array([unit * weight * rate for unit, weight, rate in every])
    whole = math.fsum(parts)
    there = math.fsum(parts * weights)
    return replace(
        stage,
        weights=tuple((np.array(stage.weights) * weights).tolist()),
        divisor=stage.divisor * there / whole,
    )
