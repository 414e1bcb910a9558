# SPDX-License-Identifier: Apache-2.0
"""Reserve, commit, release, expire: one at a time."""

import os

import pytest

from ledger.amounts import ROUND, limit, rounds, sums
from ledger.conftest import DAY, START, Place, release
from lexfed.errors import LedgerError, Refused
from lexfed.ledger.bookkeeping.ceilings import Ceiling
from lexfed.ledger.charging import LastingLedger, PaidRounds
from lexfed.ledger.decisions import set_ceiling
from lexfed.ledger.verification import verify_ledger

LATER = START + 30 * DAY


def test_without_a_ceiling_it_only_records(ledger: LastingLedger) -> None:
    for number in range(1, 6):
        ledger.commit("run", number, release(0.01), "record", neighbours="add-remove")
    assert [row.kind for row in ledger.rows()] == ["open", *["commit"] * 5]
    verify_ledger(ledger.database)


def test_a_run_from_beginning_to_end(ledger: LastingLedger) -> None:
    limit(ledger, 10)
    ledger.reserve("a", [(release(), 8)], LATER, "record", neighbours="add-remove")
    assert sums(ledger) == rounds(0, 8)
    for number in range(1, 6):
        ledger.commit("a", number, release(), "record", neighbours="add-remove")
    assert sums(ledger) == rounds(5, 3)
    ledger.release("a")
    assert sums(ledger) == rounds(5, 0)
    ledger.release("a")  # again: nothing is left to give back
    assert [row.kind for row in ledger.rows()].count("release") == 1
    verify_ledger(ledger.database)


def test_what_runs_hold_is_not_lent_twice(ledger: LastingLedger) -> None:
    limit(ledger, 10)
    ledger.reserve("a", [(release(), 8)], LATER, "record", neighbours="add-remove")
    with pytest.raises(Refused, match=r"run `b`: `record` would reach ε = ") as caught:
        ledger.reserve("b", [(release(), 3)], LATER, "record", neighbours="add-remove")
    assert "is spent" in caught.value.hint
    assert "left: μ = " in caught.value.hint
    assert caught.value.scope == "site"
    assert caught.value.would_reach is not None
    assert caught.value.limit is not None
    assert caught.value.would_reach > caught.value.limit
    ledger.commit("b", 1, release(), "record", neighbours="add-remove")
    ledger.commit("b", 2, release(), "record", neighbours="add-remove")
    with pytest.raises(Refused, match="round 3 of run `b`"):
        ledger.commit("b", 3, release(), "record", neighbours="add-remove")
    assert sums(ledger) == rounds(2, 8)
    # A run that holds room can use it, and then what is free.
    for number in range(1, 9):
        ledger.commit("a", number, release(), "record", neighbours="add-remove")
    with pytest.raises(Refused, match="round 9 of run `a`"):
        ledger.commit("a", 9, release(), "record", neighbours="add-remove")
    assert sums(ledger) == rounds(10, 0)
    verify_ledger(ledger.database)


def test_a_round_is_paid_once(ledger: LastingLedger) -> None:
    row = ledger.commit("a", 1, release(), "record", neighbours="add-remove")
    assert ledger.commit("a", 1, release(), "record", neighbours="add-remove") == row
    assert sums(ledger) == rounds(1, 0)
    with pytest.raises(Refused, match="committed with another release"):
        ledger.commit("a", 1, release(30.0), "record", neighbours="add-remove")
    with pytest.raises(Refused, match="committed with another release"):
        ledger.commit("a", 1, release(), "client", neighbours="add-remove")
    assert (
        ledger.commit("b", 1, release(), "record", neighbours="add-remove") == row + 1
    )


MAY_HAVE_LEFT = "was committed before, and may have been released"


