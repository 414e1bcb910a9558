# SPDX-License-Identifier: Apache-2.0
"""Opened tables in few bytes, close to the entropy of their noise.

    value - smallest  =  low bits, k of them  +  2^k (plane 0 + 2^8 plane 1 + ...)

The low bits of wide noise are uniform and stay as they are. The planes go through
deflate without matches, which leaves its Huffman code: noise has no repetitions, but
unequal symbols. k is chosen by trying.

    bits k 1 | planes 1 | smallest 8 | low bits | for each plane: length 4, deflate

Numbers are little-endian. Libraries may deflate the same values to other bytes, so a
digest must be taken of the values.
"""

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

from lexfed.arrays import Integers
from lexfed.errors import DataError, Problem
from lexfed.sketch.tables.counts import LARGEST_CELL

_HEAD = struct.Struct("<BBq")
_LENGTH = struct.Struct("<I")
_TRIED = 1 << 13
"""Values by which k is chosen."""
_MOST_BITS = 62
"""55 bits between the smallest and the largest, and planes that are not full."""
_RAW = -15  # deflate without header and checksum

Offsets = NDArray[np.uint64]


def pack_integers(values: Integers) -> bytes:
    """Return one or more integers of size up to 2^53 in few bytes."""
    if values.ndim != 1 or not len(values) or values.dtype != np.int64:
        raise ValueError("expected a vector of 64-bit integers")
    smallest, largest = int(values.min()), int(values.max())
    if max(-smallest, largest) > LARGEST_CELL:
        raise ValueError("expected values of at most 2^53")
    offsets = (values - smallest).astype(np.uint64)
    bits = (largest - smallest).bit_length()
    tried = offsets[:_TRIED]
    low = min(range(bits + 1), key=lambda each: len(_body(tried, each, bits)))
    planes = _planes(bits, low)
    return _HEAD.pack(low, planes, smallest) + _body(offsets, low, bits)


def unpack_integers(data: bytes, length: int, largest: int, where: str) -> Integers:
    """Read integers of at most `largest` that another party, named `where`, packed.

    Guarantees:
        What was packed is read to the bit.
        Memory is bounded by `length`, whatever the bytes say.
    """
    if len(data) < _HEAD.size:
        raise _unreadable(where)
    low, planes, smallest = _HEAD.unpack_from(data)
    at = _HEAD.size + -(-length * low // 8)
    too_wide = low + 8 * planes > _MOST_BITS or abs(smallest) > LARGEST_CELL
    if too_wide or at > len(data):
        raise _unreadable(where)
    offsets = _read_low(data[_HEAD.size : at], length, low)
    for plane in range(planes):
        if at + _LENGTH.size > len(data):
            raise _unreadable(where)
        (size,) = _LENGTH.unpack_from(data, at)
        at += _LENGTH.size
        high = _inflated(data[at : at + size], length, where)
        offsets |= high.astype(np.uint64) << np.uint64(low + 8 * plane)
        at += size
    if at != len(data):
        raise _unreadable(where)
    values: Integers = offsets.astype(np.int64) + smallest
    if max(int(values.max()), -int(values.min())) > min(largest, LARGEST_CELL):
        what = "a value is larger than any honest one"
        raise DataError([Problem(where, what, "ask for the table again")])
    return values


def _planes(bits: int, low: int) -> int:
    return -(-(bits - low) // 8)


def _body(offsets: Offsets, low: int, bits: int) -> bytes:
    parts = [_low_bits(offsets, low)]
    for plane in range(_planes(bits, low)):
        raw = (offsets >> np.uint64(low + 8 * plane)).astype(np.uint8).tobytes()
        shorter = min(
            (_deflated(raw, way) for way in (zlib.Z_HUFFMAN_ONLY, zlib.Z_RLE)), key=len
        )
        parts += [_LENGTH.pack(len(shorter)), shorter]
    return b"".join(parts)


def _low_bits(offsets: Offsets, low: int) -> bytes:
    shifts = np.arange(low, dtype=np.uint64)
    bits = (offsets[:, None] >> shifts).astype(np.uint8) & 1
    return np.packbits(bits.ravel(), bitorder="little").tobytes()


def _read_low(data: bytes, length: int, low: int) -> Offsets:
    raw = np.frombuffer(data, dtype=np.uint8)
    bits = np.unpackbits(raw, count=length * low, bitorder="little")
    shifts = np.arange(low, dtype=np.uint64)
    wide = bits.reshape(length, low).astype(np.uint64) << shifts
    joined: Offsets = wide.sum(axis=1, dtype=np.uint64)
    return joined


def _deflated(raw: bytes, way: int) -> bytes:
    coder = zlib.compressobj(9, zlib.DEFLATED, _RAW, 9, way)
    return coder.compress(raw) + coder.flush()


def _inflated(data: bytes, length: int, where: str) -> NDArray[np.uint8]:
    decoder = zlib.decompressobj(_RAW)
    try:
        # One byte more than there may be shows what is too long, at no other cost.
        raw = decoder.decompress(data, length + 1)
    except zlib.error as error:
        raise _unreadable(where) from error
    if len(raw) != length or not decoder.eof or decoder.unused_data:
        raise _unreadable(where)
    return np.frombuffer(raw, dtype=np.uint8)


def _unreadable(where: str) -> DataError:
    what = "these bytes are not the packed table that was agreed on"
    return DataError([Problem(where, what, "ask for the table again")])
