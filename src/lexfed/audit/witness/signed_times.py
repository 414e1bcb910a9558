# SPDX-License-Identifier: Apache-2.0
"""Do the times that entries claim agree with the times others signed?

An entry's time is the operator's word. A cosignature says that at time t a witness saw
the first `size` entries and no more; a time stamp says the same of its checkpoint. So
entry i belongs between two signed times:

    latest t with size <= i   <=   time of entry i   <=   earliest t with size > i

give or take a skew for clocks and for the time a witness needs to answer. An entry
outside was back-dated, post-dated, or written on a machine whose clock is wrong. The
order of entries is their index and never depends on a clock.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate


@dataclass(frozen=True)
class MistimedEntry:
    """One entry whose time lies outside what others signed.

    Attributes:
        index: Which entry.
        time: What it claims, in seconds since 1970.
        earliest: Latest signed time before it, or None.
        latest: Earliest signed time after it, or None.
    """

    index: int
    time: int
    earliest: int | None
    latest: int | None

    def __str__(self) -> str:
        """The line a person reads."""
        low = "any time" if self.earliest is None else str(self.earliest)
        high = "any time" if self.latest is None else str(self.latest)
        return (
            f"entry {self.index} claims time {self.time}, "
            f"signed times allow {low} to {high}"
        )


def times_in_order(
    entry_times: Sequence[int],
    cosignature_times: Sequence[tuple[int, int]],
    skew: int,
) -> tuple[MistimedEntry, ...]:
    """Return the entries whose times disagree with signed times, in order.

    Args:
        entry_times: The time each entry claims, by index.
        cosignature_times: Pairs (size, time) of cosignatures and time stamps, in any
            order, of any number of witnesses.
        skew: Seconds by which clocks may differ.

    Guarantees:
        An entry claimed later than a signature that covers it, plus skew, is returned.
        An entry claimed earlier than a signature made without it, less skew, is too.
        Without signatures nothing is returned: there is nothing to compare with.
    """
    signed = sorted(cosignature_times)
    sizes = [size for size, _ in signed]
    times = [time for _, time in signed]
    latest_of_smaller = list(accumulate(times, max))
    earliest_of_larger = list(accumulate(reversed(times), min))[::-1]
    found = []
    for index, time in enumerate(entry_times):
        smaller = bisect_right(sizes, index)
        earliest = latest_of_smaller[smaller - 1] if smaller else None
        latest = earliest_of_larger[smaller] if smaller < len(sizes) else None
        too_early = earliest is not None and time < earliest - skew
        too_late = latest is not None and time > latest + skew
        if too_early or too_late:
            found.append(MistimedEntry(index, time, earliest, latest))
    return tuple(found)
