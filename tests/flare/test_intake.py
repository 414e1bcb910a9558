# SPDX-License-Identifier: Apache-2.0
"""No message takes more memory than was asked for, whatever a site sends."""

import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest
from nvflare.fuel.f3.drivers import aio_conn, aio_http_driver, socket_conn
from nvflare.fuel.f3.streaming.blob_streamer import BlobHandler, BlobTask
from nvflare.fuel.f3.streaming.stream_types import Stream, StreamError, StreamFuture

from lexfed.federation.engines.channel import InProcessChannel
from lexfed.federation.flare.hardening import limits as module
from lexfed.federation.flare.hardening.limits import (
    FRAME,
    WRAPPING,
    Intake,
    limit_intake,
)
from lexfed.federation.flare.jobs.channel import FlareChannel
from support.deployed import oversized
from support.deployed.loop_engine import LoopEngine, Worker


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch) -> Iterator[Intake]:
    """Put the limit in force for one test."""
    drivers = (aio_conn, aio_http_driver, socket_conn)
    for driver in drivers:
        monkeypatch.setattr(driver, "MAX_FRAME_SIZE", driver.MAX_FRAME_SIZE)
    fresh = Intake()
    monkeypatch.setattr(module, "intake", fresh)
    limit_intake()
    assert {driver.MAX_FRAME_SIZE for driver in drivers} == {FRAME}
    yield fresh
    del BlobHandler.max_blob_size


class Declared(Stream):  # type: ignore[misc]  # FLARE has no types
    """A stream that says how long it is, and must not be read."""

    def __init__(self, size: int) -> None:
        super().__init__(size, {})

    def read(self, chunk_size: int) -> bytes:
        raise AssertionError(chunk_size)


def handled(size: int) -> StreamFuture:
    """Let FLARE begin to take a stream of a declared length."""
    future = StreamFuture(1, {})
    BlobHandler(lambda *_: None).handle_blob_cb(future, Declared(size), False)
    return future


def test_a_stream_that_declares_too_much_is_not_read(limited: Intake) -> None:
    limited.expect(1000)
    future = handled(1000 + WRAPPING + 1)
    with pytest.raises(StreamError, match="size"):
        future.result(5)


def test_a_handler_takes_the_limit_of_the_moment(limited: Intake) -> None:
    handler = BlobHandler(lambda *_: None)
    for most in (1000, 10, 10**9):
        limited.expect(most)
        assert handler.max_blob_size == most + WRAPPING
    limited.expect_queries([1000, 24])
    assert handler.max_blob_size == 64 * 2**20 + 64 * 1024 + WRAPPING


def test_without_the_limit_room_is_made_for_whatever_is_declared() -> None:
    """The check above can fail: this is what FLARE does by itself."""
    size = 64 * 2**20 + 1
    assert len(BlobTask(StreamFuture(1, {}), Declared(size), 0).buffer) == size


def test_longer_answers_than_asked_for_are_missing() -> None:
    def long(_: bytes) -> bytes:
        return bytes(101)

    def short(_: bytes) -> bytes:
        return bytes(100)

    engine = LoopEngine({"a": Worker(long), "b": Worker(short)})
    channel = FlareChannel(engine, engine.job)
    messages = {"a": b"", "b": b""}
    assert channel.exchange(messages, 100) == {"b": bytes(100)}
    assert InProcessChannel({"a": long, "b": short}).exchange(messages, 100) == {
        "b": bytes(100)
    }


def _lines(limit: str, *sizes: int) -> list[tuple[int, int, int]]:
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, oversized.__file__, "server", str(port), limit]
    found = subprocess.run(
        [*command, *map(str, sizes)], capture_output=True, text=True, timeout=110
    )
    rows = [line.split() for line in found.stdout.splitlines()]
    return [tuple(map(int, row)) for row in rows if len(row) == 3]  # type: ignore[misc]


@pytest.mark.slow
def test_an_answer_of_400_megabytes_over_real_sockets_is_refused() -> None:
    """4 MB are asked for; the process takes them, and not the 400."""
    small, large = _lines("limited", 3_000_000, 400_000_000)
    assert small[1] == 3_000_000
    assert large[1] == -1
    assert large[2] < 64  # MiB more than before


@pytest.mark.slow
def test_without_the_limit_such_an_answer_takes_its_memory() -> None:
    [large] = _lines("free", 200_000_000)
    assert large[1] == 200_000_000
    assert large[2] > 100
