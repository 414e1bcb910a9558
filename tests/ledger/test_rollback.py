# SPDX-License-Identifier: Apache-2.0
"""An older file is noticed; going on after a loss charges what was lost."""

import json
import os
import shutil
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger.conftest import DAY, START, Place, release
from lexfed.errors import LedgerError, Refused
from lexfed.ledger.bookkeeping.ceilings import Ceiling
from lexfed.ledger.bookkeeping.prices import costs_of
from lexfed.ledger.charging import LastingLedger
from lexfed.ledger.decisions import Restoration, restore_ledger, set_ceiling
from lexfed.ledger.storage import pins
from lexfed.ledger.verification import verify_ledger
from lexfed.tiers import Tier

ROUND = costs_of([(release(), 1)], "record", {}, neighbours="add-remove")


def paid(place: Place, first: int, last: int) -> None:
    """Commit rounds, and close the ledger."""
    ledger = place.open()
    for number in range(first, last + 1):
        ledger.commit("a", number, release(), "record", neighbours="add-remove")
    ledger.close()


def put_aside(place: Place) -> Path:
    copy = place.folder / f"copy-{len(list(place.folder.iterdir()))}"
    shutil.copy(place.path, copy)
    return copy


def put_back(place: Place, copy: Path) -> None:
    shutil.copy(copy, place.path)


def mended(place: Place, reason: str = "disk failed") -> Restoration:
    return restore_ledger(place.path, reason, place.state, place.time)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(at=st.integers(1, 9))
def test_every_older_copy_is_refused(place: Place, at: int) -> None:
    copies = place.folder / "copies"
    if not copies.exists():
        copies.mkdir()
        for number in range(1, 11):
            paid(place, number, number)
            shutil.copy(place.path, copies / str(number))
    put_back(place, copies / str(at))
    with pytest.raises(LedgerError, match="was rolled back") as caught:
        place.open()
    assert "put back the newest file" in caught.value.hint
    put_back(place, copies / "10")
    place.open().close()


def test_an_older_copy_under_an_open_ledger(place: Place) -> None:
    paid(place, 1, 2)
    older = put_aside(place)
    paid(place, 3, 4)
    ledger = place.open()
    with open(place.path, "r+b") as file:  # the same file with older content
        file.write(older.read_bytes())
        file.truncate()
    # SQLite may have the newer pages in memory; on disk the two do not fit together.
    with suppress(LedgerError):
        ledger.commit("a", 5, release(), "record", neighbours="add-remove")
    ledger.database.close()
    with pytest.raises(LedgerError):
        verify_ledger(place.open().database)


def test_two_histories(place: Place) -> None:
    paid(place, 1, 2)
    older, old_pin = put_aside(place), next(place.state.iterdir()).read_bytes()
    paid(place, 3, 4)
    mine, my_pin = put_aside(place), next(place.state.iterdir()).read_bytes()
    # On another machine the older copy went on, longer than mine.
    put_back(place, older)
    next(place.state.iterdir()).write_bytes(old_pin)
    ledger = place.open()
    for number in range(3, 8):
        ledger.commit("b", number, release(30.0), "record", neighbours="add-remove")
    ledger.close()
    next(place.state.iterdir()).write_bytes(my_pin)
    with pytest.raises(LedgerError, match="another history"):
        place.open()
    # Nobody can tell what both have in common: everything of mine is charged on top.
    done = mended(place)
    assert done.charged["record:gdp"] == 4 * ROUND["record:gdp"]
    verify_ledger(place.open().database)
    put_back(place, mine)
    with pytest.raises(LedgerError):
        place.open()


@pytest.mark.parametrize(
    ("other", "days", "rounds"),
    [("same", 0, 8), ("larger", 0, 8), ("none", 0, 8), ("same", 30, 5)],
)
def test_two_histories_count_together(
    place: Place, other: str, days: int, rounds: int
) -> None:
    mine = Ceiling.of(2.0, 1e-6, days=30)
    ledger = place.open()
    set_ceiling(ledger, "record", mine, "monthly")
    ledger.commit("a", 1, release(), "record", neighbours="add-remove")
    ledger.close()
    older, old_pin = put_aside(place), next(place.state.iterdir()).read_bytes()
    paid(place, 2, 2)
    my_pin = next(place.state.iterdir()).read_bytes()
    # The older copy goes on, with another ceiling or in a later period.
    put_back(place, older)
    next(place.state.iterdir()).write_bytes(old_pin)
    place.time += days * DAY
    ledger = place.open()
    if other != "same":
        ceiling = Ceiling.of(3.0, 1e-6, days=30) if other == "larger" else None
        set_ceiling(ledger, "record", ceiling, "elsewhere", raising=True)
    for number in range(2, 7):
        ledger.commit("b", number, release(), "record", neighbours="add-remove")
    ledger.close()
    next(place.state.iterdir()).write_bytes(my_pin)
    mended(place)
    book = verify_ledger(place.open().database)
    limit = book.limits["record"]
    assert limit.ceiling == mine
    assert limit.at(place.time).counted == rounds * ROUND["record:gdp"]


