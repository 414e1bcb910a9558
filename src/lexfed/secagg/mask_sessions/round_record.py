# SPDX-License-Identifier: Apache-2.0
"""Evidence that a sum was opened for one list of sites, and for which.

The signatures under which sites gave out their shares are receipts: t of them on one
list cannot exist for a second list of the round (2t > n + c). They cover the names of
all sites and the terms, so nobody can make a cohort look smaller than it was, or say
that fewer may have colluded. Anybody with the sites' public keys can check them:
docs/theory/secure-aggregation.md lists the fields of the JSON and the bytes that sites
signed.
"""

import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    TypeAdapter,
)

from lexfed.canonical import canonical_bytes
from lexfed.errors import SecAggError
from lexfed.secagg.envelopes.identities import check_size
from lexfed.secagg.envelopes.key_agreement import Context
from lexfed.secagg.envelopes.payloads import pack_seats, read_seats
from lexfed.secagg.envelopes.sealed_messages import EnvelopeKind, signed_bytes
from lexfed.secagg.masks.cohort import agreed_digest
from lexfed.secagg.masks.terms import MaskSetting, MaskTerms, terms_digest
from lexfed.secagg.masks.thresholds import Threshold
from lexfed.secagg.primitives.ring import Ring
from lexfed.terms import DIGEST, SITE_NAME

_MOST_BYTES = 16 * 2**20
_SIGNATURE = r"[A-Za-z0-9+/]{85}[AQgw]=="
_STRICT = ConfigDict(strict=True, extra="forbid")


def _matching(text: object, pattern: str) -> str:
    if not isinstance(text, str) or not re.fullmatch(pattern, text):
        raise ValueError("expected other text")
    return text


RecordedDigest = Annotated[
    bytes,
    PlainValidator(lambda text: bytes.fromhex(_matching(text, DIGEST))),
    PlainSerializer(bytes.hex),
]
RecordedSignature = Annotated[
    bytes,
    PlainValidator(lambda text: b64decode(_matching(text, _SIGNATURE))),
    PlainSerializer(lambda signature: b64encode(signature).decode()),
]
RecordedName = Annotated[str, Field(pattern=f"^{SITE_NAME}$")]
RecordedNumber = Annotated[int, Field(ge=0, le=2**53 - 1)]
RecordedSeat = Annotated[int, Field(ge=0, lt=2**16)]


class _WrittenTerms(BaseModel):
    model_config = _STRICT

    rounds: RecordedNumber
    colluders: RecordedNumber
    least_sites: RecordedNumber
    bits: RecordedNumber
    length: RecordedNumber
    least_change: RecordedNumber


def _read_terms(value: object) -> MaskTerms:
    terms = _WrittenTerms.model_validate(value).model_dump()
    return MaskTerms(ring=Ring(terms.pop("bits")), **terms)


def _written_terms(terms: MaskTerms) -> dict[str, int]:
    numbers = {**vars(terms), "bits": terms.ring.bits}
    del numbers["ring"]
    return numbers


RecordedTerms = Annotated[
    MaskTerms, PlainValidator(_read_terms), PlainSerializer(_written_terms)
]


@dataclass(frozen=True)
class RoundRecord:
    """Evidence of one round, whose fields are those of its JSON.

    By seat, `names` are the sites in the key list, `cohort` those that dealt shares and
    `survivors` those in the sum, whose list `consents` sign, by name.
    """

    __pydantic_config__ = _STRICT

    session: RecordedDigest
    epoch: RecordedNumber
    policy: RecordedDigest
    server: RecordedDigest
    roster: RecordedDigest
    terms: RecordedTerms
    round: RecordedNumber
    model: RecordedDigest
    key_list: RecordedDigest
    names: tuple[RecordedName, ...]
    cohort: tuple[RecordedSeat, ...]
    survivors: tuple[RecordedSeat, ...]
    consents: Mapping[RecordedName, RecordedSignature]
    format: Literal["lexfed-secagg-round-v1"] = "lexfed-secagg-round-v1"

    def to_bytes(self) -> bytes:
        """Return the record as canonical JSON."""
        return canonical_bytes(_RECORDS.dump_python(self, mode="json"))

    @classmethod
    def from_bytes(cls, data: bytes) -> "RoundRecord":
        """Read a record; `check` says whether what it shows is true.

        Guarantees:
            Only the bytes that `to_bytes` writes are read: one record, one hash.
        """
        if len(data) > _MOST_BYTES:
            raise SecAggError(f"a record of {len(data)} bytes is too long")
        try:
            record = _RECORDS.validate_json(data)
        except ValueError as error:
            raise SecAggError("this is not the record of a round") from error
        # One record, one hash: no spaces, no order of one's own, no key twice.
        if record.to_bytes() != data:
            raise SecAggError("the record of a round is not in canonical form")
        return record

    @property
    def context(self) -> Context:
        """The context of the round's messages."""
        agreed = terms_digest(self.policy, self.server, self.terms)
        place = (self.session, self.epoch, self.round, self.model)
        return Context(*place, agreed, self.roster)

    @property
    def signed_list(self) -> bytes:
        """SHA-256 of the list of survivors, as sites signed it."""
        agreed = agreed_digest(self.key_list, self.names, self.cohort)
        return sha256(agreed + pack_seats(self.survivors)).digest()

    def signed_by(self, name: str) -> bytes:
        """Return the bytes under a site's signature of the list."""
        return signed_bytes(EnvelopeKind.CONSENT, self.context, name, self.signed_list)

    @property
    def quorum(self) -> int:
        """Fewest signatures that the list needs; 2 quorum > sites + colluders."""
        return Threshold.malicious(len(self.names), self.terms.colluders).shares

    def check(self, setting: MaskSetting) -> None:
        """Check that sites agreed to open this sum, and no other of the round.

        The record must be of this setting, t survivors must have signed the list for
        this round and model, and it must be as large as the terms ask for.
        """
        if self.context != setting.context(self.round, self.model):
            raise SecAggError("a record is of another session, policy, roster or terms")
        least = self.terms.least_sites
        check_size(len(self.names), least, "a key list")
        check_size(len(self.survivors), max(least, self.quorum), "a sum")
        check_size(len(self.consents), self.quorum, "a set of signatures")
        survivors = read_seats(pack_seats(self.survivors), len(self.names))
        inside = {self.names[seat] for seat in survivors}
        known = set(self.consents) <= inside and set(survivors) <= set(self.cohort)
        if not known:
            raise SecAggError("a record names sites that are not in its sum or cohort")
        for name, signature in self.consents.items():
            setting.sites.verify(name, self.signed_by(name), signature)


_RECORDS = TypeAdapter(RoundRecord)