def test_a_round_that_may_have_left_is_given_to_nobody_else(
    place: Place, ledger: LastingLedger
) -> None:
    ledger.commit("a", 1, release(), "record", neighbours="add-remove")
    ledger.commit("b", 1, release(), "record", again=True, neighbours="add-remove")
    ledger.commit("b", 2, release(), "record", again=True, neighbours="add-remove")
    assert ledger.rounds("a") == PaidRounds(frozenset({1}), None)
    assert ledger.rounds("b") == PaidRounds(frozenset({1, 2}), 2)
    assert ledger.rounds("c") == PaidRounds(frozenset(), None)
    other, before = place.open(), sums(ledger)
    for run, number in (("a", 1), ("b", 1)):
        with pytest.raises(Refused, match=MAY_HAVE_LEFT) as caught:
            other.commit(run, number, release(), "record", neighbours="add-remove")
        assert caught.value.exit_code == 3
    other.commit(
        "b", 2, release(), "record", again=True, neighbours="add-remove"
    )  # open: nothing of it has left
    with pytest.raises(Refused, match="with another release"):
        other.commit(
            "b", 2, release(30.0), "record", again=True, neighbours="add-remove"
        )
    assert sums(other) == before
    verify_ledger(other.database)


def test_a_round_is_published_once(place: Place, ledger: LastingLedger) -> None:
    other = place.open()
    for each in (ledger, other):
        each.commit("a", 1, release(), "record", again=True, neighbours="add-remove")
    other.publish("a", 1)
    with pytest.raises(Refused, match="another process has gone on") as caught:
        ledger.publish("a", 1)
    assert caught.value.exit_code == 3
    for number in (1, 2):
        with pytest.raises(Refused, match="another process has gone on"):
            other.publish("a", number)
    with pytest.raises(Refused, match="another process has gone on"):
        other.publish("b", 1)
    with pytest.raises(Refused, match=MAY_HAVE_LEFT):
        other.commit("a", 1, release(), "record", again=True, neighbours="add-remove")
    assert other.rounds("a") == PaidRounds(frozenset({1}), None)
    assert sums(ledger) == rounds(1, 0)
    verify_ledger(ledger.database)


def test_a_reservation_again_counts_what_was_paid(ledger: LastingLedger) -> None:
    ledger.reserve("a", [(release(), 5)], LATER, "record", neighbours="add-remove")
    before = ledger.head()
    ledger.reserve("a", [(release(), 5)], LATER, "record", neighbours="add-remove")
    ledger.reserve("a", [(release(), 5)], LATER - 1, "record", neighbours="add-remove")
    assert ledger.head() == before
    ledger.commit("a", 1, release(), "record", neighbours="add-remove")
    ledger.reserve(
        "a", [(release(), 5)], LATER + 1, "record", neighbours="add-remove"
    )  # for longer
    assert sums(ledger) == rounds(1, 4)
    ledger.reserve(
        "a", [(release(), 3)], LATER, "record", neighbours="add-remove"
    )  # for less
    assert sums(ledger) == rounds(1, 2)
    ledger.reserve("a", [], LATER + 2, "record", neighbours="add-remove")
    assert sums(ledger) == rounds(1, 0)
    verify_ledger(ledger.database)


def test_reservations_end(place: Place, ledger: LastingLedger) -> None:
    limit(ledger, 10)
    ledger.reserve("a", [(release(), 8)], LATER, "record", neighbours="add-remove")
    ledger.commit("a", 1, release(), "record", neighbours="add-remove")
    place.time = LATER - 1
    ledger.expire()
    assert sums(ledger) == rounds(1, 7)
    place.time = LATER
    ledger.expire()
    assert sums(ledger) == rounds(1, 0)
    ledger.reserve("b", [(release(), 9)], LATER + 5, "record", neighbours="add-remove")
    with pytest.raises(Refused, match="round 2 of run `a`"):
        ledger.commit("a", 2, release(), "record", neighbours="add-remove")
    place.time = LATER + 5
    ledger.commit(
        "a", 2, release(), "record", neighbours="add-remove"
    )  # what is overdue is freed on the way
    assert sums(ledger) == rounds(2, 0)
    with pytest.raises(LedgerError, match="would be over already"):
        ledger.reserve(
            "c", [(release(), 1)], LATER + 5, "record", neighbours="add-remove"
        )
    verify_ledger(ledger.database)


