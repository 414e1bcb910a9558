# SPDX-License-Identifier: Apache-2.0
"""DSSE envelopes, and the in-toto statements inside them.

An envelope is a payload, its type, and signatures over both:

    PAE(type, body) = "DSSEv1" SP len(type) SP type SP len(body) SP body
    signature       = Ed25519(PAE(payloadType, payload))
    envelope        = {"payload":base64,"payloadType":type,
                       "signatures":[{"keyid":hex,"sig":base64}]}

The lengths are decimal numbers of bytes, so no two pairs of type and body share a PAE.
`keyid` is the SHA-256 of the raw public key. A statement says something (predicate)
about named bytes (subject):

    {"_type":"https://in-toto.io/Statement/v1",
     "predicate":{...},
     "predicateType":"<URI>",
     "subject":[{"digest":{"sha256":"<64 hex digits>"},"name":"<name>"}]}

Both are stored as RFC 8785 bytes: one spelling, because the log hashes what is stored.
A key that is not listed here is refused: no verifier would look at it.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from lexfed.canonical import canonical_bytes
from lexfed.errors import AuditError
from lexfed.signing.keys import Signer
from lexfed.signing.notes import verify_ed25519
from lexfed.signing.strict_text import (
    decode_base64,
    encode_base64,
    is_canonical_json,
    parse_json,
)
from lexfed.terms import DIGEST

PAYLOAD_TYPE = "application/vnd.in-toto+json"
MAX_SIGNATURES = 16
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
MAX_SUBJECTS = 1000

_TYPE = re.compile(r"[A-Za-z0-9.+/_-]{1,200}")
_DIGEST = re.compile(DIGEST)
_URI = re.compile(r"[a-z][a-z0-9+.-]*:[!-~]{1,200}")
_SIGNATURE_SIZE = 64


def pae(payload_type: str, body: bytes) -> bytes:
    """Return the pre-authentication encoding, the bytes that are signed."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(body), body)


@dataclass(frozen=True)
class SignedEnvelope:
    """A payload and the signatures over it, none of them checked yet."""

    payload: bytes
    payload_type: str
    signatures: tuple[tuple[str, bytes], ...]

    def __post_init__(self) -> None:
        if not _TYPE.fullmatch(self.payload_type):
            raise AuditError(
                f"envelope has no sound payload type, got: {self.payload_type[:60]!a}"
            )
        if not 1 <= len(self.signatures) <= MAX_SIGNATURES:
            raise AuditError(
                f"expected 1 to {MAX_SIGNATURES} signatures in an envelope, "
                f"got: {len(self.signatures)}"
            )
        for number, (key_id, value) in enumerate(self.signatures):
            if not _DIGEST.fullmatch(key_id) or len(value) != _SIGNATURE_SIZE:
                raise AuditError(f"signature {number} of the envelope is malformed")
        if len({key_id for key_id, _ in self.signatures}) < len(self.signatures):
            raise AuditError("envelope has two signatures of one key")

    @classmethod
    def sign(
        cls, payload: bytes, *signers: Signer, payload_type: str = PAYLOAD_TYPE
    ) -> "SignedEnvelope":
        """Return an envelope signed by every given signer."""
        message = pae(payload_type, payload)
        signatures = tuple((each.fingerprint, each.sign(message)) for each in signers)
        return cls(payload, payload_type, signatures)

    def to_bytes(self) -> bytes:
        """Return the RFC 8785 bytes; all of its text is plain ASCII."""
        signatures = ",".join(
            f'{{"keyid":"{key_id}","sig":"{encode_base64(value)}"}}'
            for key_id, value in self.signatures
        )
        return (
            f'{{"payload":"{encode_base64(self.payload)}",'
            f'"payloadType":"{self.payload_type}","signatures":[{signatures}]}}'
        ).encode()

    @classmethod
    def parse(cls, data: bytes) -> "SignedEnvelope":
        """Read an envelope.

        Guarantees:
            `Envelope.parse(data).to_bytes() == data`: other spellings are refused.
        """
        fields = _closed(
            parse_json(data), ("payload", "payloadType", "signatures"), "envelope"
        )
        listed = fields["signatures"]
        if not isinstance(listed, list):
            raise AuditError("envelope: `signatures` is not a list")
        signatures = []
        for number, item in enumerate(listed[: MAX_SIGNATURES + 1]):
            where = f"signature {number} of the envelope"
            pair = _closed(item, ("keyid", "sig"), where)
            key_id, value = (_text(pair, name, where) for name in ("keyid", "sig"))
            signatures.append((key_id, decode_base64(value, where)))
        envelope = cls(
            decode_base64(_text(fields, "payload", "envelope"), "envelope, `payload`"),
            _text(fields, "payloadType", "envelope"),
            tuple(signatures),
        )
        if envelope.to_bytes() != data:
            raise AuditError("envelope is not in canonical form (RFC 8785)")
        return envelope

    def verify(self, keys: Mapping[str, bytes], needed: Collection[str]) -> None:
        """Check the signatures of known keys, given as raw bytes by key id.

        Guarantees:
            Every needed key, at least one, has signed this payload under this type.
            A wrong signature of a known key refuses the envelope, needed or not.
        """
        if not needed:
            raise AuditError("nobody's signature was asked for")
        message = pae(self.payload_type, self.payload)
        signed = set()
        for key_id, value in self.signatures:
            public = keys.get(key_id)
            if public is None:
                continue
            if not verify_ed25519(public, message, value):
                raise AuditError(
                    f"envelope: signature of key {key_id[:16]} is wrong",
                    "the payload or the signature was changed after signing",
                )
            signed.add(key_id)
        for key_id in sorted(set(needed) - signed):
            raise AuditError(f"envelope is not signed by key {key_id[:16]}")


