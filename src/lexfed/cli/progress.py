# SPDX-License-Identifier: Apache-2.0
"""Progress of a training: a bar on a terminal, a few plain lines elsewhere."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lexfed.cli import talk
from lexfed.run import Priced, RoundReport

_WIDTH = 24
_PRICING_S = 2.0
"""Pricing takes time when batches are sampled: it is done at most this often."""


@contextmanager
def progress_lines(priced: Priced) -> Iterator[Callable[[RoundReport], None]]:
    """Give a function that shows each round; the last line stays."""
    bar = sys.stderr.isatty() and not os.environ.get("LEXFED_NO_PROGRESS")
    shown = _Shown(priced, bar)
    try:
        yield shown.report
    finally:
        shown.end()


class _Shown:
    def __init__(self, priced: Priced, bar: bool) -> None:
        self._budget = priced.budget.epsilon
        self._private = priced.private
        self._bar = bar
        self._begin = time.monotonic()
        self._first = 0
        self._spent = 0.0
        self._priced_at = -_PRICING_S
        self._open = False

    def report(self, report: RoundReport) -> None:
        """Show one round."""
        now = time.monotonic()
        last = report.round == report.rounds
        self._first = self._first or report.round
        if self._private and (last or now - self._priced_at > _PRICING_S):
            self._spent = report.spent()
            self._priced_at = time.monotonic()
        every = max(1, report.rounds // 10)
        if self._bar:
            print(f"\r{self._line(report, now)}\x1b[K", end="", file=sys.stderr)
            sys.stderr.flush()
            self._open = True
        elif last or report.round % every == 0:
            talk.say(self._line(report, now))

    def _line(self, report: RoundReport, now: float) -> str:
        done = round(_WIDTH * report.round / report.rounds)
        fields = [f"  training {'━' * done}{'╌' * (_WIDTH - done)}"]
        fields.append(f"{report.round}/{report.rounds}")
        name, value = next(iter(report.metrics.items()), ("", 0.0))
        if name:
            fields.append(f"{name.upper()} {value:.3f}")
        if self._private:
            fields.append(f"ε {self._spent:.2f} / {self._budget:.2f}")
        pace = (now - self._begin) / max(1, report.round - self._first + 1)
        left = pace * (report.rounds - report.round)
        fields.append(f"{left:.0f} s left" if left >= 1 else report.stage)
        return "   ".join(fields)

    def end(self) -> None:
        """Leave the cursor on a new line."""
        if self._open:
            print(file=sys.stderr)
