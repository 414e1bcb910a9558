# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C during training: the first ends after the current round, the second at once.

Stopping between rounds loses nothing. A release that is cut off while it is written
stays charged, so nobody should have to cut it off to get the machine back.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from lexfed.cli import talk

INTERRUPTED = 130
"""Exit code of a command that Ctrl-C ended, by convention 128 + SIGINT."""


class StopRequest:
    """A request to stop, which Ctrl-C makes."""

    asked = False


@contextmanager
def between_rounds(under_way: str = "this round") -> Iterator[StopRequest]:
    """Turn the first Ctrl-C into a request; a second one interrupts as usual.

    The message of the first says that `under_way` is still ended.
    """
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
