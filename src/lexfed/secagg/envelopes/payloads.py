# SPDX-License-Identifier: Apache-2.0
"""Payloads of messages, as bytes of lengths that are known beforehand.

A *seat* is a site's place in the key list, from 0; its point for shares is one more.
A list of seats is strictly increasing, so no site can be in it twice.

    ADVERTISE   channel key 32 | per round: mask key 32 | per round: seed mark 32
    KEYS        count 2 | per site: length 4, its ADVERTISE message
    DEAL        per seat of the dealer's circle: commitments to its 2 N shares, 32 each
                | per other seat: part without root
    DELIVERY    per other seat that dealt: seat 2, part
    part        root 32 | key 32 | signature 64 | encrypted shares 64 N + 16
    READY       digest of set-up and delivery 32 | seats of dealers whose part is bad
    INQUIRY     seats of holders that complain of a dealer's parts
    EVIDENCE    per holder: private key of its part 32
    MASKED      digest of the set-up 32 | the vector
    HEADER      digest of the set-up 32 | values 4 | SHA-256 of each piece 32
    SURVIVORS   digest of the set-up 32 | seats
    CONSENT     SHA-256 of the SURVIVORS payload
    CONSENTS    per signer: seat 2, signature of its CONSENT 64
    UNMASK      per seat of its circle in the cohort: share 32
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise

from lexfed.errors import SecAggError
from lexfed.secagg.envelopes.sealed_messages import DIGEST, SIGNATURE, Reader
from lexfed.secagg.primitives.shamir import SECRET_BYTES

SEAT = 2
TAG = 16
"""Length of what authenticates encrypted shares."""
ENVELOPE = 256
"""No envelope is longer than that around its payload (`sealed_messages`)."""


@dataclass(frozen=True)
class AdvertisedKeys:
    """The public half of a site's secrets of an epoch: X25519 keys, hashes of seeds."""

    channel: bytes
    masks: tuple[bytes, ...]
    marks: tuple[bytes, ...]

    @staticmethod
    def length(rounds: int) -> int:
        """Return its length in bytes."""
        return DIGEST * (1 + 2 * rounds)

    def packed(self) -> bytes:
        """Return the payload."""
        return b"".join((self.channel, *self.masks, *self.marks))

    @classmethod
    def read(cls, payload: memoryview, rounds: int) -> "AdvertisedKeys":
        """Read a payload whose length is right."""
        reader = Reader(payload, "keys of a site")
        channel = reader.digest()
        masks = tuple(reader.digest() for _ in range(rounds))
        return cls(channel, masks, tuple(reader.digest() for _ in range(rounds)))


@dataclass(frozen=True)
class SealedPart:
    """The shares that one site deals to another, encrypted under a key of their own."""

    root: bytes
    key: bytes
    signature: bytes
    sealed: bytes

    @staticmethod
    def length(rounds: int) -> int:
        """Return its length in bytes."""
        return 2 * DIGEST + SIGNATURE + 2 * SECRET_BYTES * rounds + TAG

    def packed(self) -> bytes:
        """Return its bytes."""
        return b"".join((self.root, self.key, self.signature, self.sealed))

    @classmethod
    def read(
        cls, reader: Reader, rounds: int, root: bytes | None = None
    ) -> "SealedPart":
        """Take one from a message; its root, unless it is given, comes first."""
        root = reader.digest() if root is None else root
        key, signature = reader.digest(), bytes(reader.take(SIGNATURE))
        rest = cls.length(rounds) - 2 * DIGEST - SIGNATURE
        return cls(root, key, signature, bytes(reader.take(rest)))


@dataclass(frozen=True)
class Deal:
    """A site's whole deal: commitments by seat of its circle, parts by other seats."""

    commitments: Mapping[int, bytes]
    parts: Mapping[int, SealedPart]

    @staticmethod
    def length(circle: int, rounds: int) -> int:
        """Return its length in bytes, in a circle of that size."""
        others = (circle - 1) * (SealedPart.length(rounds) - DIGEST)
        return circle * 2 * DIGEST * rounds + others

    def packed(self) -> bytes:
        """Return the payload."""
        parts = (part.packed()[DIGEST:] for part in self.parts.values())
        return b"".join((*self.commitments.values(), *parts))

    @classmethod
    def read(
        cls, payload: memoryview, dealer: int, circle: Sequence[int], rounds: int
    ) -> "Deal":
        """Read a payload whose length is right."""
        reader = Reader(payload, "shares")
        size = 2 * DIGEST * rounds
        committed = {seat: bytes(reader.take(size)) for seat in circle}
        parts = {
            seat: SealedPart.read(reader, rounds, root_of(committed[seat]))
            for seat in circle
            if seat != dealer
        }
        return cls(committed, parts)


