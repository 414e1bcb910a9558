# SPDX-License-Identifier: Apache-2.0
"""TLS 1.3 only, certificates at both ends, and one coordinator.

FLARE 2.9 accepts TLS 1.2, believes any certificate under the project's root (and, where
it connects, any that the machine trusts) and can speak in clear. `enforce` replaces a
part of it that is not public, so the version is fixed.

A client believes exactly one certificate: the coordinator's, which is pinned by its
SHA-256. Nothing else is in the store, so what OpenSSL accepts is that certificate and
key, bit by bit, and still only while it is valid [RFC 8446].
"""

import hashlib
import ssl
from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from lexfed.errors import RunFolderError
from lexfed.federation.flare.kit.folder import Kit
from lexfed.plain_files import MOST_OF_A_DOCUMENT, read_plain

FLARE_VERSION = "2.9.0"
"""The version whose inner parts these rules were written for."""
_SECURE_TRANSPORTS = {"http", "https"}


def der(path: Path) -> bytes:
    """Return a certificate file's certificate in DER."""
    try:
        return ssl.PEM_cert_to_DER_cert(
            read_plain(path, MOST_OF_A_DOCUMENT, links=True).decode("ascii")
        )
    except (OSError, ValueError) as error:
        raise RunFolderError(
            f"`{path}` is not a certificate", "restore it from the kit you were given"
        ) from error


def fingerprint(path: Path) -> str:
    """Return the SHA-256 of a certificate, in hexadecimal, as a pin has it."""
    return hashlib.sha256(der(path)).hexdigest()


def server_context(root: Path, certificate: Path, key: Path) -> ssl.SSLContext:
    """Return the TLS context for incoming connections.

    Guarantees:
        Only TLS 1.3, and only with a valid certificate under the root, is accepted.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.verify_mode = ssl.CERT_REQUIRED
    # A ticket would let a certificate in again that expired meanwhile.
    context.num_tickets = 0
    context.load_verify_locations(root)
    return _strict(context, certificate, key)


def client_context(kit: Kit, certificate: Path, key: Path) -> ssl.SSLContext:
    """Return the TLS context for a kit's outgoing connections.

    Guarantees:
        Only TLS 1.3, and only with the coordinator that a kit is pinned to, is spoken.
        A certificate of the coordinator that is not the pinned one is refused.
    """
    pinned = der(kit.certificate)
    if hashlib.sha256(pinned).hexdigest() != kit.pin:
        raise RunFolderError(
            f"`{kit.certificate}` is not the certificate this kit is pinned to",
            "compare the pin with the coordinator by telephone",
        )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False  # the certificate itself is known, not its name
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(cadata=pinned)
    return _strict(context, certificate, key)


def _strict(context: ssl.SSLContext, certificate: Path, key: Path) -> ssl.SSLContext:
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.maximum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(certificate, key)
    return context


def enforce(kit: Kit) -> None:
    """Make every connection of this process follow the rules.

    Guarantees:
        After it, FLARE makes no connection over a network in clear, by TLS 1.2, without
        certificates, or to a coordinator other than the pinned one, whatever its
        settings say. A FLARE that is missing or of another version is refused.
    """
    check_version()
    from nvflare.fuel.f3.drivers import aio_tcp_driver, net_utils, tcp_driver
    from nvflare.fuel.f3.drivers.driver_manager import DriverManager

    from lexfed.federation.flare.hardening.inner_socket import SCHEME, InnerDriver

    def get_ssl_context(params: dict[str, Any], ssl_server: bool) -> ssl.SSLContext:
        return _context(kit, params, ssl_server)

    for module in (net_utils, tcp_driver, aio_tcp_driver):
        module.get_ssl_context = get_ssl_context
    find: Callable[[DriverManager, str], Any] = DriverManager.find_driver_class

    def find_driver_class(self: DriverManager, scheme_or_url: str) -> Any:
        scheme = scheme_or_url.partition(":")[0].lower()
        if scheme == SCHEME:
            return InnerDriver
        # Other drivers make their contexts elsewhere, without our rules.
        return find(self, scheme) if scheme in _SECURE_TRANSPORTS else None

    DriverManager.find_driver_class = find_driver_class


def check_version() -> None:
    """Refuse a FLARE that is missing, or of a version without reviewed rules."""
    try:
        installed = metadata.version("nvflare")
    except metadata.PackageNotFoundError:
        installed = ""
    if installed != FLARE_VERSION:
        found = f"{installed} is installed" if installed else "is not installed"
        what = f"FLARE {found}; deployments need {FLARE_VERSION}"
        raise RunFolderError(what, "`pip install 'lexfed[flare]'`")


def _context(kit: Kit, params: Mapping[str, Any], accepting: bool) -> ssl.SSLContext:
    """Return the context for one connection of FLARE, from its own files."""
    pairs = [
        (params.get(f"{end}_cert"), params.get(f"{end}_key"))
        for end in (("server", "client") if accepting else ("client", "server"))
    ]
    usable = [(Path(crt), Path(key)) for crt, key in pairs if crt and key]
    root = params.get("ca_cert")
    if not usable or not root:
        raise RunFolderError(
            "FLARE asked for a connection without certificates; it is not made",
            "restore the settings of the kit: `lexfed deploy check KIT` lists them",
        )
    certificate, key = usable[0]
    if accepting:
        return server_context(Path(root), certificate, key)
    return client_context(kit, certificate, key)
