# SPDX-License-Identifier: Apache-2.0
"""A change to a ledger: rows that follow the last one, and the sums after each."""

from collections.abc import Mapping
from typing import Any

from lexfed.ledger.bookkeeping.book import Book
from lexfed.ledger.bookkeeping.rows import LedgerRow, make_row
from lexfed.ledger.storage import tables
from lexfed.ledger.storage.database import Database


class LedgerChange:
    """What one transaction appends.

    Attributes:
        last: the last row so far.
        book: the sums after it, with the runs that are concerned.
        time: of every row of the change.
    """

    def __init__(
        self, database: Database, last: LedgerRow, book: Book, time: int
    ) -> None:
        self._database = database
        self.last = last
        self.book = book
        self.time = time

    def append(self, kind: str, body: Mapping[str, Any]) -> LedgerRow:
        """Append a row, which states the sums after it."""
        self.book.apply(kind, self.time, body)
        stated = {**body, "after": self.book.after()}
        self.last = make_row(self.last.head, self.time, kind, stated)
        tables.save_row(self._database, self.last, self.book)
        return self.last
