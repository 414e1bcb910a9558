# SPDX-License-Identifier: Apache-2.0
"""`lexfed ledger`: what was ever spent on a site's data, and what may still be."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import typer

from lexfed.cli import talk
from lexfed.cli.display.ledgers import export_line, history_line, plain, table
from lexfed.cli.output import print_json, write_parts
from lexfed.errors import LedgerError
from lexfed.ledger import ceiling_decisions
from lexfed.ledger.bookkeeping.ceilings import Ceiling
from lexfed.ledger.charging import LastingLedger
from lexfed.ledger.recovery import restore_ledger as mend
from lexfed.ledger.storage import pins
from lexfed.ledger.verification import verify_ledger as compute_again
from lexfed.terms import CostMeasure


@dataclass(frozen=True)
class CeilingChange:
    """The command line of `lexfed ledger set-ceiling`.

    Attributes:
        scope: `record`, `label` or a tier.
        reason: for whoever reads the ledger.
        numbers: epsilon, delta, kind, days and order; None takes the ceiling away.
        raising: let more pass than before.
    """

    scope: str
    reason: str
    numbers: (
        tuple[float | None, float | None, CostMeasure, int | None, int | None] | None
    )
    raising: bool


@contextmanager
def _opened(path: Path, state: Path | None) -> Iterator[LastingLedger]:
    ledger = LastingLedger.open(path, state=state)
    try:
        yield ledger
    finally:
        ledger.close()


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(path.glob("*.ledger"))
    if not found:
        raise LedgerError(f"`{path}` holds no ledgers", "a site's first run makes one")
    return found


def show(
    path: Path, delta: float, check: bool, state: Path | None, as_json: bool
) -> None:
    """Print the sums of one ledger, or of all in a folder."""
    shown = []
    for file in _files(path):
        with _opened(file, state) as ledger:
            if check:
                compute_again(ledger.database)
            if as_json:
                shown.append(plain(ledger, delta))
            else:
                print(table(ledger, delta, check))
    if as_json:
        print_json(shown if path.is_dir() else shown[0])


def history(path: Path, state: Path | None, as_json: bool) -> None:
    """Print every row."""
    with _opened(path, state) as ledger:
        rows = ledger.rows()
    if as_json:
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
        return
    for row in rows:
        print(history_line(row))


def export(path: Path, out: Path | None, state: Path | None) -> None:
    """Write texts and hashes of all rows."""
    with _opened(path, state) as ledger:
        lines = [export_line(row) for row in ledger.rows()]
    if out is not None:
        write_parts(out, lines)
        return
    for line in lines:
        print(line, end="")


def set_ceiling(path: Path, change: CeilingChange, state: Path | None) -> None:
    """Give a scope another ceiling, or none."""
    ceiling = None if change.numbers is None else _ceiling(*change.numbers)
    with _opened(path, state) as ledger:
        ceiling_decisions.set_ceiling(
            ledger, change.scope, ceiling, change.reason, change.raising
        )
        row = ledger.head().sequence
    talk.say(f"row {row}: ceiling of `{change.scope}` is {ceiling or 'taken away'}")


def _ceiling(
    epsilon: float | None,
    delta: float | None,
    kind: CostMeasure,
    days: int | None,
    order: int | None,
) -> Ceiling:
    if epsilon is None or delta is None:
        raise LedgerError(
            "a ceiling needs `--epsilon` and `--delta`",
            "such as `--epsilon 4 --delta 1e-6`; `--none` takes a ceiling away",
        )
    try:
        return Ceiling.of(epsilon, delta, kind, days, order)
    except ValueError as error:
        raise LedgerError(f"no such ceiling: {error}") from error


def verify(path: Path, state: Path | None, as_json: bool) -> None:
    """Compute everything again, and say what is wrong."""
    problem: LedgerError | None = None
    rows = 0
    try:
        with _opened(path, state) as ledger:
            compute_again(ledger.database)
            rows = ledger.head().sequence
    except LedgerError as error:
        problem = error
    if as_json:
        what = None if problem is None else problem.message
        print_json({"ledger": str(path), "rows": rows, "problem": what})
    if problem is not None:
        talk.fail(problem)
        raise typer.Exit(1)
    if not as_json:
        print(f"{path}: sound; {rows} rows, every charge and sum computed again")


def release(path: Path, run: str, state: Path | None) -> None:
    """Free what a run reserved."""
    with _opened(path, state) as ledger:
        known = ledger.book().runs.get(run)
        if known is None or known.until is None:
            raise LedgerError(
                f"`{run}` has reserved nothing in `{path}`",
                f"`lexfed ledger show {path}` lists the runs that have",
            )
        ledger.release(run)
    talk.say(f"what `{run}` reserved is free again; what it committed stays")


def restore(path: Path, reason: str, state: Path | None) -> None:
    """Make a ledger usable again that does not fit its pin."""
    folder = pins.default_state() if state is None else state
    done = mend(path, reason, folder, int(time.time()))
    if done.used_up:
        talk.say(
            "nothing remembers what is missing: every ceiling counts as used up; "
            "`lexfed ledger set-ceiling ... --raise` is the way on"
        )
    else:
        talk.say("everything that was missing is charged; `show` lists it")
