# SPDX-License-Identifier: Apache-2.0
"""Signed messages between coordinator and sites.

Before the first round and after the last:

    coordinator   join    configuration, the files it names, a fresh number of the run,
                          and the price of a profile, if that is what is asked for
    site          statement
    coordinator   offer   the programme, and everybody's statements
    site          consent to that programme
    coordinator   begin   the log that receipts are bound to
    site          begun
    coordinator   end     the run is over, and so is the room that is set aside for it
    site          end

Each is one line that names its kind, then a DSSE envelope whose payload type names it
again, under the signature: no message can be taken for one of another kind. A site that
does not go along answers with a code word and nothing else. Kinds, fields, code words
and signed bytes are a protocol between versions of the software at different
organisations; names of classes are not part of it.

Every message of the coordinator, those of rounds included, travels through a
`SignedChannel` to a `GuardedDoor`. FLARE carries messages between any two parties of a
deployment, and the maker of the kits could have kept copies of their TLS keys. Without
signatures another site could put a question to this one and read an answer that is for
the coordinator alone.

    signature[64] || number[8] || message
    signed: canonical JSON of job, number, site, and SHA-256 of the message

A signature holds for one site, one job and one place in the order of messages, so
nothing can be taken elsewhere or said again.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Literal, TypeVar, get_args

from pydantic import Field, StringConstraints, ValidationError

from lexfed.audit.entries.fields import (
    ClosedModel,
    DecimalText,
    Digest,
    JsonCount,
    LogOrigin,
    decimal,
)
from lexfed.canonical import canonical_bytes
from lexfed.errors import AuditError
from lexfed.federation.engines.channel import LONGEST_WORD, Channel, Handler
from lexfed.federation.flare.kit.folder import SiteName
from lexfed.signing.dsse import SignedEnvelope
from lexfed.signing.keys import Signer, fingerprint
from lexfed.signing.notes import verify_ed25519
from lexfed.signing.strict_text import decode_base64, encode_base64
from lexfed.terms import TierName

EnrolmentKind = Literal[
    "join", "statement", "offer", "consent", "begin", "begun", "end"
]
KINDS: tuple[EnrolmentKind, ...] = get_args(EnrolmentKind)

MOST_PROGRAMME = 1 << 23
"""Bytes of a programme that a site reads."""

ConfigText = Annotated[str, Field(max_length=1 << 20)]

RefusalCode = Literal[
    "message", "coordinator", "consent", "configuration", "data", "statements",
    "programme", "budget", "state", "busy", "order", "defect",
]  # fmt: skip
WORDS: dict[RefusalCode, str] = {
    "message": "it does not understand the message",
    "coordinator": "the message is not signed by the coordinator in its roster",
    "consent": "its people did not consent to this configuration, or another run has "
    "used up the consent: `lexfed site consent` at the site, for a profile with "
    "`--profile` and the same `--epsilon`",
    "configuration": "the configuration cannot be run there",
    "data": "its data do not fit the declared columns; its own log says where",
    "statements": "the statements are not those of the roster for this run",
    "programme": "the programme is not the one it computes, or agreed to before",
    "budget": "its own budget does not pay for it",
    "state": "its state cannot be read or written",
    "busy": "another process of the site is at work",
    "order": "the message comes at another time than agreed",
    "defect": "something is wrong in its software; its own log says what",
}
_REFUSAL = b"lexfed/refusal/1\n"


class JoinRequest(ClosedModel):
    """The coordinator's invitation to take part in a run of a configuration."""

    run: Digest
    text: ConfigText
    files: dict[str, str]
    profile: DecimalText | None = None

    @classmethod
    def of(
        cls, run: str, text: str, files: dict[str, bytes], profile: float | None = None
    ) -> "JoinRequest":
        """Return the invitation to a configuration with its files."""
        return cls(
            run=run,
            text=text,
            files={name: encode_base64(content) for name, content in files.items()},
            profile=None if profile is None else decimal(profile),
        )

    @property
    def price(self) -> float | None:
        """Epsilon that a record pays for a profile; None for training."""
        return None if self.profile is None else float(self.profile)

    def contents(self) -> dict[str, bytes]:
        """Return the files; an `AuditError` names one that is not in base64."""
        return {n: decode_base64(text, "join: file") for n, text in self.files.items()}


class UnitCounts(ClosedModel):
    """The numbers of persons at a site, where they are public."""

    train: JsonCount
    test: JsonCount


class SiteStatement(ClosedModel):
    """A site's statement about itself; nothing in it depends on a value of a row.

    Attributes:
        terms: digest of configuration and files, as the site read them.
        declared: digest of the declared columns, which its data fit.
        tiers: tier of every column, and of sources of engineered columns, as the site
            sees it: never below the configuration's.
        units: numbers of persons; None unless they are the same for neighbours.
        key: public key of its receipts, in hexadecimal.
        software: its version of lexfed.
        epsilon: the most it spends on this run; None for the configuration's budget.
        caps: the same for tiers.
    """

    run: Digest
    name: SiteName
    terms: Digest
    declared: Digest
    tiers: dict[str, TierName]
    units: UnitCounts | None
    key: Digest
    software: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9.+-]{1,64}$")]
    epsilon: DecimalText | None
    caps: dict[TierName, DecimalText]


