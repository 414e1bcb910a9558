# SPDX-License-Identifier: Apache-2.0
"""The lasting ledger of a site: reserve, commit, publish, release, expire.

    ledger = LastingLedger.open(path, "north", "patients")
    ledger.reserve(run, plan, until, unit, neighbours=relation)   room, or Refused
    ledger.commit(run, 1, release, unit, neighbours=relation)     before any answer
    ledger.publish(run, 1)                                        before it can leave
    ledger.release(run)                                           the rest is free

Runs charge through `lexfed.ledger.purse`. Every operation is one transaction that holds
the write lock from its first read on.

**One release under one charge.** A commit belongs to the very object that made it.
Another process, whatever copy of a run it goes on with, is given the same round only if
it was committed to be asked again (`again`) and `publish` was not called: then nothing
of it has left. Of two that hold the same open round one can publish it. A round that
was committed without `again` is never given again.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lexfed.errors import LedgerError, Refused
from lexfed.ledger.bookkeeping.book import Book, costs_to_text
from lexfed.ledger.bookkeeping.prices import Costs, costs_of, mark_of
from lexfed.ledger.bookkeeping.refusals import excess_of, refusal_of, require_priced
from lexfed.ledger.bookkeeping.rows import Head, LedgerRow, chained_rows
from lexfed.ledger.storage import pins, tables
from lexfed.ledger.storage.database import Database
from lexfed.ledger.storage.opening import check_pin, identity, open_database
from lexfed.ledger.storage.tables import LedgerChange
from lexfed.privacy.releases import Release
from lexfed.privacy.run_ledger import BudgetExcess
from lexfed.privacy.scopes import CountedRelease
from lexfed.terms import Neighbours, Unit

LedgerClock = Callable[[], float]
WAIT = 10.0
"""Seconds to wait for another process that writes the same ledger."""


@dataclass(frozen=True)
class PaidRounds:
    """The rounds paid for by a run; `open` if nothing of the last can have left."""

    paid: frozenset[int]
    open: int | None


class LastingLedger:
    """Everything ever spent on one data set of one site.

    Guarantees:
        What is committed never exceeds a ceiling, whatever other processes do.
        A commit is on disk, and pinned, before `commit` returns.
        A round is charged once. Whoever has committed it may ask again; somebody else
        only while it is open, that is the last of its run, committed to be asked again
        and not published. Another release under the same round is refused.
        A round is published once.
        What is refused changes nothing.
        A file that is older than its pin, or has another history, is refused.
        A clock that goes back begins no period anew, and one that was ahead keeps no
        run from reserving.
    """

    def __init__(
        self,
        database: Database,
        first: LedgerRow,
        state: Path,
        clock: LedgerClock,
        durable: bool,
    ) -> None:
        self.database = database
        self._state = state
        self._clock = clock
        self._durable = durable
        self._mine: set[tuple[str, int]] = set()
        self._identity = identity(first)
        self.id, self.site, self.data_set = self._identity

    @classmethod
    def open(
        cls,
        path: Path,
        site: str | None = None,
        data_set: str | None = None,
        *,
        state: Path | None = None,
        durable: bool = True,
        wait: float = WAIT,
        clock: LedgerClock = time.time,
    ) -> "LastingLedger":
        """Open a ledger; with site and data set it is made if it is not there.

        Pins are in the user's folder by default (`pins.default_state`). If not
        `durable`, a commit does not wait for the disk and the pin, and a power failure
        may take it back: only for measuring. `wait` are the seconds to wait for another
        process that writes. A file that cannot be used, is damaged, was rolled back, or
        is of another site or data set is a `LedgerError`.
        """
        state = pins.default_state() if state is None else state
        named = None if site is None or data_set is None else (site, data_set)
        database, first = open_database(path, named, state, wait, durable, int(clock()))
        return cls(database, first, state, clock, durable)

    def reserve(
        self,
        run: str,
        releases: Sequence[CountedRelease],
        until: int,
        unit: Unit,
        *,
        neighbours: Neighbours,
    ) -> None:
        """Set room aside for a run: for all its releases, those committed included.

        A run has one reservation. The same again changes nothing; another one takes its
        place. The name of a run is used once for ever; at `until`, in seconds since
        1970, the room is free again.

        Raises:
            Refused: if a ceiling leaves no room, or has no price for noise in shares or
                for a run that tells the number of records; nothing was changed then.
        """
        with self.change(run) as change:
            book = change.book
            if until <= change.time:
                raise LedgerError(
                    f"the reservation of run `{run}` would be over already",
                    "reserve for a time in the future",
                )
            planned = costs_of(releases, unit, book.orders, neighbours)
            require_priced(self.site, book, planned)
            known = book.run(run)
            alone = Book(runs={run: known})
            request = {"run": run, "until": until, "cost": planned}
            alone.apply("reserve", change.time, request)
            amounts = alone.runs[run].amounts
            if amounts == known.amounts and until <= (known.until or 0):
                return
            body = {
                "run": run,
                "until": until,
                "unit": unit,
                "neighbours": neighbours,
                "releases": [[count, release.to_json()] for release, count in releases],
                "cost": costs_to_text(planned),
            }
            before = book.after()
            change.append("reserve", body)
            rest = {name: sums.reserved for name, sums in amounts.items()}
            self._require_room(f"run `{run}`", change, before, rest)

    def require_room(
        self,
        run: str,
        releases: Sequence[CountedRelease],
        unit: Unit,
        *,
        neighbours: Neighbours,
    ) -> None:
        """Raise what `reserve` would for a new run, without changing anything."""
        with self.database.reading():
            now = int(self._clock())
            over = tables.overdue_runs(self.database, now)
            book = tables.load_book(
                self.database, tables.last_row(self.database), *over
            )
            for late in over:
                book.apply("expire", now, {"run": late})
            planned = costs_of(releases, unit, book.orders, neighbours)
            require_priced(self.site, book, planned)
            before = book.after()
            request = {"run": run, "until": now + 1, "cost": costs_to_text(planned)}
            book.apply("reserve", now, request)
            amounts = book.runs[run].amounts
            rest = {name: sums.reserved for name, sums in amounts.items()}
            excess = book.exceeded(rest, now)
        if excess is not None:
            asked = f"run `{run}`"
            raise refusal_of(self.site, asked, book, before, now, excess)

    def commit(
        self,
        run: str,
        number: int,
        release: Release,
        unit: Unit,
        *,
        neighbours: Neighbours,
        again: bool = False,
    ) -> int:
        """Pay for a round before it happens; on return it is on disk.

        With `again` it may be asked again after a crash, until it is published: a
        caller that commits so lets nothing of the round leave before. Returns the
        number of the row.

        Raises:
            Refused: if neither the run's reservation nor the room that is free pays for
                it, or the round was committed with another release, or by a process
                that may have released it.
        """
        mark = mark_of(release, unit)
        with self.change(run) as change:
            known = tables.committed_release(self.database, run, number)
            if known is not None:
                same = known[0] == mark
                self._require_open(change.book, run, number, same=same, again=again)
                return known[1]
            book = change.book
            costs = costs_of([(release, 1)], unit, book.orders, neighbours)
            require_priced(self.site, book, costs)
            body = {
                "release": release.to_json(),
                "unit": unit,
                "neighbours": neighbours,
                "run": run,
                "round": number,
                "open": again,
                "cost": costs_to_text(costs),
            }
            before = book.after()
            row = change.append("commit", body)
            self._require_room(f"round {number} of run `{run}`", change, before, costs)
            tables.save_commit(self.database, run, number, mark, row.sequence)
            # Before the pin is written: it is ours also if only that fails.
            self._mine.add((run, number))
        return row.sequence

    def _require_room(
        self, asked: str, change: LedgerChange, before: dict[str, Any], costs: Costs
    ) -> None:
        book, time = change.book, change.time
        excess = book.exceeded(costs, time)
        if excess is not None:
            raise refusal_of(self.site, asked, book, before, time, excess)

    def _require_open(
        self, book: Book, run: str, number: int, *, same: bool, again: bool
    ) -> None:
        """Refuse a round that was paid for already, unless nothing of it has left.

        A process that releases at once takes no round that another one holds open.
        """
        known = book.run(run)
        mine = (run, number) in self._mine
        if same and (mine or (again and known.open == number)):
            return
        how = "before, and may have been released" if same else "with another release"
        raise Refused(
            f"ledger of `{self.site}`: round {number} of run `{run}` was committed "
            f"{how}",
            "a round is paid for and released once; start another run",
            scope="site",
        )

    def publish(self, run: str, number: int) -> None:
        """Let a round leave, unless it is not open; on return that is on disk."""
        with self.change(run) as change:
            if change.book.run(run).open != number:
                raise Refused(
                    f"ledger of `{self.site}`: another process has gone on with run "
                    f"`{run}`; what was computed for round {number} is dropped",
                    "a round is released once: end the other copy of this run, or "
                    "this one",
                    scope="site",
                )
            change.append("publish", {"run": run, "round": number})
        self._mine.discard((run, number))

    def would_exceed(
        self,
        run: str,
        number: int,
        release: Release,
        unit: Unit,
        *,
        neighbours: Neighbours,
    ) -> BudgetExcess | None:
        """Return the ceiling that a commit would break, without changing anything."""
        with self.database.reading():
            last = tables.last_row(self.database)
            if tables.committed_release(self.database, run, number) is not None:
                return None
            book = tables.load_book(self.database, last, run)
            costs = costs_of([(release, 1)], unit, book.orders, neighbours)
            require_priced(self.site, book, costs)
            now = int(self._clock())
            book.apply("commit", now, {"run": run, "cost": costs_to_text(costs)})
            excess = book.exceeded(costs, now)
        return None if excess is None else excess_of(book, *excess)

    def release(self, run: str) -> None:
        """Give back what a run reserved and did not commit."""
        with self.change(run) as change:
            if change.book.run(run).until is not None:
                change.append("release", {"run": run})

    def expire(self) -> None:
        """Free the reservations whose time is over; what they committed stays."""
        with self.change():
            pass

    def unprotected(self, run: str) -> None:
        """Record that a run adds no noise, or known noise: any ceiling refuses it."""
        with self.change() as change:
            self._require_unlimited(change.book)
            if tables.committed_release(self.database, run, 0) is None:
                row = change.append("unprotected", {"run": run})
                tables.save_commit(self.database, run, 0, row.kind, row.sequence)

    def require_unlimited(self) -> None:
        """Raise what `unprotected` would, without changing anything."""
        with self.database.reading():
            last = tables.last_row(self.database)
            self._require_unlimited(tables.load_book(self.database, last))

    def _require_unlimited(self, book: Book) -> None:
        if book.limits:
            raise Refused(
                f"ledger of `{self.site}`: a run without secret noise exceeds every "
                "ceiling",
                'use another `mechanism` than "none", and not `test = true`',
                scope="site",
            )

    def rounds(self, run: str) -> PaidRounds:
        """Return the rounds of a run that are paid for."""
        with self.database.reading():
            paid = tables.rounds_of(self.database, run)
            last = tables.last_row(self.database)
            book = tables.load_book(self.database, last, run)
            return PaidRounds(paid, book.run(run).open)

    def rows(self) -> list[LedgerRow]:
        """Return every row, each checked to follow the one above."""
        with self.database.reading():
            return list(chained_rows(None, tables.stored_rows(self.database)))

    def book(self) -> Book:
        """Return all sums."""
        with self.database.reading():
            book = tables.load_book(self.database, tables.last_row(self.database))
            book.runs = tables.load_runs(self.database)
            return book

    def head(self) -> Head:
        """Return number and hash of the last row."""
        with self.database.reading():
            return tables.last_row(self.database).head

    def close(self) -> None:
        """Pin what was written, and close the file."""
        try:
            if not self._durable:
                with self.database.reading():
                    last = tables.last_row(self.database)
                    book = tables.load_book(self.database, last)
                self._pin(last.head, book)
        finally:
            self.database.close()

    @contextmanager
    def change(self, *runs: str) -> Iterator[LedgerChange]:
        """Hold the write lock; free overdue reservations, load `runs`, pin new rows."""
        with self.database.writing():
            last = tables.last_row(self.database)
            pin = pins.read_pin(self._state, self.id)
            pinned = check_pin(self.database, pin, self._state)
            now = int(self._clock())
            over = tables.overdue_runs(self.database, now)
            book = tables.load_book(self.database, last, *runs, *over)
            change = LedgerChange(self.database, last, book, now)
            for run in over:
                change.append("expire", {"run": run})
            yield change
        # Even if nothing was written: its writer may have died before it was pinned.
        if self._durable and pinned < change.last.sequence:
            self._pin(change.last.head, change.book)

    def _pin(self, head: Head, book: Book) -> None:
        pins.write_pin(
            self._state, pins.Pin.of(self._identity, self.database.path, head, book)
        )
