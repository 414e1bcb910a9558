# SPDX-License-Identifier: Apache-2.0
"""Ledgers in memory, with a clock that the test turns."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from lexfed.ledger.charging import LastingLedger
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.tiers import Tier
from support.log.folders import memory_folder

START = 1_800_000_000
"""The time at which the clocks of these tests begin."""

DAY = 86_400


def release(
    sigma: float = 20.0, reads: Tier | None = Tier.SPECIAL, rate: float = 1.0
) -> Release:
    """A release with one group of clip 1."""
    return Release("tower", (ReleaseGroup("all", 1.0, sigma),), rate, reads, 10)


@dataclass
class Place:
    """A folder with a ledger, its pins and a clock.

    Attributes:
        folder: of the file.
        time: what the clock says.
    """

    folder: Path
    time: int = START
    _open: list[LastingLedger] = field(default_factory=list)

    @property
    def path(self) -> Path:
        return self.folder / "north.ledger"

    @property
    def state(self) -> Path:
        return self.folder / "state"

    def open(self, wait: float = 10.0, durable: bool = True) -> LastingLedger:
        """Open the ledger of the site north; it is made the first time."""
        found = LastingLedger.open(
            self.path,
            "north",
            "patients",
            state=self.state,
            wait=wait,
            durable=durable,
            clock=lambda: self.time,
        )
        self._open.append(found)
        return found

    def close(self) -> None:
        for ledger in self._open:
            ledger.database.close()


@pytest.fixture
def place() -> Iterator[Place]:
    with memory_folder() as folder, closing(Place(folder)) as found:
        yield found


@pytest.fixture
def ledger(place: Place) -> LastingLedger:
    """An empty ledger."""
    return place.open()
