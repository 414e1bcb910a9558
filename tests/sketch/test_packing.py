# SPDX-License-Identifier: Apache-2.0
"""Packed tables come back to the bit, near their entropy, and bad bytes do no harm."""

import math
import struct
import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexfed.errors import DataError
from lexfed.sketch.sharing.packed_tables import pack_integers, unpack_integers
from lexfed.sketch.tables.counts import LARGEST_CELL
from support.secagg import shared_sums as sums

TOP = LARGEST_CELL


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.integers(-TOP, TOP), st.integers(-300, 300), st.sampled_from([TOP, -TOP])
        ),
        min_size=1,
        max_size=40,
    )
)
def test_everything_comes_back_to_the_bit(values: list[int]) -> None:
    given_ = np.array(values, dtype=np.int64)
    assert (
        unpack_integers(pack_integers(given_), len(values), TOP, "here").tolist()
        == values
    )


@pytest.mark.parametrize("sigma", [3.0, 10.0, 100.0, 1000.0])
def test_noise_is_packed_near_its_entropy(sigma: float) -> None:
    """5 x 1024 cells: within 3 % of log2(s sqrt(2 pi e)) bits a cell.

    The sample's own entropy varies by .3 % or less at 6 deviations.
    """
    cells = 5 * 1024
    noise = np.rint(np.random.default_rng(1).normal(0, sigma, cells)).astype(np.int64)
    bound = math.log2(sigma * math.sqrt(2 * math.pi * math.e))
    assert bound * 0.99 < 8 * len(pack_integers(noise)) / cells < bound * 1.03


def test_a_few_heavy_cells_cost_little() -> None:
    rng = np.random.default_rng(2)
    cells = np.rint(rng.normal(0, 10, 5 * 1024)).astype(np.int64)
    alone = len(pack_integers(cells))
    cells[:50] += rng.integers(0, 100_000, 50)
    assert len(pack_integers(cells)) - alone < 50 * 8


def test_what_is_no_vector_of_counts_is_refused() -> None:
    for values in (
        np.zeros(0, dtype=np.int64),
        np.zeros((2, 2), dtype=np.int64),
        np.zeros(2),
        np.array([TOP + 1], dtype=np.int64),
    ):
        with pytest.raises(ValueError, match="expected"):
            pack_integers(values)  # type: ignore[arg-type]


def _deflated(raw: bytes) -> bytes:
    coder = zlib.compressobj(9, zlib.DEFLATED, -15)
    return coder.compress(raw) + coder.flush()


def _made(low: int, planes: list[bytes], smallest: int = 0, raw: bytes = b"") -> bytes:
    head = struct.pack("<BBq", low, len(planes), smallest) + raw
    return head + b"".join(struct.pack("<I", len(each)) + each for each in planes)


def test_bytes_that_are_none_are_refused() -> None:
    fine = _deflated(bytes(4))
    assert unpack_integers(_made(0, [fine]), 4, 9, "here").tolist() == [0] * 4
    for data in (
        b"",
        b"123456789",
        _made(9, [fine]),
        _made(0, [fine])[:-1],
        _made(0, [fine]) + b"x",
        _made(0, [fine + b"x"]),
        _made(0, [_deflated(bytes(3))]),
        _made(0, [_deflated(bytes(5))]),
        _made(0, [fine[:-1]]),
        _made(0, [b"\xff\xff"]),
        _made(0, [fine] * 8),
        _made(63, [], raw=bytes(32)),
        _made(0, [fine], smallest=TOP + 1),
        struct.pack("<BBq", 0, 2, 0) + struct.pack("<I", len(fine)) + fine,
    ):
        with pytest.raises(DataError, match="here: these bytes are not"):
            unpack_integers(data, 4, 9, "here")


def test_values_beyond_honest_ones_are_refused() -> None:
    data = pack_integers(np.array([3, -10], dtype=np.int64))
    assert unpack_integers(data, 2, 10, "here").tolist() == [3, -10]
    with pytest.raises(DataError, match="larger than any honest one"):
        unpack_integers(data, 2, 9, "here")


def test_a_bomb_takes_no_memory() -> None:
    bomb = _made(0, [_deflated(bytes(10**8))])
    assert len(bomb) < 200_000
    tracemalloc.start()
    with pytest.raises(DataError):
        unpack_integers(bomb, 1000, 9, "here")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10**6


def test_an_opened_sum_is_packed_table_by_table() -> None:
    plan = sums.plan()
    total = sums.truth(sums.shares(plan))
    data = plan.packed(total)
    assert np.array_equal(plan.unpacked(data, "here"), total)
    with pytest.raises(DataError, match="after the last table"):
        plan.unpacked(data + b"x", "here")
    with pytest.raises(DataError, match="here"):
        plan.unpacked(data[:-1], "here")
    with pytest.raises(DataError, match="larger than any honest"):
        plan.unpacked(plan.packed(total + 10**6), "here")
