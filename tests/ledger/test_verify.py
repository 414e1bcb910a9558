# SPDX-License-Identifier: Apache-2.0
"""Whatever is changed in a file, `verify_ledger` names it."""

import json
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from ledger.conftest import DAY, START, Place, release
from lexfed.errors import LedgerError
from lexfed.ledger.bookkeeping.ceilings import Ceiling
from lexfed.ledger.bookkeeping.rows import GENESIS, Head, make_row
from lexfed.ledger.decisions import set_ceiling
from lexfed.ledger.storage import tables
from lexfed.ledger.storage.database import Database
from lexfed.ledger.verification import verify_ledger

Plain = dict[str, Any]


@pytest.fixture
def filled(place: Place) -> Place:
    """A ledger with a row of every usual kind, closed."""
    ledger = place.open()
    ledger.unprotected("zero")
    ledger.commit("before", 1, release(), "record", neighbours="add-remove")
    ledger.reserve(
        "before", [(release(), 2)], START + DAY, "record", neighbours="add-remove"
    )
    set_ceiling(ledger, "record", Ceiling.of(2.0, 1e-6), "start")
    set_ceiling(ledger, "special", Ceiling.of(2.0, 1e-6, "rdp"), "start")
    ledger.reserve(
        "a", [(release(), 3)], START + DAY, "record", neighbours="add-remove"
    )
    ledger.commit("a", 1, release(), "record", neighbours="add-remove")
    ledger.release("a")
    place.time += DAY
    ledger.expire()
    verify_ledger(ledger.database)
    ledger.close()
    return place


def opened(place: Place) -> Database:
    return Database(place.path, 1.0, durable=True)


def tampered(place: Place, statement: str) -> None:
    with closing(opened(place)) as database, database.writing():
        database.query(statement)


def rewritten(place: Place, change: Callable[[list[Plain]], None]) -> None:
    """Change rows and chain them anew, as somebody would who hides a change."""
    with closing(opened(place)) as database, database.writing():
        plain = [json.loads(text) for text, _ in tables.stored_rows(database)]
        change(plain)
        database.query("DELETE FROM rows")
        head = Head(0, GENESIS)
        for row in plain:
            made = make_row(head, row["time"], row["kind"], row["body"])
            values = (made.sequence, made.text, made.hash)
            database.query("INSERT INTO rows VALUES (?, ?, ?)", values)
            head = made.head


def wrong(place: Place) -> str:
    with closing(opened(place)) as database, pytest.raises(LedgerError) as caught:
        verify_ledger(database)
    assert caught.value.hint
    return caught.value.message


def refused(place: Place) -> str:
    with pytest.raises(LedgerError) as caught:
        place.open()
    return caught.value.message


@pytest.mark.parametrize(
    ("statement", "word"),
    [
        (
            "UPDATE rows SET text = replace(text, '20', '21') WHERE sequence = 3",
            "row 3",
        ),
        ("UPDATE rows SET text = '[]' WHERE sequence = 3", "not one of this version"),
        ("UPDATE rows SET text = '{}' WHERE sequence = 3", "not one of this version"),
        ("UPDATE rows SET text = 'x' WHERE sequence = 3", "not one of this version"),
        ("UPDATE rows SET hash = zeroblob(32) WHERE sequence = 4", "row 4"),
        ("DELETE FROM rows WHERE sequence = 5", "row 5 is missing"),
        ("DELETE FROM rows WHERE sequence = 1", "row 1 is missing"),
        ("DELETE FROM rows", "it has no rows"),
    ],
)
def test_a_changed_row(filled: Place, statement: str, word: str) -> None:
    tampered(filled, statement)
    assert word in wrong(filled)
    assert "damaged" in refused(filled)


@pytest.mark.parametrize("field", ["sequence", "time", "kind", "body"])
def test_a_row_of_another_shape(filled: Place, field: str) -> None:
    change = "UPDATE rows SET text = json_set(text, '$.FIELD', json('null'))"
    tampered(filled, change.replace("FIELD", field) + " WHERE sequence = 9")
    assert "not one of this version" in wrong(filled)


@pytest.mark.parametrize(
    ("statement", "at_once"),
    [
        ("UPDATE meters SET amounts = '[\"0\", \"0\"]' WHERE name = 'label:gdp'", True),
        ("DELETE FROM meters WHERE name = 'label:gdp'", True),
        ("UPDATE limits SET counted = '0'", True),
        ("DELETE FROM limits", True),
        ("UPDATE runs SET until = 2000000000", False),
        ("DELETE FROM runs WHERE run = 'a'", False),
        ("UPDATE commits SET release = ''", False),
        ("DELETE FROM commits", False),
    ],
)
def test_changed_sums(filled: Place, statement: str, at_once: bool) -> None:
    tampered(filled, statement)
    assert "not th" in wrong(filled)
    if at_once:
        assert "sums are not those of its last row" in refused(filled)


