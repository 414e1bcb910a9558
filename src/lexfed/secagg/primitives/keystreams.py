# SPDX-License-Identifier: Apache-2.0
"""Masks from keys: AES-128 in counter mode from counter 2, under nonce 0.

The stream is fixed, so that sites on different machines make the same mask. AES-GCM
with 96 zero bits as its nonce encrypts with these same bytes (counter 1 is for its tag,
[SP 800-38D] 7.1), and OpenSSL computes it faster on some machines.

A key makes one mask. The difference of two vectors under one mask would be visible.
"""

import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from lexfed.checks import in_range
from lexfed.secagg.primitives.ring import Ring

KEY_BYTES = 16
# GCM counts blocks in 32 bits and has used up 0 and 1 ([SP 800-38D] 5.2.1.1).
MAX_STREAM = 16 * (2**32 - 2)
_FIRST_COUNTER = 2
# Small enough to stay in a core's cache until it is added, large enough to be fast.
_CHUNK = 1 << 18
_ZEROS = memoryview(bytes(_CHUNK))
_TRIAL = 1 << 17


class Stream(Protocol):
    """A cipher that turns zeros into the next bytes of a key's stream."""

    def update_into(self, data: memoryview, buf: memoryview) -> int:
        """Write the encryption of `data` to `buf`."""
        ...


def by_gcm(key: bytes) -> Stream:
    """Start a key's stream as the text of AES-GCM; its tag is never asked for."""
    return Cipher(algorithms.AES(key), modes.GCM(bytes(12))).encryptor()


def by_ctr(key: bytes) -> Stream:
    """Start a key's stream in counter mode."""
    counter = _FIRST_COUNTER.to_bytes(16, "big")
    return Cipher(algorithms.AES(key), modes.CTR(counter)).encryptor()


@cache
def fastest() -> Callable[[bytes], Stream]:
    """Return the faster of the two implementations, measured once a process in 1 ms."""
    times: dict[Callable[[bytes], Stream], list[int]] = {by_gcm: [], by_ctr: []}
    buffer = memoryview(bytearray(_TRIAL))
    for _ in range(5):  # the minimum of five: other load only ever adds time
        for implementation, durations in times.items():
            start = time.perf_counter_ns()
            implementation(bytes(KEY_BYTES)).update_into(_ZEROS[:_TRIAL], buffer)
            durations.append(time.perf_counter_ns() - start)
    return min(times, key=lambda implementation: min(times[implementation]))


def _chunks(key: bytes, size: int) -> Iterator[memoryview]:
    """Yield a stream in pieces that share one buffer: use each before the next."""
    if len(key) != KEY_BYTES:
        raise ValueError(f"expected a key of {KEY_BYTES} bytes, got: {len(key)} bytes")
    in_range(0, MAX_STREAM, size=size)
    stream = fastest()(key)
    buffer = memoryview(bytearray(min(size, _CHUNK)))
    for start in range(0, size, _CHUNK):
        piece = min(_CHUNK, size - start)
        stream.update_into(_ZEROS[:piece], buffer)
        yield buffer[:piece]


def keystream(key: bytes, size: int) -> bytes:
    """Return the first `size` bytes of a key's stream.

    Guarantees:
        The bytes are AES-128(key, i) for i = 2, 3, ... as 128-bit big-endian counters.
        They do not depend on which implementation is the faster one here.
    """
    return b"".join(bytes(piece) for piece in _chunks(key, size))


def mask(key: bytes, length: int, bits: int) -> NDArray[np.unsignedinteger]:
    """Return a key's mask: uniform ring elements, little-endian words of the stream."""
    ring = Ring(bits)
    total = ring.zeros(length)
    add_mask(total, key, 1)
    return ring.reduce(total)


def add_mask(total: NDArray[np.unsignedinteger], key: bytes, sign: int) -> None:
    """Add (`sign` 1) or subtract (-1) a key's mask, in place, modulo 2^16 or 2^32.

    Guarantees:
        Memory beyond `total` is one chunk, whatever the length.
    """
    if total.dtype not in (np.uint16, np.uint32) or total.ndim != 1:
        raise ValueError("expected a vector of uint16 or uint32")
    if sign not in (1, -1):
        raise ValueError(f"expected `sign` 1 or -1, got: {sign}")
    combine = np.add if sign == 1 else np.subtract
    words = np.dtype(total.dtype).newbyteorder("<")
    start = 0
    for piece in _chunks(key, total.nbytes):
        values = np.frombuffer(piece, dtype=words)
        part = total[start : start + len(values)]
        combine(part, values, out=part)
        start += len(values)
