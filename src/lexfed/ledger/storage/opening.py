# SPDX-License-Identifier: Apache-2.0
"""Making, opening and upgrading a ledger file: ours, whole, not older than its pin?

**Files of the first version** price every release under add/remove, also those of runs
under replace-one, which tell the exact number of records and have no such price. Nobody
can tell the two apart any more, so a row counts them (`unsaid`): a ceiling of `record`
is used up, and a new one needs a decision. Nor do they say which rounds were published;
none is asked again.
"""

import secrets
from pathlib import Path

from lexfed.counted_words import counted
from lexfed.errors import LedgerError
from lexfed.ledger.bookkeeping.book import Book
from lexfed.ledger.bookkeeping.prices import RECORD, meter
from lexfed.ledger.bookkeeping.rows import (
    GENESIS,
    Head,
    LedgerRow,
    chained_rows,
    damage_error,
    make_row,
    read_row,
)
from lexfed.ledger.storage import pins, tables
from lexfed.ledger.storage.database import VERSION, Database, unusable_file
from lexfed.ledger.storage.tables import LedgerChange

_TAIL = 64
"""Rows whose chain is checked when a ledger is opened; `verify` checks all."""

_REASON = "rows above do not say whether their runs told the exact number of records"


def open_database(
    path: Path,
    named: tuple[str, str] | None,
    state: Path,
    wait: float,
    durable: bool,
    time: int,
) -> tuple[Database, LedgerRow]:
    """Open a ledger file, or make it if it is `named`, and return its first row too."""
    if is_gone(path):
        pin = pins.pin_of_file(state, path)
        if pin is not None:
            raise LedgerError(
                f"the ledger file `{path}` is missing, with "
                f"{counted(pin.head.sequence, 'row')} on record",
                "put back the file; if it is lost, `lexfed ledger restore` makes a new "
                "one that begins with everything that was spent",
            )
        if named is None:
            raise LedgerError(
                f"there is no ledger `{path}`", "a site's first run makes one"
            )
    database = Database(path, wait, durable)
    try:
        if named is not None:
            _make(database, state, named, time)
        return database, _checked(database, state, named, time)
    except BaseException:
        database.close()
        raise


def is_gone(path: Path) -> bool:
    """Return True if there is no file, or nothing in it."""
    try:
        return path.stat().st_size == 0
    except FileNotFoundError:
        return True
    except OSError as error:
        raise unusable_file(path, error) from error


def _make(database: Database, state: Path, named: tuple[str, str], time: int) -> None:
    if not database.is_new():
        return
    with database.writing():
        if not database.is_new():  # another process was faster
            return
        row = begin_ledger(database, secrets.token_hex(16), named, time)
    pin = pins.Pin.of(identity(row), database.path, row.head, Book())
    pins.write_pin(state, pin)


def begin_ledger(
    database: Database, ledger: str, named: tuple[str, str], time: int
) -> LedgerRow:
    """Make the tables and the first row, within a change, and return the row."""
    database.create()
    site, data_set = named
    body = {"id": ledger, "site": site, "data_set": data_set, "after": Book().after()}
    row = make_row(Head(0, GENESIS), time, "open", body)
    tables.save_row(database, row, Book())
    return row


def first_row(database: Database) -> LedgerRow:
    """Return the row that says whose ledger it is."""
    rows = database.query("SELECT text, hash FROM rows WHERE sequence = 1")
    if not rows:
        raise damage_error("row 1 is missing")
    return read_row(*rows[0])


def identity(first: LedgerRow) -> tuple[str, str, str]:
    """Return id, site and data set from the first row."""
    return first.body["id"], first.body["site"], first.body["data_set"]


def _checked(
    database: Database, state: Path, named: tuple[str, str] | None, time: int
) -> LedgerRow:
    """Return the first row of a ledger whose tail, counts and pin fit together."""
    path = database.path
    with database.reading():
        if database.is_new():
            raise LedgerError(
                f"`{path}` is not a ledger", "name a file that lexfed has made"
            )
        row = first_row(database)
    # Before the state that it is compared with: others go on writing, and a pin is
    # never ahead of a file that is read after it.
    pin = pins.read_pin(state, identity(row)[0])
    with database.reading():
        check_tail(database)
        _, site, data_set = identity(row)
        if named is not None and (site, data_set) != named:
            raise LedgerError(
                f"`{path}` is the ledger of site `{site}` and data `{data_set}`, "
                f"not of `{named[0]}` and `{named[1]}`",
                "name another folder for ledgers",
            )
        pinned = check_pin(database, pin, state)
    upgrade_file(database, time)
    with database.reading():
        last = tables.last_row(database)
        book = tables.load_book(database, last)
    if pinned < last.sequence:
        pins.write_pin(state, pins.Pin.of(identity(row), path, last.head, book))
    return row


def check_tail(database: Database) -> LedgerRow:
    """Return the last row, if the last rows follow each other and the sums fit."""
    last = tables.last_row(database)
    [[count]] = database.query("SELECT count(*) FROM rows")
    if count != last.sequence:
        raise damage_error(
            f"it has {counted(count, 'row')}, the last is number {last.sequence}"
        )
    start = max(1, last.sequence - _TAIL)
    stored = list(tables.stored_rows(database, start))
    before = None if start == 1 else read_row(*stored[0])
    for _ in chained_rows(before, stored if start == 1 else stored[1:]):
        pass
    if tables.load_book(database, last).after() != last.body["after"]:
        raise damage_error("its sums are not those of its last row")
    return last


def check_pin(database: Database, pin: pins.Pin | None, state: Path) -> int:
    """Return the number of the pinned row, if the file holds it.

    The transaction must have begun after the pin was read in `state`, or keep others
    from writing. A file that is older than its pin, has another history, or has rows
    and no pin is a `LedgerError`.
    """
    path = database.path
    if pin is None:
        if tables.last_row(database).sequence == 1:  # made, and died before its pin
            return 0
        raise LedgerError(
            f"nothing in `{state}` remembers the ledger `{path}`: rows may be missing",
            "put back the pin, or name its folder; if it is lost, `lexfed ledger "
            "restore` goes on and counts every ceiling as used up",
        )
    stored = tables.hash_at(database, pin.head.sequence)
    if stored is None:
        last = tables.last_row(database).sequence
        raise LedgerError(
            f"the ledger `{path}` was rolled back: it has {counted(last, 'row')}, "
            f"{pin.head.sequence} were written",
            "put back the newest file; if it is lost, `lexfed ledger restore` charges "
            "what is missing",
        )
    if stored != pin.head.hash:
        raise LedgerError(
            f"the ledger `{path}` has another history than the one written here",
            "two copies were used; keep both, put back the one that was written here, "
            "or let `lexfed ledger restore` charge what is missing",
        )
    return pin.head.sequence


def upgrade_file(database: Database, time: int) -> None:
    """Bring a sound file that fits its pin up to this version, in one change."""
    if database.version() == VERSION:
        return
    with database.writing():
        if database.version() == VERSION:  # another process was faster
            return
        database.upgrade()
        last = tables.last_row(database)
        book = tables.load_book(database, last)
        note_unsaid(database, LedgerChange(database, last, book, time))


def note_unsaid(database: Database, change: LedgerChange) -> None:
    """Append that relations are unknown, if anything was committed; within a change."""
    [[count]] = database.query("SELECT count(*) FROM commits WHERE round > 0")
    if count > 0:
        change.append(
            "restore",
            {
                "reason": _REASON,
                "pinned": None,
                "charged": {meter(RECORD, "unsaid"): str(count)},
                "limits": None,
                "used_up": False,
            },
        )