@dataclass(frozen=True)
class InTotoStatement:
    """Named digests and what is stated about them."""

    subject: tuple[tuple[str, str], ...]
    """Name and SHA-256, in hexadecimal, of each."""
    predicate_type: str
    predicate: dict[str, Any]

    def __post_init__(self) -> None:
        if not 1 <= len(self.subject) <= MAX_SUBJECTS:
            raise AuditError(
                f"expected 1 to {MAX_SUBJECTS} subjects, got: {len(self.subject)}"
            )
        for number, (name, digest) in enumerate(self.subject):
            if not name or not _DIGEST.fullmatch(digest):
                raise AuditError(f"statement: subject {number} has no name or SHA-256")
        if not _URI.fullmatch(self.predicate_type):
            raise AuditError(
                f"statement: predicate type is no URI: {self.predicate_type[:60]!a}"
            )

    def to_bytes(self) -> bytes:
        """Return the RFC 8785 bytes; the predicate must be strict JSON."""
        subject = [
            {"digest": {"sha256": digest}, "name": name}
            for name, digest in self.subject
        ]
        value = {
            "_type": STATEMENT_TYPE,
            "predicate": self.predicate,
            "predicateType": self.predicate_type,
            "subject": subject,
        }
        try:
            data = canonical_bytes(value)
        except (ValueError, TypeError, RecursionError) as error:
            raise AuditError(f"statement is not JSON: {error}") from error
        parse_json(data)  # what we cannot read back must not be signed
        return data

    @classmethod
    def parse(cls, data: bytes) -> "InTotoStatement":
        """Read a statement.

        Guarantees:
            `Statement.parse(data).to_bytes() == data`: other spellings are refused.
        """
        keys = ("_type", "predicate", "predicateType", "subject")
        value = _closed(parse_json(data), keys, "statement")
        if value["_type"] != STATEMENT_TYPE:
            raise AuditError(f"statement: `_type` is not `{STATEMENT_TYPE}`")
        predicate_type = _text(value, "predicateType", "statement")
        if not isinstance(value["predicate"], dict):
            raise AuditError("statement: `predicate` is not an object")
        if not isinstance(value["subject"], list):
            raise AuditError("statement: `subject` is not a list")
        subject = tuple(
            _subject(item, f"statement, subject {number}")
            for number, item in enumerate(value["subject"])
        )
        if not is_canonical_json(data, value):
            raise AuditError("statement is not in canonical form (RFC 8785)")
        return cls(subject, predicate_type, value["predicate"])


def _subject(item: Any, where: str) -> tuple[str, str]:
    _closed(item, ("digest", "name"), where)
    _closed(item["digest"], ("sha256",), f"{where}, `digest`")
    name, digest = item["name"], item["digest"]["sha256"]
    if not isinstance(name, str) or not isinstance(digest, str):
        raise AuditError(f"{where}: name or digest is not text")
    return name, digest


def _closed(value: Any, names: tuple[str, ...], where: str) -> dict[str, Any]:
    if not isinstance(value, dict) or set(value) != set(names):
        raise AuditError(f"{where}: expected exactly the keys {', '.join(names)}")
    return value


def _text(fields: dict[str, Any], name: str, where: str) -> str:
    value = fields[name]
    if not isinstance(value, str):
        raise AuditError(f"{where}: `{name}` is not text")
    return value
