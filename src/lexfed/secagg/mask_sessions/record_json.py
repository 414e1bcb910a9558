# SPDX-License-Identifier: Apache-2.0
"""The evidence of a round as canonical JSON, for logs and for verifiers of others.

`docs/theory/secure-aggregation.md` lists the fields and the bytes that sites signed, so
that a verifier needs none of this code.
"""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from lexfed.canonical import canonical_bytes
from lexfed.errors import SecAggError
from lexfed.secagg.masks.terms import MaskTerms
from lexfed.secagg.primitives.ring import Ring

_MOST_BYTES = 16 * 2**20
_DIGESTS = ("session", "policy", "server", "roster", "model", "key_list")

RecordedDigest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
RecordedSignature = Annotated[str, Field(pattern=r"^[A-Za-z0-9+/]{85}[AQgw]==$")]
RecordedName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_]{0,31}$")]
RecordedNumber = Annotated[int, Field(ge=0, le=2**53 - 1)]
RecordedSeat = Annotated[int, Field(ge=0, lt=2**16)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class WrittenTerms(_Strict):
    """The terms of an epoch."""

    rounds: RecordedNumber
    colluders: RecordedNumber
    least_sites: RecordedNumber
    bits: RecordedNumber
    length: RecordedNumber
    least_change: RecordedNumber


class WrittenRecord(_Strict):
    """A record with text in place of bytes."""

    format: Literal["lexfed-secagg-round-v1"] = "lexfed-secagg-round-v1"
    session: RecordedDigest
    epoch: RecordedNumber
    policy: RecordedDigest
    server: RecordedDigest
    roster: RecordedDigest
    terms: WrittenTerms
    round: RecordedNumber
    model: RecordedDigest
    key_list: RecordedDigest
    names: tuple[RecordedName, ...]
    cohort: tuple[RecordedSeat, ...]
    survivors: tuple[RecordedSeat, ...]
    consents: dict[RecordedName, RecordedSignature]

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "WrittenRecord":
        """Write the values of a record."""
        terms: MaskTerms = values["terms"]
        text = {name: values[name].hex() for name in _DIGESTS}
        text["terms"] = WrittenTerms(
            rounds=terms.rounds,
            colluders=terms.colluders,
            least_sites=terms.least_sites,
            bits=terms.ring.bits,
            length=terms.length,
            least_change=terms.least_change,
        )
        text["consents"] = {
            name: b64encode(signature).decode()
            for name, signature in values["consents"].items()
        }
        return cls(**{**values, **text})

    def to_bytes(self) -> bytes:
        """Return the canonical JSON."""
        return canonical_bytes(self.model_dump(mode="json"))

    @classmethod
    def read(cls, data: bytes) -> "WrittenRecord":
        """Read canonical JSON.

        Raises:
            SecAggError: if it is anything else.
        """
        if len(data) > _MOST_BYTES:
            raise SecAggError(f"a record of {len(data)} bytes is too long")
        try:
            found = cls.model_validate_json(data)
            found._terms()
        except ValueError as error:
            raise SecAggError("this is not the record of a round") from error
        # One record, one hash: no spaces, no order of one's own, no key twice.
        if found.to_bytes() != data:
            raise SecAggError("the record of a round is not in canonical form")
        return found

    def _terms(self) -> MaskTerms:
        terms = self.terms
        return MaskTerms(
            terms.rounds,
            terms.colluders,
            terms.least_sites,
            Ring(terms.bits),
            terms.length,
            terms.least_change,
        )

    def values(self) -> dict[str, Any]:
        """Return the values of a record."""
        parts = {name: getattr(self, name) for name in type(self).model_fields}
        del parts["format"]
        parts |= {name: bytes.fromhex(parts[name]) for name in _DIGESTS}
        parts["terms"] = self._terms()
        parts["consents"] = {
            name: b64decode(signature) for name, signature in self.consents.items()
        }
        return parts
