# SPDX-License-Identifier: Apache-2.0
"""Settings of sketches from a configuration, and expectations from its profile.

A profiled column is counted in cells of the profile, joined to a few that hold about as
many persons each. So what is compared later are the same cells: a difference is one of
persons, not of how they are counted.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from lexfed.config.tables.root import Config
from lexfed.data.encoding import Encoding, scaled_values
from lexfed.data.schema import Column
from lexfed.federation.programme.sketch_schedule import SketchSchedule
from lexfed.run.earlier_runs import read_profile
from lexfed.sketch.estimates.intervals import CONFIDENCE, normal_quantile
from lexfed.sketch.profile.answers import ProfiledHistogram, ProfiledNumber
from lexfed.sketch.profile.federation_profile import ColumnProfile, FederationProfile
from lexfed.sketch.queries.drift import CELLS, WatchedColumn, watched_columns
from lexfed.sketch.queries.requested_tables import bin_cells


def sketching_of(config: Config, encoding: Encoding, base: Path) -> SketchSchedule:
    """Return the sketches of a run; the path of its profile is relative to `base`."""
    table = config.sketches
    if table.share == 0.0:
        return SketchSchedule()
    profile = None
    if config.data.profile is not None:
        profile = read_profile(base / config.data.profile)
    return SketchSchedule(
        share=table.share,
        every=max(1, table.every),
        weights=table.weights,
        columns=table.columns,
        persons=encoding.schema.person is not None,
        watched=expected_columns(encoding, profile),
    )


_MOST_MISSING = 0.99
"""Where nearly all is missing, the few values do not tell how many that is."""


def expected_columns(
    encoding: Encoding, profile: FederationProfile | None
) -> tuple[WatchedColumn, ...]:
    """Return the columns that may be watched, with the findings of a profile."""
    columns = watched_columns(encoding)
    if profile is None:
        return columns
    return tuple(
        column
        if (known := profile.column(column.name)) is None
        else _expected(column, encoding.schema.by_name(column.name), known)
        for column in columns
    )


def _expected(
    watched: WatchedColumn, column: Column, known: ColumnProfile
) -> WatchedColumn:
    if known.missing is None or known.missing.value > _MOST_MISSING:
        return watched
    if column.kind == "number":
        if known.histogram is None:
            return watched
        return _number(watched, column, known.histogram, known.missing)
    names = ("no", "yes") if column.kind == "flag" else column.values or ()
    counts = {each.value: each.count for each in known.values if each.whole}
    if known.other is None or not counts.keys() >= set(names):
        return watched
    # What is on no list and what is missing have one cell in a model.
    cells = [(counts[name].value, _deviation(counts[name])) for name in names]
    other = (known.other.value, _deviation(known.other))
    gone = _gone(known.missing, [*cells, other])
    rest = (other[0] + gone[0], math.hypot(other[1], gone[1]))
    return _with_cells(watched, [*cells, rest])


def _number(
    watched: WatchedColumn,
    column: Column,
    seen: ProfiledHistogram,
    missing: ProfiledNumber,
) -> WatchedColumn:
    """Return a number in joined bars of its histogram.

    Edges at or beyond the ends of the declared range are left out: training clamps.
    """
    low, high = column.range if column.range is not None else (-math.inf, math.inf)
    reach = normal_quantile(CONFIDENCE)
    bars = [
        (seen.below.value, _deviation(seen.below)),
        *zip(seen.counts, (wide / reach for wide in seen.reaches), strict=True),
        (seen.above.value, _deviation(seen.above)),
    ]
    share = sum(max(0.0, count) for count, _ in bars) / CELLS
    cells, edges = [bars[0]], []
    for edge, bar in zip(_edges(seen), bars[1:], strict=True):
        if low < edge < high and cells[-1][0] >= share:
            edges.append(edge)
            cells.append(bar)
        else:
            cells[-1] = (cells[-1][0] + bar[0], math.hypot(cells[-1][1], bar[1]))
    if not edges:
        return watched
    places = scaled_values(column, np.array(edges))
    if not (np.diff(places) > 0).all():
        return watched
    found = replace(watched, edges=tuple(places.tolist()))
    return _with_cells(found, [*cells, _gone(missing, bars)])


def _edges(seen: ProfiledHistogram) -> Sequence[float]:
    """Return the smallest value of each bar, and of what is above; NaN if unclear.

    A bin is found by a product, whose rounding may leave an edge in the bin before;
    and the last bin holds its upper end. Such edges cannot part cells: a value on them
    would change its side.
    """
    if seen.by_size:
        return seen.edges
    edges = np.array(seen.edges)
    bins = len(edges) - 1
    cells = bin_cells(edges, edges[0], edges[-1], bins + 3)
    clear: list[float] = np.where(
        cells == np.arange(1, bins + 2), edges, np.nan
    ).tolist()
    return clear


def _with_cells(
    watched: WatchedColumn, cells: Sequence[tuple[float, float]]
) -> WatchedColumn:
    # One variance for all: the largest, so that no cell is taken for more exact.
    largest = max(deviation for _, deviation in cells)
    counts = tuple(count for count, _ in cells)
    return replace(watched, expected=counts, variance=largest**2)


def _deviation(*answers: ProfiledNumber) -> float:
    reach = 2.0 * normal_quantile(CONFIDENCE)
    return math.hypot(
        *(
            0.0
            if each.low is None or each.high is None
            else (each.high - each.low) / reach
            for each in answers
        )
    )


def _gone(
    missing: ProfiledNumber, present: Sequence[tuple[float, float]]
) -> tuple[float, float]:
    """Return the number of persons without a value, and its deviation.

    Of the share m that is missing and of P counted values, as P m / (1 - m): how many
    persons there are at all is declared, perhaps roughly, and would be taken for drift.
    """
    there = sum(count for count, _ in present)
    odds = missing.value / (1.0 - missing.value)
    slope = there / (1.0 - missing.value) ** 2
    doubt = math.hypot(*(deviation for _, deviation in present))
    return there * odds, math.hypot(slope * _deviation(missing), odds * doubt)
