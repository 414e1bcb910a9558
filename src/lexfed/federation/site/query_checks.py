# SPDX-License-Identifier: Apache-2.0
"""Checks of the numbers in a query: as many as the programme has, and finite.

Arithmetic on arrays stretches what is too short or has an axis too many. A coordinator
that lies could so multiply one unit's contribution beyond its clip, or ask something
that can be computed for some data only: then answering or not would tell, without any
noise. So a site looks at every length before it looks at its data.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lexfed.federation.programme.follow_ups import are_follow_ups, follow_up_lengths
from lexfed.federation.programme.messages import Query
from lexfed.federation.programme.sequence import Programme
from lexfed.federation.programme.site_weights import NAME, are_weights, is_weighed
from lexfed.models.networks.flat_parameters import flatten
from lexfed.models.towers.cascade import Tower
from lexfed.models.towers.shape import TowerShape


def is_well_formed(query: Query, programme: Programme) -> bool:
    """Return True if every array of a query is one that its place in a programme has.

    Its stage, kind and shapes are those of the programme, which was checked before.

    Guarantees:
        Every array is a finite vector of float64 of the one length that the programme
        gives it, and no array is missing or too many.
        Ends of bins and prefixes of texts are such as a table can have.
        A column that is chosen is one of the towers up to the stage's own.
        No site is weighed above 1, and nobody descends by a step that is not positive.
    """
    outputs = programme.shapes[0].outputs
    extra = _lengths(query, programme)
    return (
        _is_vector(query.model.intercept, outputs)
        and all(map(_is_whole, query.model.towers))
        and query.arrays.keys() == extra.keys()
        and all(_is_vector(query.arrays[name], size) for name, size in extra.items())
        and are_follow_ups(programme.stages[query.stage].tables, query.arrays)
        and _may_be_chosen(query, programme)
        and are_weights(query.arrays.get(NAME, _NO_WEIGHTS))
        and (query.kind != "update" or query.arrays["learning_rate"][0] > 0.0)
    )


_NO_WEIGHTS = np.zeros(0)


def _may_be_chosen(query: Query, programme: Programme) -> bool:
    """Return True if the columns to be counted are ones that the release reads.

    A column of a tier above would be told at the price of a tier below.
    """
    read = programme.shapes[: query.tower + 1]
    slots = [slot for shape in read for slot in shape.slots]
    may = programme.sketching.within(slots)
    tables = programme.stages[query.stage].tables
    return all(
        float(query.arrays[f"chosen.{place}"][0]) in may
        for place, table in enumerate(tables)
        if table.domain == "chosen"
    )


def _lengths(query: Query, programme: Programme) -> Mapping[str, int]:
    """Return the length of each array that a query has beside the model."""
    own = dict(_kind_lengths(query, programme))
    if is_weighed(programme, query.stage):
        own[NAME] = len(programme.sites)
    return own


def _kind_lengths(query: Query, programme: Programme) -> Mapping[str, int]:
    shape = programme.shapes[query.tower]
    slots = len(shape.slots)
    if query.kind == "residuals":
        return {
            "centre": slots,
            "scale": slots,
            "residual": 1,
            "reference": shape.outputs,
            "listen": 1,
        }
    if query.kind == "gradient" and programme.networks:
        return {"radius": 1}
    if query.kind in ("gradient", "update"):
        adapts = programme.adapting.clip != "none"
        return {"learning_rate": 1, **({"radius": 1} if adapts else {})}
    if query.kind == "sketch":
        return follow_up_lengths(programme.stages[query.stage].tables)
    return {}


def _is_whole(tower: Tower) -> bool:
    slots, linear = len(tower.shape.slots), replace(tower.shape, architecture="linear")
    return (
        _is_vector(tower.parameters, _parameters(tower.shape))
        and _is_vector(tower.skip, 0, _parameters(linear))
        and _is_vector(tower.centre, 0, slots)
        and _is_vector(tower.scale, tower.centre.size)
    )


def _is_vector(array: NDArray[Any], *sizes: int) -> bool:
    return (
        array.dtype == np.float64
        and array.ndim == 1
        and array.size in sizes
        and bool(np.isfinite(array).all())
    )


@lru_cache(maxsize=64)
def _parameters(shape: TowerShape) -> int:
    """Return the number of parameters of a tower."""
    return flatten(shape.untrained()).numel()