def longest_deal(sites: int, rounds: int) -> int:
    """Return the largest length of a site's message while `sites` sites set up."""
    return ENVELOPE + max(Deal.length(sites, rounds), AdvertisedKeys.length(rounds))


def root_of(commitments: bytes) -> bytes:
    """Return the one hash that stands for all commitments of a part."""
    return sha256(b"lexfed secagg part " + commitments).digest()


def pack_seats(seats: Sequence[int]) -> bytes:
    """Return seats as bytes."""
    return b"".join(seat.to_bytes(SEAT, "big") for seat in seats)


def read_seats(data: bytes | memoryview, seats: int) -> tuple[int, ...]:
    """Read a list of seats.

    Guarantees:
        Strictly increasing and below `seats`: nobody is in it twice, or a stranger.
    """
    if len(data) % SEAT:
        raise SecAggError("a list of sites ends too early")
    reader = Reader(data, "list of sites")
    listed = tuple(reader.number(SEAT) for _ in range(len(data) // SEAT))
    if any(a >= b for a, b in pairwise(listed)):
        raise SecAggError("a list of sites names one twice, or is not in order")
    if listed and listed[-1] >= seats:
        raise SecAggError("a list of sites names one that is not in the key list")
    return listed


def pack_by_seat(rows: Sequence[tuple[int, bytes]]) -> bytes:
    """Return parts or signatures, each with the seat it comes from, as one payload."""
    return b"".join(pack_seats((seat,)) + row for seat, row in rows)


def key_list_lengths(sites: int, rounds: int) -> range:
    """Return the possible lengths of a key list of up to `sites` sites."""
    return range(SEAT + sites * (4 + ENVELOPE + AdvertisedKeys.length(rounds)) + 1)


def pack_bundle(messages: Sequence[bytes]) -> bytes:
    """Return messages as one payload."""
    parts = [len(messages).to_bytes(SEAT, "big")]
    for message in messages:
        parts += (len(message).to_bytes(4, "big"), message)
    return b"".join(parts)


def read_bundle(payload: memoryview) -> tuple[bytes, ...]:
    """Read messages from one payload."""
    reader = Reader(payload, "list of messages")
    count = reader.number(SEAT)
    messages = tuple(bytes(reader.take(reader.number(4))) for _ in range(count))
    reader.end()
    return messages


def delivery_lengths(seats: int, rounds: int) -> range:
    """Return the possible lengths of a delivery from up to `seats` dealers."""
    return range(seats * (SEAT + SealedPart.length(rounds)) + 1)


def read_delivery(
    payload: memoryview, rounds: int, seats: int
) -> dict[int, SealedPart]:
    """Read parts by the seats of their dealers."""
    size = SEAT + SealedPart.length(rounds)
    if len(payload) % size:
        raise SecAggError("a delivery of shares ends too early")
    reader = Reader(payload, "delivery of shares")
    parts: dict[int, SealedPart] = {}
    for _ in range(len(payload) // size):
        seat = reader.number(SEAT)
        if seat >= seats or (parts and seat <= max(parts)):
            raise SecAggError("a delivery of shares names sites twice or out of order")
        parts[seat] = SealedPart.read(reader, rounds)
    return parts


def read_consents(payload: memoryview, seats: int) -> dict[int, bytes]:
    """Read signatures by the seats of their signers."""
    size = SEAT + SIGNATURE
    if len(payload) % size:
        raise SecAggError("a list of consents ends too early")
    rows = [payload[at : at + size] for at in range(0, len(payload), size)]
    signers = read_seats(b"".join(row[:SEAT] for row in rows), seats)
    return {seat: bytes(row[SEAT:]) for seat, row in zip(signers, rows, strict=True)}