class ProgrammeOffer(ClosedModel):
    """A programme, with the statements it follows from."""

    run: Digest
    programme: Annotated[str, Field(max_length=MOST_PROGRAMME)]
    statements: tuple[str, ...]


class ProgrammeConsent(ClosedModel):
    """A site's consent to take part in exactly this programme."""

    run: Digest
    name: SiteName
    terms: Digest
    programme: Digest


class RunStart(ClosedModel):
    """The log that receipts of this run are bound to; the answer repeats it.

    `programme` is the digest of the one that all agreed to, `log` the origin of the
    log, `coordinator` the public key that signs its entries, in hexadecimal.
    """

    run: Digest
    programme: Digest
    log: LogOrigin
    coordinator: Digest


class RunEnd(ClosedModel):
    """The run is over; the answer repeats it."""

    run: Digest


_Message = TypeVar("_Message", bound=ClosedModel)


def seal(kind: EnrolmentKind, message: ClosedModel, signer: Signer) -> bytes:
    """Return a message as bytes, signed."""
    payload = canonical_bytes(message.model_dump(mode="json"))
    envelope = SignedEnvelope.sign(payload, signer, payload_type=_payload_type(kind))
    return _line(kind) + envelope.to_bytes()


def unseal(
    kind: EnrolmentKind, content: bytes, expected: type[_Message], public: bytes
) -> _Message:
    """Return the message that one key has signed; any other content is an `AuditError`.

    Guarantees:
        This key has signed this message as one of this kind.
        There is no other byte form of it.
    """
    if not content.startswith(_line(kind)):
        raise AuditError(f"not a message of kind `{kind}`")
    envelope = SignedEnvelope.parse(content[len(_line(kind)) :])
    if envelope.payload_type != _payload_type(kind) or len(envelope.signatures) != 1:
        raise AuditError(f"{kind}: another payload type, or several signatures")
    keyid = fingerprint(public)
    envelope.verify({keyid: public}, {keyid})
    try:
        message = expected.model_validate_json(envelope.payload)
    except ValidationError as error:
        raise AuditError(f"{kind}: not the fields of such a message") from error
    if canonical_bytes(message.model_dump(mode="json")) != envelope.payload:
        raise AuditError(f"{kind}: the payload is not canonical JSON")
    return message


def kind_of(content: bytes) -> EnrolmentKind | None:
    """Return the kind that a message names; None for the messages of rounds."""
    return next((kind for kind in KINDS if content.startswith(_line(kind))), None)


def refusal(why: RefusalCode) -> bytes:
    """Return the answer of a site that does not go along."""
    return _REFUSAL + json.dumps({"why": why}).encode()


def refusal_code(content: bytes) -> RefusalCode | None:
    """Return the reason of a refusal; None if the answer is none."""
    if not content.startswith(_REFUSAL):
        return None
    return next((why for why in WORDS if content == refusal(why)), "message")


def _line(kind: EnrolmentKind) -> bytes:
    return f"lexfed/{kind}/1\n".encode()


def _payload_type(kind: EnrolmentKind) -> str:
    return f"application/vnd.lexfed.{kind}+json"


_SIGNATURE = 64
_NUMBER = 8
_HEAD = _SIGNATURE + _NUMBER


class SignedChannel:
    """A channel whose messages, in one FLARE job, carry the coordinator's signature."""

    def __init__(self, channel: Channel, signer: Signer, job: str) -> None:
        self._channel = channel
        self._signer = signer
        self._job = job
        self._number = 0

    def exchange(
        self, messages: Mapping[str, bytes], most: int = LONGEST_WORD
    ) -> Mapping[str, bytes]:
        """Bring one message to each named site, and return the answers unchanged."""
        self._number += 1
        number = self._number.to_bytes(_NUMBER, "big")
        sealed = {}
        for site, message in messages.items():
            signed = _signed_bytes(self._job, self._number, site, message)
            sealed[site] = self._signer.sign(signed) + number + message
        return self._channel.exchange(sealed, most)


class GuardedDoor:
    """The door of a site, for the coordinator alone.

    Guarantees:
        A message reaches the door only if the coordinator signed it, for this site,
        this job, and later than all messages before it.
    """

    def __init__(self, door: Handler, coordinator: bytes, site: str, job: str) -> None:
        self._door = door
        self._key = coordinator
        self._site = site
        self._job = job
        self._last = 0

    def __call__(self, content: bytes) -> bytes:
        """Answer a message of the coordinator; any other is an `AuditError`."""
        number = int.from_bytes(content[_SIGNATURE:_HEAD], "big")
        message = content[_HEAD:]
        signed = _signed_bytes(self._job, number, self._site, message)
        if not verify_ed25519(self._key, signed, content[:_SIGNATURE]):
            raise AuditError(
                "a message was not signed by the coordinator for this site and job"
            )
        if number <= self._last:
            raise AuditError("a message of the coordinator came again")
        self._last = number
        return self._door(message)


def _signed_bytes(job: str, number: int, site: str, message: bytes) -> bytes:
    said = hashlib.sha256(message).hexdigest()
    return b"lexfed/asked/1\n" + canonical_bytes(
        {"job": job, "message": said, "number": str(number), "site": site}
    )
