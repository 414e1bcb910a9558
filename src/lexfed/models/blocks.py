# SPDX-License-Identifier: Apache-2.0
"""How the units of a round are cut into pieces for computing and for summing.

Summing: every site's units are cut into chunks of at most `CHUNK`, whose sizes depend
on that site's number of units only; a chunk is one matrix product. Computing: whole
chunks are put together to blocks that fit the processor's cache. A block may hold units
of several sites; a chunk never does.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lexfed.models.rounding import CHUNK, FLOAT32_UNITS

# Numbers a block may hold, inputs and slopes of all layers together: about 4 MB.
_CACHE = 2**20


@dataclass(frozen=True)
class Run:
    """Neighbouring chunks of equal size.

    Attributes:
        start: First unit of the run, counted from the start of the round.
        chunks: Number of chunks.
        size: Units per chunk.
        wide: Whether the sums must be taken in float64 (`rounding.py`).
    """

    start: int
    chunks: int
    size: int
    wide: bool

    @property
    def stop(self) -> int:
        """First unit behind the run."""
        return self.start + self.chunks * self.size


def capacity(width: int) -> int:
    """Say how many units of `width` numbers a block holds at most."""
    return max(CHUNK, _CACHE // width // CHUNK * CHUNK)


def blocks(sites: Sequence[int], most: int) -> Iterator[list[Run]]:
    """Cut a round into blocks of runs.

    Args:
        sites: Units of every site.
        most: Units that a block holds at most.
    """
    block: list[Run] = []
    for start, size, wide in _chunks(sites):
        if block and start + size - block[0].start > most:
            yield block
            block = []
        if block and (block[-1].size, block[-1].wide) == (size, wide):
            last = block.pop()
            block.append(Run(last.start, last.chunks + 1, size, wide))
        else:
            block.append(Run(start, 1, size, wide))
    if block:
        yield block


def _chunks(sites: Sequence[int]) -> Iterator[tuple[int, int, bool]]:
    start = 0
    for units in sites:
        wide = units > FLOAT32_UNITS
        end = start + units
        while start < end:
            size = min(CHUNK, end - start)
            yield start, size, wide
            start += size
