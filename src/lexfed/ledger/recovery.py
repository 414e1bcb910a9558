# SPDX-License-Identifier: Apache-2.0
"""Going on after a disk was lost: what is missing is charged, never forgotten.

    the file is behind its pin      what the pin knows to be paid, and the file does
                                    not, is charged
    two histories                   everything in the pin is charged on top: nobody
                                    can tell what both have in common
    the file is gone                a new one begins with everything in the pin
    the pin is gone                 nobody can tell what is missing: every ceiling
                                    counts as used up, until somebody raises it

A chained row says what was charged and why. Nothing here runs by itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from lexfed.errors import LedgerError
from lexfed.ledger.bookkeeping.book import NOTHING, Book, CeilingBalance, costs_to_text
from lexfed.ledger.bookkeeping.carried_sums import carried_sums
from lexfed.ledger.bookkeeping.prices import RECORD, meter
from lexfed.ledger.bookkeeping.rows import chained_rows
from lexfed.ledger.storage import pins, tables
from lexfed.ledger.storage.database import Database
from lexfed.ledger.storage.opening import (
    begin_ledger,
    check_pin,
    first_row,
    identity,
    is_gone,
)
from lexfed.ledger.storage.pins import Pin
from lexfed.ledger.storage.tables import LedgerChange
from lexfed.ledger.storage.upgrade import note_unsaid
from lexfed.ledger.verification import verify_ledger


@dataclass(frozen=True)
class Restoration:
    """The result of a restore.

    Attributes:
        charged: costs that the file had lost, by meter.
        used_up: whether every ceiling counts as used up.
    """

    charged: Mapping[str, int]
    used_up: bool


def restore_ledger(
    path: Path, reason: str, state: Path, time: int, wait: float = 10.0
) -> Restoration:
    """Make a ledger usable again that does not fit its pin.

    Args:
        path: of the file, which may be gone; a file that is there must be sound.
        reason: why, for whoever reads the rows.
        state: folder of pins.
        time: now, in seconds since 1970.
        wait: seconds to wait for another process that writes.

    Guarantees:
        Everything that was acknowledged is charged afterwards, or no ceiling leaves
        any room.
        A ledger that fits its pin is left as it is.

    Raises:
        LedgerError: if the file is damaged, or nothing is missing.
    """
    if not reason.strip():
        raise LedgerError(
            "a restore needs a reason", "say what happened, for whoever reads the rows"
        )
    lost = None
    if is_gone(path):
        lost = pins.pin_of_file(state, path)
        if lost is None:
            raise LedgerError(
                f"there is no ledger `{path}`, and none is remembered",
                "a site's first run makes one",
            )
    database = Database(path, wait, durable=True)
    try:
        return _restore(database, lost, reason, state, time)
    finally:
        database.close()


def _restore(
    database: Database, lost: Pin | None, reason: str, state: Path, time: int
) -> Restoration:
    if lost is None:
        verify_ledger(database)
    with database.writing():
        first_version = lost is None and database.version() == 1
        if first_version:
            database.upgrade()
        if lost is None:
            first = first_row(database)
        else:
            named = (lost.site, lost.data_set)
            first = begin_ledger(database, lost.ledger, named, time)
        last = tables.last_row(database)
        book = tables.load_book(database, last)
        book.runs = tables.load_runs(database)
        pin = lost or _pin_that_does_not_fit(database, state, identity(first)[0])
        other = lost is None and pin is not None and _is_other(database, pin)
        done = Restoration(_missing(pin, book, other), pin is None)
        limits = _limits(pin, other, database, book, time)
        change = LedgerChange(database, last, book, time)
        change.append(
            "restore",
            {
                "reason": reason,
                "pinned": None if pin is None else pin.head.sequence,
                "charged": costs_to_text(done.charged),
                "limits": None if pin is None else pins.limits_json(limits),
                "used_up": done.used_up,
            },
        )
        if first_version:
            note_unsaid(database, change)
    found = Pin.of(identity(first), database.path, change.last.head, book)
    pins.write_pin(state, found, back=True)
    return done


def _pin_that_does_not_fit(database: Database, state: Path, ledger: str) -> Pin | None:
    """Return the pin that the file does not fit; None if there is none to read."""
    try:
        pin = pins.read_pin(state, ledger)
    except pins.BrokenPin:
        return None
    try:
        check_pin(database, pin, state)
    except LedgerError:
        return pin
    raise LedgerError(
        f"`{database.path}` fits its pin: nothing is missing",
        "`lexfed ledger verify` checks the rest",
    )


def _is_other(database: Database, pin: Pin) -> bool:
    return tables.hash_at(database, pin.head.sequence) is not None


def _missing(pin: Pin | None, book: Book, other: bool) -> dict[str, int]:
    """Return the costs that the pin has and the book has not."""
    if pin is None:
        return {}
    orders = {scope: limit.ceiling.order for scope, limit in pin.limits.items()}
    # Divergences at another order say nothing about those of the pin.
    stale = {
        meter(scope, "rdp")
        for scope, order in book.orders.items()
        if orders.get(scope) != order
    }
    lost = {}
    if pin.version == 1 and pin.committed:
        lost[meter(RECORD, "unsaid")] = 1
    for name, cost in pin.committed.items():
        known = book.meters.get(name, NOTHING).committed
        lost[name] = cost if other or name in stale else max(0, cost - known)
    return {name: cost for name, cost in lost.items() if cost > 0}


def _limits(
    pin: Pin | None, other: bool, database: Database, book: Book, time: int
) -> dict[str, CeilingBalance]:
    """Return the ceilings of the pin, and what counts against them now."""
    if pin is None:
        return {}
    return _of_both(pin, database, book, time) if other else _of_one(pin, book)


def _of_one(pin: Pin, book: Book) -> dict[str, CeilingBalance]:
    """Return the ceilings of the pin, counting what it counts, or the file."""
    limits = {}
    for scope, limit in pin.limits.items():
        mine = book.limits.get(scope, limit)
        same = (mine.ceiling, mine.period) == (limit.ceiling, limit.period)
        counted = max(limit.counted, mine.counted) if same else limit.counted
        limits[scope] = replace(limit, counted=counted)
    return limits


def _of_both(
    pin: Pin, database: Database, book: Book, time: int
) -> dict[str, CeilingBalance]:
    """Return the ceilings of the pin, counting what two histories have paid."""
    limits = {}
    for scope, limit in pin.limits.items():
        theirs, mine = limit.at(time), book.limits.get(scope)
        if mine is None or mine.ceiling != limit.ceiling:
            # What the file has paid under another ceiling, or under none, counts too.
            rows = chained_rows(None, tables.stored_rows(database))
            found = carried_sums(rows, scope, limit.ceiling, time, raising=False)
            mine = CeilingBalance(limit.ceiling, found["period"], int(found["counted"]))
        mine = mine.at(time)
        period = max(theirs.period, mine.period)
        total = theirs.counted + mine.counted
        limits[scope] = CeilingBalance(limit.ceiling, period, total)
    return limits
