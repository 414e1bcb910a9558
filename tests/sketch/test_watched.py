# SPDX-License-Identifier: Apache-2.0
"""Watched columns: every row has one cell, whatever it holds."""

import numpy as np
import pytest

from lexfed.sketch.queries.drift import EVEN_EDGES, WatchedColumn, places_for

ODD = (np.nan, np.inf, -np.inf, 1e308, -1e308, 0.0, -0.0, 1.0, 0.5)


@pytest.mark.parametrize(
    "column",
    [
        WatchedColumn("age", (0,), EVEN_EDGES),
        WatchedColumn("age", (0, 1), EVEN_EDGES),
        WatchedColumn("ill", (1, 2), (0.5,)),
        WatchedColumn("ward", (0, 1, 2)),
    ],
)
def test_every_row_has_one_cell(column: WatchedColumn) -> None:
    rows = np.array([[a, b, c] for a in ODD for b in ODD for c in ODD])
    for dtype in (np.float32, np.float64):
        with np.errstate(over="ignore"):
            cells = column.cells_of(rows.astype(dtype))
        assert cells.shape == (len(rows),)
        assert cells.min() >= 0
        assert cells.max() < column.cells


def test_cells_of_a_number_a_flag_and_a_list() -> None:
    number = WatchedColumn("age", (0, 1), (-0.5, 0.5))
    rows = np.array([[-0.6, 0], [-0.5, 0], [0.0, 0], [0.5, 0], [0.0, 1]], dtype=float)
    assert number.cells_of(rows).tolist() == [0, 1, 1, 2, 3]
    listed = WatchedColumn("ward", (0, 1))
    assert listed.cells_of(np.array([[1.0, 0], [0, 1], [0, 0]])).tolist() == [0, 1, 2]


def test_other_columns_are_not_read() -> None:
    column = WatchedColumn("age", (1,), EVEN_EDGES)
    rows = np.array([[np.nan, 0.3, np.inf]])
    assert column.cells_of(rows) == column.cells_of(np.array([[0.0, 0.3, 0.0]]))


def test_what_does_not_fit_together_is_refused() -> None:
    for slots, edges in (((), ()), ((0, 1, 2), (0.5,)), ((0,), (0.5, 0.5))):
        with pytest.raises(ValueError, match="rising edges"):
            WatchedColumn("age", slots, edges)
    with pytest.raises(ValueError, match="each cell"):
        WatchedColumn("age", (0,), (0.5,), expected=(1.0, 2.0))
    fits = WatchedColumn("age", (0,), (0.5,), expected=(1.0, 2.0, 0.0), variance=4.0)
    assert fits.before is not None
    assert fits.before.variance == 4.0
    assert WatchedColumn("age", (0,), (0.5,)).before is None


def test_places_have_names_of_their_own() -> None:
    tables = places_for("special", 2, 17, 3)
    names = [table.column for table in tables]
    assert names == ["column 1 up to special", "column 2 up to special"]
    assert {(table.cells, table.clip) for table in tables} == {(51, 1.0)}
