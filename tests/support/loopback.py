# SPDX-License-Identifier: Apache-2.0
"""Servers on this machine that answer, well or badly, over real sockets."""

import datetime
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

Respond = Callable[[socket.socket], None]


@dataclass(frozen=True)
class Pair:
    """Files of a certificate and its private key."""

    certificate: Path
    key: Path

    def context(self) -> ssl.SSLContext:
        """Return what a server needs to speak TLS."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        return context


def certificate(folder: Path) -> Pair:
    """Write a certificate for this machine that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "loopback")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName(
                [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
            ),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pair = Pair(folder / "server.crt", folder / "server.key")
    pair.certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    pair.key.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return pair


@contextmanager
def answering(*responses: Respond, certificate: Pair | None = None) -> Iterator[str]:
    """Serve connections one after the other and yield the server's address.

    The n-th connection gets the n-th response; the last response is repeated.
    """
    scheme = "https" if certificate else "http"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        open_now: list[socket.socket] = []

        def run() -> None:
            count = 0
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    respond = responses[min(count, len(responses) - 1)]
                    count += 1
                    with suppress(OSError):
                        if certificate:
                            connection = certificate.context().wrap_socket(
                                connection, server_side=True
                            )
                        open_now.append(connection)
                        with connection:
                            respond(connection)
                    connection.close()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        try:
            yield f"{scheme}://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            for ending in (listener, *open_now):
                with suppress(OSError):
                    ending.shutdown(socket.SHUT_RDWR)
            listener.close()
            thread.join(timeout=10)


def read_request(connection: socket.socket) -> bytes:
    """Read one request, head and body."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += _more(connection)
    head, _, body = data.partition(b"\r\n\r\n")
    length = 0
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    while len(body) < length:
        body += _more(connection)
    return head + b"\r\n\r\n" + body


def _more(connection: socket.socket) -> bytes:
    data = connection.recv(65536)
    if not data:
        raise ConnectionError("closed")
    return data


def http(status: int, body: bytes = b"", content_type: str = "text/plain") -> Respond:
    """Return a response as a well-behaved server sends it."""
    head = (
        f"HTTP/1.1 {status} Whatever\r\nContent-Type: {content_type}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return raw(head.encode() + body)


def raw(content: bytes) -> Respond:
    """Return a response that sends these bytes and hangs up."""

    def respond(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(content)

    return respond


def silent(connection: socket.socket) -> None:
    """Accept and never say a word until the other side hangs up."""
    while connection.recv(65536):
        pass
