# SPDX-License-Identifier: Apache-2.0
"""Add/remove and replace-one in one ledger: converted where that is sound, or refused.

A run under replace-one tells the exact number of records, so no number bounds what it
costs under add/remove.
"""

import json
import sqlite3

import pytest

from ledger.amounts import ROUND, limit, rounds, sums
from ledger.conftest import START, Place, release
from lexfed.errors import LedgerError, Refused
from lexfed.ledger.bookkeeping.book import Book
from lexfed.ledger.bookkeeping.ceilings import Ceiling
from lexfed.ledger.bookkeeping.prices import concerned_scopes, costs_of
from lexfed.ledger.charging import LastingLedger
from lexfed.ledger.decisions import restore_ledger, set_ceiling
from lexfed.ledger.storage import pins
from lexfed.ledger.verification import verify_ledger

TELLS = "tells the exact number of records"
LATER = START + 100


def test_prices_by_relation() -> None:
    kept = costs_of([(release(), 3)], "record", {}, "add-remove")
    told = costs_of([(release(), 3)], "record", {}, "replace-one")
    assert "record:gdp" not in told
    assert told["record:told"] == 3
    assert "record:told" not in kept
    # A replacement is two steps of add/remove: twice the distance, four times mu^2.
    assert told["label:gdp"] == kept["label:gdp"]
    assert kept["label:gdp"] == pytest.approx(4 * kept["record:gdp"], abs=12)
    assert {name for name in told if not name.startswith("record")} == {
        name for name in kept if not name.startswith("record")
    }
    # Where a site is the unit nobody is told how many records it has.
    for unit in ("add-remove", "replace-one"):
        assert concerned_scopes(release(), "client", unit)["record"] == "replace-one"
    assert "record" not in concerned_scopes(release(), "record", "replace-one")


@pytest.mark.parametrize("kind", ["gdp", "rdp"])
def test_a_ceiling_of_the_record_has_no_price_for_replace_one(
    ledger: LastingLedger, kind: str
) -> None:
    set_ceiling(ledger, "record", Ceiling.of(100.0, 1e-6, kind), "start")  # type: ignore[arg-type]
    before = ledger.head()
    with pytest.raises(Refused, match=TELLS) as caught:
        ledger.reserve("a", [(release(), 2)], LATER, "record", neighbours="replace-one")
    assert caught.value.exit_code == 3
    assert "ceiling of `label`" in caught.value.hint
    with pytest.raises(Refused, match=TELLS):
        ledger.commit("a", 1, release(), "record", neighbours="replace-one")
    with pytest.raises(Refused, match=TELLS):
        ledger.would_exceed("a", 1, release(), "record", neighbours="replace-one")
    assert ledger.head() == before
    ledger.commit("a", 1, release(), "client", neighbours="replace-one")
    ledger.commit("b", 1, release(), "record", neighbours="add-remove")
    verify_ledger(ledger.database)


def test_no_ceiling_of_the_record_after_replace_one(ledger: LastingLedger) -> None:
    ledger.commit("a", 1, release(), "record", neighbours="replace-one")
    assert sums(ledger) == rounds(0, 0)
    for raising in (False, True):
        with pytest.raises(Refused, match=TELLS):
            set_ceiling(
                ledger, "record", Ceiling.of(9.0, 1e-6), "late", raising=raising
            )
    verify_ledger(ledger.database)


def test_the_label_bounds_records_of_both_relations(ledger: LastingLedger) -> None:
    limit(ledger, 2, "label")
    ledger.commit("a", 1, release(), "record", neighbours="replace-one")
    ledger.commit("b", 1, release(), "record", neighbours="add-remove")
    assert sums(ledger, "label") == rounds(2, 0, "label")
    with pytest.raises(Refused, match="`label` would reach"):
        ledger.commit("a", 2, release(), "record", neighbours="replace-one")
    verify_ledger(ledger.database)


