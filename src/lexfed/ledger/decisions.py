# SPDX-License-Identifier: Apache-2.0
"""Decisions of people about a ledger: another ceiling, and going on after a loss.

A ceiling proves something about results that nobody had seen when it was fixed. Raised
after a look at results it is no filter any more, so a raise must be asked for by name,
and stays in the rows for their readers.

After a disk was lost what is missing is charged, never forgotten:

    the file is behind its pin      what the pin knows to be paid, and the file does
                                    not, is charged
    two histories                   everything in the pin is charged on top: nobody
                                    can tell what both have in common
    the file is gone                a new one begins with everything in the pin
    the pin is gone                 nobody can tell what is missing: every ceiling
                                    counts as used up, until somebody raises it

A chained row with a reason says what was changed or charged. Nothing here runs by
itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from lexfed.errors import LedgerError, Refused
from lexfed.ledger.bookkeeping.book import NOTHING, Book, CeilingBalance, costs_to_text
from lexfed.ledger.bookkeeping.ceilings import Ceiling
from lexfed.ledger.bookkeeping.prices import RECORD, SCOPES, meter
from lexfed.ledger.bookkeeping.refusals import no_price
from lexfed.ledger.bookkeeping.rows import chained_rows
from lexfed.ledger.charging import LastingLedger
from lexfed.ledger.storage import pins, tables
from lexfed.ledger.storage.database import Database
from lexfed.ledger.storage.opening import (
    begin_ledger,
    check_pin,
    first_row,
    identity,
    is_gone,
    note_unsaid,
)
from lexfed.ledger.storage.pins import Pin
from lexfed.ledger.storage.tables import LedgerChange
from lexfed.ledger.verification import carried_sums, verify_ledger


def set_ceiling(
    ledger: LastingLedger,
    scope: str,
    ceiling: Ceiling | None,
    reason: str,
    raising: bool = False,
) -> None:
    """Give a scope another ceiling, or none; a chained row says why.

    Without `raising` a ceiling that may let more pass than the old one is `Refused`.

    Guarantees:
        Everything since the ledger began counts against the new ceiling.
        Without `raising` no more can pass than before.
    """
    if scope not in SCOPES:
        known = ", ".join(f"`{name}`" for name in SCOPES)
        raise LedgerError(f"there is no scope `{scope}`", f"choose one of {known}")
    if not reason.strip():
        raise LedgerError(
            "a ceiling needs a reason", "say why, for whoever reads the rows"
        )
    with ledger.change() as change:
        book, database = change.book, ledger.database
        book.runs = tables.load_runs(database)
        old = book.limits[scope].ceiling if scope in book.limits else None
        more = old is not None if ceiling is None else ceiling.raises(old)
        if more and not raising:
            raise Refused(
                f"ledger of `{ledger.site}`: the new ceiling of `{scope}` lets more "
                f"pass than the old one ({old})",
                "say so with `--raise`; the reason stays in the ledger",
                scope="site",
            )
        carried = {}
        if ceiling is not None:
            unpriced = book.unpriced_before(scope, ceiling)
            if unpriced is None and book.has(scope, "unsaid") and not raising:
                unpriced = "unsaid"
            if unpriced is not None:
                raise no_price(ledger.site, scope, unpriced)
            rows = chained_rows(None, tables.stored_rows(database))
            carried = carried_sums(rows, scope, ceiling, change.time, raising)
        change.append(
            "ceiling",
            {
                "scope": scope,
                "ceiling": None if ceiling is None else ceiling.to_json(),
                "reason": reason,
                "raised": raising,
                "carried": carried,
            },
        )


@dataclass(frozen=True)
class Restoration:
    """Costs that a file had lost, by meter; `used_up` if all ceilings count as that."""

    charged: Mapping[str, int]
    used_up: bool


def restore_ledger(
    path: Path, reason: str, state: Path, time: int, wait: float = 10.0
) -> Restoration:
    """Make a ledger usable again that does not fit its pin; a chained row says why.

    The file may be gone; one that is there must be sound.

    Guarantees:
        Everything that was acknowledged is charged afterwards, or no ceiling leaves
        any room.
        A ledger that fits its pin is left as it is.
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
        # A file that holds a row of the pinned number, but does not fit the pin, is
        # another history.
        other = (
            lost is None
            and pin is not None
            and tables.hash_at(database, pin.head.sequence) is not None
        )
        done = Restoration(_missing(pin, book, other), pin is None)
        limits: Mapping[str, CeilingBalance] = {}
        if pin is not None:
            limits = (
                _of_both(pin, database, book, time) if other else _of_one(pin, book)
            )
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
    repinned = Pin.of(identity(first), database.path, change.last.head, book)
    pins.write_pin(state, repinned, back=True)
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
            sums = carried_sums(rows, scope, limit.ceiling, time, raising=False)
            mine = CeilingBalance(limit.ceiling, sums["period"], int(sums["counted"]))
        mine = mine.at(time)
        period = max(theirs.period, mine.period)
        total = theirs.counted + mine.counted
        limits[scope] = CeilingBalance(limit.ceiling, period, total)
    return limits
