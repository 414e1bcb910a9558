# SPDX-License-Identifier: Apache-2.0
"""The record of a masked sum, read and checked without the code that made it.

Sites sign which sum may be opened: one list of survivors, for one round of one set-up,
one model and one agreed policy. More than half of them sign, so a second list of the
round cannot have as many signatures: 2 t > n + c [BIK+17]. What they sign is

    message = "lexfed secagg message" 00 | "LXSA" 01 09 | session | epoch 8 | round 8
              | model | terms | roster | length 1, name | 0000 0020 | SHA256(list)
    list    = SHA256(agreed | survivors)
    agreed  = SHA256("lexfed secagg set-up" 00 | key_list | SHA256(names) | cohort)
    terms   = SHA256("lexfed secagg terms" 00 | policy | server | numbers of the terms)
    roster  = SHA256 of RFC 8785 {"lexfed-secagg-roster-v1": {name: key in hex, ...}}

with integers big-endian, seats in two bytes, terms in four, and names joined by line
feeds. So every field of a record is under every signature, but the signatures.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, ValidationError

from lexfed.audit.entries import Aggregation
from lexfed.audit.entries.fields import ClosedModel, Digest, JsonCount, malformed
from lexfed.canonical import canonical_bytes, digest
from lexfed.errors import AuditError
from lexfed.signing.notes import verify_ed25519
from lexfed.signing.strict_text import decode_base64
from lexfed.terms import SITE_NAME

PROTOCOL = "masking"
"""The protocol's name in policies and rounds."""

_MOST_BYTES = 1 << 24
_DIGEST = 32

MaskingName = Annotated[str, StringConstraints(pattern=f"^{SITE_NAME}$")]
ConsentSignature = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9+/]{86}==$")]
SeatNumber = Annotated[int, Field(ge=0, lt=2**16)]
SmallCount = Annotated[int, Field(ge=0, lt=2**32)]


class MaskingTerms(ClosedModel):
    """The public terms that bind all sums of a set-up, in the order that is hashed.

    Attributes:
        colluders: how many sites may work with the server.
        least_sites: fewest sites whose sum may be opened.
        bits: of the ring.
        length: most values of a vector.
        least_change: fewest sites by which two cohorts must differ.
    """

    rounds: SmallCount
    colluders: SmallCount
    least_sites: SmallCount
    bits: Literal[16, 24, 32]
    length: SmallCount
    least_change: SmallCount

    def packed(self) -> bytes:
        """Return the bytes that are hashed."""
        numbers = self.model_dump().values()
        return b"".join(number.to_bytes(4, "big") for number in numbers)


class MaskingRecord(ClosedModel):
    """Evidence of the sum that was opened; nothing of it is checked yet.

    Attributes:
        session: of the run, see `session_of`.
        policy: the programme that the sites agreed to.
        server: digest of the server's name and key.
        roster: digest of the sites' names and keys.
        round: number in the epoch, from 1.
        model: SHA-256 of what the sites were asked.
        key_list: digest of the keys of the set-up.
        names: of the sites that set up keys; a seat is a place in it.
        cohort: seats of the sites whose masks exist.
        survivors: seats of the sites in the sum.
        consents: signatures of the list of survivors, by name.
    """

    format: Literal["lexfed-secagg-round-v1"]
    session: Digest
    epoch: JsonCount
    policy: Digest
    server: Digest
    roster: Digest
    terms: MaskingTerms
    round: JsonCount
    model: Digest
    key_list: Digest
    names: tuple[MaskingName, ...] = Field(max_length=2**16)
    cohort: tuple[SeatNumber, ...]
    survivors: tuple[SeatNumber, ...]
    consents: Mapping[MaskingName, ConsentSignature]

    @classmethod
    def parse(cls, data: bytes) -> "MaskingRecord":
        """Read a record.

        Guarantees:
            Canonical JSON of exactly these fields. Names are different and sorted;
            seats are increasing, survivors are in the cohort, and who signed survived.
        """
        if len(data) > _MOST_BYTES:
            raise AuditError(f"record: {len(data)} bytes are too many")
        try:
            record = cls.model_validate_json(data)
        except ValidationError as error:
            raise malformed("record", error) from error
        if canonical_bytes(record.model_dump(mode="json")) != data:
            raise AuditError("record: not canonical JSON")
        named = list(record.names) == sorted(set(record.names))
        seated = all(
            list(s) == sorted(set(s)) for s in (record.cohort, record.survivors)
        )
        if not named or not seated:
            raise AuditError("record: names or seats are not in order")
        seats = set(range(len(record.names)))
        inside = set(record.survivors) <= set(record.cohort) <= seats
        if not inside or not set(record.consents) <= record.surviving:
            raise AuditError("record: names sites that are not in its sum or cohort")
        return record

    @property
    def surviving(self) -> set[str]:
        """The names of the sites in the sum."""
        return {self.names[seat] for seat in self.survivors}

    @property
    def threshold(self) -> int:
        """Fewest signatures that the list needs: the smallest t with 2 t > n + c."""
        return (len(self.names) + self.terms.colluders) // 2 + 1

    @property
    def list(self) -> str:
        """SHA-256 of set-up and survivors, in hexadecimal: what sites agreed to."""
        names = _sha256("\n".join(self.names).encode())
        bound = b"lexfed secagg set-up\x00" + bytes.fromhex(self.key_list) + names
        agreed = _sha256(bound + _packed(self.cohort))
        return _sha256(agreed + _packed(self.survivors)).hex()

    def message(self, name: str) -> bytes:
        """Return the bytes that a site signed."""
        terms = _sha256(
            b"lexfed secagg terms\x00"
            + bytes.fromhex(self.policy + self.server)
            + self.terms.packed()
        )
        return b"".join(
            (
                b"lexfed secagg message\x00LXSA\x01\x09",
                bytes.fromhex(self.session),
                self.epoch.to_bytes(8, "big"),
                self.round.to_bytes(8, "big"),
                bytes.fromhex(self.model),
                terms,
                bytes.fromhex(self.roster),
                bytes((len(name),)),
                name.encode(),
                _DIGEST.to_bytes(4, "big"),
                _sha256(bytes.fromhex(self.list)),
            )
        )

    def signed_by(self, name: str, public: bytes) -> bool:
        """Return True if a key made the signature that is listed under a name."""
        signature = decode_base64(self.consents[name], "record")
        return verify_ed25519(public, self.message(name), signature)


def session_of(origin: str, programme: str) -> bytes:
    """Return the name of a run's session: of its log, and of its programme's digest."""
    return _sha256(f"lexfed secagg session\n{origin}\n{programme}".encode())


def masking_name(key_id: str) -> str:
    """Return the name of a site in set-ups: the log holds keys, and no names."""
    return key_id[:_DIGEST]


def roster_of(keys: Mapping[str, bytes]) -> str:
    """Return the digest of sites' names and keys."""
    rows = {name: key.hex() for name, key in keys.items()}
    return digest({"lexfed-secagg-roster-v1": rows})


def aggregation_of(record: bytes) -> Aggregation:
    """Return a round's statement about its record, which is to be stored as a blob."""
    parsed = MaskingRecord.parse(record)
    return Aggregation(
        protocol=PROTOCOL,
        threshold=parsed.threshold,
        survivors=len(parsed.survivors),
        cohort=len(parsed.names),
        epoch=parsed.epoch,
        list=parsed.list,
        evidence=_sha256(record).hex(),
    )


def _packed(seats: Iterable[int]) -> bytes:
    return b"".join(seat.to_bytes(2, "big") for seat in seats)


def _sha256(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()
