# SPDX-License-Identifier: Apache-2.0
"""Channels: bytes from a coordinator to sites and back, without their meaning.

Every engine that moves messages between organisations is a `Channel`. What a message
says, who may ask what, and what is charged for it is decided on both ends of it.
"""

from collections.abc import Callable, Mapping
from typing import Protocol

Handler = Callable[[bytes], bytes]
"""A site's door: takes one message, returns one answer. It never raises."""


LONGEST_WORD = 2**20
"""Longest answer where nothing else is said, in bytes: signatures, refusals."""


class Channel(Protocol):
    """Brings messages to sites and their answers back."""

    def exchange(
        self, messages: Mapping[str, bytes], most: int = LONGEST_WORD
    ) -> Mapping[str, bytes]:
        """Bring one message to each named site.

        Args:
            messages: by site.
            most: longest answer that is taken, in bytes. A longer one is not read where
                it comes from outside, and its site has not answered.

        Returns:
            The answers that came in time, by site; who is missing did not answer.
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
        came = {name: self._handlers[name](said) for name, said in messages.items()}
        return {name: said for name, said in came.items() if len(said) <= most}
