# SPDX-License-Identifier: Apache-2.0
"""One envelope for every message: typed, versioned, bounded and signed.

    magic   4   "LXSA"
    version 1
    kind    1
    session 32  | the message's place (`key_agreement.Context`): a receiver knows
    epoch   8   | all of it before a message arrives, and takes nothing else
    round   8   |
    model   32  | SHA-256 of the model of the round; zeros in the set-up
    policy  32  | SHA-256 of the policy and the terms (`masks.terms`)
    roster  32  | digest of the enrolled sites
    name    1 + up to 32
    length  4, then the payload
    signature 64

Integers are big-endian. The signature is Ed25519 over a domain, everything before the
payload and the SHA-256 of the payload, so a long vector is hashed once, by the hash
that processors have instructions for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from hashlib import sha256

from lexfed.errors import SecAggError
from lexfed.secagg.envelopes.identities import Identity, Roster
from lexfed.secagg.envelopes.key_agreement import PROTOCOL, Context

DIGEST = 32
"""Length of every digest, public key and session name, in bytes."""
SIGNATURE = 64

_MAGIC = b"LXSA"
_DOMAIN = b"lexfed secagg message\x00"
_LONGEST_NAME = 32
_LONGEST_PAYLOAD = 2**32 - 1


class EnvelopeKind(IntEnum):
    """The kind of a message; odd numbers come from sites, even ones from servers."""

    ADVERTISE = 1
    KEYS = 2
    DEAL = 3
    DELIVERY = 4
    READY = 5
    SURVIVORS = 6
    MASKED = 7
    CONSENTS = 8
    CONSENT = 9
    INQUIRY = 10
    UNMASK = 11
    EVIDENCE = 13
    HEADER = 15
    RELAYED = 16
    OPERATOR_KEY = 20
    DEALT = 21
    HELD = 22
    LISTED = 24
    PARTIAL_SUM = 26
    HE_JOIN = 31
    HE_KEY = 32
    HE_RECEIPT = 33
    HE_SUM = 34
    HE_OPENED = 36
    TRIPLE = 40
    HIDDEN = 42
    TESTED = 44
    PRODUCTS = 46


class Reader:
    """Takes bytes from the front of a message, and never more than there are."""

    def __init__(self, data: bytes | memoryview, where: str) -> None:
        self._data = memoryview(data)
        self._at = 0
        self._where = where

    def take(self, size: int) -> memoryview:
        """Return the next bytes."""
        end = self._at + size
        if end > len(self._data):
            raise SecAggError(f"{self._where}: ends too early")
        taken = self._data[self._at : end]
        self._at = end
        return taken

    def number(self, size: int) -> int:
        """Return the next unsigned integer of that many bytes."""
        return int.from_bytes(self.take(size), "big")

    def digest(self) -> bytes:
        """Return the next 32 bytes."""
        return bytes(self.take(DIGEST))

    def end(self) -> None:
        """Refuse bytes after the expected end."""
        if self._at != len(self._data):
            raise SecAggError(f"{self._where}: has bytes after its end")


def _head(kind: EnvelopeKind, context: Context, sender: str, length: int) -> bytes:
    name = sender.encode()
    if not 0 < len(name) <= _LONGEST_NAME:
        raise SecAggError(f"a name has 1 to {_LONGEST_NAME} bytes, not {len(name)}")
    if length > _LONGEST_PAYLOAD:
        raise SecAggError(f"a message of {length} bytes is too long")
    numbers = (context.epoch.to_bytes(8, "big"), context.round.to_bytes(8, "big"))
    place = (context.session, *numbers, context.model, context.policy, context.roster)
    named = bytes((len(name),)) + name + length.to_bytes(4, "big")
    return b"".join((_MAGIC, bytes((PROTOCOL, kind)), *place, named))


def signed_bytes(
    kind: EnvelopeKind, context: Context, sender: str, payload: bytes | memoryview
) -> bytes:
    """Return the bytes that the sender of a message signs."""
    head = _head(kind, context, sender, len(payload))
    return _DOMAIN + head + sha256(payload).digest()


def seal(
    kind: EnvelopeKind,
    context: Context,
    identity: Identity,
    payload: bytes | memoryview,
) -> bytes:
    """Return a message, signed."""
    head = _head(kind, context, identity.name, len(payload))
    signature = identity.sign(_DOMAIN + head + sha256(payload).digest())
    return b"".join((head, payload, signature))


@dataclass(frozen=True)
class OpenedMessage:
    """A message whose form, context and signature are right; its payload is unread."""

    sender: str
    payload: memoryview
    signature: bytes


def open_sealed(
    data: bytes,
    kind: EnvelopeKind,
    context: Context,
    roster: Roster,
    lengths: range | Sequence[int],
) -> OpenedMessage:
    """Check a message from outside and return it.

    Guarantees:
        Another version, kind, session, epoch, round, model, policy or roster is
        refused, as are messages that are cut off, continue after their end, have a
        payload of a length outside `lengths`, or are not signed by whom they name.
        Nothing of the payload is looked at before the signature has been checked.
    """
    where = f"message {kind.name}"
    reader = Reader(data, where)
    if reader.take(4) != _MAGIC:
        raise SecAggError(f"{where}: is no message of secure aggregation")
    _same(where, "version", reader.number(1), PROTOCOL)
    _same(where, "kind", reader.number(1), int(kind))
    _same(where, "session", reader.digest(), context.session)
    _same(where, "epoch", reader.number(8), context.epoch)
    _same(where, "round", reader.number(8), context.round)
    _same(where, "model", reader.digest(), context.model)
    _same(where, "policy", reader.digest(), context.policy)
    _same(where, "roster", reader.digest(), context.roster)
    size = reader.number(1)
    if not 0 < size <= _LONGEST_NAME:
        raise SecAggError(f"{where}: a name has 1 to {_LONGEST_NAME} bytes, not {size}")
    try:
        sender = str(reader.take(size), "utf-8")
    except UnicodeDecodeError as error:
        raise SecAggError(f"{where}: the sender's name is not text") from error
    length = reader.number(4)
    if length not in lengths:
        raise SecAggError(f"{where}: a payload of {length} bytes is not expected")
    payload = reader.take(length)
    signature = bytes(reader.take(SIGNATURE))
    reader.end()
    roster.verify(sender, signed_bytes(kind, context, sender, payload), signature)
    return OpenedMessage(sender, payload, signature)


def _same(where: str, field: str, received: bytes | int, expected: bytes | int) -> None:
    if received != expected:
        shown = received[:4].hex() if isinstance(received, bytes) else received
        wanted = expected[:4].hex() if isinstance(expected, bytes) else expected
        raise SecAggError(f"{where}: is of {field} {shown}, expected {wanted}")
