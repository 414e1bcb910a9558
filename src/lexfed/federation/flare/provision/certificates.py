# SPDX-License-Identifier: Apache-2.0
"""Checks that the certificates of a kit are its own, valid, and the pinned ones."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization

from lexfed.errors import Problem
from lexfed.federation.flare.hardening.tls13 import fingerprint
from lexfed.federation.flare.kit.folder import Kit
from lexfed.federation.flare.kit.settings import certificate_owners
from lexfed.plain_files import MOST_OF_A_DOCUMENT, read_plain

_RESTORE = "restore it from the kit that you were given"
_RENEW = "the deployment needs new kits: `lexfed deploy init`, in another folder"
SOON = timedelta(days=30)
"""Time before a certificate's end at which it is worth a warning."""


def certificate_problems(kit: Kit) -> Iterator[Problem]:
    """Yield the problems of the certificates and TLS keys of a kit."""
    yield from _pinned(kit)
    for path, owner in certificate_owners(kit).items():
        crt = kit.folder / path
        root_path = crt.with_name("rootCA.pem")
        found, root = _load(crt), _load(root_path)
        for file, one in ((crt, found), (root_path, root)):
            if one is None:
                yield Problem(str(file), "not a certificate", _RESTORE)
        if found is None or root is None:
            continue
        yield from _dates(crt, found)
        yield from _dates(root_path, root)
        if not _issued(found, root):
            yield Problem(
                str(crt), "it is not of this deployment: another root signed it"
            )
        if _common_name(found) != owner:
            name = _common_name(found)
            yield Problem(str(crt), f"it is of `{name}`, expected: `{owner}`", _RESTORE)
        if not _fits(found, crt.with_suffix(".key")):
            key = crt.with_suffix(".key")
            yield Problem(str(key), "not the private key of the certificate", _RESTORE)


def last_day(kit: Kit) -> datetime | None:
    """Return the end of the first certificate of a kit, if all can be read."""
    paths = [kit.certificate, *(kit.folder / path for path in certificate_owners(kit))]
    found = [_load(path) for path in paths]
    ends = [one.not_valid_after_utc for one in found if one is not None]
    return min(ends) if len(ends) == len(paths) else None


def _pinned(kit: Kit) -> Iterator[Problem]:
    found = _load(kit.certificate)
    if found is None:
        yield Problem(str(kit.certificate), "not a certificate", _RESTORE)
        return
    yield from _dates(kit.certificate, found)
    if fingerprint(kit.certificate) != kit.pin:
        yield Problem(
            str(kit.certificate),
            "not the certificate that `kit.toml` is pinned to",
            "compare the pin with the coordinator by telephone before you go on",
        )
    own = kit.flare_folder / "startup" / "server.crt"
    if _load(own) is not None and fingerprint(own) != kit.pin:
        yield Problem(
            str(own), "not the certificate that the sites are pinned to", _RESTORE
        )


def _dates(path: Path, found: x509.Certificate) -> Iterator[Problem]:
    now = datetime.now(UTC)
    if now > found.not_valid_after_utc:
        ended = found.not_valid_after_utc.date()
        yield Problem(str(path), f"the certificate expired on {ended}", _RENEW)
    elif now < found.not_valid_before_utc:
        begins = found.not_valid_before_utc.date()
        yield Problem(
            str(path),
            f"the certificate is valid only from {begins} on",
            "set the clock of this machine",
        )


def _load(path: Path) -> x509.Certificate | None:
    try:
        return x509.load_pem_x509_certificate(_content(path))
    except (OSError, ValueError):
        return None


def _issued(found: x509.Certificate, root: x509.Certificate) -> bool:
    try:
        found.verify_directly_issued_by(root)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _common_name(found: x509.Certificate) -> str:
    names = found.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    return str(names[0].value) if names else ""


def _fits(found: x509.Certificate, path: Path) -> bool:
    try:
        key = serialization.load_pem_private_key(_content(path), None)
    except (OSError, ValueError, TypeError):
        return False
    return key.public_key() == found.public_key()


def _content(path: Path) -> bytes:
    return read_plain(path, MOST_OF_A_DOCUMENT, links=True)
