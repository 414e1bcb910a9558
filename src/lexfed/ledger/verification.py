# SPDX-License-Identifier: Apache-2.0
"""Everything computed again from the rows.

Pages of the file, the chain, what every row charges, the sums after it, the ceilings at
that moment, and the tables. Opening a ledger checks only the tail of this; 10,000 rows
take seconds here.

A ceiling binds everything since the ledger began, so the sums that a new one starts
with (`carried_sums`) are computed from all rows: for `gdp` from the costs in them, for
`rdp` from the releases, at the ceiling's order. What the ledger charged after a loss
(`restore`) is known as squares only, of mu or of noise in shares: at order a they are
a/2 times that, the divergence of Gaussians.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from lexfed.ledger.bookkeeping.book import (
    Book,
    CeilingBalance,
    costs_from_text,
    costs_to_text,
)
from lexfed.ledger.bookkeeping.ceilings import Ceiling
from lexfed.ledger.bookkeeping.prices import Costs, costs_of, mark_of, meter
from lexfed.ledger.bookkeeping.rows import LedgerRow, chained_rows, damage_error
from lexfed.ledger.storage import tables
from lexfed.ledger.storage.database import Database
from lexfed.privacy.releases import Release
from lexfed.terms import Neighbours

_FLOATS = Fraction(1, 10**9)
"""Divergences and ceilings are computed in floats, which machines round differently."""


def verify_ledger(database: Database) -> Book:
    """Check a ledger file from its first byte to its last, and return its sums.

    A `LedgerError` names the first thing that is wrong.

    Guarantees:
        Every row follows the one above.
        Every charge is what its release costs: exactly as squares, up to a part in
        10^9 under `rdp`.
        The sum of all commits is the sum in the ledger, as integers.
        No row that charges or reserves leads above a ceiling, or has no price under it.
        The tables are what the rows lead to.
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
        excess, unpriced = book.exceeded(costs, row.time), book.unpriced(costs)
        if excess is not None:
            raise damage_error(
                f"row {row.sequence} exceeds the ceiling of `{excess[0]}`"
            )
        if unpriced is not None:
            raise damage_error(
                f"row {row.sequence} has no price under that of `{unpriced[0]}`"
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
    mark = mark_of(Release.from_json(body["release"]), body["unit"])
    return {(body["run"], body["round"], mark, row.sequence)}


def _checked_costs(row: LedgerRow, book: Book) -> Costs:
    """Return the costs of a row, checked against those of its releases."""
    if row.kind not in ("reserve", "commit"):
        return {}
    stated = costs_from_text(row.body["cost"])
    costs = _costs_at(row, book.orders)
    if stated.keys() != costs.keys() or not all(
        _same(name, stated[name], costs[name]) for name in costs
    ):
        raise damage_error(f"row {row.sequence} does not charge what its releases cost")
    return stated if row.kind == "commit" else _rest(stated, book, row.body["run"])


def _rest(planned: Costs, book: Book, run: str) -> Mapping[str, int]:
    """Return a reservation less the costs that its run has committed."""
    known = book.runs[run].amounts if run in book.runs else {}
    paid = {name: known[name].committed for name in planned if name in known}
    return {name: cost - paid.get(name, 0) for name, cost in planned.items()}


def _same(name: str, stated: int, computed: int) -> bool:
    if not name.endswith(":rdp"):
        return stated == computed
    return abs(stated - computed) <= _FLOATS * computed


def _check_ceiling(row: LedgerRow, above: Sequence[LedgerRow], book: Book) -> None:
    """Check that a ceiling bounds what it says, and counts everything above it."""
    body = row.body
    stated = Ceiling.from_json(body["ceiling"])
    unsaid = book.has(body["scope"], "unsaid") and not body["raised"]
    if unsaid or book.unpriced_before(body["scope"], stated) is not None:
        raise damage_error(f"row {row.sequence} has no price for what is above it")
    computed = Ceiling.of(
        stated.epsilon, stated.delta, stated.kind, stated.days, stated.order
    )
    if stated.bound > (1 + _FLOATS) * computed.bound:
        raise damage_error(
            f"row {row.sequence} sets a ceiling that is not what it says"
        )
    sums = carried_sums(above, body["scope"], stated, row.time, body["raised"])
    # Rows of the first version do not name the period: their times never go back.
    period = body["carried"].get("period", stated.period(row.time))
    carried, expected = _flat(body["carried"]), _flat(sums)
    if (period, carried.keys()) != (sums["period"], expected.keys()) or not all(
        _same(f":{stated.kind}", int(cost), int(expected[name]))
        for name, cost in carried.items()
    ):
        raise damage_error(f"row {row.sequence} does not count what is above it")


def _flat(stated: Mapping[str, Any]) -> dict[str, str]:
    runs = {
        f"{run}/{place}": cost
        for run, pair in stated["runs"].items()
        for place, cost in enumerate(pair)
    }
    return {"": stated["counted"], **runs}


def carried_sums(
    rows: Iterable[LedgerRow], scope: str, ceiling: Ceiling, time: int, raising: bool
) -> dict[str, Any]:
    """Return the sums of all earlier rows that a new ceiling's row states.

    Rows are given in order, and `time` is when the ceiling is set. Only if the operator
    raises the ceiling is room given back that a restore took to be used up. `counted`
    is what the current period has paid, and `period` which one that is; `runs` has, for
    `rdp`, what every run paid and reserved in the new measure.
    """
    book = Book(limits={scope: CeilingBalance(ceiling, 0, 0)})
    for row in rows:
        # A clock that was ahead has charged a period that is yet to come, which goes
        # on until then. Raising the ceiling ends it: then all its charges count in the
        # period that the clock shows.
        body, when = row.body, min(row.time, time) if raising else row.time
        if row.kind in ("reserve", "commit"):
            book.apply(row.kind, when, {**body, "cost": _cost(row, scope, ceiling)})
        elif row.kind in ("release", "expire"):
            book.apply(row.kind, when, body)
        elif row.kind == "restore":
            lost = {
                "limits": None,
                "charged": _charged(row, scope, ceiling),
                "used_up": body["used_up"] and not raising,
            }
            book.apply(row.kind, when, lost)
            if not raising:
                _go_on(book, scope, body["limits"] or {})
    name, runs = meter(scope, ceiling.kind), {}
    if ceiling.kind == "rdp":
        runs = {
            run: sums.amounts[name].to_json()
            for run, sums in book.runs.items()
            if name in sums.amounts
        }
    now = book.limits[scope].at(time)
    return {"counted": str(now.counted), "period": now.period, "runs": runs}


def _go_on(book: Book, scope: str, restored: Mapping[str, Any]) -> None:
    """Go on with the period that a pin had seen: lost rows were charged to it."""
    limit = book.limits[scope]
    if scope in restored:
        row, period, _ = restored[scope]
        if row["days"] == limit.ceiling.days and period > limit.period:
            book.limits[scope] = replace(limit, period=period)


def _costs_at(row: LedgerRow, orders: Mapping[str, int]) -> Costs:
    """Return the costs of the releases that a row reserves or commits.

    Rows of the first version name no relation and state what add/remove costs, which is
    computed again; that it may not be true is counted (`unsaid`).
    """
    if row.kind == "commit":
        releases = [(Release.from_json(row.body["release"]), 1)]
    else:
        releases = [(Release.from_json(each), n) for n, each in row.body["releases"]]
    relation: Neighbours = row.body.get("neighbours", "add-remove")
    return costs_of(releases, row.body["unit"], orders, relation)


def _cost(row: LedgerRow, scope: str, ceiling: Ceiling) -> dict[str, str]:
    name = meter(scope, ceiling.kind)
    costs: Costs = costs_from_text(row.body["cost"])
    if ceiling.order is not None:
        costs = _costs_at(row, {scope: ceiling.order})
    return costs_to_text({name: costs[name]}) if name in costs else {}


def _charged(row: LedgerRow, scope: str, ceiling: Ceiling) -> dict[str, str]:
    charged = costs_from_text(row.body["charged"])
    cost = charged.get(meter(scope, "gdp"), 0)
    if ceiling.order is not None:
        square = cost + charged.get(meter(scope, "shares"), 0)
        cost = -(-square * ceiling.order // 2)
    return {meter(scope, ceiling.kind): str(cost)}
