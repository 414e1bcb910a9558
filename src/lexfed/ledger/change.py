# SPDX-License-Identifier: Apache-2.0
"""A change to a ledger: rows that follow the last one, and the sums after each."""

from collections.abc import Mapping
from typing import Any

from lexfed.ledger import tables
from lexfed.ledger.book import Book
from lexfed.ledger.database import Database
from lexfed.ledger.rows import Row, make_row


class Change:
    """What one transaction appends.

    Attributes:
        last: the last row so far.
        book: the sums after it, with the runs that are concerned.
        time: of every row of the change.
    """

    def __init__(self, database: Database, last: Row, book: Book, time: int) -> None:
        self._database = database
        self.last = last
        self.book = book
        self.time = time

    def append(self, kind: str, body: Mapping[str, Any]) -> Row:
        """Append a row, which states the sums after it."""
        self.book.apply(kind, self.time, body)
        stated = {**body, "after": self.book.after()}
        self.last = make_row(self.last.head, self.time, kind, stated)
        tables.save(self._database, self.last, self.book)
        return self.last
