# SPDX-License-Identifier: Apache-2.0
"""Every value has one cell of its table, whatever it is and whatever was asked."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.arrays import Floats, Integers
from lexfed.data.letter_pairs import LEVELS, PAIRS, pairs_of
from lexfed.sketch.queries.requested_tables import (
    DOUBLES,
    HALVES,
    MOST_PREFIXES,
    RequestedTable,
    bin_cells,
    code_cells,
    double_cells,
    double_edges,
    letter_cells,
)

ANY = st.floats(width=64)


def each(cells: Callable[[Floats], Integers], *values: float) -> list[int]:
    return [int(cell) for cell in cells(np.array(values))]


def test_edges_of_doubles_rise_and_are_half_octaves() -> None:
    edges = double_edges.__wrapped__()  # computed, whoever asked before
    assert len(edges) == DOUBLES + 1
    assert (np.diff(edges) > 0).all()
    assert np.array_equal(edges, -edges[::-1])
    positive = edges[HALVES + 1 :]
    assert np.allclose(positive[1:] / positive[:-1], math.sqrt(2.0), rtol=1e-15)
    assert positive[0] == 2.0**-32
    assert positive[-1] == 2.0**64


def test_doubles_by_sign_and_half_octave() -> None:
    one = HALVES + 1 + 64
    assert each(double_cells, 1.0, 1.4, 1.5, 2.0) == [one, one, one + 1, one + 2]
    assert each(double_cells, 0.0, -0.0, 1e-20, -1e-300) == [HALVES] * 4
    assert each(double_cells, -math.inf, -1e300) == [0, 0]
    assert each(double_cells, math.inf, 1e300) == [DOUBLES - 1] * 2
    assert each(double_cells, math.nan) == [DOUBLES]


@given(ANY)
def test_a_double_lies_between_the_edges_of_its_cell(value: float) -> None:
    [cell] = each(double_cells, value)
    if math.isnan(value):
        assert cell == DOUBLES
    else:
        edges = double_edges()
        assert cell == 0 or edges[cell] <= value
        assert cell == DOUBLES - 1 or value < edges[cell + 1]


def test_bins_are_closed_below_and_the_last_one_above() -> None:
    def cells(values: Floats) -> Integers:
        return bin_cells(values, 0.0, 4.0, 7)

    assert each(cells, 0.0, 0.99, 1.0, 3.9, 4.0) == [1, 1, 2, 4, 4]
    assert each(cells, -1e-9, -math.inf, 4.1, math.inf) == [0, 0, 5, 5]
    assert each(cells, math.nan) == [6]


@given(ANY, ANY, ANY, st.integers(4, 100))
def test_no_ends_lead_outside_a_table(
    value: float, low: float, high: float, width: int
) -> None:
    [cell] = each(lambda values: bin_cells(values, low, high, width), value)
    assert 0 <= cell < width
    assert (cell == width - 1) == math.isnan(value)


def test_codes_of_a_list() -> None:
    def cells(values: Floats) -> Integers:
        return code_cells(values, 5)

    assert each(cells, 0.0, 1.0, 2.0) == [0, 1, 2]
    assert each(cells, -1.0, 3.0, 1.5, 1e300, math.inf, -math.inf) == [3] * 6
    assert each(cells, math.nan) == [4]


def test_letters_go_on_from_prefixes() -> None:
    texts = np.array([pairs_of("Ulm"), pairs_of("Ulaan"), pairs_of("Bern")])
    values = texts.astype(np.float64)
    first = letter_cells(values[:, :1], np.zeros((1, 0)))
    assert first.tolist() == texts[:, 0].tolist()
    prefixes = np.array([[texts[2, 0]], [texts[0, 0]], [texts[2, 0]], [-1]], np.float64)
    second = letter_cells(values[:, :2], prefixes)
    # Bern fits two prefixes, and is counted for the first.
    assert second.tolist() == [PAIRS + texts[0, 1], PAIRS + texts[1, 1], texts[2, 1]]
    other = letter_cells(values[:, :2], np.full((4, 1), -1.0))
    assert other.tolist() == [4 * PAIRS] * 3
    values[1, 0] = math.nan
    assert letter_cells(values[:, :2], prefixes)[1] == 4 * PAIRS + 1


@given(
    st.integers(1, LEVELS).flatmap(
        lambda level: st.tuples(
            st.lists(ANY, min_size=level, max_size=level),
            st.lists(
                st.lists(ANY, min_size=level - 1, max_size=level - 1),
                min_size=1,
                max_size=MOST_PREFIXES,
            ),
        )
    )
)
def test_no_prefixes_lead_outside_a_table(
    drawn: tuple[list[float], list[list[float]]],
) -> None:
    pairs, prefixes = drawn
    shape = (len(prefixes), len(pairs) - 1)
    [cell] = letter_cells(np.array([pairs]), np.array(prefixes).reshape(shape))
    assert 0 <= cell < len(prefixes) * PAIRS + 2


@pytest.mark.parametrize("code", [-1.0, PAIRS, 0.5, 1e300, math.inf])
def test_a_code_that_is_no_pair_is_another_value(code: float) -> None:
    assert letter_cells(np.array([[code]]), np.zeros((1, 0))).tolist() == [PAIRS]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"depth": 2}, "`depth` 1 where cells are exact"),
        ({"slots": (0, 1)}, "slots and width of `bins`"),
        ({"ends": (1.0, 0.0)}, "`ends` of bins, finite and rising"),
        ({"ends": (0.0, math.inf)}, "finite and rising"),
    ],
)
def test_a_table_that_nobody_could_fill_is_refused(table: Any, words: str) -> None:
    settings: dict[str, Any] = {
        "column": "age", "domain": "bins", "slots": (0,), "width": 10,
        "ends": (0.0, 1.0),
    }  # fmt: skip
    RequestedTable(**settings)
    with pytest.raises(ValueError, match=words):
        RequestedTable(**{**settings, **table})
