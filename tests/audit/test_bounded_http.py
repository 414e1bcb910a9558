# SPDX-License-Identifier: Apache-2.0
"""Requests to servers that are slow, broken or hostile."""

import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from lexfed.audit.witness.bounded_http import (
    HttpReply,
    MissingHttpReply,
    exchange,
    is_loopback,
)
from support.loopback import (
    Respond,
    answering,
    certificate,
    http,
    raw,
    read_request,
    silent,
)

Patch = pytest.MonkeyPatch


def ask(
    url: str, body: bytes | None = b"ask", *, timeout_s: float = 5, most: int = 100
) -> HttpReply | MissingHttpReply:
    return exchange(url, body, "text/plain", timeout_s=timeout_s, most=most)


def reason(got: HttpReply | MissingHttpReply) -> str:
    assert isinstance(got, MissingHttpReply)
    return got.reason


def test_an_answer_comes_back_whole() -> None:
    with answering(http(200, b"yes", "text/x.tlog.size; charset=utf-8")) as url:
        assert ask(url) == HttpReply(200, "text/x.tlog.size", b"yes")


def test_post_with_a_body_and_get_without() -> None:
    seen = []

    def keep(connection: socket.socket) -> None:
        seen.append(read_request(connection))
        connection.sendall(b"HTTP/1.1 204 None\r\n\r\n")

    with answering(keep) as url:
        assert ask(url + "/a", b"x") == HttpReply(204, "text/plain", b"")
        assert ask(url + "/b", None) == HttpReply(204, "text/plain", b"")
    post, get = seen
    assert post.startswith(b"POST /a ")
    assert post.endswith(b"\r\n\r\nx")
    assert b"Content-Type: text/plain" in post
    assert get.startswith(b"GET /b ")
    assert b"Content-Type" not in get


@pytest.mark.parametrize("status", [201, 302, 400, 404, 409, 500, 599])
def test_every_status_is_an_answer(status: int) -> None:
    with answering(http(status, b"body")) as url:
        assert ask(url) == HttpReply(status, "text/plain", b"body")


def test_a_redirect_is_not_followed() -> None:
    asked = threading.Event()

    def elsewhere(connection: socket.socket) -> None:
        asked.set()
        http(200, b"stolen")(connection)

    with answering(elsewhere) as other:
        away = f"HTTP/1.1 307 Go\r\nLocation: {other}/\r\nContent-Length: 0\r\n\r\n"
        with answering(raw(away.encode())) as url:
            assert ask(url) == HttpReply(307, "text/plain", b"")
    assert not asked.is_set()


def trickle(connection: socket.socket) -> None:
    """Send headers drop by drop, slowly enough to stay under every other limit."""
    read_request(connection)
    connection.settimeout(0.05)
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    for number in range(90):
        connection.sendall(b"X-Slow-%d: 1\r\n" % number)
        with suppress(TimeoutError):
            connection.recv(1)


def half(connection: socket.socket) -> None:
    raw(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")(connection)
    silent(connection)


def drops(connection: socket.socket) -> None:
    read_request(connection)
    connection.settimeout(0.05)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n")
    for _ in range(98):
        connection.sendall(b"x")
        with suppress(TimeoutError):
            connection.recv(1)


def interim(connection: socket.socket) -> None:
    read_request(connection)
    while True:
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)


@pytest.mark.parametrize("respond", [silent, trickle, half, drops, interim])
def test_a_slow_server_is_given_up(respond: Respond) -> None:
    with answering(respond) as url:
        assert "within 0.4 s" in reason(ask(url, timeout_s=0.4))


