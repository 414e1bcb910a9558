# SPDX-License-Identifier: Apache-2.0
"""Reserve, commit, release, expire: one at a time."""

import os

import pytest

from ledger.amounts import limit, rounds, sums
from ledger.conftest import DAY, START, Place, release
from lexfed.errors import LedgerError, Refused
from lexfed.ledger.ceilings import Ceiling
from lexfed.ledger.decisions import set_ceiling
from lexfed.ledger.lasting import LastingLedger
from lexfed.ledger.verify import verify

LATER = START + 30 * DAY


def test_without_a_ceiling_it_only_records(ledger: LastingLedger) -> None:
    for number in range(1, 6):
        ledger.commit("run", number, release(0.01))
    assert [row.kind for row in ledger.rows()] == ["open", *["commit"] * 5]
    verify(ledger.database)


def test_a_run_from_beginning_to_end(ledger: LastingLedger) -> None:
    limit(ledger, 10)
    ledger.reserve("a", [(release(), 8)], LATER)
    assert sums(ledger) == rounds(0, 8)
    for number in range(1, 6):
        ledger.commit("a", number, release())
    assert sums(ledger) == rounds(5, 3)
    ledger.release("a")
    assert sums(ledger) == rounds(5, 0)
    ledger.release("a")  # again: nothing is left to give back
    assert [row.kind for row in ledger.rows()].count("release") == 1
    verify(ledger.database)


def test_what_runs_hold_is_not_lent_twice(ledger: LastingLedger) -> None:
    limit(ledger, 10)
    ledger.reserve("a", [(release(), 8)], LATER)
    with pytest.raises(Refused, match=r"run `b`: `record` would reach ε = ") as caught:
        ledger.reserve("b", [(release(), 3)], LATER)
    assert "is spent" in caught.value.hint
    assert "left: μ = " in caught.value.hint
    assert caught.value.scope == "site"
    assert caught.value.would_reach is not None
    assert caught.value.limit is not None
    assert caught.value.would_reach > caught.value.limit
    ledger.commit("b", 1, release())
    ledger.commit("b", 2, release())
    with pytest.raises(Refused, match="round 3 of run `b`"):
        ledger.commit("b", 3, release())
    assert sums(ledger) == rounds(2, 8)
    # A run that holds room can use it, and then what is free.
    for number in range(1, 9):
        ledger.commit("a", number, release())
    with pytest.raises(Refused, match="round 9 of run `a`"):
        ledger.commit("a", 9, release())
    assert sums(ledger) == rounds(10, 0)
    verify(ledger.database)


def test_a_round_is_paid_once(ledger: LastingLedger) -> None:
    row = ledger.commit("a", 1, release())
    assert ledger.commit("a", 1, release()) == row
    assert sums(ledger) == rounds(1, 0)
    with pytest.raises(Refused, match="committed with another release"):
        ledger.commit("a", 1, release(30.0))
    with pytest.raises(Refused, match="committed with another release"):
        ledger.commit("a", 1, release(), "client")
    assert ledger.commit("b", 1, release()) == row + 1


def test_a_reservation_again_counts_what_was_paid(ledger: LastingLedger) -> None:
    ledger.reserve("a", [(release(), 5)], LATER)
    before = ledger.head()
    ledger.reserve("a", [(release(), 5)], LATER)
    ledger.reserve("a", [(release(), 5)], LATER - 1)
    assert ledger.head() == before
    ledger.commit("a", 1, release())
    ledger.reserve("a", [(release(), 5)], LATER + 1)  # for longer
    assert sums(ledger) == rounds(1, 4)
    ledger.reserve("a", [(release(), 3)], LATER)  # for less
    assert sums(ledger) == rounds(1, 2)
    ledger.reserve("a", [], LATER + 2)
    assert sums(ledger) == rounds(1, 0)
    verify(ledger.database)


def test_reservations_end(place: Place, ledger: LastingLedger) -> None:
    limit(ledger, 10)
    ledger.reserve("a", [(release(), 8)], LATER)
    ledger.commit("a", 1, release())
    place.time = LATER - 1
    ledger.expire()
    assert sums(ledger) == rounds(1, 7)
    place.time = LATER
    ledger.expire()
    assert sums(ledger) == rounds(1, 0)
    ledger.reserve("b", [(release(), 9)], LATER + 5)
    with pytest.raises(Refused, match="round 2 of run `a`"):
        ledger.commit("a", 2, release())
    place.time = LATER + 5
    ledger.commit("a", 2, release())  # what is overdue is freed on the way
    assert sums(ledger) == rounds(2, 0)
    with pytest.raises(LedgerError, match="would be over already"):
        ledger.reserve("c", [(release(), 1)], LATER + 5)
    verify(ledger.database)


