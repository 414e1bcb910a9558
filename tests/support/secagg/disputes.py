# SPDX-License-Identifier: Apache-2.0
"""Lies of sites in secure aggregation, each signed by the site that tells it."""

from dataclasses import replace

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from lexfed.secagg.envelopes.identities import Identity
from lexfed.secagg.envelopes.payloads import Deal, SealedPart, pack_seats, root_of
from lexfed.secagg.envelopes.sealed_messages import (
    SIGNATURE,
    EnvelopeKind,
    Reader,
    seal,
)
from lexfed.secagg.mask_sessions.site import SiteSession
from lexfed.secagg.masks.epoch_secrets import commitments, part_bytes, seal_part
from lexfed.secagg.primitives.shamir import PRIME

FAULTS = ("signature", "noise", "key", "another key", "commitment", "no field element")
"""Ways to deal a part that its holder cannot use."""
OTHER_KEY = bytes(range(32))
"""Private key under which a part is encrypted whose dealer signs another one."""
_HEAD = 4 + 1 + 1 + 32 + 8 + 8 + 3 * 32


def payload_of(message: bytes) -> bytes:
    """Return what a message says."""
    reader = Reader(message, "message")
    reader.take(_HEAD)
    reader.take(reader.number(1))
    return bytes(reader.take(reader.number(4)))


def said_instead(site: SiteSession, kind: EnvelopeKind, payload: bytes) -> bytes:
    """Return another message of a site, signed by it."""
    return seal(kind, site._round, site._identity, payload)


def flipped(site: SiteSession, kind: EnvelopeKind, message: bytes, at: int) -> bytes:
    """Return a message with one bit of its payload changed, signed by its sender."""
    payload = bytearray(payload_of(message))
    payload[at] ^= 1
    return said_instead(site, kind, bytes(payload))


def bad_part(site: SiteSession, deal: bytes, holder: int, fault: str) -> bytes:
    """Return a deal in which one holder cannot use its part.

    Args:
        site: that dealt.
        deal: as it did.
        holder: seat of the site that is dealt a bad part.
        fault: one of `FAULTS`.
    """
    listed, rounds = site._listed, site._setting.terms.rounds
    near, name = listed.circles[site._seat], listed.names[holder]
    dealt = Deal.read(memoryview(payload_of(deal)), site._seat, near, rounds)
    peer, dealer = listed.keys[holder].channel, site._identity
    key = site._secrets.part_key(listed.digest, name)
    committed, part = dict(dealt.commitments), dealt.parts[holder]
    if fault == "signature":
        part = replace(part, signature=bytes(SIGNATURE))
    elif fault == "noise":
        part = _signed(
            listed.digest, dealer, name, replace(part, sealed=bytes(len(part.sealed)))
        )
    elif fault == "key":
        other = X25519PrivateKey.generate().public_key().public_bytes_raw()
        part = _signed(listed.digest, dealer, name, replace(part, key=other))
    elif fault == "another key":
        other_key = X25519PrivateKey.from_private_bytes(OTHER_KEY)
        shares = np.ones((2 * rounds, 16), dtype=np.uint16)
        committed[holder] = commitments(listed.digest, dealer.name, name, shares)
        root = root_of(committed[holder])
        sealed = seal_part(listed.digest, dealer, name, other_key, peer, shares, root)
        part = _signed(listed.digest, dealer, name, replace(sealed, key=part.key))
    else:
        value = PRIME if fault == "no field element" else 1
        shares = np.full((2 * rounds, 16), value, dtype=np.uint16)
        if fault == "no field element":
            committed[holder] = commitments(listed.digest, dealer.name, name, shares)
        root = root_of(committed[holder])
        part = seal_part(listed.digest, dealer, name, key, peer, shares, root)
    bent = Deal(committed, {**dealt.parts, holder: part})
    return said_instead(site, EnvelopeKind.DEAL, bent.packed())


def complaint(site: SiteSession, ready: bytes, dealers: tuple[int, ...]) -> bytes:
    """Return a word of a site that complains of dealers, whatever they dealt."""
    return said_instead(
        site, EnvelopeKind.READY, payload_of(ready)[:32] + pack_seats(dealers)
    )


def _signed(
    listed: bytes, dealer: Identity, holder: str, part: SealedPart
) -> SealedPart:
    signed = part_bytes(listed, dealer.name, holder, part)
    return replace(part, signature=dealer.sign(signed))
