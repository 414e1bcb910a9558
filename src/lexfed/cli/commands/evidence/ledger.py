# SPDX-License-Identifier: Apache-2.0
"""`lexfed ledger`: what was ever spent on a site's data, and what may still be.

Epsilons are rounded up. The JSON forms are read by programs: their keys are fixed.
"""

import json
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Exit, Option

from lexfed.cli import talk
from lexfed.cli.groups import command_group
from lexfed.cli.options import AsJson
from lexfed.cli.output import print_json, write_parts
from lexfed.counted_words import counted
from lexfed.errors import LedgerError
from lexfed.report.wording.rounding import round_up
from lexfed.terms import CostMeasure
from lexfed.visible_text import visible

if TYPE_CHECKING:
    from lexfed.ledger.bookkeeping.book import Amounts, Book, CeilingBalance
    from lexfed.ledger.bookkeeping.prices import Counting
    from lexfed.ledger.bookkeeping.rows import LedgerRow
    from lexfed.ledger.charging import LastingLedger

LedgerArgument = Annotated[Path, Argument(help="A site's ledger.", readable=False)]
PinsFolderOption = Annotated[
    Path | None, Option(metavar="DIR", help="Folder of pins; by default this user's.")
]
Reason = Annotated[str, Option(help="Why, for whoever reads the ledger.")]
ledger = command_group("Show and limit what was ever spent on a site's data.")


@ledger.command()
def show(
    ledger: Annotated[
        Path, Argument(help="A site's ledger, or a folder of them.", readable=False)
    ],
    delta: Annotated[
        float, Option(min=1e-15, max=0.5, help="Delta of epsilons without a ceiling.")
    ] = 1e-6,
    check: Annotated[
        bool, Option("--check", help="Compute everything again from the rows.")
    ] = False,
    state: PinsFolderOption = None,
    as_json: AsJson = False,
) -> None:
    """Show what is spent and reserved, and what the ceilings leave."""
    from lexfed.ledger.verification import verify_ledger

    shown = []
    for file in _files(ledger):
        with _opened(file, state) as opened:
            if check:
                verify_ledger(opened.database)
            if as_json:
                shown.append(plain(opened, delta))
            else:
                print(table(opened, delta, check))
    if as_json:
        print_json(shown if ledger.is_dir() else shown[0])


@ledger.command()
def history(
    ledger: LedgerArgument, state: PinsFolderOption = None, as_json: AsJson = False
) -> None:
    """List every row: reservations, charges and decisions."""
    with _opened(ledger, state) as opened:
        rows = opened.rows()
    if not as_json:
        for row in rows:
            print(history_line(row))
        return
    print_json(
        [
            {
                "sequence": row.sequence,
                "time": row.time,
                "kind": row.kind,
                "body": row.body,
                "hash": row.hash.hex(),
            }
            for row in rows
        ]
    )


@ledger.command()
def export(
    ledger: LedgerArgument,
    out: Annotated[
        Path | None, Option(metavar="FILE", help="Where to write; else stdout.")
    ] = None,
    state: PinsFolderOption = None,
) -> None:
    """Write all rows, with their hashes, as JSON lines."""
    with _opened(ledger, state) as opened:
        # In ASCII: a terminal gets hidden characters spelled out, which is no JSON.
        lines = [
            json.dumps({"row": row.text, "hash": row.hash.hex()}) + "\n"
            for row in opened.rows()
        ]
    if out is not None:
        write_parts(out, lines)
        return
    for line in lines:
        print(line, end="")


