# SPDX-License-Identifier: Apache-2.0
"""The pieces into which the units of a round are cut, for computing and for summing.

Summing: a chunk is one matrix product. Two neighbouring sites, the first and second,
the third and fourth, ..., are one chunk if they have few units together; otherwise each
of them is cut into chunks of its own. So a chunk depends on the sizes of its pair only,
and whoever joins or leaves a site moves the rounding of that pair's sum and no other.
Longer runs of sites would make better products still, but charge more
(`rounding_error.py`).

Computing: whole chunks are put together to blocks that fit the processor's cache.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lexfed.models.gradients.rounding_error import FLOAT32_UNITS, PAIR_UNITS, chunk_size

# Numbers a block may hold, inputs and slopes of all layers together: about 4 MB.
_CACHE = 2**20
_STEP = 64
LARGEST_CHUNK = 256


@dataclass(frozen=True)
class Chunk:
    """Units that are summed by one product, counted from the start of the round.

    Attributes:
        start: First unit.
        stop: First unit behind.
        wide: Whether the product must be taken in float64 (`rounding_error.py`).
    """

    start: int
    stop: int
    wide: bool


def capacity(width: int) -> int:
    """Return the most units of `width` numbers that a block holds."""
    return max(LARGEST_CHUNK, _CACHE // width // _STEP * _STEP)


def round_blocks(sites: Sequence[int], most: int) -> Iterator[list[Chunk]]:
    """Cut a round, given the units of every site, into blocks of chunks.

    A block holds at most `most` units, which is no fewer than the largest chunk has.
    """
    block: list[Chunk] = []
    for chunk in _chunks(sites):
        if block and chunk.stop - block[0].start > most:
            yield block
            block = []
        block.append(chunk)
    if block:
        yield block


def _chunks(sites: Sequence[int]) -> Iterator[Chunk]:
    start = 0
    for first in range(0, len(sites), 2):
        pair = sites[first : first + 2]
        together = sum(pair)
        if len(pair) == 2 and 0 < together <= PAIR_UNITS:
            yield Chunk(start, start + together, wide=False)
            start += together
            continue
        for units in pair:
            wide = units > FLOAT32_UNITS
            end = start + units
            while start < end:
                stop = min(start + chunk_size(units), end)
                yield Chunk(start, stop, wide)
                start = stop
