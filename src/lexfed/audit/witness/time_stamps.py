# SPDX-License-Identifier: Apache-2.0
"""Time stamps on checkpoints by an authority that others already trust [RFC 3161].

    signed/<size>            the bytes that are stamped: the checkpoint as it was signed
    timestamps/<size>.tsr    the authority's answer, DER, as it came

A token shows that the checkpoint, and so every entry before it, existed at that time.
It does not show that there is no second history; witnesses do. Anyone can check it:

    openssl ts -verify -data signed/12 -in timestamps/12.tsr -CAfile roots.pem

Only a hash leaves the machine and the answer is signed and carries our nonce, so plain
HTTP is good enough, which many authorities offer alone. This needs the extra
`lexfed[timestamp]`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography import x509

from lexfed.audit.storage.held_folder import Folder, make_folder
from lexfed.audit.storage.write_protocol import SIGNED, TIMESTAMPS
from lexfed.audit.witness.bounded_http import MissingHttpReply, exchange
from lexfed.durable import part_path, write_atomically
from lexfed.errors import AuditError, RunFolderError, system_reason
from lexfed.plain_files import MOST_OF_A_DOCUMENT, read_plain
from lexfed.signing.strict_text import naming, parse_decimal

TIMEOUT_S = 10.0
MAX_TOKEN = 65_536
_SUFFIX = ".tsr"

TrustedRoots = Sequence[x509.Certificate]


@dataclass(frozen=True)
class TimeStamp:
    """The time at which an authority saw a checkpoint, in seconds since 1970."""

    time: int


@dataclass(frozen=True)
class MissingTimeStamp:
    """There is no time stamp, and why."""

    reason: str


def load_roots(path: Path) -> TrustedRoots:
    """Read the certificates of trusted authorities from a PEM file."""
    try:
        return x509.load_pem_x509_certificates(
            read_plain(path, MOST_OF_A_DOCUMENT, links=True)
        )
    except OSError as error:
        reason = system_reason(error)
        raise RunFolderError(f"cannot read `{path}`: {reason}") from error
    except ValueError as error:
        raise RunFolderError(f"`{path}` holds no certificates in PEM") from error


def stamp(
    log: Path, size: int, url: str, roots: TrustedRoots, *, timeout_s: float = TIMEOUT_S
) -> TimeStamp | MissingTimeStamp:
    """Have the checkpoint of a size stamped and keep the token beside it.

    Guarantees:
        Nothing the authority does raises.
        A token is kept only if it is for this checkpoint, this request and a root.
        A token that is there already stays: the first one proves the most.
    """
    library = _library()
    with Folder(log) as files:
        signed = _signed(files, size)
        kept = files.read(f"{TIMESTAMPS}/{size}{_SUFFIX}", MAX_TOKEN)
    if kept is not None:
        return TimeStamp(verify_token(kept, signed, roots))
    builder = library.TimestampRequestBuilder().data(signed)
    request = builder.hash_algorithm(library.HashAlgorithm.SHA256).build()
    reply = exchange(
        url,
        request.as_bytes(),
        "application/timestamp-query",
        timeout_s=timeout_s,
        most=MAX_TOKEN,
        allow_plain=True,
    )
    if isinstance(reply, MissingHttpReply):
        return MissingTimeStamp(reply.reason)
    if reply.status != 200 or reply.content_type != "application/timestamp-reply":
        return MissingTimeStamp(f"`{url}` refused with status {reply.status}")
    try:
        time = verify_token(reply.body, signed, roots, nonce=request.nonce)
    except AuditError as error:
        return MissingTimeStamp(f"`{url}`: {error.message}")
    make_folder(log / TIMESTAMPS)
    write_atomically(log / TIMESTAMPS / f"{size}{_SUFFIX}", reply.body)
    return TimeStamp(time)


def verify_token(
    token: bytes, content: bytes, roots: TrustedRoots, *, nonce: int | None = None
) -> int:
    """Check a token over bytes and return its time, in seconds since 1970.

    Guarantees:
        Returns only if a certificate for time stamping, valid at that time and leading
        to one of `roots`, signed the hash of exactly these bytes with that time.
    """
    library = _library()
    if not roots:
        raise AuditError("no root certificate to check the time stamp with")
    builder = library.VerifierBuilder(roots=list(roots), nonce=nonce)
    try:
        response = library.decode_timestamp_response(token)
        if response.status != library.PKIStatus.GRANTED:
            words = "; ".join(response.status_string) or f"status {response.status}"
            raise AuditError(f"time stamp was not granted: {words[:200]!a}")
        builder.build().verify_message(response, content)
        return int(response.tst_info.gen_time.timestamp())
    except AuditError:
        raise
    except Exception as error:  # whatever a parser of foreign bytes comes up with
        raise AuditError(
            f"time stamp does not verify: {ascii(str(error))[1:-1][:200].lower()}",
            "check it with `openssl ts -verify`; some authorities order the "
            "certificates in a way that only openssl accepts",
        ) from error


def check_stamps(log: Path, roots: TrustedRoots) -> Mapping[int, int]:
    """Check every token of a log and return the time of each stamped size."""
    times = {}
    with Folder(log) as files:
        for name in files.listing(TIMESTAMPS):
            path = log / TIMESTAMPS / name
            if name.endswith(part_path(Path(_SUFFIX)).name):
                continue  # left by a process that died
            if not name.endswith(_SUFFIX):
                raise AuditError(f"`{path}` is no part of a log")
            size = parse_decimal(name.removesuffix(_SUFFIX), f"`{path}`")
            token = files.read(f"{TIMESTAMPS}/{name}", MAX_TOKEN) or b""
            with naming(f"`{path}`"):
                times[size] = verify_token(token, _signed(files, size), roots)
    return times


def _signed(files: Folder, size: int) -> bytes:
    content = files.read(f"{SIGNED}/{size}", MAX_TOKEN)
    if content is None:
        raise AuditError(f"no checkpoint of size {size} was signed")
    return content


def _library() -> Any:
    try:
        import rfc3161_client
    except ImportError as error:
        raise RunFolderError(
            "time stamps need the package `rfc3161-client`",
            "`pip install 'lexfed[timestamp]'`",
        ) from error
    return rfc3161_client
