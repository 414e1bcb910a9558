# SPDX-License-Identifier: Apache-2.0
"""The rows, and the sums as tables, so that no operation reads the whole chain.

The sums over all runs are compared with the last row whenever a ledger is opened,
everything by `verify`.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from lexfed.ledger.bookkeeping.book import Amounts, Book, CeilingBalance, RunAccount
from lexfed.ledger.bookkeeping.ceilings import Ceiling
from lexfed.ledger.bookkeeping.rows import LedgerRow, damage_error, make_row, read_row
from lexfed.ledger.storage.database import Database


def last_row(database: Database) -> LedgerRow:
    """Return the last row; there is one, since a ledger is made with its first."""
    rows = database.query("SELECT text, hash FROM rows ORDER BY sequence DESC LIMIT 1")
    if not rows:
        raise damage_error("it has no rows")
    return read_row(*rows[0])


def stored_rows(database: Database, first: int = 1) -> Iterator[tuple[str, bytes]]:
    """Return texts and hashes from a row on."""
    return database.each(
        "SELECT text, hash FROM rows WHERE sequence >= ? ORDER BY sequence", (first,)
    )


def hash_at(database: Database, sequence: int) -> bytes | None:
    """Return the hash of a row; None if it is not there."""
    rows = database.query("SELECT hash FROM rows WHERE sequence = ?", (sequence,))
    return rows[0][0] if rows else None


def load_book(database: Database, last: LedgerRow, *runs: str) -> Book:
    """Return the sums over all runs, and those of the runs that are named."""
    book = Book(unprotected=last.body["after"]["unprotected"])
    for name, amounts in database.query("SELECT name, amounts FROM meters"):
        book.meters[name] = Amounts.from_json(json.loads(amounts))
    for scope, *values in database.query(
        "SELECT scope, ceiling, period, counted FROM limits"
    ):
        ceiling, period, counted = values
        book.limits[scope] = CeilingBalance(_ceiling(ceiling), period, int(counted))
    for run in runs:
        found = database.query(
            f"SELECT until, amounts, {_open(database)} FROM runs WHERE run = ?",  # noqa: S608
            (run,),
        )
        if found:
            book.runs[run] = _run(*found[0])
    return book


def load_runs(database: Database) -> dict[str, RunAccount]:
    """Return the sums of every run."""
    rows = database.query(f"SELECT run, until, amounts, {_open(database)} FROM runs")  # noqa: S608
    return {run: _run(*values) for run, *values in rows}


def _open(database: Database) -> str:
    # The first version had no such column: none of its rounds is asked again.
    return "NULL" if database.version() == 1 else "open"


def overdue_runs(database: Database, time: int) -> tuple[str, ...]:
    """Return the runs whose reservations are over."""
    found = database.query(
        "SELECT run FROM runs WHERE until IS NOT NULL AND until <= ? ORDER BY run",
        (time,),
    )
    return tuple(run for (run,) in found)


def committed_release(
    database: Database, run: str, number: int
) -> tuple[str, int] | None:
    """Return digest and row of what a run committed for a round."""
    found = database.query(
        "SELECT release, sequence FROM commits WHERE run = ? AND round = ?",
        (run, number),
    )
    return found[0] if found else None


def rounds_of(database: Database, run: str) -> frozenset[int]:
    """Return the rounds that a run committed."""
    rows = database.query("SELECT round FROM commits WHERE run = ?", (run,))
    return frozenset(number for (number,) in rows)


def load_commits(database: Database) -> set[tuple[str, int, str, int]]:
    """Return everything committed, as the table has it."""
    rows = database.query("SELECT run, round, release, sequence FROM commits")
    return {tuple(row) for row in rows}


def save_row(database: Database, row: LedgerRow, book: Book) -> None:
    """Append a row, and the sums after it."""
    database.query(
        "INSERT INTO rows VALUES (?, ?, ?)", (row.sequence, row.text, row.hash)
    )
    names = {name for (name,) in database.query("SELECT name FROM meters")}
    for name in names - book.meters.keys():
        database.query("DELETE FROM meters WHERE name = ?", (name,))
    for name, amounts in book.meters.items():
        _put(database, "meters", name, json.dumps(amounts.to_json()))
    scopes = {scope for (scope,) in database.query("SELECT scope FROM limits")}
    for scope in scopes - book.limits.keys():
        database.query("DELETE FROM limits WHERE scope = ?", (scope,))
    for scope, limit in book.limits.items():
        ceiling, counted = _text(limit.ceiling), str(limit.counted)
        _put(database, "limits", scope, ceiling, limit.period, counted)
    for run, sums in book.runs.items():
        pairs = {name: pair.to_json() for name, pair in sums.amounts.items()}
        _put(database, "runs", run, sums.until, json.dumps(pairs), sums.open)


def save_commit(
    database: Database, run: str, number: int, release: str, sequence: int
) -> None:
    """Remember which release a round was committed with."""
    _put(database, "commits", run, number, release, sequence)


def _put(database: Database, table: str, *values: Any) -> None:
    places = ", ".join("?" * len(values))
    statement = f"INSERT OR REPLACE INTO {table} VALUES ({places})"  # noqa: S608
    database.query(statement, values)


# Ceilings hardly ever change, and every operation reads and writes them.
@lru_cache(maxsize=64)
def _ceiling(text: str) -> Ceiling:
    return Ceiling.from_json(json.loads(text))


@lru_cache(maxsize=64)
def _text(ceiling: Ceiling) -> str:
    return json.dumps(ceiling.to_json())


def _run(until: int | None, amounts: str, number: int | None) -> RunAccount:
    sums = {n: Amounts.from_json(pair) for n, pair in json.loads(amounts).items()}
    return RunAccount(until, sums, number)


@dataclass
class LedgerChange:
    """The rows that one transaction appends, and the sums after the last of them."""

    database: Database
    last: LedgerRow
    book: Book
    time: int

    def append(self, kind: str, body: Mapping[str, Any]) -> LedgerRow:
        """Append a row, which states the sums after it."""
        self.book.apply(kind, self.time, body)
        stated = {**body, "after": self.book.after()}
        self.last = make_row(self.last.head, self.time, kind, stated)
        save_row(self.database, self.last, self.book)
        return self.last
