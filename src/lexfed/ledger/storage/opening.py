# SPDX-License-Identifier: Apache-2.0
"""Making and opening a ledger file: is it ours, whole, and not older than its pin?"""

import secrets
from pathlib import Path

from lexfed.errors import LedgerError
from lexfed.ledger.bookkeeping.book import Book
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
from lexfed.ledger.storage.database import Database, unusable_file
from lexfed.ledger.storage.upgrade import upgrade_file

_TAIL = 64
"""Rows whose chain is checked when a ledger is opened; `verify` checks all."""


def open_database(
    path: Path,
    named: tuple[str, str] | None,
    state: Path,
    wait: float,
    durable: bool,
    time: int,
) -> tuple[Database, LedgerRow]:
    """Open a ledger file, or make it, and return it with its first row.

    Args:
        path: of the file.
        named: site and data set; None for a ledger that must be there.
        state: folder of pins.
        wait: seconds to wait for another process that writes.
        durable: whether a commit waits for the disk.
        time: now, in seconds since 1970.

    Raises:
        LedgerError: if it cannot be used.
    """
    if is_gone(path):
        _refuse_if_pinned(path, state)
        if named is None:
            raise LedgerError(
                f"there is no ledger `{path}`", "a site's first run makes one"
            )
    database = Database(path, wait, durable)
    try:
        if named is not None:
            _make(database, path, state, named, time)
        return database, _checked(database, path, state, named, time)
    except BaseException:
        database.close()
        raise


def is_gone(path: Path) -> bool:
    """Say whether there is no file, or nothing in it.

    Raises:
        LedgerError: if nobody can tell.
    """
    try:
        return path.stat().st_size == 0
    except FileNotFoundError:
        return True
    except OSError as error:
        raise unusable_file(path, error) from error


def _refuse_if_pinned(path: Path, state: Path) -> None:
    pin = pins.pin_of_file(state, path)
    if pin is not None:
        raise LedgerError(
            f"the ledger `{path}` is gone; its {pin.head.sequence} rows are not",
            "put back the file; if it is lost, `lexfed ledger restore` makes a new one "
            "that begins with everything that was spent",
        )


def _make(
    database: Database, path: Path, state: Path, named: tuple[str, str], time: int
) -> None:
    """Make the tables and the first row, unless somebody has."""
    if not database.is_new():
        return
    with database.writing():
        if not database.is_new():  # somebody was faster
            return
        row = begin_ledger(database, secrets.token_hex(16), named, time)
    pins.write_pin(state, pins.Pin.of(identity(row), path, row.head, Book()))


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
    found = database.query("SELECT text, hash FROM rows WHERE sequence = 1")
    if not found:
        raise damage_error("row 1 is missing")
    return read_row(*found[0])


def identity(first: LedgerRow) -> tuple[str, str, str]:
    """Return id, site and data set from the first row."""
    return first.body["id"], first.body["site"], first.body["data_set"]


def _checked(
    database: Database,
    path: Path,
    state: Path,
    named: tuple[str, str] | None,
    time: int,
) -> LedgerRow:
    """Return the first row of a ledger whose tail, counts and pin fit together."""
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
        _, *found = identity(row)
        if named is not None and tuple(found) != named:
            raise LedgerError(
                f"`{path}` is the ledger of site `{found[0]}` and data `{found[1]}`, "
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
    """Return the last row, if the last rows follow each other and the sums fit.

    Raises:
        LedgerError: if they do not.
    """
    last = tables.last_row(database)
    [[count]] = database.query("SELECT count(*) FROM rows")
    if count != last.sequence:
        raise damage_error(f"it has {count} rows, the last is number {last.sequence}")
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

    Args:
        database: the file, in a transaction that began after the pin was read, or that
            keeps others from writing.
        pin: of the ledger, if there is one.
        state: where it was looked for.

    Raises:
        LedgerError: if the file is older than its pin, has another history, or has
            rows and no pin.
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
    found = tables.hash_at(database, pin.head.sequence)
    if found is None:
        last = tables.last_row(database).sequence
        raise LedgerError(
            f"the ledger `{path}` was rolled back: it has {last} rows, "
            f"{pin.head.sequence} were written",
            "put back the newest file; if it is lost, `lexfed ledger restore` charges "
            "what is missing",
        )
    if found != pin.head.hash:
        raise LedgerError(
            f"the ledger `{path}` has another history than the one written here",
            "two copies were used; keep both, put back the one that was written here, "
            "or let `lexfed ledger restore` charge what is missing",
        )
    return pin.head.sequence
