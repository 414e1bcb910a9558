# SPDX-License-Identifier: Apache-2.0
"""One HTTP request to someone we do not trust, bounded in time and size.

The limit of time covers the whole request. A timeout of a socket alone would not: it
starts anew with every byte, so one byte every few seconds would hold us for days.
Redirects are answers like any other and are never followed. Proxies come from the
environment, except for this machine itself.
"""

import http.client
import ipaddress
import socket
import ssl
import threading
import urllib.request
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit


@dataclass(frozen=True)
class HttpReply:
    """A reply: status, media type without parameters, and body."""

    status: int
    content_type: str
    body: bytes


@dataclass(frozen=True)
class MissingHttpReply:
    """Nothing usable came back, and why."""

    reason: str


def is_loopback(host: str) -> bool:
    """Return True if a host name or address means this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def exchange(
    url: str,
    body: bytes | None,
    content_type: str,
    *,
    timeout_s: float,
    most: int,
    allow_plain: bool = False,
) -> HttpReply | MissingHttpReply:
    """Send one request, POST with a body and GET without, and return the reply.

    The URL is `https`, or `http` on this machine; `allow_plain` also accepts `http` to
    others. `timeout_s` counts from start to last byte, `most` bytes is the largest
    reply to accept.

    Guarantees:
        Never raises for anything the other side does or fails to do.
        Holds at most `most` + 1 bytes of the answer's body.
        Sends nothing in the clear to another machine unless `allow_plain` says so.
    """
    try:
        parts = urlsplit(url)
        host = _checked(parts, allow_plain)
        request = urllib.request.Request(url, data=body)  # noqa: S310 - checked above
        request.add_header("User-Agent", "lexfed")
        if body is not None:
            request.add_header("Content-Type", content_type)
    except ValueError as error:
        return MissingHttpReply(f"`{url}` cannot be used: {error}")
    with _Deadline(timeout_s) as deadline:
        try:
            opener = _opener(deadline, use_proxy=not is_loopback(host))
            with opener.open(request, timeout=timeout_s) as response:
                content = response.read(most + 1)
                whole = not response.length
                kind = response.headers.get_content_type()
                reply = HttpReply(response.status, kind, content)
        except (OSError, http.client.HTTPException, ValueError) as error:
            return MissingHttpReply(
                _late(url, timeout_s)
                if deadline.passed or isinstance(error, TimeoutError)
                else f"`{url}` gave no answer: {_words(error)}"
            )
        if deadline.passed:
            return MissingHttpReply(_late(url, timeout_s))
    if len(content) > most:
        return MissingHttpReply(f"`{url}` answered with more than {most} bytes")
    if not whole:
        return MissingHttpReply(f"`{url}` broke off in the middle of its answer")
    return reply


def _checked(parts: SplitResult, allow_plain: bool) -> str:
    host = parts.hostname
    if not host or parts.port == 0:
        raise ValueError("it names no host")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("a user, query or fragment has no place in it")
    if parts.scheme == "https":
        return host
    if parts.scheme != "http":
        raise ValueError("it is neither https nor http")
    if not (allow_plain or is_loopback(host)):
        raise ValueError("plain http to another machine can be read and changed")
    return host


def _late(url: str, timeout_s: float) -> str:
    return f"`{url}` gave no complete answer within {timeout_s:g} s"


def _words(error: Exception) -> str:
    # It may quote the other side, which must not reach a terminal as it is.
    return ascii(str(error) or type(error).__name__)[1:-1][:200].lower()


class _Deadline:
    """Cuts every connection it watches once the time is up."""

    def __init__(self, seconds: float) -> None:
        self.passed = False
        self._lock = threading.Lock()
        self._watched: list[socket.socket] = []
        self._timer = threading.Timer(seconds, self._pass)
        self._timer.daemon = True

    def watch(self, connected: socket.socket) -> None:
        """Watch a socket; a duplicate of it survives being wrapped in TLS."""
        with self._lock:
            self._watched.append(connected.dup())
            if self.passed:
                self._cut()

    def _pass(self) -> None:
        with self._lock:
            self.passed = True
            self._cut()

    def _cut(self) -> None:
        for watched in self._watched:
            with suppress(OSError):  # the other side was faster
                watched.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> "_Deadline":
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        with self._lock:
            for watched in self._watched:
                watched.close()
            self._watched.clear()


def _opener(deadline: _Deadline, *, use_proxy: bool) -> urllib.request.OpenerDirector:
    class Plain(http.client.HTTPConnection):
        def connect(self) -> None:
            super().connect()
            deadline.watch(self.sock)

    class Encrypted(http.client.HTTPSConnection, Plain):
        """Its handshake begins when `Plain.connect` has returned."""

    class PlainHandler(urllib.request.HTTPHandler):
        def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
            return self.do_open(Plain, req)

    class EncryptedHandler(urllib.request.HTTPSHandler):
        def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
            context = ssl.create_default_context()
            return self.do_open(Encrypted, req, context=context)

    # Only these handlers: no redirects, no files, no other schemes, and a status of
    # 400 is an answer rather than an exception.
    opener = urllib.request.OpenerDirector()
    if use_proxy:
        opener.add_handler(urllib.request.ProxyHandler())
    opener.add_handler(PlainHandler())
    opener.add_handler(EncryptedHandler())
    return opener
