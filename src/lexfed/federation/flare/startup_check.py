# SPDX-License-Identifier: Apache-2.0
"""The check before anything starts: a kit is as it was made, or nothing runs.

Settings are compared key by key, so that a weaker one is found even if nobody thought
of it here. Never let the check pass a value that it does not know.
"""

import json
import os
import re
import stat
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization

from lexfed.errors import ConfigError, LexfedError, Problem
from lexfed.federation.flare.hardening.tls13 import check_version, fingerprint
from lexfed.federation.flare.kit.enrolment import read_roster
from lexfed.federation.flare.kit.folder import Kit
from lexfed.federation.flare.kit.settings import certificate_owners, kit_settings
from lexfed.plain_files import MOST_OF_A_DOCUMENT, read_plain
from lexfed.signing.keys import load_key

_RESTORE = "restore it from the kit that you were given"
_PUT_BACK = "put back what is expected, and find out who changed it"
_RENEW = "the deployment needs new kits: `lexfed deploy init`, in another folder"
SOON = timedelta(days=30)
"""Time before a certificate's end at which it is worth a warning."""
_SHOWN = 60

# Consequences of a setting that is not as expected, by its key.
_CONSEQUENCES = (
    ("allow_log_streaming", "logs could leave this machine"),
    ("class_list_enforcement_mode", "jobs could run any class"),
    ("class_allow_list", "jobs could run other classes than a run needs"),
    ("require_signed_jobs", "jobs that nobody signed would run"),
    ("internal", "other users of this machine could connect to its processes"),
    ("connection_security", "connections without certificates at both ends"),
    ("shell_commands", "an administrator could read files here"),
    ("byoc", "jobs could bring their own code"),
    ("permissions", "an administrator could do more than run jobs"),
    ("allow_adhoc_conns", "processes could open ports of their own"),
    ("storage", "jobs would be kept outside the kit"),
    ("job_store", "jobs would be kept outside the kit"),
    ("heart_beat_timeout", "a site that is gone would be waited for"),
    ("components", "FLARE would run other parts than these"),
    ("handlers", "logs could go elsewhere"),
)


def check_kit(kit: Kit) -> None:
    """Check everything that a kit must be before its process starts.

    Guarantees:
        A kit whose settings differ in any value from those that were made, that other
        users can read or change, whose certificates are expired, foreign or not the
        pinned ones, or whose roster does not have its own key, does not pass.
    """
    problems = list(kit_problems(kit))
    if problems:
        raise ConfigError(problems)


def kit_problems(kit: Kit) -> Iterator[Problem]:
    """Yield everything that is wrong with a kit."""
    yield from _attempt(check_version)
    # FLARE splits the command lines of its processes at blanks, without quotes.
    if re.search(r"[^A-Za-z0-9_./@:,+=-]", str(kit.folder)):
        what = "FLARE cannot start jobs from a path with blanks or special characters"
        hint = "move the kit to a path of letters, digits and `_-./`"
        yield Problem(str(kit.folder), what, hint)
    yield from _permissions(kit)
    for path, expected in kit_settings(kit).items():
        yield from _setting(kit.folder / path, expected)
    yield from _strangers(kit)
    yield from certificate_problems(kit)
    yield from _identity(kit)


def _attempt(check: Any, *arguments: Any) -> Iterator[Problem]:
    """Turn an error into its problems."""
    try:
        check(*arguments)
    except ConfigError as error:
        yield from error.problems
    except LexfedError as error:
        yield Problem("", error.message, error.hint)


def _permissions(kit: Kit) -> Iterator[Problem]:
    inside = [
        path
        for folder in _settings_folders(kit)
        for path in (folder, *sorted(folder.glob("*")))
    ]
    own = [kit.folder, kit.folder / "kit.toml", kit.certificate, kit.roster]
    for path in (*own, kit.flare_folder, kit.state, *inside):
        try:
            status = path.lstat()
        except OSError:
            continue  # missing files are found elsewhere
        if stat.S_ISLNK(status.st_mode):
            yield Problem(str(path), "a link", "put the file itself there")
        elif status.st_uid != os.geteuid():
            hint = f"`chown $(id -u) {path}`"
            yield Problem(str(path), "it belongs to another user", hint)
        elif status.st_mode & (0o022 if path == kit.roster else 0o077):
            mode = "700" if path.is_dir() else "600"
            actual = f"{stat.S_IMODE(status.st_mode):o}"
            what = f"other users may use it (mode {actual}, expected: {mode})"
            more = "if others may have read a key, ask for a new deployment"
            yield Problem(str(path), what, f"`chmod {mode} {path}`; {more}")


def _settings_folders(kit: Kit) -> list[Path]:
    return sorted({(kit.folder / path).parent for path in kit_settings(kit)})


def _setting(path: Path, expected: Any) -> Iterator[Problem]:
    try:
        actual = json.loads(read_plain(path, MOST_OF_A_DOCUMENT, links=True))
    except (OSError, ValueError):
        yield Problem(str(path), "missing, or not JSON", _PUT_BACK)
        return
    for key, value, wanted in _differences(expected, actual, ""):
        follows = [text for word, text in _CONSEQUENCES if word in key.split(".")]
        what = f"`{key}` is {_shown(value)}, expected: {_shown(wanted)}"
        yield Problem(str(path), "; ".join([what, *follows[:1]]), _PUT_BACK)


_ABSENT = object()