def test_a_slow_look_up_of_the_name_counts(monkeypatch: Patch) -> None:
    real = socket.create_connection

    def slow(*args: Any, **options: Any) -> socket.socket:
        time.sleep(0.4)
        return real(*args, **options)

    monkeypatch.setattr(socket, "create_connection", slow)
    with answering(http(200, b"late")) as url:
        assert "within 0.2 s" in reason(ask(url, timeout_s=0.2))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "gave no answer"),
        (b"\x00\xff\xfe \x1b[31m garbage\r\n\r\n", "gave no answer"),
        (b"HTTP/1.1 abc OK\r\n\r\n", "gave no answer"),
        (b"HTTP/1.1 200 OK\r\n" + b"X" * 70_000, "gave no answer"),
        (b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 101 + b"\r\n", "gave no answer"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", "broke off"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            "gave no answer",
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n" + b"x" * 101, "more than"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 200_000, "more than 100 bytes"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n"
            + b"x" * 101,
            "more than 100 bytes",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else str(len(value)),
)
def test_a_broken_answer_is_a_reason(content: bytes, said: str) -> None:
    with answering(raw(content)) as url:
        got = reason(ask(url))
    assert said in got
    assert got.isascii()
    assert got.isprintable()
    assert len(got) < 300


def test_the_largest_allowed_answer_is_taken() -> None:
    with answering(http(200, b"x" * 100)) as url:
        assert ask(url) == HttpReply(200, "text/plain", b"x" * 100)


def test_a_closed_port_is_a_reason() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert "refused" in reason(ask(f"http://127.0.0.1:{port}"))


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("ftp://127.0.0.1/", "neither https nor http"),
        ("file:///etc/hostname", "names no host"),
        ("127.0.0.1:80", "names no host"),
        ("", "names no host"),
        ("http://127.0.0.1:0/", "names no host"),
        ("http://127.0.0.1:99999/", "out of range"),
        ("http://[::1/", "invalid ipv6"),
        ("http://me:secret@127.0.0.1/", "user, query or fragment"),
        ("https://witness.example/?x=1", "user, query or fragment"),
        ("http://witness.example/", "plain http"),
        ("http://127.0.0.1.example/", "plain http"),
        ("http://127.0.0.1:9/ HTTP/1.1", "control characters"),
    ],
)
def test_an_address_that_cannot_be_used_is_a_reason(url: str, said: str) -> None:
    assert said in reason(ask(url)).lower()


def test_an_encrypted_answer_comes_back(tmp_path: Path, monkeypatch: Patch) -> None:
    pair = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(pair.certificate))
    with answering(http(200, b"secret"), certificate=pair) as url:
        assert url.startswith("https:")
        assert ask(url) == HttpReply(200, "text/plain", b"secret")


def test_an_unknown_certificate_is_a_reason(tmp_path: Path) -> None:
    with answering(http(200, b"who?"), certificate=certificate(tmp_path)) as url:
        assert "certificate verify failed" in reason(ask(url))


def test_a_slow_handshake_is_given_up() -> None:
    with answering(silent) as url:
        secure = url.replace("http:", "https:")
        assert "within 0.3 s" in reason(ask(secure, timeout_s=0.3))


def test_plain_http_elsewhere_only_when_allowed() -> None:
    # The name ends in `.invalid`, which resolves nowhere [RFC 6761]: being allowed
    # shows as another reason.
    url = "http://witness.invalid/"
    assert "plain http" in reason(ask(url))
    allowed = exchange(url, b"", "x/y", timeout_s=2, most=1, allow_plain=True)
    assert "plain http" not in reason(allowed)


def test_this_machine_is_known_by_name_and_address() -> None:
    assert all(map(is_loopback, ["127.0.0.1", "127.8.9.1", "::1", "LocalHost"]))
    assert not any(map(is_loopback, ["10.0.0.1", "localhost.example", ""]))


def test_this_machine_is_reached_without_a_proxy(monkeypatch: Patch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9/")
    with answering(http(200, b"direct")) as url:
        assert ask(url) == HttpReply(200, "text/plain", b"direct")


def test_other_machines_are_reached_through_the_proxy(monkeypatch: Patch) -> None:
    with answering(http(200, b"by proxy")) as proxy:
        monkeypatch.setenv("http_proxy", proxy)
        got = exchange(
            "http://witness.invalid/", b"", "x/y", timeout_s=5, most=9, allow_plain=True
        )
    assert got == HttpReply(200, "text/plain", b"by proxy")
