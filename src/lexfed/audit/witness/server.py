# SPDX-License-Identifier: Apache-2.0
"""A witness behind HTTP, for a small machine in another organisation.

    POST /add-checkpoint                    see `witness` [tlog-witness]
    GET  /<SHA256 of the origin>/checkpoint the last checkpoint cosigned for that log

    411  no Content-Length        413  more than 64 KiB

Whoever reaches the port may be hostile: a handshake or a slow body never keeps others
from being accepted. Stopping is graceful: a request that was read is answered.
"""

import logging
import re
import signal
import socket
import socketserver
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from lexfed.audit.witness.cosigner import MAX_REQUEST, Witness, WitnessReply
from lexfed.errors import LexfedError, RunFolderError, system_reason

LIFE_S = 30.0
"""Longest life of one connection."""
MAX_CONNECTIONS = 64

_LATEST = re.compile(r"/([0-9a-f]{64})/checkpoint")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TlsCertificate:
    """Files in PEM for TLS: the chain, and the private key of its first certificate."""

    chain: Path
    key: Path

    def context(self) -> ssl.SSLContext:
        """Return the TLS context of the server."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            context.load_cert_chain(self.chain, self.key)
        except OSError as error:
            raise RunFolderError(
                f"cannot use certificate `{self.chain}` with key `{self.key}`: "
                f"{system_reason(error)}"
            ) from error
        return context


class WitnessServer(ThreadingHTTPServer):
    """Serves one witness.

    Guarantees:
        No connection lives longer than `life_s`, and no more than 64 at once.
        After `close` every request that was read is answered and the port is free.
    """

    daemon_threads = False  # they are waited for
    request_queue_size = MAX_CONNECTIONS

    def __init__(
        self,
        witness: Witness,
        host: str,
        port: int,
        *,
        certificate: TlsCertificate | None = None,
        life_s: float = LIFE_S,
    ) -> None:
        """Listen; `serve_forever` then answers."""
        self.witness = witness
        self.reload_wanted = False
        self.life_s = life_s
        self._until: dict[socket.socket, float] = {}
        self._guard = threading.Lock()
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._scheme = "https" if certificate else "http"
        context = certificate.context() if certificate else None
        try:
            super().__init__((host, port), _Handler)
        except (OSError, OverflowError) as error:
            reason = system_reason(error)
            raise RunFolderError(
                f"cannot listen on `{host}` port {port}: {reason}",
                "choose another port, or end the process that uses it",
            ) from error
        if context is not None:
            # The handshake waits for the thread of its connection: here it would
            # keep everybody else from being accepted.
            self.socket = context.wrap_socket(
                self.socket, server_side=True, do_handshake_on_connect=False
            )

    def server_bind(self) -> None:
        """Bind without looking up a name for the address, which may take long."""
        socketserver.TCPServer.server_bind(self)
        host, self.server_port = str(self.server_address[0]), self.server_address[1]
        self.server_name = f"[{host}]" if ":" in host else host

    @property
    def url(self) -> str:
        """The submission prefix."""
        return f"{self._scheme}://{self.server_name}:{self.server_port}"

    def process_request(self, request: Any, client_address: Any) -> None:
        """Take a connection, or close it if there are too many."""
        with self._guard:
            room = len(self._until) < MAX_CONNECTIONS
            if room:
                self._until[request] = time.monotonic() + self.life_s
        if room:
            super().process_request(request, client_address)
        else:
            super().shutdown_request(request)

    def shutdown_request(self, request: Any) -> None:
        """Forget a connection and close it."""
        with self._guard:
            self._until.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Cut connections whose time is up; called again and again."""
        now = time.monotonic()
        self._cut(socket.SHUT_RDWR, lambda until: until < now)
        if self.reload_wanted:
            self.reload_wanted = False
            try:
                self.witness.reload()
            except LexfedError as error:
                _log.error("the list of logs stays as it was: %s", error.message)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        """Note an error on one connection; the others do not notice."""
        _log.info("a connection ended early", exc_info=True)

    def close(self) -> None:
        """Stop listening, answer what was read, then close; the loop has ended."""
        # Nothing more is read, so idle connections end now and busy ones when they
        # have answered.
        self._cut(socket.SHUT_RD, lambda _: True)
        self.server_close()

    def _cut(self, how: int, due: Callable[[float], bool]) -> None:
        with self._guard:
            for request, until in self._until.items():
                if due(until):
                    with suppress(OSError):  # the other side was faster
                        # Below TLS, whose own farewell would wait for an answer.
                        socket.socket.shutdown(request, how)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keep-alive, as the specification asks
    server_version = "lexfed-witness"
    sys_version = ""
    timeout = LIFE_S
    wbufsize = 65_536  # head and body in one piece
    server: WitnessServer

    def do_POST(self) -> None:
        """Answer a request for a cosignature."""
        if self.path != "/add-checkpoint":
            self._refuse(404, "no such address")
            return
        lengths = self.headers.get_all("Content-Length", [])
        if len(lengths) != 1 or "Transfer-Encoding" in self.headers:
            self._refuse(411, "one Content-Length is needed")
        elif not re.fullmatch(r"[0-9]{1,9}", lengths[0]):
            self._refuse(400, "Content-Length is no number")
        elif int(lengths[0]) > MAX_REQUEST:
            self._refuse(413, f"at most {MAX_REQUEST} bytes")
        else:
            body = self.rfile.read(int(lengths[0]))
            if len(body) < int(lengths[0]):
                self._refuse(400, "the request was cut off")
            else:
                self._send(self.server.witness.add_checkpoint(body))

    def do_GET(self) -> None:
        """Answer with the last checkpoint cosigned for a log."""
        match = _LATEST.fullmatch(self.path)
        if match is None:
            self._refuse(404, "no such address")
        else:
            self._send(self.server.witness.latest(match[1]))

    def _refuse(self, status: int, reason: str) -> None:
        # What follows on this connection may be the rest of a body.
        self.close_connection = True
        self._send(WitnessReply(status, f"{reason}\n".encode()))

    def _send(self, answer: WitnessReply) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, format: str, *args: Any) -> None:
        """Note a request, without who asked and with nothing but ASCII."""
        _log.info("%s", ascii(format % args))


def serve(
    folder: Path,
    host: str,
    port: int,
    *,
    certificate: TlsCertificate | None = None,
    started: Callable[[WitnessServer], None] = lambda _: None,
) -> None:
    """Serve the witness in a folder until SIGTERM or SIGINT; main thread only.

    SIGHUP reads the list of logs anew. Port 0 takes a free one; `started` is called
    once when the port is open.
    """
    witness = Witness(folder)
    try:
        server = WitnessServer(witness, host, port, certificate=certificate)
    except RunFolderError:
        witness.close()
        raise

    def stop(*_: object) -> None:
        # `shutdown` waits for the loop that this handler interrupts.
        threading.Thread(target=server.shutdown).start()

    def reload(*_: object) -> None:
        server.reload_wanted = True

    handlers = {signal.SIGTERM: stop, signal.SIGINT: stop, signal.SIGHUP: reload}
    before = {number: signal.signal(number, each) for number, each in handlers.items()}
    try:
        started(server)
        server.serve_forever(poll_interval=0.2)
    finally:
        server.close()
        witness.close()
        for number, handler in before.items():
            signal.signal(number, handler)