@ledger.command("set-ceiling")
def set_ceiling(
    ledger: LedgerArgument,
    scope: Annotated[str, Argument(help="record, label, or a tier such as special.")],
    reason: Reason,
    epsilon: Annotated[
        float | None, Option(help="The most that the scope may ever cost.")
    ] = None,
    delta: Annotated[float | None, Option(help="Its delta.")] = None,
    kind: Annotated[
        CostMeasure,
        Option(
            help="How costs add up; gdp has more room for unsampled rounds, and no "
            "price for noise in shares."
        ),
    ] = "rdp",
    order: Annotated[
        int | None, Option(help="Of the Rényi divergence, for rdp.")
    ] = None,
    days: Annotated[
        int | None, Option(help="Length of a period; each begins at zero.")
    ] = None,
    none: Annotated[bool, Option("--none", help="Take the ceiling away.")] = False,
    raising: Annotated[
        bool, Option("--raise", help="Let more pass than before.")
    ] = False,
    state: PinsFolderOption = None,
) -> None:
    """Limit what a scope may cost, in total or per period."""
    from lexfed.ledger import decisions
    from lexfed.ledger.bookkeeping.ceilings import Ceiling

    ceiling = None
    if not none:
        if epsilon is None or delta is None:
            raise LedgerError(
                "a ceiling needs `--epsilon` and `--delta`",
                "such as `--epsilon 4 --delta 1e-6`; `--none` takes a ceiling away",
            )
        try:
            ceiling = Ceiling.of(epsilon, delta, kind, days, order)
        except ValueError as error:
            raise LedgerError(f"no such ceiling: {error}") from error
    with _opened(ledger, state) as opened:
        decisions.set_ceiling(opened, scope, ceiling, reason, raising)
        row = opened.head().sequence
    talk.say(f"row {row}: ceiling of `{scope}` is {ceiling or 'taken away'}")


@ledger.command()
def verify(
    ledger: LedgerArgument, state: PinsFolderOption = None, as_json: AsJson = False
) -> None:
    """Recompute everything from the rows.

    The exit code is 1 if anything is wrong.
    """
    from lexfed.ledger.verification import verify_ledger

    problem: LedgerError | None = None
    rows = 0
    try:
        with _opened(ledger, state) as opened:
            verify_ledger(opened.database)
            rows = opened.head().sequence
    except LedgerError as error:
        problem = error
    if as_json:
        what = None if problem is None else problem.message
        print_json({"ledger": str(ledger), "rows": rows, "problem": what})
    if problem is not None:
        talk.fail(problem)
        raise Exit(1)
    if not as_json:
        print(
            f"{ledger}: sound; {counted(rows, 'row')}, every charge and sum computed "
            "again"
        )


@ledger.command()
def release(
    ledger: LedgerArgument,
    run: Annotated[str, Argument(help="Name of the run, as `show` lists it.")],
    state: PinsFolderOption = None,
) -> None:
    """Free the reservations of a run that will not be finished."""
    with _opened(ledger, state) as opened:
        known = opened.book().runs.get(run)
        if known is None or known.until is None:
            raise LedgerError(
                f"`{run}` has reserved nothing in `{ledger}`",
                f"`lexfed ledger show {ledger}` lists the runs that have",
            )
        opened.release(run)
    talk.say(f"what `{run}` reserved is free again; what it committed stays")


@ledger.command()
def restore(
    ledger: LedgerArgument, reason: Reason, state: PinsFolderOption = None
) -> None:
    """Recover a ledger that was lost or restored from a backup.

    Charges that are missing from it are charged again.
    """
    from lexfed.ledger.decisions import restore_ledger
    from lexfed.ledger.storage import pins

    folder = pins.default_state() if state is None else state
    restored = restore_ledger(ledger, reason, folder, int(time.time()))
    if restored.used_up:
        talk.say(
            "nothing remembers what is missing: every ceiling counts as used up; "
            "`lexfed ledger set-ceiling ... --raise` is the way on"
        )
    else:
        talk.say("everything that was missing is charged; `show` lists it")


def _opened(path: Path, state: Path | None) -> closing["LastingLedger"]:
    from lexfed.ledger.charging import LastingLedger

    return closing(LastingLedger.open(path, state=state))


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(path.glob("*.ledger"))
    if not files:
        raise LedgerError(f"`{path}` holds no ledgers", "a site's first run makes one")
    return files


def table(ledger: "LastingLedger", delta: float, checked: bool) -> str:
    """Return what is spent, reserved and left, for people."""
    book, head = ledger.book(), ledger.head()
    root = head.hash.hex()
    how = "computed again from the rows" if checked else "tail and pin checked"
    lines = [
        f"ledger of site `{ledger.site}`, data `{ledger.data_set}`",
        f"  {counted(head.sequence, 'row')}, head {root[:4]}…{root[-4:]}, {how}",
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
            f"  {counted(book.unprotected, 'run')} added no noise: what they cost "
            "has no bound"
        )
    for counting, why in _NO_PRICE.items():
        count = _sums(book, "record", counting).committed
        if count:
            lines.append(
                f"  {counted(count, 'release')} {why}: what they cost `record` "
                "has no bound"
            )
    return "\n".join([*lines, ""])