def test_would_exceed_changes_nothing(ledger: LastingLedger) -> None:
    limit(ledger, 1)
    before = ledger.head()
    assert (
        ledger.would_exceed("a", 1, release(), "record", neighbours="add-remove")
        is None
    )
    found = ledger.would_exceed("a", 1, release(5.0), "record", neighbours="add-remove")
    assert found is not None
    assert found.scope == "record"
    assert found.would_reach > found.of
    assert ledger.head() == before
    ledger.commit("a", 1, release(), "record", neighbours="add-remove")
    assert (
        ledger.would_exceed("a", 1, release(), "record", neighbours="add-remove")
        is None
    )  # it is paid for
    assert (
        ledger.would_exceed("a", 2, release(), "record", neighbours="add-remove")
        is not None
    )


def test_asking_for_room_changes_nothing(place: Place, ledger: LastingLedger) -> None:
    """It raises what `reserve` would, also of room that is free by now."""
    limit(ledger, 10)
    ledger.reserve("a", [(release(), 8)], LATER, "record", neighbours="add-remove")
    before, rows = ledger.head(), len(ledger.rows())

    def require_room(count: int) -> None:
        planned = [(release(), count)]
        ledger.require_room("b", planned, "record", neighbours="add-remove")

    require_room(2)
    with pytest.raises(Refused, match=r"run `b`: `record` would reach ε = ") as asked:
        require_room(3)
    with pytest.raises(Refused) as refused:
        ledger.reserve("b", [(release(), 3)], LATER, "record", neighbours="add-remove")
    assert (asked.value.message, asked.value.hint, asked.value.would_reach) == (
        refused.value.message, refused.value.hint, refused.value.would_reach,
    )  # fmt: skip
    place.time = LATER
    require_room(10)
    with pytest.raises(Refused, match="run `b`"):
        require_room(11)
    assert (ledger.head(), len(ledger.rows())) == (before, rows)


def test_a_clock_that_was_ahead_keeps_nobody_from_reserving(
    place: Place, ledger: LastingLedger
) -> None:
    limit(ledger, 10)
    place.time = START + 400 * DAY
    ledger.reserve(
        "ahead",
        [(release(), 2)],
        place.time + 30 * DAY,
        "record",
        neighbours="add-remove",
    )
    ledger.commit("ahead", 1, release(), "record", neighbours="add-remove")
    place.time = START + 60
    ledger.reserve(
        "right",
        [(release(), 2)],
        place.time + 30 * DAY,
        "record",
        neighbours="add-remove",
    )
    ledger.commit("right", 1, release(), "record", neighbours="add-remove")
    assert sums(ledger) == rounds(2, 2)
    assert [row.time for row in ledger.rows()][-1] == START + 60
    # It is over when the clock says so, and not before.
    place.time = START + 29 * DAY
    ledger.expire()
    assert sums(ledger) == rounds(2, 2)
    place.time = START + 31 * DAY
    ledger.expire()
    assert sums(ledger) == rounds(2, 1)
    ledger.release("ahead")  # made when the clock was ahead: nobody waits for it
    assert sums(ledger) == rounds(2, 0)
    verify_ledger(ledger.database)


def test_a_clock_that_is_behind_keeps_nobody_from_reserving(
    place: Place, ledger: LastingLedger
) -> None:
    ledger.reserve(
        "a", [(release(), 2)], START + 30 * DAY, "record", neighbours="add-remove"
    )
    place.time = 7  # as after a battery died
    ledger.reserve(
        "b", [(release(), 2)], place.time + 30 * DAY, "record", neighbours="add-remove"
    )
    ledger.commit("a", 1, release(), "record", neighbours="add-remove")
    assert sums(ledger) == rounds(1, 3)
    place.time = START + DAY
    ledger.expire()
    assert sums(ledger) == rounds(1, 1)
    verify_ledger(ledger.database)


def in_periods(ledger: LastingLedger, number: int) -> None:
    """Set a ceiling for so many rounds in every 30 days."""
    bound = number * ROUND["record:gdp"]
    epsilon = 1e-3
    while Ceiling.of(epsilon, 1e-6, days=30).bound < bound:
        epsilon *= 1.01
    set_ceiling(ledger, "record", Ceiling.of(epsilon, 1e-6, days=30), "test")


