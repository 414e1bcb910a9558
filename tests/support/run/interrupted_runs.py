# SPDX-License-Identifier: Apache-2.0
"""Runs that are stopped between two rounds, and what verification then says of them."""

from collections.abc import Callable
from pathlib import Path

from lexfed.audit.verify import Status, verify_run
from lexfed.run import RoundReport


def stop_after(rounds: int) -> Callable[[RoundReport], None]:
    """Return what ends a run after a round as Ctrl-C does."""

    def each(report: RoundReport) -> None:
        if report.round == rounds:
            raise KeyboardInterrupt

    return each


def failures(path: Path) -> list[str]:
    """Return the checks of a run that fail."""
    found = verify_run(path).checks
    return [str(check) for check in found if check.status is Status.FAIL]
