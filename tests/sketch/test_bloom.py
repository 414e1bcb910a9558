# SPDX-License-Identifier: Apache-2.0
"""Bloom filters: nothing is missed, unions are exact, bytes are strict."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.arrays import Bools
from lexfed.errors import DataError
from lexfed.sketch.tables.counts import BloomFilter
from lexfed.sketch.tables.shape import HEADER_BYTES, ItemKeys, SketchKind, SketchShape

SHAPE = SketchShape(SketchKind.BLOOM, 1, 64, 11, "ab" * 32)
SMALL = replace(SHAPE, width=4)

_items = st.lists(st.integers(0, 2**64 - 1), max_size=30)


def _keys(values: list[int]) -> ItemKeys:
    return np.array(values, dtype=np.uint64)


@given(_items)
def test_exactly_the_places_of_items_are_set(items: list[int]) -> None:
    built = BloomFilter.build(SHAPE, _keys(items))
    places = {int(SHAPE.rows.columns(_keys([item]))[0, 0]) for item in items}
    assert set(np.flatnonzero(built.bits).tolist()) == places
    assert built.holds(_keys(items)).all()


def test_what_is_not_in_it_is_found_by_chance_alone() -> None:
    """1 - (1 - 1/w)^n = .386 for ideal hashes, with a standard deviation of .0071.

    Seven of them are left with probability below 1e-11.
    """
    wide = replace(SHAPE, width=2048)
    built = BloomFilter.build(wide, np.arange(1000, dtype=np.uint64))
    others = built.holds(np.arange(10_000, 20_000, dtype=np.uint64)).mean()
    assert abs(others - 0.386) < 0.05
    # Negative control: the items themselves.
    assert built.holds(np.arange(1000, dtype=np.uint64)).mean() == 1


@given(_items, _items)
def test_a_union_is_the_filter_of_all_items(ours: list[int], theirs: list[int]) -> None:
    union = BloomFilter.build(SHAPE, _keys(ours)).union(
        BloomFilter.build(SHAPE, _keys(theirs))
    )
    assert np.array_equal(
        union.bits, BloomFilter.build(SHAPE, _keys(ours + theirs)).bits
    )


def test_blocks_do_not_show() -> None:
    wide = replace(SHAPE, width=2**18)
    items = np.arange(70_001, dtype=np.uint64)
    bits = np.zeros(2**18, dtype=np.bool_)
    bits[wide.rows.columns(items)[0]] = True
    assert np.array_equal(BloomFilter.build(wide, items).bits, bits)


@given(_items)
def test_a_folded_filter_equals_one_built_narrow(items: list[int]) -> None:
    folded = BloomFilter.build(SHAPE, _keys(items)).fold()
    narrow = BloomFilter.build(SHAPE.folded(), _keys(items))
    assert folded.shape == narrow.shape
    assert np.array_equal(folded.bits, narrow.bits)


@given(st.sampled_from([SHAPE, SMALL]), _items)
def test_bytes_read_are_the_filter_written(
    shape: SketchShape, items: list[int]
) -> None:
    data = BloomFilter.build(shape, _keys(items)).to_bytes()
    assert BloomFilter.from_bytes(data, shape).to_bytes() == data


def test_bytes_of_another_length_or_with_spare_bits_are_refused() -> None:
    data = BloomFilter.build(SHAPE, _keys([1])).to_bytes()
    for wrong in (data[:-1], data + b"\0", data[:HEADER_BYTES]):
        with pytest.raises(DataError, match="site b: expected 64 bits"):
            BloomFilter.from_bytes(wrong, SHAPE, "site b")
    with pytest.raises(DataError, match="beyond the last column"):
        BloomFilter.from_bytes(SMALL.to_bytes() + b"\x10", SMALL)


def test_filters_of_other_shapes_are_refused() -> None:
    ours, theirs = (
        BloomFilter.build(replace(SHAPE, seed=seed), _keys([1])) for seed in (1, 2)
    )
    with pytest.raises(DataError, match="site b: the seed"):
        ours.union(theirs, "site b")
    with pytest.raises(DataError, match="the seed"):
        BloomFilter.from_bytes(theirs.to_bytes(), ours.shape)
    with pytest.raises(ValueError, match="kind `bloom`"):
        BloomFilter.build(replace(SHAPE, kind=SketchKind.COUNT_MIN), _keys([1]))


@pytest.mark.parametrize("bits", [np.zeros(63, dtype=np.bool_), np.zeros(64)])
def test_bits_of_another_size_or_type_are_refused(bits: Bools) -> None:
    with pytest.raises(ValueError, match="as many bits"):
        BloomFilter(SHAPE, bits)


def test_bits_cannot_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        BloomFilter.build(SHAPE, _keys([])).bits[0] = True
