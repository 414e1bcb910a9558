# SPDX-License-Identifier: Apache-2.0
"""Everything computed again from the rows.

Pages of the file, the chain, what every row charges, the sums after it, the ceilings
at that moment, and the tables. What is checked when a ledger is opened is only the
tail of this; a ledger of 10,000 rows takes seconds here.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from lexfed.ledger.bookkeeping.book import Book, costs_from_text
from lexfed.ledger.bookkeeping.carried_sums import (
    carried_sums,
    neighbours_of,
    releases_of,
)
from lexfed.ledger.bookkeeping.ceilings import Ceiling
from lexfed.ledger.bookkeeping.prices import Costs, costs_of, mark_of
from lexfed.ledger.bookkeeping.rows import LedgerRow, chained_rows, damage_error
from lexfed.ledger.storage import tables
from lexfed.ledger.storage.database import Database

_FLOATS = Fraction(1, 10**9)
"""Divergences and ceilings are computed in floats, which machines round differently."""


def verify_ledger(database: Database) -> Book:
    """Check a ledger file from its first byte to its last, and return its sums.

    Guarantees:
        Every row follows the one above.
        Every charge is what its release costs: exactly as squares, up to a part in
        10^9 under `rdp`.
        The sum of all commits is the sum in the ledger, as integers.
        No row that charges or reserves leads above a ceiling, or has no price under it.
        The tables are what the rows lead to.

    Raises:
        LedgerError: naming the first thing that is wrong.
    """
    with database.reading():
        pages = database.query("PRAGMA integrity_check")
        if pages != [("ok",)]:
            raise damage_error(f"its pages do not hold together: {pages[0][0]}")
        book, commits = _replay(database)
        stored = tables.load_book(database, tables.last_row(database))
        stored.runs = tables.load_runs(database)
        if stored != book:
            raise damage_error("its sums are not those of its rows")
        if tables.load_commits(database) != commits:
            raise damage_error("its list of rounds is not that of its rows")
        return book


def _replay(database: Database) -> tuple[Book, set[tuple[str, int, str, int]]]:
    book, commits = Book(), set()
    above: list[LedgerRow] = []
    for row in chained_rows(None, tables.stored_rows(database)):
        try:
            costs = _checked_costs(row, book)
            if row.kind == "ceiling" and row.body["ceiling"] is not None:
                _check_ceiling(row, above, book)
            book.apply(row.kind, row.time, row.body)
        except (KeyError, TypeError, ValueError) as error:
            raise damage_error(
                f"row {row.sequence} is not one of this version"
            ) from error
        if book.after() != row.body.get("after"):
            raise damage_error(f"the sums in row {row.sequence} do not add up")
        found = book.exceeded(costs, row.time)
        if found is not None:
            raise damage_error(
                f"row {row.sequence} exceeds the ceiling of `{found[0]}`"
            )
        unpriced = book.unpriced(costs)
        if unpriced is not None:
            scope, _ = unpriced
            raise damage_error(
                f"row {row.sequence} has no price under that of `{scope}`"
            )
        commits |= _commits(row)
        above.append(row)
    return book, commits


def _commits(row: LedgerRow) -> set[tuple[str, int, str, int]]:
    body = row.body
    if row.kind == "unprotected":
        return {(body["run"], 0, row.kind, row.sequence)}
    if row.kind != "commit":
        return set()
    [(release, _)] = releases_of(row)
    mark = mark_of(release, body["unit"])
    return {(body["run"], body["round"], mark, row.sequence)}


def _checked_costs(row: LedgerRow, book: Book) -> Costs:
    """Return the costs of a row, checked against those of its releases."""
    if row.kind not in ("reserve", "commit"):
        return {}
    stated = costs_from_text(row.body["cost"])
    found = costs_of(
        releases_of(row), row.body["unit"], book.orders, neighbours_of(row)
    )
    if stated.keys() != found.keys() or not all(
        _same(name, stated[name], found[name]) for name in found
    ):
        raise damage_error(f"row {row.sequence} does not charge what its releases cost")
    return stated if row.kind == "commit" else _rest(stated, book, row.body["run"])


def _rest(planned: Costs, book: Book, run: str) -> Mapping[str, int]:
    """Return a reservation less the costs that its run has committed."""
    known = book.runs[run].amounts if run in book.runs else {}
    paid = {name: known[name].committed for name in planned if name in known}
    return {name: cost - paid.get(name, 0) for name, cost in planned.items()}


def _same(name: str, stated: int, found: int) -> bool:
    if not name.endswith(":rdp"):
        return stated == found
    return abs(stated - found) <= _FLOATS * found


def _check_ceiling(row: LedgerRow, above: Sequence[LedgerRow], book: Book) -> None:
    """Check that a ceiling bounds what it says, and counts everything above it."""
    body = row.body
    stated = Ceiling.from_json(body["ceiling"])
    unsaid = book.has(body["scope"], "unsaid") and not body["raised"]
    if unsaid or book.unpriced_before(body["scope"], stated) is not None:
        raise damage_error(f"row {row.sequence} has no price for what is above it")
    found = Ceiling.of(
        stated.epsilon, stated.delta, stated.kind, stated.days, stated.order
    )
    if stated.bound > (1 + _FLOATS) * found.bound:
        raise damage_error(
            f"row {row.sequence} sets a ceiling that is not what it says"
        )
    again = carried_sums(above, body["scope"], stated, row.time, body["raised"])
    # Rows of the first version do not name the period: their times never go back.
    period = body["carried"].get("period", stated.period(row.time))
    if (
        period != again["period"]
        or _flat(body["carried"]).keys() != _flat(again).keys()
    ) or not all(
        _same(f":{stated.kind}", int(cost), int(_flat(again)[name]))
        for name, cost in _flat(body["carried"]).items()
    ):
        raise damage_error(f"row {row.sequence} does not count what is above it")


def _flat(stated: Mapping[str, Any]) -> dict[str, str]:
    runs = {
        f"{run}/{place}": cost
        for run, pair in stated["runs"].items()
        for place, cost in enumerate(pair)
    }
    return {"": stated["counted"], **runs}
