# SPDX-License-Identifier: Apache-2.0
"""A ledger in words, tables and JSON; epsilons are rounded up."""

import json
import time
from datetime import UTC, datetime
from typing import Any

from lexfed.ledger.bookkeeping.book import NOTHING, Book, CeilingBalance
from lexfed.ledger.bookkeeping.ceilings import Ceiling, reached_by_squares
from lexfed.ledger.bookkeeping.prices import RECORD, SCOPES, Counting, meter
from lexfed.ledger.bookkeeping.refusals import remaining_room
from lexfed.ledger.bookkeeping.rows import LedgerRow
from lexfed.ledger.charging import LastingLedger
from lexfed.report.wording.rounding import round_up
from lexfed.visible_text import visible


def table(ledger: LastingLedger, delta: float, checked: bool) -> str:
    """Return what is spent, reserved and left, for people."""
    book, head = ledger.book(), ledger.head()
    root = head.hash.hex()
    how = "computed again from the rows" if checked else "tail and pin checked"
    lines = [
        f"ledger of site `{ledger.site}`, data `{ledger.data_set}`",
        f"  {head.sequence} rows, head {root[:4]}…{root[-4:]}, {how}",
        "",
        f"  {'scope':<14}{'ε spent':>10}{'with reserved':>15}   ceiling",
    ]
    lines += [_line(book, scope, delta) for scope in _shown(book)]
    if len(lines) == 4:
        lines.append("  nothing was spent, and there is no ceiling")
    for run, sums in sorted(book.runs.items()):
        if sums.until is not None:
            lines.append(f"  reserved until {_day(sums.until)} by `{run}`")
    if book.unprotected:
        lines.append(
            f"  {book.unprotected} run(s) added no noise: what they cost has no bound"
        )
    for counting, why in _NO_PRICE.items():
        count = book.meters.get(meter(RECORD, counting), NOTHING).committed
        if count:
            lines.append(
                f"  {count} release(s) {why}: what they cost `record` has no bound"
            )
    return "\n".join([*lines, ""])


_NO_PRICE: dict[Counting, str] = {
    "told": "told the exact number of records",
    "unsaid": "may have told the exact number of records",
}


def _shown(book: Book) -> list[str]:
    """Return the scopes that paid something or may pay only so much."""
    used = {name.partition(":")[0] for name in book.meters}
    return [scope for scope in SCOPES if scope in used or scope in book.limits]


def _line(book: Book, scope: str, delta: float) -> str:
    limit = _limit(book, scope)
    if limit is None:
        words, reached = f"none (δ = {delta:g})", _reached(book, scope, delta)
    else:
        ceiling, spent = limit.ceiling, limit.counted
        total = spent + book.meters.get(meter(scope, ceiling.kind), NOTHING).reserved
        words = f"{ceiling}; left: {remaining_room(ceiling, total)}"
        reached = (ceiling.reached(spent), ceiling.reached(total))
    now, then = map(round_up, reached)
    return f"  {scope:<14}{now:>10}{then:>15}   {words}"


def _reached(book: Book, scope: str, delta: float) -> tuple[float, float]:
    """Return the epsilon of what was committed, and with what is reserved."""
    plain = book.meters.get(meter(scope, "gdp"), NOTHING)
    shares = book.meters.get(meter(scope, "shares"), NOTHING)
    return (
        reached_by_squares(plain.committed, shares.committed, delta),
        reached_by_squares(
            plain.committed + plain.reserved, shares.committed + shares.reserved, delta
        ),
    )


def _limit(book: Book, scope: str) -> CeilingBalance | None:
    """Return the ceiling of a scope with what its current period has paid."""
    limit = book.limits.get(scope)
    return None if limit is None else limit.at(int(time.time()))


def plain(ledger: LastingLedger, delta: float) -> dict[str, Any]:
    """Return the same for programs; amounts in units of 2^-60, as text."""
    book, head = ledger.book(), ledger.head()
    scopes: dict[str, Any] = {}
    for scope in _shown(book):
        limit = _limit(book, scope)
        sums = book.meters.get(meter(scope, "gdp"), NOTHING)
        shares = book.meters.get(meter(scope, "shares"), NOTHING)
        found: dict[str, Any] = {
            "committed": str(sums.committed),
            "reserved": str(sums.reserved),
            "shares": shares.to_json(),
            "epsilon": _reached(book, scope, delta)[0],
            "delta": delta,
            "ceiling": None,
        }
        if limit is not None:
            held = book.meters.get(meter(scope, limit.ceiling.kind), NOTHING).reserved
            found["ceiling"] = {
                **limit.ceiling.to_json(),
                "counted": str(limit.counted),
                "held": str(held),
                "reached": limit.ceiling.reached(limit.counted),
            }
        scopes[scope] = found
    return {
        "site": ledger.site,
        "data_set": ledger.data_set,
        "id": ledger.id,
        "rows": head.sequence,
        "head": head.hash.hex(),
        "scopes": scopes,
        "reservations": {
            run: sums.until
            for run, sums in sorted(book.runs.items())
            if sums.until is not None
        },
        "unprotected": book.unprotected,
        "unpriced": {
            counting: book.meters.get(meter(RECORD, counting), NOTHING).committed
            for counting in _NO_PRICE
        },
    }


def history_line(row: LedgerRow) -> str:
    """Return one row in one line, whatever its reason says."""
    when = datetime.fromtimestamp(row.time, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return f"{row.sequence:>6}  {when}  {row.kind:<12}{visible(_words(row))}"


def _words(row: LedgerRow) -> str:
    body = row.body
    match row.kind:
        case "open":
            return f"site `{body['site']}`, data `{body['data_set']}`"
        case "reserve":
            count = sum(number for number, _ in body["releases"])
            return f"{count} releases until {_day(body['until'])} for `{body['run']}`"
        case "commit":
            name = body["release"]["name"]
            return f"round {body['round']} of `{body['run']}`: {name}"
        case "publish":
            return f"round {body['round']} of `{body['run']}`"
        case "ceiling":
            stated = body["ceiling"]
            words = "none" if stated is None else str(Ceiling.from_json(stated))
            return f"{body['scope']}: {words} ({body['reason']})"
        case "restore":
            return str(body["reason"])
        case _:
            return f"`{body['run']}`"


def _day(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")


def export_line(row: LedgerRow) -> str:
    """Return one row as a line that anybody can check: see docs/guide/ledger.md.

    In ASCII: a terminal gets hidden characters spelled out, which is no JSON.
    """
    return json.dumps({"row": row.text, "hash": row.hash.hex()}) + "\n"