def test_would_exceed_changes_nothing(ledger: LastingLedger) -> None:
    limit(ledger, 1)
    before = ledger.head()
    assert ledger.would_exceed("a", 1, release()) is None
    found = ledger.would_exceed("a", 1, release(5.0))
    assert found is not None
    assert found.scope == "record"
    assert found.would_reach > found.of
    assert ledger.head() == before
    ledger.commit("a", 1, release())
    assert ledger.would_exceed("a", 1, release()) is None  # it is paid for
    assert ledger.would_exceed("a", 2, release()) is not None


def test_times_never_go_back(place: Place, ledger: LastingLedger) -> None:
    place.time = START + 100
    ledger.commit("a", 1, release())
    place.time = START
    ledger.commit("a", 2, release())
    assert [row.time for row in ledger.rows()] == [START, START + 100, START + 100]
    verify(ledger.database)


def test_a_run_without_noise(ledger: LastingLedger) -> None:
    ledger.unprotected("a")
    ledger.unprotected("a")
    assert ledger.book().unprotected == 1
    verify(ledger.database)
    limit(ledger, 1)
    with pytest.raises(Refused, match="without secret noise exceeds every ceiling"):
        ledger.unprotected("b")


def test_opened_again_it_is_the_same(place: Place, ledger: LastingLedger) -> None:
    limit(ledger, 4)
    ledger.reserve("a", [(release(), 3)], LATER)
    ledger.commit("a", 1, release())
    ledger.close()
    with pytest.raises(LedgerError, match="is closed"):
        ledger.head()
    again = place.open()
    assert sums(again) == rounds(1, 2)
    assert (again.site, again.data_set, again.id) == ("north", "patients", ledger.id)
    assert again.database.path == place.path
    again.commit("a", 1, release())
    assert sums(again) == rounds(1, 2)


def test_more_rows_than_the_tail(place: Place, ledger: LastingLedger) -> None:
    for number in range(1, 130):
        ledger.commit("a", number, release())
    ledger.close()
    assert place.open().head().sequence == 130


def test_the_ledger_of_somebody_else(place: Place, ledger: LastingLedger) -> None:
    ledger.close()
    with pytest.raises(LedgerError, match="of site `north` and data `patients`"):
        LastingLedger.open(place.path, "south", "patients", state=place.state)
    LastingLedger.open(place.path, state=place.state).close()
    with pytest.raises(LedgerError, match="there is no ledger"):
        LastingLedger.open(place.folder / "other.ledger", state=place.state)


def test_the_default_place_of_pins(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(place.folder / "xdg"))
    LastingLedger.open(place.path, "north", "patients").close()
    assert len(list((place.folder / "xdg/lexfed/ledgers").glob("*.json"))) == 1
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(place.folder / "home"))
    # Nothing was spent yet, so nothing can be missing: it is pinned there, too.
    ledger = LastingLedger.open(place.path, "north", "patients")
    ledger.commit("a", 1, release())
    ledger.close()
    monkeypatch.setenv("HOME", str(place.folder / "third"))
    with pytest.raises(LedgerError, match="remembers the ledger"):
        LastingLedger.open(place.path, "north", "patients")


def test_a_user_without_a_home(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)

    def homeless() -> None:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr("pathlib.Path.home", homeless)
    with pytest.raises(LedgerError, match="this user has no home"):
        LastingLedger.open(place.path, "north", "patients")


def test_a_refusal_says_what_is_left(ledger: LastingLedger) -> None:
    set_ceiling(ledger, "special", Ceiling.of(1.0, 1e-6, "rdp"), "start")
    with pytest.raises(Refused) as caught:
        ledger.commit("a", 1, release(1.0))
    assert caught.value.hint == (
        "ε = 0 is spent, ε = 0 with what runs have reserved; "
        "left: a divergence of 0.5358 at order 22"
    )


def test_a_copy_of_the_process_cannot_write(
    ledger: LastingLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = os.fork()
    if child == 0:
        try:
            ledger.commit("a", 1, release())
        except LedgerError as error:
            os._exit(0 if "is a copy" in error.message else 1)
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    monkeypatch.setattr(os, "getpid", lambda: child)
    with pytest.raises(LedgerError, match="is a copy"):
        ledger.head()


def test_commits_that_do_not_wait_are_pinned_at_the_end(place: Place) -> None:
    quick = place.open(durable=False)
    for number in range(1, 20):
        quick.commit("a", number, release())
    [pin] = place.state.glob("*.json")
    before = pin.read_text()
    quick.close()
    assert '"sequence": 20' in pin.read_text()
    assert '"sequence": 1,' in before
