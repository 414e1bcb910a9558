# SPDX-License-Identifier: Apache-2.0
"""Certificates to try a TLS server with, and `openssl s_client` to try it."""

import datetime
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from support.loopback import Pair


@dataclass(frozen=True)
class Root:
    """A root that signs certificates; one of a deployment, or a stranger's."""

    name: x509.Name
    key: rsa.RSAPrivateKey

    @classmethod
    def foreign(cls, name: str) -> "Root":
        """Make a root that has the name of another one."""
        return cls(_named(name), rsa.generate_private_key(65537, 2048))

    def certify(
        self, folder: Path, name: str, begins: float = -1, ends: float = 1
    ) -> Pair:
        """Make a certificate, valid from and to these days from now."""
        folder.mkdir()
        key = rsa.generate_private_key(65537, 2048)
        now = datetime.datetime.now(datetime.UTC)
        made = (
            x509.CertificateBuilder()
            .subject_name(_named(name))
            .issuer_name(self.name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now + datetime.timedelta(days=begins))
            .not_valid_after(now + datetime.timedelta(days=ends))
            .sign(self.key, hashes.SHA256())
        )
        pair = Pair(folder / "client.crt", folder / "client.key")
        pair.certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
        pair.key.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return pair


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])


def ask(address: str, pair: Pair | None, *options: str) -> str:
    """Ask for a page over TLS and return everything that openssl says."""
    shown: Sequence[str] = ()
    if pair is not None:
        shown = ("-cert", str(pair.certificate), "-key", str(pair.key))
    done = subprocess.run(
        ["openssl", "s_client", "-connect", address, "-ign_eof", *shown, *options],
        input="GET / HTTP/1.0\r\n\r\n",
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout + done.stderr


def let_in(said: str) -> bool:
    """Whether the program behind TLS answered."""
    return "HTTP/1." in said.partition("GET / HTTP/1.0")[0]
