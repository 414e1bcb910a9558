# SPDX-License-Identifier: Apache-2.0
"""Messages of coordinator and sites where sums are masked.

Most of it are the messages of `lexfed.secagg`, as they are. Four things stand around
them:

    BEGIN    "LXMB", epoch[8]                 -> ADVERTISE: an epoch is to be set up
    ASK      "LXMA", round in epoch[8], query -> ANSWER
    ANSWER   "LXMV", length[4], receipt, MASKED or HEADER
    FETCH    "LXMP", number[8]                -> PIECE: of what HEADER announced

A site refuses with `Refusal`, whatever it was sent.
"""

from dataclasses import dataclass

from lexfed.errors import SecAggError
from lexfed.federation.programme.messages import Refusal, answer_from_bytes
from lexfed.secagg.envelopes.sealed_messages import Reader

_BEGIN, _ASK, _ANSWER, _FETCH = b"LXMB", b"LXMA", b"LXMV", b"LXMP"
_MOST = 2**53 - 1
"""Largest number of an epoch."""
_BEFORE_NAME = 4 + 1 + 1 + 32 + 8 + 8 + 3 * 32
"""Bytes in front of a sender's name (`secagg.messages`)."""


@dataclass(frozen=True)
class EpochRequest:
    """The coordinator's wish to set up an epoch."""

    epoch: int

    def to_bytes(self) -> bytes:
        """Return the message as bytes."""
        return _BEGIN + self.epoch.to_bytes(8, "big")


@dataclass(frozen=True)
class MaskedQuery:
    """A query, and which round of the epoch it is."""

    number: int
    query: bytes

    def to_bytes(self) -> bytes:
        """Return the message as bytes."""
        return _ASK + self.number.to_bytes(8, "big") + self.query


@dataclass(frozen=True)
class PieceRequest:
    """The coordinator's wish for a piece of a long vector, from 0."""

    number: int

    def to_bytes(self) -> bytes:
        """Return the message as bytes."""
        return _FETCH + self.number.to_bytes(8, "big")


def read_request(content: bytes) -> EpochRequest | MaskedQuery | PieceRequest | None:
    """Return a coordinator's request; None if it is a message of the sums' own.

    Raises:
        SecAggError: if the message is cut off, or has a number too large.
    """
    reader, kind = Reader(content[4:], "message"), content[:4]
    if kind not in (_BEGIN, _ASK, _FETCH):
        return None
    number = reader.number(8)
    if number > _MOST:
        raise SecAggError("message: has a number that is too large")
    if kind == _ASK:
        return MaskedQuery(number, content[12:])
    reader.end()
    return EpochRequest(number) if kind == _BEGIN else PieceRequest(number)


@dataclass(frozen=True)
class MaskedAnswer:
    """A site's masked vector, and its receipt for it."""

    receipt: bytes
    masked: bytes

    def to_bytes(self) -> bytes:
        """Return the message as bytes."""
        size = len(self.receipt).to_bytes(4, "big")
        return b"".join((_ANSWER, size, self.receipt, self.masked))


def read_answer(content: bytes) -> MaskedAnswer:
    """Return a site's answer to a query.

    Raises:
        SecAggError: if it is something else.
    """
    reader = Reader(content, "answer")
    if reader.take(4) != _ANSWER:
        raise SecAggError("an answer is not one")
    size = reader.number(4)
    receipt = bytes(reader.take(size))
    return MaskedAnswer(receipt, content[8 + size :])


def refusal_in(content: bytes) -> Refusal | None:
    """Return a site's refusal, if that is what it sent."""
    if content[:2] == b"LX":
        return None
    try:
        answer = answer_from_bytes(content)
    except Exception:  # whatever a stranger's bytes may cause
        return None
    return answer if isinstance(answer, Refusal) else None


def sender_of(message: bytes) -> str:
    """Return the sender that a message of secure aggregation names, unchecked."""
    reader = Reader(message, "message")
    reader.take(_BEFORE_NAME)
    return str(bytes(reader.take(reader.number(1))), "ascii", "replace")
