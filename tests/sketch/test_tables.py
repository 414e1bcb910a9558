# SPDX-License-Identifier: Apache-2.0
"""Tables: right in every cell, exact sums, folds that equal a new build, bytes."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.arrays import Integers
from lexfed.errors import DataError
from lexfed.sketch.tables.counts import (
    LARGEST_CELL,
    CountMin,
    CountSketch,
    CountTable,
    ExactCounts,
)
from lexfed.sketch.tables.shape import HEADER_BYTES, ItemKeys, SketchKind, SketchShape

BINS = "ab" * 32
MIN = SketchShape(SketchKind.COUNT_MIN, 3, 16, 5, BINS)
SIGNED = replace(MIN, kind=SketchKind.COUNT_SKETCH)
EXACT = SketchShape(SketchKind.EXACT, 1, 10, 0, BINS)
TABLES: list[tuple[type[CountTable], SketchShape]] = [
    (CountMin, MIN),
    (CountSketch, SIGNED),
    (ExactCounts, EXACT),
]
HASHED = TABLES[:2]

_items = st.lists(st.integers(0, 9), max_size=30)
_tables = st.sampled_from(TABLES)


def _keys(values: list[int]) -> ItemKeys:
    return np.array(values, dtype=np.uint64)


def _counts(values: list[int]) -> Integers:
    return np.array(values, dtype=np.int64)


def _one_by_one(shape: SketchShape, items: list[int]) -> list[list[int]]:
    """The definition, without vectors."""
    cells = [[0] * shape.width for _ in range(shape.depth)]
    for item in items:
        for row in range(shape.depth):
            column, sign = item, 1
            if shape.kind is not SketchKind.EXACT:
                column = int(shape.rows.columns(_keys([item]))[row, 0])
            if shape.kind is SketchKind.COUNT_SKETCH:
                sign = int(shape.rows.signs(_keys([item]))[row, 0])
            cells[row][column] += sign
    return cells


@given(_tables, _items)
def test_cells_are_what_the_definition_says(
    table: tuple[type[CountTable], SketchShape], items: list[int]
) -> None:
    kind, shape = table
    assert kind.build(shape, _keys(items)).cells.tolist() == _one_by_one(shape, items)


@given(_tables, _items, _items)
def test_a_sum_is_the_table_of_all_items(
    table: tuple[type[CountTable], SketchShape], ours: list[int], theirs: list[int]
) -> None:
    kind, shape = table
    added = kind.build(shape, _keys(ours)).add(kind.build(shape, _keys(theirs)))
    assert type(added) is kind
    together = kind.build(shape, _keys(ours + theirs))
    assert np.array_equal(added.cells, together.cells)


@given(_tables, st.lists(st.integers(0, 5), min_size=10, max_size=10))
def test_counts_are_items_that_often(
    table: tuple[type[CountTable], SketchShape], counts: list[int]
) -> None:
    kind, shape = table
    often = kind.build(shape, _keys(list(range(10))), _counts(counts))
    repeated = np.repeat(np.arange(10, dtype=np.uint64), counts)
    assert np.array_equal(often.cells, kind.build(shape, repeated).cells)


@pytest.mark.parametrize(("kind", "shape"), TABLES)
def test_blocks_do_not_show(kind: type[CountTable], shape: SketchShape) -> None:
    items = np.random.default_rng(1).integers(0, 10, 70_001).astype(np.uint64)
    parts = [kind.build(shape, part) for part in np.array_split(items, 7)]
    total = parts[0]
    for part in parts[1:]:
        total = total.add(part)
    whole = kind.build(shape, items)
    assert np.array_equal(whole.cells, total.cells)
    weighted = kind.build(shape, items, np.ones(len(items), dtype=np.int64))
    assert np.array_equal(whole.cells, weighted.cells)


@pytest.mark.parametrize(("kind", "shape"), HASHED)
@given(items=st.lists(st.integers(0, 2**64 - 1), max_size=30))
def test_a_folded_table_equals_one_built_narrow(
    kind: type[CountTable], shape: SketchShape, items: list[int]
) -> None:
    folded = kind.build(shape, _keys(items)).fold()
    narrow = kind.build(shape.folded(), _keys(items))
    assert folded.shape == narrow.shape
    assert np.array_equal(folded.cells, narrow.cells)


def test_memory_does_not_grow_with_the_number_of_items() -> None:
    peaks = []
    for count in (100_000, 1_000_000):
        items = np.arange(count, dtype=np.uint64)
        tracemalloc.start()
        CountMin.build(MIN, items)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0] < 3e6


def test_cells_cannot_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        CountMin.build(MIN, _keys([1])).cells[0, 0] = 5


@pytest.mark.parametrize(("kind", "shape"), TABLES)
def test_tables_of_other_shapes_are_not_added(
    kind: type[CountTable], shape: SketchShape
) -> None:
    ours = kind.build(shape, _keys([1]))
    other = kind.build(replace(shape, bins="cd" * 32), _keys([1]))
    with pytest.raises(DataError, match="site b: the declared domain differs"):
        ours.add(other, "site b")


@pytest.mark.parametrize(
    "cells",
    [
        np.zeros((2, 16), dtype=np.int64),
        np.zeros((3, 16), dtype=np.int32),
    ],
)
def test_cells_of_another_size_or_type_are_refused(cells: Integers) -> None:
    with pytest.raises(ValueError, match="expected cells"):
        CountMin(MIN, cells)


def test_a_table_is_of_its_kind() -> None:
    with pytest.raises(ValueError, match="kind `count-min`"):
        CountMin.build(SIGNED, _keys([]))


def test_an_item_outside_the_domain_of_exact_counts_is_refused() -> None:
    with pytest.raises(DataError, match="outside the declared domain"):
        ExactCounts.build(EXACT, _keys([3, 10]))


@pytest.mark.parametrize("size", [LARGEST_CELL, -LARGEST_CELL])
def test_cells_never_wrap(size: int) -> None:
    full = CountMin(MIN, np.full((3, 16), size, dtype=np.int64))
    with pytest.raises(DataError, match="larger than any honest one"):
        full.add(full)


def test_counts_that_could_wrap_are_refused() -> None:
    with pytest.raises(DataError, match="larger than any honest one"):
        CountMin.build(MIN, _keys([1, 2, 3]), _counts([2**62, 2**62, 2**62]))


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        (_counts([1]), "one count for every item"),
        (np.ones(2, dtype=np.int32), "int64, got: int32"),
        (_counts([1, -1]), "below zero"),
    ],
)
def test_counts_that_make_no_sense_are_refused(counts: Integers, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        CountMin.build(MIN, _keys([1, 2]), counts)


@given(_tables, _items)
def test_bytes_read_are_the_table_written(
    table: tuple[type[CountTable], SketchShape], items: list[int]
) -> None:
    kind, shape = table
    written = kind.build(shape, _keys(items))
    read = kind.from_bytes(written.to_bytes(), shape, largest=30)
    assert np.array_equal(read.cells, written.cells)
    assert read.to_bytes() == written.to_bytes()


@pytest.mark.parametrize("change", [slice(0, -1), slice(0, -8), slice(0, HEADER_BYTES)])
def test_bytes_of_another_length_are_refused(change: slice) -> None:
    data = CountMin.build(MIN, _keys([1])).to_bytes()
    for wrong in (data[change], data + b"\0"):
        with pytest.raises(DataError, match="site b: expected 440 bytes"):
            CountMin.from_bytes(wrong, MIN, 1, "site b")


def test_bytes_of_another_shape_are_refused_however_long_they_say_they_are() -> None:
    huge = replace(MIN, width=2**30).to_bytes()
    with pytest.raises(DataError, match="the width differs"):
        CountMin.from_bytes(huge, MIN, 1)


@pytest.mark.parametrize("cell", [6, -6, 2**63 - 1, -(2**63)])
def test_a_cell_larger_than_agreed_is_refused(cell: int) -> None:
    data = MIN.to_bytes() + np.full(48, cell, dtype="<i8").tobytes()
    with pytest.raises(DataError, match="site b: a count is larger"):
        CountMin.from_bytes(data, MIN, 5, "site b")


def test_cells_below_zero_are_let_through() -> None:
    data = MIN.to_bytes() + np.full(48, -5, dtype="<i8").tobytes()
    assert CountMin.from_bytes(data, MIN, 5).cells.min() == -5
