# SPDX-License-Identifier: Apache-2.0
"""Domains: every value has its key, whatever lies outside is refused by row."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from lexfed.errors import DataError
from lexfed.sketch.tables.counts import CountMin
from lexfed.sketch.tables.domains import (
    BinDomain,
    CategoryDomain,
    IntegerDomain,
    TextDomain,
)
from lexfed.sketch.tables.shape import SketchKind, SketchShape, string_keys


def _wholes(*values: int) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


@pytest.mark.parametrize(
    ("domain", "values", "keys"),
    [
        (IntegerDomain(-3, 5), [-3, 5, 0], [0, 8, 3]),
        (IntegerDomain(-(2**63), 2**63 - 1), [2**63 - 1, -(2**63)], [2**64 - 1, 0]),
        (IntegerDomain(2**62, 2**62), [2**62], [0]),
    ],
)
def test_whole_numbers_are_counted_from_the_lowest(
    domain: IntegerDomain, values: list[int], keys: list[int]
) -> None:
    assert domain.keys(_wholes(*values)).tolist() == keys
    assert domain.size == domain.high - domain.low + 1


def test_numbers_fall_into_declared_bins() -> None:
    bins = BinDomain((0.0, 1.0, 2.5, 10.0))
    values = np.array([0.0, 0.99, 1.0, 2.5, 9.0, 10.0])
    assert bins.keys(values).tolist() == [0, 0, 1, 2, 2, 2]
    assert bins.size == 3


def test_words_have_their_place_in_the_list() -> None:
    words = CategoryDomain(("no", "yes", "never"))
    assert words.keys(["yes", "no", "yes"]).tolist() == [1, 0, 1]
    assert words.size == 3


@given(st.lists(st.sampled_from(["a", "bb", "ä", "", "😀"]), max_size=20))
def test_texts_are_counted_alike_one_by_one_and_by_different_ones(
    values: list[str],
) -> None:
    texts = TextDomain(2)
    assert texts.keys(values).tolist() == string_keys(values).tolist()
    shape = SketchShape(SketchKind.COUNT_MIN, 2, 8, 1, texts.digest)
    one_by_one = CountMin.build(shape, texts.keys(values))
    counted = CountMin.build(shape, *texts.counted(values))
    assert np.array_equal(one_by_one.cells, counted.cells)


@pytest.mark.parametrize("values", [_wholes(1, 6, 2, 7), _wholes(1, -1, 0, 9)])
def test_a_whole_number_outside_is_refused_by_row(values: NDArray[np.int64]) -> None:
    with pytest.raises(DataError, match="age: row 2 lies outside") as refused:
        IntegerDomain(0, 5).keys(values, "age")
    assert "1 more rows" in refused.value.hint
    assert str(values[1]) not in refused.value.message.replace("row 2", "")


@pytest.mark.parametrize("value", [-0.01, 1.01, np.nan, np.inf, -np.inf])
def test_a_number_outside_is_refused_by_row(value: float) -> None:
    with pytest.raises(DataError, match="row 2 lies outside"):
        BinDomain((0.0, 1.0)).keys(np.array([0.5, value]))


def test_a_word_outside_is_refused_by_row() -> None:
    with pytest.raises(DataError, match="row 3 lies outside") as refused:
        CategoryDomain(("no", "yes")).keys(["no", "yes", "secret"])
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("text", ["abc", 7, None, ["a"]])
def test_a_text_outside_is_refused_by_row(text: Any) -> None:
    for count in (TextDomain(2).keys, TextDomain(2).counted):
        with pytest.raises(DataError, match="row 2 lies outside"):
            count(["ab", text])


def test_a_text_that_cannot_be_counted_is_no_matter_of_the_domain() -> None:
    class Unhashable(str):
        __hash__ = None  # type: ignore[assignment]

    with pytest.raises(TypeError, match="unhashable"):
        TextDomain(2).counted([Unhashable("a")])


def test_other_types_of_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="int64, got: float64"):
        IntegerDomain(0, 5).keys(np.array([1.5]))


def test_different_declarations_have_different_digests() -> None:
    domains: list[IntegerDomain | BinDomain | CategoryDomain | TextDomain] = [
        IntegerDomain(0, 5),
        IntegerDomain(0, 6),
        BinDomain((0, 5)),
        BinDomain((0, 6)),
        CategoryDomain(("0", "5")),
        CategoryDomain(("5", "0")),
        TextDomain(5),
        TextDomain(6),
    ]
    assert len({domain.digest for domain in domains}) == len(domains)
    assert BinDomain((0, 5)).digest == BinDomain((0.0, 5.0)).digest


@pytest.mark.parametrize(("low", "high"), [(1, 0), (-(2**63) - 1, 0), (0, 2**63)])
def test_ranges_that_make_no_sense_are_refused(low: int, high: int) -> None:
    with pytest.raises(ValueError, match="`low` <= `high`"):
        IntegerDomain(low, high)


@pytest.mark.parametrize(
    "edges", [(), (1.0,), (0.0, np.inf), (np.nan, 1.0), (0.0, 0.0), (1.0, 0.0)]
)
def test_edges_that_make_no_sense_are_refused(edges: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="`edges`"):
        BinDomain(edges)


def test_lists_and_lengths_that_make_no_sense_are_refused() -> None:
    for values in ((), ("a", "a")):
        with pytest.raises(ValueError, match="`values`"):
            CategoryDomain(values)
    for longest in (0, 1001):
        with pytest.raises(ValueError, match="`longest`"):
            TextDomain(longest)
