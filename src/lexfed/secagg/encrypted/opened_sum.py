# SPDX-License-Identifier: Apache-2.0
"""A key holder's signed statement about a round: a sum, with its contributing sites.

Whoever has the setting can check it, without any secret. The digest is of the signed
receipts of the sites in the sum; a receipt names the SHA-256 of what its site sent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from lexfed.arrays import Integers
from lexfed.secagg.encrypted.terms import EncryptionSetting
from lexfed.secagg.envelopes.admission import check_size
from lexfed.secagg.envelopes.key_agreement import Context
from lexfed.secagg.envelopes.payloads import SEAT, pack_seats, read_seats
from lexfed.secagg.envelopes.sealed_messages import DIGEST, EnvelopeKind, open_sealed


@dataclass(frozen=True)
class OpenedSum:
    """A sum that the key holder decrypted, its sites, and SHA-256 of their receipts."""

    values: Integers
    sites: tuple[str, ...]
    receipts: bytes


def receipts_digest(context: Context, receipts: Sequence[bytes]) -> bytes:
    """Return the digest of a list of receipts, each of which holds its own length."""
    domain = b"lexfed he receipts\x00"
    return sha256(b"".join((domain, context.digest, *receipts))).digest()


def pack_opened(setting: EncryptionSetting, found: OpenedSum) -> bytes:
    """Return a sum as bytes."""
    ring = setting.terms.ring
    seats = [setting.sites.point(site) - 1 for site in found.sites]
    values = ring.pack(ring.encode(found.values))
    return b"".join((found.receipts, values, pack_seats(seats)))


def read_opened(
    setting: EncryptionSetting, round_number: int, model: bytes, message: bytes
) -> OpenedSum:
    """Check a key holder's message and return the sum.

    Raises:
        SecAggError: if it is not signed by the key holder for this round, has too few
            sites, or a value beyond the bound.
    """
    terms, enrolled = setting.terms, len(setting.sites)
    start = DIGEST + terms.length * terms.ring.bits // 8
    lengths = range(start, start + SEAT * enrolled + 1)
    context = setting.context(round_number, model)
    opened = open_sealed(
        message, EnvelopeKind.HE_OPENED, context, setting.holder, lengths
    )
    seats = read_seats(opened.payload[start:], enrolled)
    check_size(len(seats), terms.least_sites, "a sum")
    words = terms.ring.unpack(opened.payload[DIGEST:start], terms.length)
    values = terms.ring.decode(words, terms.bound)
    sites = tuple(setting.sites.names[seat] for seat in seats)
    return OpenedSum(values, sites, bytes(opened.payload[:DIGEST]))
