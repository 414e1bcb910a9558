# SPDX-License-Identifier: Apache-2.0
"""A time-stamp authority made with `openssl`, behind HTTP on this machine."""

import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

from support.loopback import Respond, read_request

CONFIG = """
[ tsa ]
default_tsa = one
[ one ]
serial = {folder}/serial
signer_cert = {folder}/tsa.crt
signer_key = {folder}/tsa.key
signer_digest = sha256
default_policy = 1.2.3.4.1
other_policies = 1.2.3.4.2
digests = sha256
accuracy = secs:1
ess_cert_id_alg = sha256
"""


@dataclass(frozen=True)
class Authority:
    """Its files; `roots` is what an auditor trusts."""

    folder: Path

    @property
    def roots(self) -> Path:
        """The root certificate in PEM."""
        return self.folder / "ca.crt"

    def reply(self, query: bytes) -> bytes:
        """Answer a query with `openssl ts -reply`."""
        (self.folder / "query.tsq").write_bytes(query)
        openssl(
            "ts",
            "-reply",
            "-config",
            str(self.folder / "tsa.cnf"),
            "-queryfile",
            str(self.folder / "query.tsq"),
            "-out",
            str(self.folder / "reply.tsr"),
        )
        return (self.folder / "reply.tsr").read_bytes()

    def over_http(self) -> Respond:
        """Return what answers one connection."""

        def respond(connection: socket.socket) -> None:
            query = read_request(connection).partition(b"\r\n\r\n")[2]
            answer = self.reply(query)
            connection.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/timestamp-reply\r\n"
                b"Content-Length: %d\r\n\r\n" % len(answer) + answer
            )

        return respond


def openssl(*words: str) -> str:
    """Run openssl and return what it prints."""
    done = subprocess.run(
        ["openssl", *words], check=True, capture_output=True, text=True
    )
    return done.stdout


def make_authority(folder: Path) -> Authority:
    """Make a root, a certificate under it, and the files openssl needs."""
    folder.mkdir()
    at = {name: str(folder / name) for name in ("ca", "tsa", "ext")}
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl(
        *("req", "-x509", *curve, "-days", "3650", "-subj", "/CN=test root"),
        *("-keyout", at["ca"] + ".key", "-out", at["ca"] + ".crt"),
    )
    openssl(
        *("req", *curve, "-subj", "/CN=test authority"),
        *("-keyout", at["tsa"] + ".key", "-out", at["tsa"] + ".csr"),
    )
    (folder / "ext").write_text(
        "extendedKeyUsage=critical,timeStamping\nkeyUsage=critical,digitalSignature\n"
    )
    openssl(
        *("x509", "-req", "-days", "3650", "-in", at["tsa"] + ".csr"),
        *("-CA", at["ca"] + ".crt", "-CAkey", at["ca"] + ".key", "-CAcreateserial"),
        *("-extfile", at["ext"], "-out", at["tsa"] + ".crt"),
    )
    (folder / "serial").write_text("01\n")
    (folder / "tsa.cnf").write_text(CONFIG.format(folder=folder))
    return Authority(folder)
