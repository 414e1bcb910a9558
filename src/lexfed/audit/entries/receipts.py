# SPDX-License-Identifier: Apache-2.0
"""Receipts: what a site signs when it takes part in a round.

docs/reference/log.md ("Who signs") has the form of a receipt and what follows from it.
It says only that the holder of the key answered this round of this run in this log.
`query` is the digest of the message that was answered; null with mechanism `none`,
where that message holds values without noise. `event` is the digest of the event in the
round's entry; it is left out with mechanism `none` and in logs of before. `answer`
binds the site to the very sum that it sent, and hides it: its salt goes to the
coordinator with the sum and is kept by nobody, since a sum without noise could be
guessed from a bare digest. Where sums are masked it is left out.

The receipts of a round are one blob: a canonical JSON array of the envelopes in
base64, sorted by key id. Where the guarantee rests on keeping participants secret the
blob stays out of the log, and the entry holds a commitment that hides it:

    commitment = SHA256(salt[32] || blob)
    sealed file = {"receipts": base64 of the blob, "salt": base64}     RFC 8785
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from lexfed.audit.entries.fields import (
    ClosedModel,
    DecimalText,
    Digest,
    JsonCount,
    LogOrigin,
    RunId,
    later_field,
    malformed,
)
from lexfed.audit.entries.rounds import ChargedEvent
from lexfed.canonical import canonical_bytes
from lexfed.errors import AuditError
from lexfed.signing.dsse import SignedEnvelope
from lexfed.signing.keys import Signer
from lexfed.signing.strict_text import decode_base64, encode_base64, parse_json

PAYLOAD_TYPE = "application/vnd.lexfed.receipt+json"
SALT = 32
"""Bytes of salt in a commitment: too many to try."""

_ANSWER = b"lexfed/answer/1\n"
_MOST = 100_000
"""Receipts of one round that are read at all."""


class Receipt(ClosedModel):
    """A site's word that it took part in one round.

    It clipped to `clips`, one for each group of the release; its own ledger was charged
    for `charged` releases so far.
    """

    log: LogOrigin
    run: RunId
    programme: Digest
    round: JsonCount
    query: Digest | None
    clips: tuple[DecimalText, ...]
    charged: JsonCount
    event: Digest | None = later_field()
    answer: Digest | None = later_field()

    def to_bytes(self) -> bytes:
        """Return the bytes that are signed."""
        return canonical_bytes(self.model_dump(mode="json"))


def answer_digest(total: bytes, salt: bytes) -> str:
    """Return the commitment to a sum, eight bytes for each of its numbers.

    `salt` is 32 bytes from a secure source, used once.
    """
    if len(salt) != SALT:
        raise AuditError(f"receipt: expected {SALT} bytes of salt, got: {len(salt)}")
    return hashlib.sha256(_ANSWER + salt + total).hexdigest()


def sign(receipt: Receipt, signer: Signer) -> bytes:
    """Return the envelope of a receipt, signed by the site."""
    payload = receipt.to_bytes()
    return SignedEnvelope.sign(payload, signer, payload_type=PAYLOAD_TYPE).to_bytes()


def check(envelope: bytes, public_keys: Mapping[str, bytes]) -> tuple[str, Receipt]:
    """Return the signer's key id of a receipt, and the receipt.

    Guarantees:
        Exactly one of the given keys has signed these bytes, and nobody else.
        The payload is a receipt in its only byte form.
    """
    signed = SignedEnvelope.parse(envelope)
    if signed.payload_type != PAYLOAD_TYPE:
        raise AuditError("receipt: another payload type")
    keyid = _signer(signed)
    if keyid not in public_keys:
        raise AuditError(f"receipt: key `{keyid[:16]}` is not that of a site")
    signed.verify({keyid: public_keys[keyid]}, {keyid})
    try:
        receipt = Receipt.model_validate_json(signed.payload)
    except ValidationError as error:
        raise malformed("receipt", error) from error
    # One byte form: no duplicate keys, no other spelling of the same numbers.
    if receipt.to_bytes() != signed.payload:
        raise AuditError("receipt: the payload is not canonical JSON")
    return keyid, receipt


@dataclass(frozen=True)
class ReceiptSubject:
    """The round that a receipt must be for; it has no event with mechanism `none`."""

    log: str
    run: str
    programme: str
    round: int
    event: ChargedEvent | None


def expect(
    receipt: Receipt,
    subject: ReceiptSubject,
    *,
    event_signed: bool,
    answer_signed: bool,
) -> None:
    """Compare a receipt with the round it is handed in for.

    `event_signed` and `answer_signed` say whether the receipt must name the event and
    commit to a sum. An event that it names is always compared.
    """
    event = subject.event
    expected: dict[str, object] = {
        "log": subject.log,
        "run": subject.run,
        "programme": subject.programme,
        "round": subject.round,
        "clips": () if event is None else tuple(group.clip for group in event.groups),
    }
    if event_signed or receipt.event is not None:
        expected["event"] = None if event is None else event.digest
    for name, value in expected.items():
        signed = getattr(receipt, name)
        if signed != value:
            raise AuditError(
                f"receipt: `{name}` is not that of the round: expected {value!r}, "
                f"got: {signed!r}"
            )
    if answer_signed and receipt.answer is None:
        raise AuditError("receipt: the site signed no sum")


def encode(envelopes: Iterable[bytes]) -> bytes:
    """Return the receipts of a round as one blob, sorted by key id."""
    by_key: dict[str, bytes] = {}
    for envelope in envelopes:
        keyid = _signer(SignedEnvelope.parse(envelope))
        if keyid in by_key:
            raise AuditError(f"receipts: two are signed with key `{keyid[:16]}`")
        by_key[keyid] = envelope
    return canonical_bytes([encode_base64(by_key[keyid]) for keyid in sorted(by_key)])


def decode(blob: bytes) -> tuple[bytes, ...]:
    """Return the envelopes of a blob.

    Guarantees:
        Accepts exactly the blobs that `encode` gives.
    """
    texts = parse_json(blob)
    if not isinstance(texts, list) or len(texts) > _MOST:
        raise AuditError("receipts: expected a JSON array of base64 envelopes")
    envelopes = tuple(_unbase64(text) for text in texts)
    if encode(envelopes) != blob:
        raise AuditError("receipts: not canonical, or not sorted by key id")
    return envelopes


def seal(blob: bytes, salt: bytes) -> tuple[str, bytes]:
    """Return the commitment for the log, and the content of the sealed file.

    `blob` comes from `encode`; `salt` is 32 bytes from a secure source, used once.
    """
    if len(salt) != SALT:
        raise AuditError(f"receipts: expected {SALT} bytes of salt, got: {len(salt)}")
    sealed = {"salt": encode_base64(salt), "receipts": encode_base64(blob)}
    return hashlib.sha256(salt + blob).hexdigest(), canonical_bytes(sealed)


def unseal(sealed: bytes, commitment: str) -> bytes:
    """Return the blob of a sealed file.

    Guarantees:
        It is what the commitment was made of.
    """
    parts = parse_json(sealed)
    if not isinstance(parts, dict) or parts.keys() != {"salt", "receipts"}:
        raise AuditError("sealed receipts: expected `salt` and `receipts`")
    blob = _unbase64(parts["receipts"])
    made, content = seal(blob, _unbase64(parts["salt"]))
    if made != commitment or content != sealed:
        raise AuditError("sealed receipts: not what the entry commits to")
    return blob


def _signer(envelope: SignedEnvelope) -> str:
    count = len(envelope.signatures)
    if count != 1:
        raise AuditError(f"receipt: expected one signature, got: {count}")
    return envelope.signatures[0][0]


def _unbase64(text: object) -> bytes:
    if not isinstance(text, str):
        raise AuditError("receipts: expected base64 text")
    return decode_base64(text, "receipts")
