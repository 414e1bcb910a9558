# SPDX-License-Identifier: Apache-2.0
"""Change ledgers in forked processes, for strace to break at a chosen system call.

As `audit/fault_server.py`, which says how; the jobs are `open`, `reserve` and `commit`.
"""

import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from audit import fault_server
from ledger.conftest import START, Place, release
from lexfed.ledger.bookkeeping.prices import mark_of


def prepare(folder: Path, job: str) -> Callable[[], object]:
    """Return what is to happen between the two marks."""
    place = Place(folder)
    if job == "open":
        return place.open
    opened = place.open(wait=0.0)
    mark_of(release(), "record")  # a module that is imported late is no part of this
    if job == "reserve":
        return lambda: opened.reserve(
            "b", [(release(), 2)], START + 1, "record", neighbours="add-remove"
        )
    return lambda: opened.commit(
        "a", 2, release(), "record", again=True, neighbours="add-remove"
    )


if __name__ == "__main__":
    fault_server.prepare = prepare
    fault_server.main()
