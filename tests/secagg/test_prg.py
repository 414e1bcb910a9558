# SPDX-License-Identifier: Apache-2.0
"""Masks: fixed bytes, both ways alike, added in bounded memory, uniform."""

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from lexfed.secagg.primitives import keystreams
from lexfed.secagg.primitives.keystreams import (
    Stream,
    add_mask,
    by_ctr,
    by_gcm,
    keystream,
    mask,
)
from lexfed.secagg.primitives.ring import Ring

KEY = bytes(range(16))
KEYS = st.binary(min_size=16, max_size=16)
# The first three elements of the mask of KEY, by ring.
VECTORS = {
    16: [54857, 21383, 39833],
    24: [8902217, 10918809, 8030691],
    32: [1401411145, 2359729049, 1752861155],
}


def _block_by_block(key: bytes, blocks: int) -> bytes:
    """The definition: every counter from 2 encrypted on its own."""
    counters = b"".join(n.to_bytes(16, "big") for n in range(2, blocks + 2))
    # One block at a time is what ECB does; nothing is kept secret with it here.
    return (
        Cipher(algorithms.AES(key), modes.ECB())  # noqa: S305
        .encryptor()
        .update(counters)
    )


def test_the_first_block_is_the_one_of_the_gcm_specification() -> None:
    """Test case 2 of McGrew and Viega: key, nonce and text are zeros."""
    known = "0388dace60b6a392f328c2b971b2fe78"
    assert keystream(bytes(16), 16).hex() == known


def test_vectors_of_our_own_stay_as_they_are() -> None:
    assert mask(KEY, 3, 16).tolist() == VECTORS[16]
    assert mask(KEY, 3, 24).tolist() == VECTORS[24]
    assert mask(KEY, 3, 32).tolist() == VECTORS[32]


@pytest.fixture(params=[by_gcm, by_ctr])
def way(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Callable[[bytes], Stream]:
    chosen: Callable[[bytes], Stream] = request.param
    monkeypatch.setattr(keystreams, "fastest", lambda: chosen)
    return chosen


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 1 << 18, (1 << 18) + 5, 600_001])
def test_both_ways_give_the_defined_bytes(
    way: Callable[[bytes], Stream], size: int
) -> None:
    assert keystream(KEY, size) == _block_by_block(KEY, -(-size // 16))[:size]


def test_it_is_what_gcm_encrypts_zeros_to() -> None:
    whole = AESGCM(KEY).encrypt(bytes(12), bytes(1000), None)
    assert keystream(KEY, 1000) == whole[:1000]


def test_the_faster_way_is_chosen_once() -> None:
    assert keystreams.fastest() in (by_gcm, by_ctr)
    assert keystreams.fastest() is keystreams.fastest()
    assert keystreams.fastest.cache_info().currsize == 1


@given(KEYS, st.integers(0, 50), st.sampled_from([16, 24, 32]))
def test_a_mask_is_little_endian_words_of_the_stream(
    key: bytes, length: int, bits: int
) -> None:
    width = 2 if bits == 16 else 4
    stream = keystream(key, width * length)
    words = [
        int.from_bytes(stream[i : i + width], "little") % 2**bits
        for i in range(0, len(stream), width)
    ]
    made = mask(key, length, bits)
    assert made.tolist() == words
    assert made.dtype == (np.uint16 if bits == 16 else np.uint32)


@given(KEYS, st.lists(st.integers(0, 2**16 - 1), max_size=20))
def test_what_is_added_can_be_subtracted(key: bytes, values: list[int]) -> None:
    for ring in (Ring(16), Ring(32)):
        total = np.array(values, dtype=ring.dtype)
        add_mask(total, key, 1)
        expected = np.array(values, dtype=ring.dtype)
        ring.add(expected, mask(key, len(values), ring.bits))
        assert total.tolist() == expected.tolist()
        add_mask(total, key, -1)
        assert total.tolist() == values


def test_memory_is_one_chunk_whatever_the_length() -> None:
    total = np.zeros(4_000_000, dtype=np.uint32)
    keystreams.fastest()
    tracemalloc.start()
    try:
        add_mask(total, KEY, 1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * (1 << 18) < total.nbytes / 10


def test_pieces_fit_together_across_chunks() -> None:
    length = (1 << 18) + 77
    assert mask(KEY, length, 32).tobytes() == keystream(KEY, 4 * length)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: keystream(b"\x5a\xa5" * 7, 1), "a key of 16 bytes, got: 14 bytes"),
        (lambda: keystream(KEY, -1), "`size`"),
        (lambda: keystream(KEY, keystreams.MAX_STREAM + 1), "`size`"),
        (lambda: mask(KEY, 1, 20), "16, 24 or 32"),
        (lambda: add_mask(np.zeros(1, np.uint32), KEY, 0), "`sign` 1 or -1"),
        (lambda: add_mask(np.zeros(1, np.uint64), KEY, 1), "uint16 or uint32"),
        (lambda: add_mask(np.zeros((1, 1), np.uint16), KEY, 1), "a vector"),
    ],
)
def test_wrong_calls_are_refused(call: Callable[[], object], words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        call()
    assert "5a" not in str(caught.value).lower()  # no byte of a key
    assert "Z" not in str(caught.value)


def _surprise(values: NDArray[np.unsignedinteger], bits: int) -> float:
    """The p-value of uniform top bytes and uniform low bytes (the smaller, doubled)."""
    found = []
    for shift in (0, bits - 8):
        counts = np.bincount((values >> shift) & 0xFF, minlength=256)
        found.append(stats.chisquare(counts).pvalue)
    return float(min(1.0, 2 * min(found)))


@pytest.mark.parametrize("bits", [16, 24, 32])
def test_masks_are_uniform(bits: int) -> None:
    """Wrongly fails with probability 1e-6 over keys; the key is fixed."""
    made = mask(KEY, 400_000, bits)
    assert _surprise(made, bits) > 1e-6
    # Controls: bytes of text never have their top bit; and a range one value short
    # in its low byte, as of `randint(0, 255 - 1)`.
    assert _surprise(made & (2**bits - 1 - 2 ** (bits - 1)), bits) < 1e-6
    assert _surprise(made[(made & 0xFF) != 0xFF], bits) < 1e-6
