# SPDX-License-Identifier: Apache-2.0
"""The longest message that a FLARE process takes, looked at before it is read.

FLARE sends messages as streams that declare their length, in frames of about a
megabyte, and makes room for all of it when the first frame comes. Its own limit is
fixed when a process starts and is gigabytes; one site could fill the coordinator's
memory. Here the limit is what the exchange at hand asks for: a stream that declares
more is refused at its first frame, and one that goes on for longer than it said is cut.
A frame is refused by its length as well, before there is room for it.
"""

from collections.abc import Iterable
from typing import Any

FRAME = 16 * 2**20
"""Longest frame; streams have frames of 1 MiB, and FLARE's own words are shorter."""
WRAPPING = 2**16
"""Most bytes that FLARE puts around a message."""
_AT_FIRST = 64 * 2**20
"""Longest message before anything is agreed: a job with its configuration."""
_BYTES_OF_A_VALUE = 64
"""A query holds the model, and a few numbers of eight bytes beside each of its own."""


class Intake:
    """The limit in this process."""

    def __init__(self) -> None:
        self.most = _AT_FIRST

    def expect(self, most: int) -> None:
        """Take messages of up to so many bytes from now on."""
        self.most = most + WRAPPING

    def expect_queries(self, dimensions: Iterable[int]) -> None:
        """Take queries of a programme from now on.

        Args:
            dimensions: of its stages; together no fewer than its model has numbers.
        """
        self.expect(_AT_FIRST + _BYTES_OF_A_VALUE * sum(dimensions))


intake = Intake()


def limit_intake() -> None:
    """Put the limit in force in this process, before FLARE opens a socket.

    Guarantees:
        No stream takes more memory than the limit, whatever it declares.
        No frame takes more than `FRAME`.
    """
    from nvflare.fuel.f3.drivers import aio_conn, aio_http_driver, socket_conn
    from nvflare.fuel.f3.streaming.blob_streamer import BlobHandler

    def most(_: Any) -> int:
        return intake.most

    def ignore(_: Any, __: int) -> None:
        """FLARE sets its own limit when a handler is made."""

    BlobHandler.max_blob_size = property(most, ignore)
    for driver in (aio_conn, aio_http_driver, socket_conn):
        driver.MAX_FRAME_SIZE = FRAME