_NO_PRICE: dict["Counting", str] = {
    "told": "told the exact number of records",
    "unsaid": "may have told the exact number of records",
}


def _shown(book: "Book") -> list[str]:
    """Return the scopes that paid something or may pay only so much."""
    from lexfed.ledger.bookkeeping.prices import SCOPES

    used = {name.partition(":")[0] for name in book.meters}
    return [scope for scope in SCOPES if scope in used or scope in book.limits]


def _line(book: "Book", scope: str, delta: float) -> str:
    from lexfed.ledger.bookkeeping.refusals import remaining_room

    limit = _limit(book, scope)
    if limit is None:
        words, reached = f"none (δ = {delta:g})", _reached(book, scope, delta)
    else:
        ceiling, spent = limit.ceiling, limit.counted
        total = spent + _sums(book, scope, ceiling.kind).reserved
        words = f"{ceiling}; left: {remaining_room(ceiling, total)}"
        reached = (ceiling.reached(spent), ceiling.reached(total))
    now, then = map(round_up, reached)
    return f"  {scope:<14}{now:>10}{then:>15}   {words}"


def _sums(book: "Book", scope: str, counting: "Counting") -> "Amounts":
    from lexfed.ledger.bookkeeping.book import NOTHING
    from lexfed.ledger.bookkeeping.prices import meter

    return book.meters.get(meter(scope, counting), NOTHING)


def _reached(book: "Book", scope: str, delta: float) -> tuple[float, float]:
    """Return the epsilon of what was committed, and with what is reserved."""
    from lexfed.ledger.bookkeeping.ceilings import reached_by_squares

    sums, shares = _sums(book, scope, "gdp"), _sums(book, scope, "shares")
    return (
        reached_by_squares(sums.committed, shares.committed, delta),
        reached_by_squares(
            sums.committed + sums.reserved, shares.committed + shares.reserved, delta
        ),
    )


def _limit(book: "Book", scope: str) -> "CeilingBalance | None":
    """Return the ceiling of a scope with what its current period has paid."""
    limit = book.limits.get(scope)
    return None if limit is None else limit.at(int(time.time()))


def plain(ledger: "LastingLedger", delta: float) -> dict[str, Any]:
    """Return the same for programs; amounts in units of 2^-60, as text."""
    book, head = ledger.book(), ledger.head()
    scopes: dict[str, Any] = {}
    for scope in _shown(book):
        limit, sums = _limit(book, scope), _sums(book, scope, "gdp")
        ceiling = None
        if limit is not None:
            ceiling = {
                **limit.ceiling.to_json(),
                "counted": str(limit.counted),
                "held": str(_sums(book, scope, limit.ceiling.kind).reserved),
                "reached": limit.ceiling.reached(limit.counted),
            }
        scopes[scope] = {
            "committed": str(sums.committed),
            "reserved": str(sums.reserved),
            "shares": _sums(book, scope, "shares").to_json(),
            "epsilon": _reached(book, scope, delta)[0],
            "delta": delta,
            "ceiling": ceiling,
        }
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
            counting: _sums(book, "record", counting).committed
            for counting in _NO_PRICE
        },
    }


def history_line(row: "LedgerRow") -> str:
    """Return one row in one line, whatever its reason says."""
    when = datetime.fromtimestamp(row.time, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return f"{row.sequence:>6}  {when}  {row.kind:<12}{visible(_words(row))}"


def _words(row: "LedgerRow") -> str:
    from lexfed.ledger.bookkeeping.ceilings import Ceiling

    body = row.body
    match row.kind:
        case "open":
            return f"site `{body['site']}`, data `{body['data_set']}`"
        case "reserve":
            count = sum(number for number, _ in body["releases"])
            until = f"until {_day(body['until'])}"
            return f"{counted(count, 'release')} {until} for `{body['run']}`"
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