@pytest.mark.parametrize("first", ["ceiling", "commit"])
def test_files_that_mix_them_are_damaged(
    ledger: LastingLedger, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def commit() -> None:
        ledger.commit("a", 1, release(), "record", neighbours="replace-one")

    with monkeypatch.context() as patch:
        patch.setattr(Book, "unpriced", lambda *_: None)
        patch.setattr(Book, "unpriced_before", lambda *_: None)
        if first == "commit":
            commit()
        set_ceiling(ledger, "record", Ceiling.of(9.0, 1e-6), "test")
        if first == "ceiling":
            commit()
    with pytest.raises(LedgerError, match="has no price"):
        verify_ledger(ledger.database)


def test_a_pin_remembers_that_numbers_were_told(place: Place) -> None:
    ledger = place.open()
    before = place.path.read_bytes()
    ledger.close()
    copy = place.path.read_bytes()
    ledger = place.open()
    ledger.commit("a", 1, release(), "record", neighbours="replace-one")
    ledger.close()
    assert before
    for name in ("-wal", "-shm"):
        place.path.with_name(place.path.name + name).unlink(missing_ok=True)
    place.path.write_bytes(copy)
    done = restore_ledger(place.path, "disk failed", place.state, START)
    assert done.charged["record:told"] == 1
    with pytest.raises(Refused, match=TELLS):
        set_ceiling(place.open(), "record", Ceiling.of(9.0, 1e-6), "late")


# Files of the first version


def first_version(place: Place, keep_limit: bool) -> None:
    """Make the ledger as the first version would have: no relation, no open rounds."""
    ledger = place.open()
    if keep_limit:
        limit(ledger, 10)
    ledger.commit("a", 1, release(), "record", neighbours="add-remove")
    ledger.reserve("a", [(release(), 2)], LATER, "record", neighbours="add-remove")
    ledger.close()
    rewrite(place)


def rewrite(place: Place) -> None:
    from lexfed.canonical import canonical_bytes
    from lexfed.ledger.bookkeeping.rows import GENESIS, Head, make_row

    with sqlite3.connect(place.path) as file:
        texts = file.execute("SELECT text FROM rows ORDER BY sequence").fetchall()
        head = Head(0, GENESIS)
        for (text,) in texts:
            row = json.loads(text)
            for name in ("neighbours", "open"):
                row["body"].pop(name, None)
            row["body"].get("carried", {}).pop("period", None)
            made = make_row(head, row["time"], row["kind"], row["body"])
            assert canonical_bytes(row).decode() == made.text
            file.execute(
                "UPDATE rows SET text = ?, hash = ? WHERE sequence = ?",
                (made.text, made.hash, made.sequence),
            )
            head = made.head
        file.execute("ALTER TABLE runs DROP COLUMN open")
        file.execute("PRAGMA user_version = 1")
    file.close()
    [pin] = place.state.glob("*.json")
    stated = json.loads(pin.read_text())
    del stated["version"]
    pin.write_text(json.dumps({**stated, "hash": head.hash.hex()}))


def test_rows_of_the_first_version_have_no_price_for_the_record(place: Place) -> None:
    first_version(place, keep_limit=True)
    ledger = place.open()
    verify_ledger(ledger.database)
    assert ledger.rows()[-1].kind == "restore"
    assert ledger.book().meters["record:unsaid"].committed == 1
    assert sums(ledger).committed == ROUND["record:gdp"]
    with pytest.raises(Refused, match="`record` would reach"):
        ledger.commit("b", 1, release(), "record", neighbours="add-remove")
    ceiling = ledger.book().limits["record"].ceiling
    with pytest.raises(Refused, match="rows of the first version") as caught:
        set_ceiling(ledger, "record", ceiling, "as before")
    assert "--raise" in caught.value.hint
    set_ceiling(ledger, "record", ceiling, "all were add-remove", raising=True)
    ledger.commit("b", 1, release(), "record", neighbours="add-remove")
    with pytest.raises(Refused, match="may have been released"):
        ledger.commit("a", 1, release(), "record", neighbours="add-remove")
    verify_ledger(ledger.database)
    ledger.close()
    assert len(place.open().rows()) == 7  # upgraded once


def test_a_new_ceiling_over_rows_of_the_first_version(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    first_version(place, keep_limit=False)
    ledger = place.open()
    with pytest.raises(Refused, match="rows of the first version"):
        set_ceiling(ledger, "record", Ceiling.of(9.0, 1e-6), "late")
    set_ceiling(ledger, "label", Ceiling.of(9.0, 1e-6), "has a price")
    with monkeypatch.context() as patch:
        patch.setattr(Book, "has", lambda *_: False)
        set_ceiling(ledger, "record", Ceiling.of(9.0, 1e-6), "late")
    with pytest.raises(LedgerError, match="has no price for what is above"):
        verify_ledger(ledger.database)


def test_an_empty_file_of_the_first_version_lacks_nothing(place: Place) -> None:
    place.open().close()
    rewrite(place)
    ledger = place.open()
    limit(ledger, 1)
    ledger.commit("a", 1, release(), "record", neighbours="add-remove")
    verify_ledger(ledger.database)


def test_two_that_upgrade_at_once(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lexfed.ledger.storage.database import Database

    first_version(place, keep_limit=False)
    real, versions = Database.version, [1]
    other: list[LastingLedger] = []

    def version(self: Database) -> int:
        if versions:  # the other one upgrades between our look and our change
            found = versions.pop()
            other.append(place.open())
            return found
        return real(self)

    monkeypatch.setattr(Database, "version", version)
    ledger = place.open()
    assert [row.kind for row in ledger.rows()].count("restore") == 1


@pytest.mark.parametrize("lost", ["rows", "file"])
def test_restoring_what_the_first_version_wrote(place: Place, lost: str) -> None:
    place.open().close()
    copy = place.path.read_bytes()
    first_version(place, keep_limit=False)
    [path] = place.state.glob("*.json")
    old = pins.read_pin(place.state, path.stem)
    assert old is not None
    assert old.version == 1
    place.path.unlink()
    if lost == "rows":
        place.path.write_bytes(copy)
        with sqlite3.connect(place.path) as file:
            file.execute("ALTER TABLE runs DROP COLUMN open")
            file.execute("PRAGMA user_version = 1")
        file.close()
    done = restore_ledger(place.path, "disk failed", place.state, START)
    assert done.charged["record:unsaid"] == 1
    assert done.charged["record:gdp"] == ROUND["record:gdp"]
    ledger = place.open()
    verify_ledger(ledger.database)
    with pytest.raises(Refused, match="rows of the first version"):
        set_ceiling(ledger, "record", Ceiling.of(9.0, 1e-6), "late")


def test_restoring_a_file_of_the_first_version_with_rows(place: Place) -> None:
    first_version(place, keep_limit=False)
    [path] = place.state.glob("*.json")
    path.unlink()
    assert restore_ledger(place.path, "pin lost", place.state, START).used_up
    ledger = place.open()
    verify_ledger(ledger.database)
    assert ledger.book().meters["record:unsaid"].committed == 1