def row_of(rows: list[Plain], kind: str) -> Plain:
    return next(row for row in reversed(rows) if row["kind"] == kind)


def cheaper(rows: list[Plain]) -> None:
    row_of(rows, "commit")["body"]["cost"]["record:gdp"] = "1"


def negative(rows: list[Plain]) -> None:
    row_of(rows, "commit")["body"]["cost"]["record:gdp"] = "-1"


def without_a_scope(rows: list[Plain]) -> None:
    del row_of(rows, "commit")["body"]["cost"]["special:gdp"]


def another_divergence(rows: list[Plain]) -> None:
    costs = row_of(rows, "commit")["body"]["cost"]
    costs["special:rdp"] = str(int(costs["special:rdp"]) * 999 // 1000)


def less_reserved(rows: list[Plain]) -> None:
    row_of(rows, "reserve")["body"]["cost"]["record:gdp"] = "1"


def other_sums(rows: list[Plain]) -> None:
    rows[-1]["body"]["after"]["meters"]["record:gdp"] = ["0", "0"]


def without_sums(rows: list[Plain]) -> None:
    del rows[-1]["body"]["after"]


def a_higher_bound(rows: list[Plain]) -> None:
    body = row_of(rows, "ceiling")["body"]
    body["ceiling"]["bound"] = str(2 * int(body["ceiling"]["bound"]))


def nothing_carried(rows: list[Plain]) -> None:
    row_of(rows, "ceiling")["body"]["carried"] = {"counted": "0", "runs": {}}


def less_carried(rows: list[Plain]) -> None:
    row_of(rows, "ceiling")["body"]["carried"]["counted"] = "1"


def unknown(rows: list[Plain]) -> None:
    rows[-1]["kind"] = "gift"


def without_a_run(rows: list[Plain]) -> None:
    del row_of(rows, "commit")["body"]["run"]


def of_an_unknown_run(rows: list[Plain]) -> None:
    row_of(rows, "release")["body"]["run"] = "nobody"


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (cheaper, "does not charge what its releases cost"),
        (negative, "not one of this version"),
        (without_a_scope, "does not charge what its releases cost"),
        (another_divergence, "does not charge what its releases cost"),
        (less_reserved, "does not charge what its releases cost"),
        (other_sums, "do not add up"),
        (without_sums, "do not add up"),
        (a_higher_bound, "sets a ceiling that is not what it says"),
        (nothing_carried, "does not count what is above it"),
        (less_carried, "does not count what is above it"),
        (unknown, "not one of this version"),
        (without_a_run, "not one of this version"),
        (of_an_unknown_run, "not one of this version"),
    ],
)
def test_a_history_made_up(
    filled: Place, change: Callable[[list[Plain]], None], word: str
) -> None:
    rewritten(filled, change)
    assert word in wrong(filled)


def test_a_history_that_is_sound_but_another_is_found_by_its_pin(filled: Place) -> None:
    def other_reason(rows: list[Plain]) -> None:
        row_of(rows, "ceiling")["body"]["reason"] = "another"

    rewritten(filled, other_reason)
    with closing(opened(filled)) as database:
        verify_ledger(database)
    assert "another history" in refused(filled)


def test_a_row_above_a_ceiling(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    # Written by a ledger that does not look at ceilings.
    ledger = place.open()
    set_ceiling(ledger, "record", Ceiling.of(0.1, 1e-6), "start")
    with monkeypatch.context() as patch:
        patch.setattr("lexfed.ledger.bookkeeping.book.Book.exceeded", lambda *_: None)
        ledger.commit("a", 1, release(1.0), "record", neighbours="add-remove")
    ledger.close()
    assert "row 3 exceeds the ceiling of `record`" in wrong(place)


def test_a_damaged_page(filled: Place) -> None:
    with closing(opened(filled)) as database:
        [[page]] = database.query(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'open_reservations'"
        )
        [[size]] = database.query("PRAGMA page_size")
    with open(filled.path, "r+b") as file:
        file.seek((page - 1) * size + 3)
        file.write(b"\x00\x7f")
    assert "do not hold together" in wrong(filled) or "damaged" in wrong(filled)
