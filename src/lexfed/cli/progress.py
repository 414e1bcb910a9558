# SPDX-License-Identifier: Apache-2.0
"""Progress of a training, and Ctrl-C between its rounds.

Progress is a bar on a terminal, a few plain lines elsewhere; `LEXFED_NO_PROGRESS` in
the environment leaves both out. A release that is cut off while it is written stays
charged, so the first Ctrl-C ends the training after the current round.
"""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
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


@contextmanager
def progress_lines(
    priced: "PricedRun", what: str = "training"
) -> Iterator[Callable[["RoundReport"], None]]:
    """Give a function that shows each round of what is done; the last line stays."""
    if os.environ.get("LEXFED_NO_PROGRESS"):
        yield lambda _: None
        return
    shown = _ProgressDisplay(priced, what, bar=sys.stderr.isatty())
    try:
        yield shown.report
    finally:
        shown.end()


class _ProgressDisplay:
    def __init__(self, priced: "PricedRun", what: str, bar: bool) -> None:
        self._what = what
        self._budget = priced.budget.epsilon
        self._private = priced.private
        self._bar = bar
        self._begin = time.monotonic()
        self._first = 0
        self._spent = 0.0
        self._stale = False
        self._price_again = self._begin
        self._open = False

    def report(self, report: "RoundReport") -> None:
        """Show one round."""
        now = time.monotonic()
        last = report.round == report.rounds
        self._first = self._first or report.round
        every = max(1, report.rounds // 10)
        shown = self._bar or last or report.round % every == 0
        self._stale = True
        if shown and self._private and (last or now >= self._price_again):
            self._spent, self._stale = report.spent(), False
            after = time.monotonic()
            # Unsampled rounds are priced in no time, so they are always up to date.
            slow = after - now > _QUICK_S
            self._price_again = after + (after - now) / _PRICING_PART if slow else now
        if self._bar:
            redraw(self._line(report, now))
            self._open = True
        elif shown:
            talk.say(self._line(report, now))

    def _line(self, report: "RoundReport", now: float) -> str:
        done = round(_WIDTH * report.round / report.rounds)
        fields = [f"  {self._what:<8} {'━' * done}{'╌' * (_WIDTH - done)}"]
        width = len(str(report.rounds))
        fields.append(f"{report.round:>{width}}/{report.rounds}")
        name, value = next(iter(report.metrics.items()), ("", 0.0))
        if name:
            fields.append(f"{name.upper()} {value:.3f}")
        if self._private:
            # What was not priced anew is a lower bound, and must not look exact.
            mark = "≥ " if self._stale else ""
            fields.append(f"ε {mark}{round_up(self._spent)} / {round_up(self._budget)}")
        pace = (now - self._begin) / max(1, report.round - self._first + 1)
        left = pace * (report.rounds - report.round)
        fields.append(report.stage)
        if left >= 1:
            fields.append(f"{left:.0f} s left")
        return "   ".join(fields)

    def end(self) -> None:
        """Leave the cursor on a new line."""
        if self._open:
            print(file=sys.stderr)
