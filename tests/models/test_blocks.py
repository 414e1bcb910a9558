# SPDX-License-Identifier: Apache-2.0
from hypothesis import given
from hypothesis import strategies as st

from lexfed.models.blocks import blocks, capacity
from lexfed.models.rounding import CHUNK, FLOAT32_UNITS

SITES = st.lists(st.integers(0, 700), min_size=1, max_size=12)


@given(SITES, st.integers(CHUNK, 1000))
def test_blocks_cover_every_unit_once_and_in_order(sites: list[int], most: int) -> None:
    unit = 0
    for block in blocks(sites, most):
        assert block
        assert block[-1].stop - block[0].start <= most
        for run in block:
            assert run.start == unit
            assert 1 <= run.size <= CHUNK
            unit = run.stop
    assert unit == sum(sites)


@given(SITES, st.integers(CHUNK, 1000))
def test_a_sites_chunks_depend_on_its_own_size_only(
    sites: list[int], most: int
) -> None:
    def chunks(numbers: list[int]) -> list[tuple[int, bool]]:
        return [
            (run.size, run.wide)
            for block in blocks(numbers, most)
            for run in block
            for _ in range(run.chunks)
        ]

    assert chunks(sites) == [chunk for units in sites for chunk in chunks([units])]


def test_large_sites_are_summed_in_float64() -> None:
    wide = {run.wide for run in next(blocks([FLOAT32_UNITS + 1], 10_000))}
    narrow = {run.wide for run in next(blocks([FLOAT32_UNITS], 10_000))}
    assert (wide, narrow) == ({True}, {False})


def test_capacity_holds_at_least_a_chunk() -> None:
    assert capacity(10**9) == CHUNK
    assert capacity(1000) % CHUNK == 0
    assert capacity(1000) > CHUNK
