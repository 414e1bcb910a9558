# SPDX-License-Identifier: Apache-2.0
"""Progress of what takes long, and Ctrl-C between the rounds of a training.

Progress is a bar on a terminal, a few plain lines elsewhere; `--quiet`, or
`LEXFED_NO_PROGRESS` in the environment, leaves both out. A release that is cut off
while it is written stays charged, so the first Ctrl-C ends the training after the
current round.
"""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from lexfed.cli import talk
from lexfed.cli.output import print_failure
from lexfed.cli.terminal import redraw
from lexfed.errors import LexfedError
from lexfed.report.wording.rounding import round_up

if TYPE_CHECKING:
    from lexfed.run import PricedRun, RoundReport


INTERRUPTED = 130
"""Exit code of a command that Ctrl-C ended, by convention 128 + SIGINT."""

_WIDTH = 24
"""Columns of the longest bar."""
_SHORT = 8
_WORTH_MORE = 3
"""The first fields may shorten the bar at will, further ones leave it some columns."""
_NARROW = 70
"""Columns below which gaps are narrow."""
_PRICING_PART = 0.05
"""Pricing takes time when batches are sampled: at most this part of the time."""
_QUICK_S = 0.02


class StopRequest:
    """A request to stop, which Ctrl-C makes."""

    asked = False


@contextmanager
def between_rounds(under_way: str = "this round") -> Iterator[StopRequest]:
    """Turn the first Ctrl-C into a request, announced; a second interrupts as usual."""
    stop = StopRequest()

    def note(_signal: int, _frame: FrameType | None) -> None:
        stop.asked = True
        signal.signal(signal.SIGINT, signal.default_int_handler)
        talk.say(f"\nstopping after {under_way}; Ctrl-C again stops at once")

    before = signal.signal(signal.SIGINT, note)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


def end_interrupted(again: str, reached: str = "") -> NoReturn:
    """End a command that Ctrl-C stopped somewhere; `again` says how to go on."""
    talk.say(f"interrupted{reached}; what was released so far is kept")
    talk.labelled("hint", again, "\n")
    print_failure(LexfedError("interrupted", again), INTERRUPTED)
    sys.exit(INTERRUPTED)


class ProgressLine:
    """How far something is: a bar that fits the terminal, or plain lines elsewhere.

    Guarantees:
        No line is wider than the terminal; what does not fit is left out, last first.
        Elsewhere there is a line for each tenth at most, and the last one.
    """

    def __init__(self, label: str) -> None:
        self._label = f"  {label:<8}"
        self._wanted = not (os.environ.get("LEXFED_NO_PROGRESS") or talk.quiet)
        self.is_bar = self._wanted and sys.stderr.isatty()
        self._tenths = 0
        self._open = False

    def is_due(self, done: int, total: int) -> bool:
        """Return True if so much being done will be shown."""
        new_tenth = 10 * done // total > self._tenths
        return self._wanted and (self.is_bar or new_tenth or done == total)

    def show(self, done: int, total: int, fields: Sequence[str] = ()) -> None:
        """Show so much of the total, with fields in the order of their worth."""
        if not self.is_due(done, total):
            return
        self._tenths = 10 * done // total
        count = f"{done:>{len(str(total))}}/{total}"
        if self.is_bar:
            redraw(_fitted(self._label, done / total, [count, *fields], _columns()))
            self._open = True
        else:
            talk.say("   ".join([f"{self._label} {count}", *fields]))

    def end(self) -> None:
        """Leave the cursor on a new line, and begin anew."""
        if self._open:
            print(file=sys.stderr)
        self._tenths, self._open = 0, False


def _columns() -> int:
    """Return the columns of the terminal that stderr is; 80 if it does not say."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def _fitted(label: str, part: float, fields: Sequence[str], columns: int) -> str:
    """Return a line of fewer columns than the terminal has, so that it never wraps."""
    gap = "   " if columns >= _NARROW else "  "
    shown: list[str] = []
    for at, field in enumerate(fields):
        for_bar = 0 if at < _WORTH_MORE else _SHORT
        if len(gap.join([f"{label} ", *shown, field])) + for_bar < columns:
            shown.append(field)
    room = columns - 1 - len(gap.join([f"{label} ", *shown]))
    width = max(0, min(_WIDTH, room))
    done = round(width * part)
    bar = f"{'━' * done}{'╌' * (width - done)}"
    return gap.join([f"{label} {bar}", *shown])[: columns - 1]


@contextmanager
def progress_lines(
    priced: "PricedRun", what: str = "training"
) -> Iterator[Callable[["RoundReport"], None]]:
    """Give a function that shows each round of what is done; the last line stays."""
    shown = _RoundProgress(priced, ProgressLine(what))
    try:
        yield shown.report
    finally:
        shown.line.end()


class _RoundProgress:
    def __init__(self, priced: "PricedRun", line: ProgressLine) -> None:
        self.line = line
        self._budget = priced.budget.epsilon
        self._private = priced.private
        self._begin = time.monotonic()
        self._first = 0
        self._spent = 0.0
        self._stale = False
        self._price_again = self._begin

    def report(self, report: "RoundReport") -> None:
        """Show one round."""
        self._first = self._first or report.round
        self._stale = True
        if not self.line.is_due(report.round, report.rounds):
            return
        now = time.monotonic()
        last = report.round == report.rounds
        if self._private and (last or now >= self._price_again):
            self._spent, self._stale = report.spent(), False
            after = time.monotonic()
            # Unsampled rounds are priced in no time, so they are always up to date.
            slow = after - now > _QUICK_S
            self._price_again = after + (after - now) / _PRICING_PART if slow else now
        self.line.show(report.round, report.rounds, self._fields(report, now))

    def _fields(self, report: "RoundReport", now: float) -> list[str]:
        fields = []
        name, value = next(iter(report.metrics.items()), ("", 0.0))
        if name:
            fields.append(f"{name.upper()} {value:.3f}")
        if self._private:
            # What was not priced anew is a lower bound, and must not look exact.
            mark = "≥ " if self._stale else ""
            fields.append(f"ε {mark}{round_up(self._spent)} / {round_up(self._budget)}")
        fields.append(report.stage)
        pace = (now - self._begin) / max(1, report.round - self._first + 1)
        left = pace * (report.rounds - report.round)
        if left >= 1:
            fields.append(f"{left:.0f} s left")
        return fields
