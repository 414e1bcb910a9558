# SPDX-License-Identifier: Apache-2.0
"""Checks of when a joining pays; each passes on the real code, not on its mutants."""

import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from lexfed.errors import DataError, Refused
from lexfed.ledger.bookkeeping.ceilings import Ceiling
from lexfed.ledger.charging import LastingLedger
from lexfed.ledger.decisions import set_ceiling
from lexfed.ledger.purse import LedgerPlace
from lexfed.randomness import SeededSource
from lexfed.run import joining
from lexfed.sketch.joining.keys import people_of
from lexfed.sketch.joining.terms import JoiningTerms
from support.sketch.paying_checks import Watched

TERMS = JoiningTerms(400, 7, 1.0)
PEOPLE = people_of(f"p{n}" for n in range(300))


class _Here(LedgerPlace):
    """A ledger whose pins are beside it."""

    def open(self) -> LastingLedger:
        state = self.folder / "state"
        return LastingLedger.open(self.path, self.site, self.data_set, state=state)


def _rows(purse: LedgerPlace) -> list[str]:
    with closing(purse.open()) as ledger:
        return [row.kind for row in ledger.rows()]


def paid_before_noise_is_drawn() -> None:
    """A ceiling without room refuses, and not a bit of noise was drawn."""
    with tempfile.TemporaryDirectory() as folder:
        purse = _Here(Path(folder), "north", "people.csv")
        joining.make_offer(TERMS, PEOPLE, purse, SeededSource(1))
        assert _rows(purse) == ["open", "commit"]
        with closing(purse.open()) as ledger:
            set_ceiling(ledger, "record", Ceiling.of(0.1, 1e-6), "enough")
        source = Watched()
        with pytest.raises(Refused):
            joining.make_offer(TERMS, PEOPLE, purse, source)
        assert source.asked == 0
        assert _rows(purse) == ["open", "commit", "ceiling"]


def nothing_paid_for_people_that_do_not_fit() -> None:
    """Nobody, or more than agreed: refused before the ledger is even made."""
    with tempfile.TemporaryDirectory() as folder:
        purse = _Here(Path(folder), "north", "people.csv")
        for wrong in (people_of([""]), people_of(map(str, range(401)))):
            with pytest.raises(DataError):
                joining.make_offer(TERMS, wrong, purse, SeededSource(1))
        assert not purse.path.exists()


def every_sketch_is_paid() -> None:
    """Two sketches of the same people are two charges."""
    with tempfile.TemporaryDirectory() as folder:
        purse = _Here(Path(folder), "north", "people.csv")
        for _ in range(2):
            joining.make_offer(TERMS, PEOPLE, purse, SeededSource(1))
        assert _rows(purse) == ["open", "commit", "commit"]
