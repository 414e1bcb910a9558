# SPDX-License-Identifier: Apache-2.0
"""LightGBM's exchange between sites over pipes: no port is opened.

LightGBM lets the caller bring its two operations (`LGBM_NetworkInitWithFunctions`).
Both are one exchange, in which every site gives a block for each site and gets one from
each:

    reduce-scatter    block k of the histograms goes to site k, which adds what it gets
    allgather         the same block goes to everybody

The parent of the processes passes the blocks on, by pipes that nobody else can open:
their number (8 bytes), the length of each (8 bytes), the blocks themselves.
"""

import os
import sys
from collections.abc import Callable, Sequence
from ctypes import CFUNCTYPE, POINTER, c_int, c_int32, c_void_p, memmove, string_at
from struct import Struct
from typing import IO, Any

# LightGBM's `meta.h`: a reducer adds its first argument to its second, and arrives as a
# reference, which is a pointer to the pointer.
_SIZES = POINTER(c_int32)
_REDUCER = CFUNCTYPE(None, c_void_p, c_void_p, c_int, c_int32)
_REDUCE_SCATTER = CFUNCTYPE(
    *(None, c_void_p, c_int32, c_int, _SIZES, _SIZES),
    *(c_int, c_void_p, c_int32, POINTER(_REDUCER)),
)
_ALLGATHER = CFUNCTYPE(
    None, c_void_p, c_int32, _SIZES, _SIZES, c_int, c_void_p, c_int32
)


class PipedNetwork:
    """One site's end of the network.

    Guarantees:
        LightGBM opens no socket. A block of another length than LightGBM expects is
        never copied into its memory. If the parent is gone, the process ends.
    """

    def __init__(self, rank: int, source: IO[bytes], sink: IO[bytes]) -> None:
        """Join as site `rank`, to hear from `source` and to answer into `sink`."""
        self._rank, self._source, self._sink = rank, source, sink
        # LightGBM keeps their addresses only, so they must live as long as this does.
        self._functions = (
            _REDUCE_SCATTER(_or_end(self._reduce_scatter)),
            _ALLGATHER(_or_end(self._allgather)),
        )

    def join(self, library: Any, sites: int) -> None:
        """Let LightGBM's C library use this network for all that follows."""
        # It cannot fail: it stores what it is given.
        library.LGBM_NetworkInitWithFunctions(sites, self._rank, *self._functions)

    def _reduce_scatter(
        self,
        given: int,
        _size: int,
        type_size: int,
        starts: Sequence[int],
        lengths: Sequence[int],
        sites: int,
        output: int,
        _room: int,
        reducer: Sequence[Callable[..., None]],
    ) -> None:
        blocks = [string_at(given + starts[k], lengths[k]) for k in range(sites)]
        own = lengths[self._rank]
        first, *others = self._exchanged(blocks, [own] * sites)
        memmove(output, first, own)
        for other in others:
            reducer[0](other, output, type_size, own)

    def _allgather(
        self,
        given: int,
        size: int,
        starts: Sequence[int],
        lengths: Sequence[int],
        sites: int,
        output: int,
        _room: int,
    ) -> None:
        blocks = [string_at(given, size)] * sites
        found = self._exchanged(blocks, lengths[:sites])
        for start, block in zip(starts[:sites], found, strict=True):
            memmove(output + start, block, len(block))

    def _exchanged(
        self, blocks: Sequence[bytes], lengths: Sequence[int]
    ) -> list[bytes]:
        write_blocks(self._sink, blocks)
        found = read_blocks(self._source)
        if [len(block) for block in found] != list(lengths):
            raise ValueError("the sites are not at the same step")
        return found


def _or_end(work: Callable[..., None]) -> Callable[..., None]:
    """Return `work`, after whose failure the process ends: C cannot be told of it."""

    def done(*given: Any) -> None:
        try:
            work(*given)
        except BaseException as error:
            # Whatever it is: LightGBM would go on with what is in its memory.
            said = str(error) or "nobody waits for this site any more"
            sys.stderr.write(f"{said}\n")
            sys.stderr.flush()
            os._exit(1)

    return done


_NUMBER = Struct("<Q")


def write_blocks(sink: IO[bytes], blocks: Sequence[bytes]) -> None:
    """Send a list of blocks at once."""
    sizes = (len(blocks), *map(len, blocks))
    sink.write(b"".join([*map(_NUMBER.pack, sizes), *blocks]))
    sink.flush()


def read_blocks(source: IO[bytes]) -> list[bytes]:
    """Wait for a list of blocks and return it."""
    lengths = [_number(source) for _ in range(_number(source))]
    return [_exactly(source, length) for length in lengths]


def _number(source: IO[bytes]) -> int:
    number: int = _NUMBER.unpack(_exactly(source, _NUMBER.size))[0]
    return number


def _exactly(source: IO[bytes], length: int) -> bytes:
    found = source.read(length)
    if len(found) < length:
        raise EOFError
    return found
