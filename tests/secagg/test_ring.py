# SPDX-License-Identifier: Apache-2.0
"""Rings: exact sums of signed integers, and wraps that fail."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.errors import SecAggError
from lexfed.secagg.primitives.ring import Ring

RINGS = [Ring(16), Ring(24), Ring(32)]


def _integers(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, dtype=np.int64)


@pytest.mark.parametrize(
    ("bound", "bits"),
    [
        (0, 16),
        (2**15 - 1, 16),
        (2**15, 24),
        (2**23 - 1, 24),
        (2**23, 32),
        (2**31 - 1, 32),
    ],
)
def test_the_smallest_ring_that_fits_is_chosen(bound: int, bits: int) -> None:
    assert Ring.for_bound(bound).bits == bits
    assert Ring.for_bound(bound) == Ring(bits)


@pytest.mark.parametrize("bound", [2**31, -1])
def test_bounds_that_no_ring_holds_are_refused(bound: int) -> None:
    with pytest.raises(SecAggError, match="no ring of up to 32 bits"):
        Ring.for_bound(bound)


def test_other_widths_are_refused() -> None:
    with pytest.raises(ValueError, match="16, 24 or 32, got: 20"):
        Ring(20)


@given(st.data(), st.sampled_from(RINGS), st.integers(1, 8))
def test_sums_are_exact(data: st.DataObject, ring: Ring, sites: int) -> None:
    most = ring.largest // sites
    value = st.integers(-most, most)
    rows = [data.draw(st.lists(value, min_size=5, max_size=5)) for _ in range(sites)]
    total = ring.zeros(5)
    for row in rows:
        ring.add(total, ring.encode(_integers(*row)))
    assert total.dtype == ring.dtype
    assert int(total.max()) < 2**ring.bits
    wanted = [sum(column) for column in zip(*rows, strict=True)]
    assert ring.decode(total, ring.largest).tolist() == wanted


@given(st.data(), st.sampled_from(RINGS))
def test_a_sum_beyond_its_bound_fails(data: st.DataObject, ring: Ring) -> None:
    """Every size S with bound < S < 2^bits - bound, wrapped or not."""
    bound = data.draw(st.integers(0, ring.largest))
    size = data.draw(st.integers(bound + 1, 2**ring.bits - bound - 1))
    total = data.draw(st.sampled_from([size, -size]))
    words = np.array([0, total % 2**ring.bits], dtype=ring.dtype)
    with pytest.raises(SecAggError, match="left its bound") as caught:
        ring.decode(words, bound)
    assert str(total) not in str(caught.value) or abs(total) < 10


@pytest.mark.parametrize("ring", RINGS)
def test_both_ends_of_the_bound_are_kept(ring: Ring) -> None:
    ends = _integers(-100, 100)
    assert ring.decode(ring.encode(ends), 100).tolist() == [-100, 100]
    with pytest.raises(SecAggError, match="left its bound"):
        ring.decode(ring.encode(ends), 99)


@pytest.mark.parametrize("ring", RINGS)
def test_values_that_do_not_fit_are_refused_and_not_shown(ring: Ring) -> None:
    ends = _integers(-ring.largest, ring.largest)
    assert ring.decode(ring.encode(ends), ring.largest).tolist() == ends.tolist()
    for beyond in (ring.largest + 1, -ring.largest - 1):
        with pytest.raises(SecAggError, match="does not fit a ring") as caught:
            ring.encode(_integers(0, beyond))
        assert str(abs(beyond)) not in str(caught.value)


@pytest.mark.parametrize("ring", RINGS)
def test_a_bound_that_does_not_fit_is_refused(ring: Ring) -> None:
    with pytest.raises(ValueError, match="`bound`"):
        ring.decode(ring.zeros(1), ring.largest + 1)


@given(st.data(), st.sampled_from(RINGS))
def test_bytes_on_the_wire_come_back(data: st.DataObject, ring: Ring) -> None:
    values = data.draw(st.lists(st.integers(0, 2**ring.bits - 1), max_size=9))
    words = np.array(values, dtype=ring.dtype)
    packed = ring.pack(words)
    width = ring.bits // 8
    assert packed == b"".join(value.to_bytes(width, "little") for value in values)
    assert ring.unpack(packed, len(values)).tolist() == values
    assert ring.unpack(memoryview(packed), len(values)).dtype == ring.dtype


def test_packing_drops_what_masks_left_above_24_bits_and_changes_nothing() -> None:
    words = np.array([0xAB123456], dtype=np.uint32)
    assert Ring(24).pack(words) == b"\x56\x34\x12"
    assert words.tolist() == [0xAB123456]


@pytest.mark.parametrize("ring", RINGS)
def test_other_lengths_are_refused(ring: Ring) -> None:
    packed = ring.pack(ring.zeros(3))
    for data in (packed[:-1], packed + b"\0", b""):
        with pytest.raises(SecAggError, match="expected 3 elements"):
            ring.unpack(data, 3)


@pytest.mark.parametrize("ring", RINGS)
def test_empty_vectors_are_vectors(ring: Ring) -> None:
    assert ring.decode(ring.encode(_integers()), 1).tolist() == []
    assert ring.unpack(ring.pack(ring.zeros(0)), 0).tolist() == []