def test_a_clock_that_goes_back_begins_no_period(
    place: Place, ledger: LastingLedger
) -> None:
    in_periods(ledger, 2)
    for number in (1, 2):
        ledger.commit("a", number, release(), "record", neighbours="add-remove")
    for time in (START - 31 * DAY, 7, START):
        place.time = time
        with pytest.raises(Refused, match="round 3"):
            ledger.commit("a", 3, release(), "record", neighbours="add-remove")
    place.time = START - 31 * DAY
    ledger.reserve(
        "b", [], place.time + DAY, "record", neighbours="add-remove"
    )  # a row with a wrong time
    place.time = START
    with pytest.raises(Refused, match="round 3"):
        ledger.commit("a", 3, release(), "record", neighbours="add-remove")
    place.time = START + 31 * DAY
    ledger.commit("a", 3, release(), "record", neighbours="add-remove")
    verify_ledger(ledger.database)


def test_a_period_that_was_charged_too_early_counts_until_somebody_decides(
    place: Place, ledger: LastingLedger
) -> None:
    in_periods(ledger, 3)
    ledger.commit("a", 1, release(), "record", neighbours="add-remove")
    place.time = START + 400 * DAY
    ledger.commit("a", 2, release(), "record", neighbours="add-remove")
    place.time = START
    for number in (3, 4):  # to the period that the clock was in
        ledger.commit("a", number, release(), "record", neighbours="add-remove")
    with pytest.raises(Refused, match="round 5"):
        ledger.commit("a", 5, release(), "record", neighbours="add-remove")
    place.time = START + 31 * DAY  # not a new one: the ledger has seen a later
    with pytest.raises(Refused, match="round 5"):
        ledger.commit("a", 5, release(), "record", neighbours="add-remove")
    ceiling = ledger.book().limits["record"].ceiling
    set_ceiling(ledger, "record", ceiling, "the same again")
    assert ledger.book().limits["record"].counted == 3 * ROUND["record:gdp"]
    set_ceiling(ledger, "record", ceiling, "the clock was ahead", raising=True)
    # What the later period was charged counts in this one, as it may be of it.
    assert ledger.book().limits["record"].counted == 3 * ROUND["record:gdp"]
    place.time = START + 61 * DAY
    ledger.commit("a", 5, release(), "record", neighbours="add-remove")
    assert ledger.book().limits["record"].counted == ROUND["record:gdp"]
    verify_ledger(ledger.database)


def test_a_run_without_noise(ledger: LastingLedger) -> None:
    ledger.require_unlimited()
    ledger.unprotected("a")
    ledger.unprotected("a")
    assert ledger.book().unprotected == 1
    verify_ledger(ledger.database)
    limit(ledger, 1)
    with pytest.raises(Refused, match="without secret noise exceeds every ceiling"):
        ledger.require_unlimited()
    with pytest.raises(Refused, match="without secret noise exceeds every ceiling"):
        ledger.unprotected("b")


def test_opened_again_it_is_the_same(place: Place, ledger: LastingLedger) -> None:
    limit(ledger, 4)
    ledger.reserve("a", [(release(), 3)], LATER, "record", neighbours="add-remove")
    ledger.commit("a", 1, release(), "record", neighbours="add-remove")
    ledger.close()
    with pytest.raises(LedgerError, match="is closed"):
        ledger.head()
    again = place.open()
    assert sums(again) == rounds(1, 2)
    assert (again.site, again.data_set, again.id) == ("north", "patients", ledger.id)
    assert again.database.path == place.path
    with pytest.raises(Refused, match=MAY_HAVE_LEFT):
        again.commit("a", 1, release(), "record", neighbours="add-remove")
    assert sums(again) == rounds(1, 2)


def test_more_rows_than_the_tail(place: Place, ledger: LastingLedger) -> None:
    for number in range(1, 130):
        ledger.commit("a", number, release(), "record", neighbours="add-remove")
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
    ledger.commit("a", 1, release(), "record", neighbours="add-remove")
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
        ledger.commit("a", 1, release(1.0), "record", neighbours="add-remove")
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
            ledger.commit("a", 1, release(), "record", neighbours="add-remove")
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
        quick.commit("a", number, release(), "record", neighbours="add-remove")
    [pin] = place.state.glob("*.json")
    before = pin.read_text()
    quick.close()
    assert '"sequence": 20' in pin.read_text()
    assert '"sequence": 1,' in before
