# SPDX-License-Identifier: Apache-2.0
"""A site's counts in tables: one cell of each row of a table per row of data.

A unit's rows have weights w_1 + ... + w_k <= 1, and each adds its own to one cell. So a
row of a table moves by a vector of L1 norm 1 at most, hence of L2 norm 1, and `depth`
rows by sqrt(depth) = `RequestedTable.clip`: whatever the values are, and whatever ends
or prefixes were asked. The key of a person counts once, with one sign per row.

Vectors of units are never formed, since tables are far wider than units have rows. The
weights are cut to multiples of 2^-20. Sums of them are exact in float64 for fewer than
2^33 units, in any order, so every engine has the same sums to the bit. One product then
scales the sum so that the clip leaves room for rounding (`Stage.shrinking`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lexfed.arrays import Floats, Integers
from lexfed.federation.programme.messages import Query
from lexfed.federation.programme.sequence import Programme, Stage
from lexfed.federation.programme.sketch_schedule import asked_numbers
from lexfed.federation.site.unit_batch import UnitBatch, unit_factors
from lexfed.sketch.queries.drift import WatchedColumn
from lexfed.sketch.queries.requested_tables import (
    RequestedTable,
    bin_cells,
    code_cells,
    double_cells,
    letter_cells,
)
from lexfed.sketch.tables.shape import HashRows

FINEST = 2.0**-20
"""Weights are multiples of this, so that sums of them are exact."""

_UNITS = 1 << 15
"""Units per slice: bounds memory."""


def batch_sums(
    query: Query,
    programme: Programme,
    cohort: UnitBatch,
    site_weights: Tensor,
    places: Sequence[int],
) -> Tensor:
    """Return the sum over all sites of a cohort, to the bit that of each site's own.

    The arguments are those of `contribute`. Where the unit is the client, all units of
    a site count as one together.
    """
    stage, watched = programme.stages[query.stage], programme.sketching.watched
    total = torch.zeros(stage.dimension, dtype=torch.float64)
    for site, weight, place in zip(cohort.split(), site_weights, places, strict=True):
        factor, units = float(weight), site
        if programme.unit == "client":
            factor /= max(1, len(site))
        elif site.shares is not None:
            own = unit_factors(stage, site.shares, weight)
            factor, units = 1.0, replace(site, shares=own)
        sums = table_sums(stage, query.arrays, units, place, watched)
        total += on_grid(sums, stage, factor)
    return total


def table_sums(
    stage: Stage,
    arrays: Mapping[str, Floats],
    site: UnitBatch,
    place: int,
    watched: Sequence[WatchedColumn] = (),
) -> Tensor:
    """Return the sum of one site's units in all tables of a stage of sketches.

    The arrays were checked. The site's units are multiplied by their `shares`, if any,
    at most 1; `place` is the site's in the programme, and a query may choose from the
    `watched` columns. Raises a `ValueError` if keys are counted and the units have
    none.

    Guarantees:
        A unit moves the block of a table by at most its clip, whatever it holds.
        The same units give the same sum to the bit, in any order and any slices.
    """
    total = np.zeros(stage.dimension)
    blocks = list(zip(stage.tables, stage.blocks, strict=True))
    for start in range(0, len(site), _UNITS):
        part = site.between(start, start + _UNITS)
        weights = _weights(part)
        for at, (table, block) in enumerate(blocks):
            own = total[block.start : block.stop].reshape(table.shape)
            row = own[place if table.sites else 0]
            if table.domain == "keys":
                _count_keys(table, part, weights, row)
            else:
                asked = asked_numbers(table, at, arrays)
                if table.domain == "chosen":
                    cells = watched[int(asked[0])].cells_of(part.inputs.numpy())
                else:
                    cells = cells_of(table, part.inputs, asked)
                row[0] += np.bincount(cells.ravel(), weights.ravel(), table.width)
    return torch.from_numpy(total)


def on_grid(total: Tensor, stage: Stage, factor: float) -> Tensor:
    """Scale a site's sum and round it to the grid that it is summed on.

    Grids round once more, which changes nothing: so a sum over sites is the same
    whether they are rounded one by one or added first.
    """
    parts = [
        torch.round(total[block.start : block.stop] * (factor * scale / step)) * step
        for block, scale in zip(stage.blocks, stage.shrinking, strict=True)
        for step in (block.grid.step,)
    ]
    return torch.cat(parts)


def cells_of(table: RequestedTable, inputs: Tensor, asked: Floats) -> Integers:
    """Return the cell of each row, [units, places], in a table that counts no keys.

    `inputs` are slots, [units, places, slots], `asked` the ends of the bins, or
    prefixes.

    Guarantees:
        Every cell is one of the table's, whatever the inputs are.
    """
    values = inputs[..., list(table.slots)].to(torch.float64).numpy()
    if table.domain == "letters":
        prefixes = asked.reshape(-1, table.level - 1) if table.level > 1 else _EMPTY
        return letter_cells(values, prefixes)
    [numbers] = np.moveaxis(values, -1, 0)
    if table.domain == "codes":
        return code_cells(numbers, table.width)
    if table.domain == "doubles":
        return double_cells(numbers)
    return bin_cells(numbers, asked[0], asked[1], table.width)


_EMPTY = np.zeros((1, 0))


def _weights(units: UnitBatch) -> Floats:
    """Return the weight of each row of each unit, [units, places]: 1 in all at most."""
    weights = torch.nan_to_num(units.weights, nan=0.0).clamp(0.0, 1.0)
    weights = weights / weights.sum(dim=1, keepdim=True).clamp_min(1.0)
    if units.shares is not None:
        weights = weights * units.shares.unsqueeze(1)
    return (torch.floor(weights / FINEST) * FINEST).numpy()


def _count_keys(
    table: RequestedTable, units: UnitBatch, weights: Floats, rows: Floats
) -> None:
    if units.keys is None:
        raise ValueError(
            "the programme counts keys of people, a site's units have none"
        )
    keys = units.keys.numpy().view(np.uint64)
    each = weights.sum(axis=1)
    for row, places in zip(rows, _places(table, keys), strict=True):
        counts = np.bincount(places, each, 2 * table.width)
        row += counts[: table.width] - counts[table.width :]


def _places(table: RequestedTable, keys: NDArray[np.uint64]) -> Iterator[Integers]:
    return HashRows(table.seed, table.depth, table.width).places(keys)
