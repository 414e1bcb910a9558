# SPDX-License-Identifier: Apache-2.0
"""Channels: bytes from a coordinator to sites and back, without their meaning."""

from collections.abc import Callable, Mapping
from typing import Protocol

Handler = Callable[[bytes], bytes]
"""A site's door: takes one message, returns one answer. It never raises."""

LONGEST_WORD = 2**20
"""Longest answer by default, in bytes: signatures, refusals."""


class Channel(Protocol):
    """Brings messages to sites and their answers back."""

    def exchange(
        self, messages: Mapping[str, bytes], most: int = LONGEST_WORD
    ) -> Mapping[str, bytes]:
        """Bring one message to each named site; return the answers that came in time.

        An answer of more than `most` bytes is not taken, nor read where it comes from
        outside, and its site has not answered.
        """
        ...


class InProcessChannel:
    """The channel to sites in this process."""

    def __init__(self, handlers: Mapping[str, Handler]) -> None:
        self._handlers = dict(handlers)

    def exchange(
        self, messages: Mapping[str, bytes], most: int = LONGEST_WORD
    ) -> Mapping[str, bytes]:
        """Bring one message to each named site, one after the other."""
        answers = {name: self._handlers[name](m) for name, m in messages.items()}
        return {name: answer for name, answer in answers.items() if len(answer) <= most}
