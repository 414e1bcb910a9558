# SPDX-License-Identifier: Apache-2.0
from hypothesis import given
from hypothesis import strategies as st

from lexfed.models.gradients.layer_sum import (
    LARGEST_CHUNK,
    Chunk,
    capacity,
    round_blocks,
)
from lexfed.models.gradients.rounding_error import FLOAT32_UNITS, PAIR_UNITS, chunk_size

SITES = st.lists(st.integers(0, 700), min_size=1, max_size=12)
MOST = st.integers(LARGEST_CHUNK, 1000)


@given(SITES, MOST)
def test_blocks_cover_every_unit_once_and_in_order(sites: list[int], most: int) -> None:
    unit = 0
    for block in round_blocks(sites, most):
        assert block
        assert block[-1].stop - block[0].start <= most
        for chunk in block:
            assert chunk.start == unit < chunk.stop
            unit = chunk.stop
    assert unit == sum(sites)


def _chunks(sites: list[int], most: int = 1000) -> list[tuple[int, bool]]:
    flat: list[Chunk] = [c for block in round_blocks(sites, most) for c in block]
    return [(chunk.stop - chunk.start, chunk.wide) for chunk in flat]


@given(SITES, MOST)
def test_chunks_depend_on_the_sizes_of_their_own_pair_only(
    sites: list[int], most: int
) -> None:
    pairs = [sites[place : place + 2] for place in range(0, len(sites), 2)]
    assert _chunks(sites, most) == [chunk for pair in pairs for chunk in _chunks(pair)]


@given(st.integers(0, 700), st.integers(0, 700))
def test_two_sites_are_one_chunk_only_if_both_are_small(
    first: int, second: int
) -> None:
    apart = _chunks([first]) + _chunks([second])
    if 0 < first + second <= PAIR_UNITS:
        assert _chunks([first, second]) == [(first + second, False)]
    else:
        assert _chunks([first, second]) == apart


@given(st.integers(1, PAIR_UNITS))
def test_a_pair_that_grows_apart_is_paid_for(first: int) -> None:
    # Someone who joins may turn the chunk of a pair into those of two sites, and so
    # move the rounding of both: together no more than what is charged for the pair.
    both = (first, PAIR_UNITS + 1 - first)
    assert sum(chunk_size(units) * units for units in both) <= PAIR_UNITS**2


@given(st.integers(1, 10_000))
def test_chunks_keep_the_error_that_is_charged(units: int) -> None:
    size = chunk_size(units)
    if units > FLOAT32_UNITS:
        assert size == LARGEST_CHUNK
    else:
        assert 1 <= size <= units
        assert size * units <= 2**14


def test_large_sites_are_summed_in_float64() -> None:
    wide = {chunk.wide for chunk in next(round_blocks([FLOAT32_UNITS + 1], 10_000))}
    narrow = {chunk.wide for chunk in next(round_blocks([FLOAT32_UNITS], 10_000))}
    assert (wide, narrow) == ({True}, {False})


def test_usual_batches_are_one_chunk() -> None:
    assert [chunk_size(units) for units in (1, 64, 128)] == [1, 64, 128]
    assert [chunk_size(units) for units in (129, 200, 256)] == [65, 67, 64]


def test_capacity_holds_at_least_a_chunk() -> None:
    assert capacity(10**9) == LARGEST_CHUNK
    assert capacity(1000) > LARGEST_CHUNK
