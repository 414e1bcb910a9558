# SPDX-License-Identifier: Apache-2.0
"""What sites of `boosted-federated` and their parent send each other: lists of blocks.

    number of blocks        8 bytes
    length of each block    8 bytes each
    the blocks themselves

Both ends are processes of one call, joined by pipes that nobody else can open.
"""

from collections.abc import Sequence
from struct import Struct
from typing import IO

_NUMBER = Struct("<Q")


def write_blocks(sink: IO[bytes], blocks: Sequence[bytes]) -> None:
    """Send a list of blocks at once."""
    sizes = (len(blocks), *map(len, blocks))
    sink.write(b"".join([*map(_NUMBER.pack, sizes), *blocks]))
    sink.flush()


def read_blocks(source: IO[bytes]) -> list[bytes]:
    """Wait for a list of blocks and return it.

    Raises:
        EOFError: if the other end is gone.
    """
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