def _differences(
    expected: Any, actual: Any, key: str
) -> Iterator[tuple[str, Any, Any]]:
    """Yield each key that differs, with its actual and expected value."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for name in [*expected, *(name for name in actual if name not in expected)]:
            inner = f"{key}.{name}" if key else str(name)
            yield from _differences(
                expected.get(name, _ABSENT), actual.get(name, _ABSENT), inner
            )
    elif _named(expected) and _named(actual):
        yield from _differences(_by_id(expected), _by_id(actual), key)
    elif type(expected) is not type(actual) or expected != actual:
        yield key, actual, expected


def _named(value: Any) -> bool:
    """Return True if a value is a list of parts that have names of their own."""
    return (
        isinstance(value, list)
        and len(value) > 0
        and all(isinstance(part, dict) for part in value)
        and len({_id(part) for part in value}) == len(value)
    )


def _id(part: dict[str, Any]) -> str:
    return str(part.get("id", part.get("name", "0")))


def _by_id(parts: list[dict[str, Any]]) -> dict[str, Any]:
    return {_id(part): part for part in parts}


def _shown(value: Any) -> str:
    if value is _ABSENT:
        return "absent"
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _strangers(kit: Kit) -> Iterator[Problem]:
    """Yield files that FLARE would read besides those that were made."""
    known = {kit.folder / owned for owned in kit_settings(kit)}
    for owned in certificate_owners(kit):
        crt = kit.folder / owned
        known |= {crt, crt.with_suffix(".key"), crt.with_name("rootCA.pem")}
    for folder in _settings_folders(kit):
        for path in sorted(folder.glob("*")):
            if path not in known:
                what = "not part of the kit; FLARE would read settings or code from it"
                hint = "remove it, and find out who put it there"
                yield Problem(str(path), what, hint)


def _identity(kit: Kit) -> Iterable[Problem]:
    if not os.path.lexists(kit.identity_key):
        what = "this kit has no key of its own yet"
        hint = f"`lexfed deploy roster {kit.folder} ENROLMENT...` makes it"
        if kit.role == "site":
            hint = f"`lexfed site enrol {kit.folder}`"
        return [Problem(str(kit.identity_key), what, hint)]
    problems = list(_attempt(load_key, kit.identity_key))
    if problems or kit.roster.exists():
        return problems or _attempt(read_roster, kit)
    what = "nobody has told this kit who takes part"
    hint = (
        "`lexfed deploy roster` at the coordinator, then "
        f"`lexfed site roster {kit.folder} roster.json`"
    )
    return [Problem(str(kit.roster), what, hint)]


def certificate_problems(kit: Kit) -> Iterator[Problem]:
    """Yield the problems of the certificates and TLS keys of a kit."""
    yield from _pinned(kit)
    for path, owner in certificate_owners(kit).items():
        crt = kit.folder / path
        root_path = crt.with_name("rootCA.pem")
        certificate, root = _load(crt), _load(root_path)
        for file, loaded in ((crt, certificate), (root_path, root)):
            if loaded is None:
                yield Problem(str(file), "not a certificate", _RESTORE)
        if certificate is None or root is None:
            continue
        yield from _dates(crt, certificate)
        yield from _dates(root_path, root)
        if not _issued(certificate, root):
            what = "it is not of this deployment: another root signed it"
            yield Problem(str(crt), what)
        if (name := _common_name(certificate)) != owner:
            yield Problem(str(crt), f"it is of `{name}`, expected: `{owner}`", _RESTORE)
        if not _fits(certificate, key := crt.with_suffix(".key")):
            yield Problem(str(key), "not the private key of the certificate", _RESTORE)


def last_day(kit: Kit) -> datetime | None:
    """Return the end of the first certificate of a kit, if all can be read."""
    paths = [kit.certificate, *(kit.folder / path for path in certificate_owners(kit))]
    certificates = [_load(path) for path in paths]
    ends = [one.not_valid_after_utc for one in certificates if one is not None]
    return min(ends) if len(ends) == len(paths) else None


def _pinned(kit: Kit) -> Iterator[Problem]:
    certificate = _load(kit.certificate)
    if certificate is None:
        yield Problem(str(kit.certificate), "not a certificate", _RESTORE)
        return
    yield from _dates(kit.certificate, certificate)
    if fingerprint(kit.certificate) != kit.pin:
        what = "not the certificate that `kit.toml` is pinned to"
        hint = "compare the pin with the coordinator by telephone before you go on"
        yield Problem(str(kit.certificate), what, hint)
    own = kit.flare_folder / "startup" / "server.crt"
    if _load(own) is not None and fingerprint(own) != kit.pin:
        what = "not the certificate that the sites are pinned to"
        yield Problem(str(own), what, _RESTORE)


def _dates(path: Path, certificate: x509.Certificate) -> Iterator[Problem]:
    now = datetime.now(UTC)
    if now > certificate.not_valid_after_utc:
        ended = certificate.not_valid_after_utc.date()
        yield Problem(str(path), f"the certificate expired on {ended}", _RENEW)
    elif now < certificate.not_valid_before_utc:
        begins = certificate.not_valid_before_utc.date()
        what = f"the certificate is valid only from {begins} on"
        yield Problem(str(path), what, "set the clock of this machine")


def _load(path: Path) -> x509.Certificate | None:
    try:
        return x509.load_pem_x509_certificate(_content(path))
    except (OSError, ValueError):
        return None


def _issued(certificate: x509.Certificate, root: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(root)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _common_name(certificate: x509.Certificate) -> str:
    names = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    return str(names[0].value) if names else ""


def _fits(certificate: x509.Certificate, path: Path) -> bool:
    try:
        key = serialization.load_pem_private_key(_content(path), None)
    except (OSError, ValueError, TypeError):
        return False
    return key.public_key() == certificate.public_key()


def _content(path: Path) -> bytes:
    return read_plain(path, MOST_OF_A_DOCUMENT, links=True)
