# SPDX-License-Identifier: Apache-2.0
"""DSSE envelopes: a payload, its type, and signatures over both.

    PAE(type, body) = "DSSEv1" SP len(type) SP type SP len(body) SP body
    signature       = Ed25519(PAE(payloadType, payload))
    envelope        = {"payload":base64,"payloadType":type,
                       "signatures":[{"keyid":hex,"sig":base64}]}

The lengths are decimal numbers of bytes, so no two pairs of type and body share a PAE.
The envelope is stored as RFC 8785 bytes: one spelling, because the log hashes what is
stored. All of its text is plain ASCII, so those bytes are written directly. `keyid` is
the SHA-256 of the raw public key, in hexadecimal.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from lexfed.errors import AuditError
from lexfed.signing import strict_json
from lexfed.signing.base64_text import decode_base64, encode_base64
from lexfed.signing.keys import Signer
from lexfed.signing.notes import verify_ed25519
from lexfed.terms import DIGEST

PAYLOAD_TYPE = "application/vnd.in-toto+json"
MAX_SIGNATURES = 16

_TYPE = re.compile(r"[A-Za-z0-9.+/_-]{1,200}")
_KEY_ID = re.compile(DIGEST)
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
            if not _KEY_ID.fullmatch(key_id) or len(value) != _SIGNATURE_SIZE:
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
        """Return the RFC 8785 bytes of the envelope."""
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

        Raises:
            AuditError: if the bytes are not an envelope.
        """
        fields = _fields(
            strict_json.loads(data),
            ("payload", "payloadType", "signatures"),
            "envelope",
        )
        listed = fields["signatures"]
        if not isinstance(listed, list):
            raise AuditError("envelope: `signatures` is not a list")
        signatures = []
        for number, item in enumerate(listed[: MAX_SIGNATURES + 1]):
            where = f"signature {number} of the envelope"
            pair = _fields(item, ("keyid", "sig"), where)
            key_id = _text(pair, "keyid", where)
            value = decode_base64(_text(pair, "sig", where), where)
            signatures.append((key_id, value))
        envelope = cls(
            decode_base64(_text(fields, "payload", "envelope"), "envelope, `payload`"),
            _text(fields, "payloadType", "envelope"),
            tuple(signatures),
        )
        if envelope.to_bytes() != data:
            raise AuditError("envelope is not in canonical form (RFC 8785)")
        return envelope

    def verify(self, keys: Mapping[str, bytes], needed: Collection[str]) -> None:
        """Check the signatures of known keys.

        Args:
            keys: raw public keys by key id.
            needed: key ids that must all have signed; at least one.

        Guarantees:
            Every needed key has signed this payload under this type.
            A wrong signature of a known key refuses the envelope, needed or not.

        Raises:
            AuditError: if not.
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


def _fields(value: Any, names: tuple[str, ...], where: str) -> dict[str, Any]:
    if not isinstance(value, dict) or set(value) != set(names):
        raise AuditError(f"{where}: expected exactly the keys {', '.join(names)}")
    return value


def _text(fields: dict[str, Any], name: str, where: str) -> str:
    value = fields[name]
    if not isinstance(value, str):
        raise AuditError(f"{where}: `{name}` is not text")
    return value