def test_a_crash_between_commit_and_pin_does_not_lock_out(place: Place) -> None:
    paid(place, 1, 2)
    [pin] = place.state.iterdir()
    before = pin.read_bytes()
    paid(place, 3, 3)
    pin.write_bytes(before)  # as if the process had died before its pin
    ledger = place.open()
    assert json.loads(pin.read_bytes())["sequence"] == 4
    # Nor while it is open: who acknowledges a commit of another pins it first.
    pin.write_bytes(before)
    ledger.expire()
    assert json.loads(pin.read_bytes())["sequence"] == 4


def test_a_crash_between_making_and_pin(place: Place) -> None:
    place.open().close()
    [pin] = place.state.iterdir()
    pin.unlink()
    paid(place, 1, 1)
    assert json.loads(pin.read_bytes())["sequence"] == 2


def test_pins_never_move_back(place: Place) -> None:
    paid(place, 1, 1)
    [path] = place.state.iterdir()
    old = pins.read_pin(place.state, path.stem)
    paid(place, 2, 3)
    assert old is not None
    pins.write_pin(place.state, old)
    assert json.loads(path.read_bytes())["sequence"] == 4


def test_a_moved_file_is_the_same_ledger(place: Place) -> None:
    paid(place, 1, 2)
    moved = place.folder / "elsewhere" / "north.ledger"
    moved.parent.mkdir()
    place.path.rename(moved)
    ledger = LastingLedger.open(moved, "north", "patients", state=place.state)
    ledger.commit("a", 3, release(), "record", neighbours="add-remove")
    assert [row.kind for row in ledger.rows()].count("commit") == 3
    ledger.close()
    # Nothing remembers one at the old place: a new ledger, with a pin of its own.
    new = place.open()
    assert "commit" not in [row.kind for row in new.rows()]
    new.close()
    assert len(list(place.state.iterdir())) == 2


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"\xff", b'{"ledger": 1}'])
def test_a_broken_pin(place: Place, content: bytes) -> None:
    paid(place, 1, 2)
    [pin] = place.state.iterdir()
    whole = pin.read_bytes()
    pin.write_bytes(content)
    with pytest.raises(LedgerError, match="is not the pin of this ledger"):
        place.open()
    pin.write_bytes(whole.replace(pin.stem.encode(), b"0" * 32))
    with pytest.raises(LedgerError, match="is not the pin of this ledger"):
        place.open()
    assert mended(place).used_up


def test_an_unreadable_pin(place: Place) -> None:
    paid(place, 1, 2)
    [pin] = place.state.iterdir()
    pin.unlink()
    pin.mkdir()
    with pytest.raises(LedgerError, match="cannot use pin"):
        place.open()
    with pytest.raises(LedgerError, match="cannot use pin"):
        mended(place)


# Going on


def test_what_the_file_lost_is_charged(place: Place) -> None:
    ledger = place.open()
    set_ceiling(ledger, "record", Ceiling.of(1.0, 1e-6), "start")
    set_ceiling(ledger, "special", Ceiling.of(2.0, 1e-6, "rdp"), "start")
    ledger.close()
    paid(place, 1, 2)
    older = put_aside(place)
    ledger = place.open()
    ledger.commit(
        "a", 3, release(reads=Tier.PERSONAL), "record", neighbours="add-remove"
    )
    ledger.commit("a", 4, release(), "record", neighbours="add-remove")
    full = ledger.book()
    ledger.close()
    put_back(place, older)
    done = mended(place)
    assert done.charged["record:gdp"] == 2 * ROUND["record:gdp"]
    assert done.charged["special:gdp"] == ROUND["special:gdp"]
    assert not done.used_up
    again = place.open()
    found = verify_ledger(again.database)
    for name, sums in full.meters.items():
        assert found.meters[name].committed == sums.committed
    assert found.limits == full.limits
    row = again.rows()[-1]
    assert row.body["reason"] == "disk failed"
    assert row.body["pinned"] == 7
    again.commit("b", 1, release(), "record", neighbours="add-remove")
    again.close()
    with pytest.raises(LedgerError, match="fits its pin: nothing is missing"):
        mended(place)


def test_ceilings_that_the_file_lost_come_back(place: Place) -> None:
    ledger = place.open()
    set_ceiling(ledger, "label", Ceiling.of(2.0, 1e-6, "rdp"), "start")
    set_ceiling(ledger, "personal", Ceiling.of(2.0, 1e-6, "rdp"), "start")
    ledger.close()
    paid(place, 1, 1)
    older = put_aside(place)
    ledger = place.open()
    set_ceiling(ledger, "record", Ceiling.of(0.5, 1e-6), "stricter")
    set_ceiling(ledger, "label", None, "not needed", raising=True)
    set_ceiling(ledger, "personal", Ceiling.of(1.0, 1e-6, "rdp"), "stricter")
    full = ledger.book()
    ledger.close()
    put_back(place, older)
    mended(place)
    found = verify_ledger(place.open().database)
    assert found.limits == full.limits
    assert found.meters.keys() == full.meters.keys()
    assert found.meters["personal:rdp"] == full.meters["personal:rdp"]


