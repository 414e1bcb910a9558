# SPDX-License-Identifier: Apache-2.0
"""The sums of earlier rows under a ceiling that is set now.

A ceiling binds everything since the ledger began, not only what comes after it, so its
sums are computed from all rows: for `gdp` from the costs in them, for `rdp` from the
releases, at the ceiling's order. What the ledger charged after a loss (`restore`) is
known as squares only, of mu or of noise in shares: at order a they are a/2 times that,
the divergence of Gaussians.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from lexfed.ledger.bookkeeping.book import (
    Book,
    CeilingBalance,
    costs_from_text,
    costs_to_text,
)
from lexfed.ledger.bookkeeping.ceilings import Ceiling
from lexfed.ledger.bookkeeping.prices import costs_of, meter
from lexfed.ledger.bookkeeping.rows import LedgerRow
from lexfed.privacy.releases import Release
from lexfed.terms import Neighbours


def carried_sums(
    rows: Iterable[LedgerRow], scope: str, ceiling: Ceiling, time: int, raising: bool
) -> dict[str, Any]:
    """Return the sums of all earlier rows that a new ceiling's row states.

    Args:
        rows: all of them, in order.
        scope: of the ceiling.
        ceiling: the new one.
        time: at which it is set.
        raising: whether the operator raises the ceiling: only then is room given back
            that a restore took to be used up.

    Returns:
        `counted`: what the current period has paid, and `period`, which one that is;
        `runs`: for `rdp`, what every run paid and reserved in the new measure.
    """
    book = Book(limits={scope: CeilingBalance(ceiling, 0, 0)})
    for row in rows:
        # A clock that was ahead has charged a period that is yet to come. Until then
        # it goes on, unless somebody raises the ceiling: then everything that it was
        # charged counts in the period that the clock shows.
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


def releases_of(row: LedgerRow) -> list[tuple[Release, int]]:
    """Return the releases that a row reserves or commits."""
    if row.kind == "commit":
        return [(Release.from_json(row.body["release"]), 1)]
    return [(Release.from_json(each), n) for n, each in row.body["releases"]]


def neighbours_of(row: LedgerRow) -> Neighbours:
    """Return the relation of the run that a row reserves or commits for.

    Rows of the first version do not say. They state what add/remove costs, which is
    what is computed again for them; that it may not be true is counted (`unsaid`).
    """
    found: Neighbours = row.body.get("neighbours", "add-remove")
    return found


def _cost(row: LedgerRow, scope: str, ceiling: Ceiling) -> dict[str, str]:
    name = meter(scope, ceiling.kind)
    costs = costs_from_text(row.body["cost"])
    if ceiling.order is not None:
        orders = {scope: ceiling.order}
        costs = costs_of(releases_of(row), row.body["unit"], orders, neighbours_of(row))
    return costs_to_text({name: costs[name]}) if name in costs else {}


def _charged(row: LedgerRow, scope: str, ceiling: Ceiling) -> dict[str, str]:
    charged = costs_from_text(row.body["charged"])
    cost = charged.get(meter(scope, "gdp"), 0)
    if ceiling.order is not None:
        square = cost + charged.get(meter(scope, "shares"), 0)
        cost = -(-square * ceiling.order // 2)
    return {meter(scope, ceiling.kind): str(cost)}
