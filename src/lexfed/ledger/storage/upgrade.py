# SPDX-License-Identifier: Apache-2.0
"""Files of the first version: what they do not say counts against whoever asks.

Their rows price every release under add/remove, also those of runs under replace-one,
which tell the exact number of records and have no such price. Nobody can tell the two
apart any more, so a row counts them (`unsaid`): a ceiling of `record` is used up, and a
new one needs a decision. Nor do they say which rounds were published; none is asked
again.
"""

from lexfed.ledger.bookkeeping.prices import RECORD, meter
from lexfed.ledger.storage import tables
from lexfed.ledger.storage.database import VERSION, Database
from lexfed.ledger.storage.tables import LedgerChange

_REASON = "rows above do not say whether their runs told the exact number of records"


def upgrade_file(database: Database, time: int) -> None:
    """Bring a sound file that fits its pin up to this version, in one change."""
    if database.version() == VERSION:
        return
    with database.writing():
        if database.version() == VERSION:  # somebody was faster
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
