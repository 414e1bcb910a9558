# SPDX-License-Identifier: Apache-2.0
"""Files that cannot be opened, or that somebody else is just making."""

import sqlite3
from contextlib import closing
from typing import Any

import pytest

from ledger.conftest import Place, release
from lexfed.errors import LedgerError
from lexfed.ledger.charging import LastingLedger
from lexfed.ledger.storage.database import Database


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER free AFTER INSERT ON commits BEGIN "
        "UPDATE limits SET counted = '0'; END",
        "CREATE VIEW zero AS SELECT 0",
    ],
)
def test_a_file_with_statements_of_its_own(place: Place, statement: str) -> None:
    place.open().close()
    with closing(sqlite3.connect(place.path)) as connection:
        connection.execute(statement)
        connection.commit()
    with pytest.raises(LedgerError, match="triggers or views"):
        place.open()


def test_a_file_of_something_else(place: Place) -> None:
    place.path.write_text("# a note that somebody saved here\n" * 100)
    with pytest.raises(LedgerError, match="it is not a ledger"):
        place.open()
    place.path.unlink()
    other = sqlite3.connect(place.path)
    other.execute("CREATE TABLE notes (text)")
    other.close()
    before = place.path.read_bytes()
    with pytest.raises(LedgerError, match="is not a ledger"):
        place.open()
    assert place.path.read_bytes() == before


def test_an_empty_data_base_is_not_a_ledger_yet(place: Place) -> None:
    empty = sqlite3.connect(place.path)
    empty.execute("PRAGMA journal_mode = WAL")
    empty.close()
    assert place.path.stat().st_size > 0
    with pytest.raises(LedgerError, match="is not a ledger"):
        LastingLedger.open(place.path, state=place.state)
    place.open().commit("a", 1, release(), "record", neighbours="add-remove")


def test_a_newer_version(place: Place) -> None:
    place.open().close()
    newer = sqlite3.connect(place.path)
    newer.execute("PRAGMA user_version = 9")
    newer.close()
    before = place.path.read_bytes()
    with pytest.raises(LedgerError, match="newer version of lexfed") as caught:
        place.open()
    assert "use that version" in caught.value.hint
    assert place.path.read_bytes() == before


def test_a_folder_in_the_way(place: Place) -> None:
    place.path.mkdir()
    with pytest.raises(LedgerError, match="cannot use ledger"):
        place.open()
    blocked = place.folder / "file"
    blocked.write_text("")
    with pytest.raises(LedgerError, match="cannot use ledger"):
        LastingLedger.open(blocked / "x", "north", "patients", state=place.state)


def test_somebody_else_makes_it_first(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Between the look at an empty file and the lock on it, another process made it.
    first: list[LastingLedger] = []
    real = Database.is_new

    def slow(self: Database) -> bool:
        new = real(self)
        patch.undo()
        first.append(place.open())
        return new

    with monkeypatch.context() as patch:
        patch.setattr(Database, "is_new", slow)
        second = place.open()
    assert second.id == first[0].id
    assert len(second.rows()) == 1


def test_somebody_else_makes_it_while_its_kind_is_looked_at(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.open().close()
    with closing(sqlite3.connect(place.path)) as made:
        made.execute("PRAGMA journal_mode = DELETE")
        content = made.serialize()
    other = place.path.with_name("second.ledger")
    ask = Database.query
    asked = 0

    def made_meanwhile(self: Database, *statement: Any) -> list[Any]:
        nonlocal asked
        found, asked = ask(self, *statement), asked + 1
        if asked == 1:
            with closing(sqlite3.connect(":memory:")) as source:
                source.deserialize(content)
                with closing(sqlite3.connect(other)) as target:
                    source.backup(target)
        return found

    monkeypatch.setattr(Database, "query", made_meanwhile)
    with closing(Database(other, wait=1.0, durable=False)) as opened:
        assert not opened.is_new()


def test_state_folder_that_is_a_file(place: Place) -> None:
    place.state.write_text("")
    with pytest.raises(LedgerError, match="cannot use pin"):
        place.open()
