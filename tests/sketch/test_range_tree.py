# SPDX-License-Identifier: Apache-2.0
"""Trees: nodes add up, coarse levels are exact, sums and bytes are exact."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.errors import DataError
from lexfed.sketch.tables.counts import CountSketch
from lexfed.sketch.tables.range_tree import RangeTree, TreeShape
from lexfed.sketch.tables.shape import HashRows, ItemKeys, SketchKind

BINS = "ab" * 32
SMALL = TreeShape(BINS, size=20, branching=3)
LARGE = TreeShape(BINS, size=50_000, branching=16, rows=HashRows(3, 4, 64))

_values = st.lists(st.integers(0, 19), max_size=30)


def _keys(values: list[int]) -> ItemKeys:
    return np.array(values, dtype=np.uint64)


@pytest.mark.parametrize(
    ("size", "branching", "height"),
    [(2, 2, 1), (3, 2, 2), (16, 16, 1), (17, 16, 2), (256, 16, 2), (4096, 2, 12)],
)
def test_a_tree_is_as_high_as_its_domain_needs(
    size: int, branching: int, height: int
) -> None:
    shape = TreeShape(BINS, size, branching)
    assert shape.height == len(shape.levels) == height
    assert shape.nodes(height) >= size


@given(_values)
def test_every_node_counts_the_values_below_it(values: list[int]) -> None:
    tree = RangeTree.build(SMALL, _keys(values))
    assert [len(table.cells[0]) for table in tree.levels] == [3, 9, 27]
    for table, below in zip(tree.levels, (9, 3, 1), strict=True):
        wanted = [
            sum(v // below == node for v in values) for node in range(27 // below)
        ]
        assert table.cells[0].tolist() == wanted


@given(_values)
def test_a_node_is_the_sum_of_its_children(values: list[int]) -> None:
    cells = [table.cells[0] for table in RangeTree.build(SMALL, _keys(values)).levels]
    for parents, children in pairwise(cells):
        assert np.array_equal(parents, children.reshape(-1, 3).sum(axis=1))


def test_levels_too_large_are_sketches_of_the_nodes() -> None:
    kinds = [level.kind for level in LARGE.levels]
    assert kinds == [SketchKind.EXACT] * 3 + [SketchKind.COUNT_SKETCH]
    values = np.random.default_rng(2).integers(0, 50_000, 500).astype(np.uint64)
    finest = RangeTree.build(LARGE, values).levels[-1]
    assert np.array_equal(
        finest.cells, CountSketch.build(LARGE.levels[-1], values).cells
    )


@given(_values, _values)
def test_a_sum_is_the_tree_of_all_values(ours: list[int], theirs: list[int]) -> None:
    for shape in (SMALL, LARGE):
        added = RangeTree.build(shape, _keys(ours)).add(
            RangeTree.build(shape, _keys(theirs))
        )
        together = RangeTree.build(shape, _keys(ours + theirs))
        assert added.to_bytes() == together.to_bytes()


@given(_values)
def test_counts_are_values_that_often(values: list[int]) -> None:
    keys, counts = np.unique(_keys(values), return_counts=True)
    often = RangeTree.build(SMALL, keys, counts)
    assert often.to_bytes() == RangeTree.build(SMALL, _keys(values)).to_bytes()


@pytest.mark.parametrize("shape", [SMALL, LARGE])
def test_bytes_read_are_the_tree_written(shape: TreeShape) -> None:
    data = RangeTree.build(shape, _keys([1, 1, 19])).to_bytes()
    assert RangeTree.from_bytes(data, shape, 5).to_bytes() == data
    with pytest.raises(DataError, match="site b: expected"):
        RangeTree.from_bytes(data + b"\0", shape, 5, "site b")
    with pytest.raises(DataError, match="site b: expected"):
        RangeTree.from_bytes(data[:-1], shape, 5, "site b")
    with pytest.raises(DataError, match="site b: a count is larger"):
        RangeTree.from_bytes(data, shape, 1, "site b")


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (replace(SMALL, size=21), "the declared domain differs"),
        (replace(SMALL, bins="cd" * 32), "the declared domain differs"),
        (replace(SMALL, size=9), "the tree has 2 levels, not 3"),
    ],
)
def test_trees_of_other_shapes_are_not_added(other: TreeShape, words: str) -> None:
    ours = RangeTree.build(SMALL, _keys([1]))
    theirs = RangeTree.build(other, _keys([1]))
    with pytest.raises(DataError, match=words):
        ours.add(theirs)


def test_levels_are_not_mistaken_for_one_another() -> None:
    tree = RangeTree.build(SMALL, _keys([1]))
    with pytest.raises(ValueError, match="right shape for every level"):
        RangeTree(SMALL, tree.levels[::-1])


def test_a_value_outside_the_domain_is_refused() -> None:
    """Also one that the tree, which is a little larger, would have a node for."""
    with pytest.raises(DataError, match="outside the declared domain"):
        RangeTree.build(SMALL, _keys([3, 20]))


@pytest.mark.parametrize(
    ("size", "branching", "words"),
    [
        (1, 2, "`size`"),
        (20, 1, "`branching`"),
        (4097, 16, "`rows` for levels too large"),
    ],
)
def test_trees_that_make_no_sense_are_refused(
    size: int, branching: int, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        TreeShape(BINS, size, branching)
