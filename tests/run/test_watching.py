# SPDX-License-Identifier: Apache-2.0
"""Watched columns count the same persons in the same cells as their profile did."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from lexfed.data.encoding import Encoding, build_encoding, scaled_values
from lexfed.data.schema import Column, Schema
from lexfed.run.pricing.sketch_settings import expected_columns
from lexfed.sketch.profile.answers import ProfiledHistogram, ProfiledNumber, ValueCount
from lexfed.sketch.profile.federation_profile import ColumnProfile, FederationProfile
from lexfed.sketch.queries.drift import CELLS, EVEN_EDGES, WatchedColumn
from lexfed.sketch.queries.requested_tables import bin_cells, double_cells, double_edges
from lexfed.tiers import Tier

Floats = NDArray[np.float64]
PEOPLE = 31_000.0
"""As declared: far off, which must not look like drift."""


def encoding(*columns: Column) -> Encoding:
    target = Column("y", "flag")
    schema = Schema((*columns, target), target="y")
    return build_encoding(schema, {c.name: Tier.PERSONAL for c in schema.columns})


def around(value: float, wide: float = 20.0) -> ProfiledNumber:
    return ProfiledNumber(value, value - wide, value + wide)


def watched(column: Column, known: ColumnProfile | None) -> WatchedColumn:
    columns = () if known is None else (known,)
    code = encoding(column)
    return expected_columns(code, FederationProfile(PEOPLE, ("a",), columns))[0]


def number(
    column: Column, edges: Floats, counts: Floats, by_size: bool
) -> ColumnProfile:
    seen = ProfiledHistogram(
        tuple(edges.tolist()),
        tuple(counts[1:-1].tolist()),
        (20.0,) * (len(counts) - 2),
        around(float(counts[0])),
        around(float(counts[-1])),
        by_size,
    )
    return ColumnProfile(
        column.name,
        "number",
        "personal",
        missing=ProfiledNumber(0.1, 0.09, 0.11),
        histogram=seen,
    )


SCALES = {
    "linear": Column("x", "number", range=(5.0, 90.0), scale="linear"),
    "log": Column("x", "number", range=(1.0, 90.0), scale="log"),
    "symlog": Column("x", "number", range=(-50.0, 90.0), scale="symlog"),
    "public": Column(
        "x", "number", range=(0.0, 90.0), scale="linear", public_stats=(30.0, 12.0)
    ),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("by_size", [False, True])
@pytest.mark.parametrize("scale", SCALES)
def test_the_same_values_fall_into_the_same_cells(
    scale: str, by_size: bool, dtype: type[np.floating]
) -> None:
    """Also those on an edge; counts are of the very values that are counted again."""
    column = SCALES[scale]
    generator = np.random.default_rng(1)
    values = np.concatenate(
        [generator.integers(-60, 110, 6000), generator.normal(30, 20, 4000)]
    ).astype(np.float64)
    if by_size:
        edges = double_edges()[1:-1]
        edges = edges[(edges > -200) & (edges < 200) & (np.abs(edges) > 0.1)]
        cells = np.searchsorted(edges, values, side="right")
        assert len(set(double_cells(values))) > 8
    else:
        edges = np.linspace(0.0, 64.0 * 1.1, 65)
        values[:65] = edges
        cells = bin_cells(values, edges[0], edges[-1], 67)
    counts = np.bincount(cells, minlength=len(edges) + 1).astype(np.float64)
    found = watched(column, number(column, edges, counts, by_size))
    assert 3 < found.cells <= CELLS + 2
    slots = np.stack([scaled_values(column, values), np.zeros(len(values))], axis=1)
    again = found.cells_of(slots.astype(dtype))
    np.testing.assert_array_equal(
        np.bincount(again, minlength=found.cells)[:-1], np.array(found.expected)[:-1]
    )
    assert found.expected[-1] == pytest.approx(len(values) * 0.1 / 0.9)
    assert found.variance >= (20.0 / 1.96) ** 2 * 0.99


def test_lists_and_flags_are_expected_as_they_were_found() -> None:
    ward = Column("x", "category", values=("n", "s"))
    known = ColumnProfile(
        "x",
        "category",
        "personal",
        missing=ProfiledNumber(0.1, 0.09, 0.11),
        values=(ValueCount("s", around(300.0)), ValueCount("n", around(500.0))),
        other=around(40.0),
    )
    found = watched(ward, known)
    assert found.expected == pytest.approx((500.0, 300.0, 40.0 + 840.0 * 0.1 / 0.9))
    assert math.sqrt(found.variance) > 20.0 / 1.96
    flag = ColumnProfile(
        "x",
        "flag",
        "personal",
        missing=ProfiledNumber(0.0, 0.0, 0.01),
        values=(ValueCount("no", around(700.0)), ValueCount("yes", around(200.0))),
        other=around(0.0),
    )
    found = watched(Column("x", "flag"), flag)
    assert found.expected == pytest.approx((700.0, 200.0, 0.0))
    slots = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert found.cells_of(slots).tolist() == [0, 1, 2]


def test_where_a_profile_says_too_little_nothing_is_expected() -> None:
    column = SCALES["linear"]
    nothing = ColumnProfile("x", "number", "personal")
    seen = number(column, np.array([200.0, 300.0]), np.array([1.0, 5.0, 1.0]), False)
    # Two edges that are one in the unit of the model.
    close = np.array([6.0, np.nextafter(6.0, 99.0)])
    one = number(column, close, np.array([300.0, 300.0, 300.0]), True)
    for known in (
        None,
        ColumnProfile("x", "flag", "personal", missing=ProfiledNumber(1.0, 0.99, 1.0)),
        nothing,
        ColumnProfile("x", "number", "personal", missing=around(0.5, 0.1)),
        seen,
        one,
    ):
        found = watched(column, known)
        assert found.before is None
        assert found.edges == EVEN_EDGES
    ward = Column("x", "category", values=("n", "s"))
    half = ColumnProfile(
        "x", "category", "personal", missing=around(0.1, 0.01),
        values=(ValueCount("n", around(5.0)),), other=around(1.0),
    )  # fmt: skip
    assert watched(ward, half).before is None
    assert expected_columns(encoding(ward), None)[0].before is None