def test_a_period_that_the_file_lost_goes_on(place: Place) -> None:
    monthly = Ceiling.of(2.0, 1e-6, days=30)
    ledger = place.open()
    set_ceiling(ledger, "record", monthly, "start")
    ledger.close()
    older = put_aside(place)
    place.time += 300 * DAY
    paid(place, 1, 2)
    # The disk fails, and the clock is back at its beginning.
    put_back(place, older)
    place.time = START
    mended(place)
    ledger = place.open()
    before = ledger.book().limits["record"]
    set_ceiling(ledger, "record", monthly, "again")
    assert verify_ledger(ledger.database).limits["record"] == before
    assert before.at(START + 60 * DAY).counted == 2 * ROUND["record:gdp"]
    # Another length, or a decision, counts in the period that the clock shows.
    yearly = Ceiling.of(2.0, 1e-6, days=365)
    set_ceiling(ledger, "record", yearly, "agreed", raising=True)
    set_ceiling(ledger, "record", yearly, "again")
    limit = verify_ledger(ledger.database).limits["record"]
    assert (limit.period, limit.counted) == (yearly.period(START), before.counted)


def test_a_file_that_is_gone(place: Place) -> None:
    ledger = place.open()
    set_ceiling(ledger, "record", Ceiling.of(1.0, 1e-6), "start")
    ledger.close()
    paid(place, 1, 3)
    place.path.unlink()
    with pytest.raises(
        LedgerError, match=r"is missing, with 5 rows on record"
    ) as caught:
        place.open()
    assert "begins with everything that was spent" in caught.value.hint
    done = mended(place)
    assert done.charged["record:gdp"] == 3 * ROUND["record:gdp"]
    ledger = place.open()
    assert [row.kind for row in ledger.rows()] == ["open", "restore"]
    book = verify_ledger(ledger.database)
    assert book.limits["record"].counted == 3 * ROUND["record:gdp"]


def test_nothing_to_restore(place: Place) -> None:
    with pytest.raises(LedgerError, match="none is remembered"):
        mended(place)
    paid(place, 1, 1)
    with pytest.raises(LedgerError, match="needs a reason"):
        mended(place, " ")
    os.truncate(place.path, 5000)
    with pytest.raises(LedgerError):
        mended(place)  # a damaged file is not mended


def test_without_a_pin_every_ceiling_is_used_up(place: Place) -> None:
    ledger = place.open()
    set_ceiling(ledger, "record", Ceiling.of(5.0, 1e-6), "start")
    set_ceiling(ledger, "special", Ceiling.of(5.0, 1e-6, days=7), "start")
    ledger.close()
    paid(place, 1, 2)
    [pin] = place.state.iterdir()
    pin.unlink()
    with pytest.raises(LedgerError, match="remembers the ledger") as caught:
        place.open()
    assert "every ceiling as used up" in caught.value.hint
    done = mended(place)
    assert done.used_up
    assert done.charged == {}
    ledger = place.open()
    with pytest.raises(Refused):
        ledger.commit("a", 3, release(), "record", neighbours="add-remove")
    # Setting the same ceiling again gives nothing back; raising it does.
    set_ceiling(ledger, "record", Ceiling.of(5.0, 1e-6), "again")
    with pytest.raises(Refused):
        ledger.commit("a", 3, release(reads=None), "record", neighbours="add-remove")
    set_ceiling(ledger, "record", Ceiling.of(5.0, 1e-6), "audited", raising=True)
    ledger.commit("a", 3, release(reads=None), "record", neighbours="add-remove")
    place.time = START + 14 * DAY  # another period of `special`
    ledger.commit("a", 4, release(), "record", neighbours="add-remove")
    verify_ledger(ledger.database)


def test_what_was_charged_for_a_loss_counts_in_every_measure(place: Place) -> None:
    paid(place, 1, 4)
    place.path.unlink()
    mended(place)
    ledger = place.open()
    set_ceiling(ledger, "record", Ceiling.of(2.0, 1e-6, "rdp", order=10), "later")
    book = verify_ledger(ledger.database)
    assert book.limits["record"].counted == 5 * 4 * ROUND["record:gdp"]
    set_ceiling(ledger, "record", Ceiling.of(2.0, 1e-6), "later", raising=True)
    book = verify_ledger(ledger.database)
    assert book.limits["record"].counted == 4 * ROUND["record:gdp"]
