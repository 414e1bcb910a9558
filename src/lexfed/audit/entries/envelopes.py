# SPDX-License-Identifier: Apache-2.0
"""An entry in the log: a signed envelope around an in-toto statement, and back.

The predicate (docs/reference/log.md, "What an entry is") binds an entry to its log, its
run and its place, so that a copy of it proves nothing anywhere else.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import StringConstraints, ValidationError

from lexfed.audit.entries import KINDS
from lexfed.audit.entries.fields import (
    ClosedModel,
    Entry,
    IdempotencyKey,
    JsonCount,
    LogOrigin,
    RunId,
    TimeText,
    malformed,
)
from lexfed.audit.tree.merkle import leaf_hash
from lexfed.errors import AuditError
from lexfed.signing.dsse import PAYLOAD_TYPE, InTotoStatement, SignedEnvelope
from lexfed.signing.keys import Signer
from lexfed.signing.strict_text import naming
from lexfed.terms import DIGEST

PREFIX = "https://lexfed.example/audit/"
"""Nothing answers there: a predicate type is a name."""


class _Predicate(ClosedModel):
    log: LogOrigin
    run: RunId
    index: JsonCount
    previous: Annotated[str, StringConstraints(pattern=f"^({DIGEST})?$")]
    key: IdempotencyKey
    time: TimeText
    entry: dict[str, Any]


@dataclass(frozen=True)
class RecordedEntry:
    """An entry and its place in the log.

    Attributes:
        time: when the coordinator says it was written.
        origin: the log it is bound to.
        previous: leaf hash of the entry before it, in hexadecimal; empty for entry 0.
        envelope: payload and signatures, not checked here.
    """

    index: int
    entry: Entry
    key: str
    time: str
    origin: str
    run: str
    previous: str
    envelope: SignedEnvelope
    leaf: bytes

    @property
    def kind(self) -> str:
        """The kind of the entry."""
        return self.entry.kind


def predicate_type(entry: type[Entry] | Entry) -> str:
    """Return the type URI of a kind of entry."""
    return f"{PREFIX}{entry.kind}/v{entry.version}"


_BY_TYPE = {predicate_type(model): model for model in KINDS.values()}


@dataclass(frozen=True)
class EntryPlace:
    """The place of an entry: its log, its run, its number, and the leaf before it."""

    origin: str
    run: str
    index: int
    previous: str


def seal(
    entry: Entry, place: EntryPlace, *, key: str, time: str, signers: Sequence[Signer]
) -> bytes:
    """Return the bytes of an entry as the log stores them, under an idempotency key."""
    try:
        predicate = _Predicate(
            log=place.origin,
            run=place.run,
            index=place.index,
            previous=place.previous,
            key=key,
            time=time,
            entry=body_of(entry),
        )
    except ValidationError as error:
        raise malformed(f"entry {place.index}", error) from error
    subject = entry.subjects() or (("previous entry", place.previous),)
    statement = InTotoStatement(subject, predicate_type(entry), predicate.model_dump())
    return SignedEnvelope.sign(statement.to_bytes(), *signers).to_bytes()


def body_of(entry: Entry) -> dict[str, Any]:
    """Return an entry's fields as plain JSON values."""
    return entry.model_dump(mode="json")


def unseal(data: bytes, index: int) -> RecordedEntry:
    """Read an entry; its signatures are not checked here.

    Guarantees:
        Only known kinds and versions with exactly their fields are returned.
        The subjects are those that follow from the entry.
    """
    where = f"entry {index}"
    with naming(where):
        envelope = SignedEnvelope.parse(data)
        if envelope.payload_type != PAYLOAD_TYPE:
            raise AuditError(f"payload type is `{envelope.payload_type}`")
        statement = InTotoStatement.parse(envelope.payload)
    model = _BY_TYPE.get(statement.predicate_type)
    if model is None:
        raise AuditError(
            f"{where}: unknown kind `{statement.predicate_type[:120]}`",
            "it was written by another version; use that version to verify",
        )
    try:
        # By way of JSON, whose arrays may become tuples although nothing is converted.
        head = _Predicate.model_validate_json(json.dumps(statement.predicate))
        entry = model.model_validate_json(json.dumps(head.entry))
    except ValidationError as error:
        raise malformed(where, error) from error
    expected = entry.subjects() or (("previous entry", head.previous),)
    if statement.subject != expected:
        raise AuditError(f"{where}: its subjects do not follow from what it says")
    return RecordedEntry(
        index=head.index,
        entry=entry,
        key=head.key,
        time=head.time,
        origin=head.log,
        run=head.run,
        previous=head.previous,
        envelope=envelope,
        leaf=leaf_hash(data),
    )
