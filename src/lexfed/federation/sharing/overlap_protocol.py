# SPDX-License-Identifier: Apache-2.0
"""Overlaps of all pairs of sites by two aggregators: agreement, dealer and result.

    site         DEALT      its bits in shares, as every vector (`secagg.shares.site`)
    dealer       TRIPLE     to each aggregator its share of a triple, encrypted
    aggregators  HELD, LISTED   which sites are in, signed by both
                 HIDDEN     shares of X - A, encrypted to the other
                 TESTED     shares of the test that rows are bits, masked
                 PRODUCTS   shares of all counts, noise included, masked

The dealer may be the coordinator, also the one that opens the counts, and sees no more
than everybody: HIDDEN is encrypted, and TESTED and PRODUCTS carry a mask that only the
two aggregators can make (`overlap_aggregator`). Without that mask it would take its
triple off a share and read persons past the noise. It must not work with an
aggregator: A and D together give every site's bits. All but the second aggregator's
part of a triple is a seed of 32 bytes.

Nobody sees more than the counts with noise, and which sites sent no bits, if the two
aggregators and the dealer keep to the protocol and no two of them work together. Sites
may do what they like: a row that is not of bits is left out, and named.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from lexfed.errors import SecAggError
from lexfed.randomness import RandomSource, SecureSource
from lexfed.secagg.envelopes.identities import Identity, Roster, check_enrolled
from lexfed.secagg.envelopes.key_agreement import Context, derived_key
from lexfed.secagg.envelopes.sealed_messages import (
    DIGEST,
    EnvelopeKind,
    Reader,
    open_sealed,
    seal,
)
from lexfed.secagg.primitives.keystreams import KEY_BYTES, mask
from lexfed.secagg.primitives.ring import Ring
from lexfed.secagg.shares.schemes import SEED, AdditiveSharing
from lexfed.secagg.shares.site import (
    NONCE,
    OperatorSetting,
    OperatorTerms,
    channel,
    read_keys,
)
from lexfed.sketch.sharing.beaver_triples import TripleShare, Words32, completed_share
from lexfed.sketch.sharing.overlap_plan import CommonBits, OverlapPlan

RING = Ring(32)
COUNT = 2
"""Bytes of a number of sites, and of a seat."""


def overlap_terms(plan: OverlapPlan, least_sites: int) -> OperatorTerms:
    """Return the terms under which sites share their bits."""
    scheme = AdditiveSharing(2, RING, plan.shape.width)
    return OperatorTerms(scheme, least_sites, plan.bound)


@dataclass(frozen=True)
class OverlapSetting:
    """An overlap computation and its parties.

    Attributes:
        operators: sites and both aggregators, with `overlap_terms`.
        dealer: name and identity key of the dealer of triples, in a roster of its own.
    """

    plan: OverlapPlan
    operators: OperatorSetting
    dealer: Roster

    def __post_init__(self) -> None:
        terms = self.operators.terms
        if terms != overlap_terms(self.plan, terms.least_sites):
            raise ValueError("expected the terms of `overlap_terms`")
        # More sites than planned would move more pairs than is charged.
        if len(self.operators.sites) > self.plan.sites:
            raise ValueError(f"expected at most {self.plan.sites} sites")
        if len(self.dealer) != 1:
            raise ValueError("expected one dealer")
        names = self.operators.operators.names
        keys = {self.operators.operators.public(name) for name in names}
        if self.dealer.public(self.dealer.names[0]) in keys:
            raise ValueError("expected a dealer that is no aggregator")

    @property
    def model(self) -> bytes:
        """Digest of plan and dealer, in place of a round's model."""
        parts = self.plan.digest + self.dealer.digest
        return sha256(b"lexfed shared overlaps\x00" + parts).digest()

    def context(self, round_number: int) -> Context:
        """Return the context of a round."""
        return self.operators.context(round_number, self.model)

    def triple_bytes(self, seat: int) -> int:
        """Return the length of an aggregator's part of a triple, without encryption."""
        if seat == 0:
            return SEED
        sites = len(self.operators.sites)
        return SEED + 4 * sites * (sites + self.plan.shape.width)


def deal_triple(
    identity: Identity,
    overlap: OverlapSetting,
    round_number: int,
    announced: Iterable[bytes],
    source: RandomSource | None = None,
) -> dict[str, bytes]:
    """Make a triple for all enrolled sites, before or after they share their bits.

    Returns one signed message for each aggregator, from its `announced` signed key.
    The round number is that of the shares; seeds are secure by default.

    Guarantees:
        Every call deals a fresh triple, under a fresh key which also names it.
    """
    check_enrolled(identity, overlap.dealer)
    context = overlap.context(round_number)
    keys = read_keys(overlap.operators, announced)
    drawn = (source or SecureSource()).words(2 * SEED // 8).astype("<u8").tobytes()
    seeds = drawn[:SEED], drawn[SEED:]
    first = first_triple(overlap, seeds[0], context)
    second = completed_share(first, _mask(overlap, seeds[1], context))
    explicit = RING.pack(second.gram.ravel()) + RING.pack(second.squares.ravel())
    private = X25519PrivateKey.generate()
    public = private.public_key().public_bytes_raw()
    sent: dict[str, bytes] = {}
    for name, peer in keys.items():
        seat = overlap.operators.operators.point(name) - 1
        part = seeds[0] if seat == 0 else seeds[1] + explicit
        cipher = channel(private, peer, context, identity.name, name)
        payload = public + cipher.encrypt(NONCE, part, None)
        sent[name] = seal(EnvelopeKind.TRIPLE, context, identity, payload)
    return sent


def first_triple(overlap: OverlapSetting, seed: bytes, context: Context) -> TripleShare:
    """Return the first aggregator's part, all of it drawn from a seed."""
    sites = len(overlap.operators.sites)
    shape = sites, overlap.plan.shape.width
    return TripleShare(
        _words(seed, context, "mask", shape),
        _words(seed, context, "gram", (sites, sites)),
        _words(seed, context, "squares", shape),
    )


def second_triple(
    overlap: OverlapSetting, part: bytes, context: Context
) -> TripleShare:
    """Return the second aggregator's part, with a mask drawn from a seed."""
    sites = len(overlap.operators.sites)
    words = RING.unpack(part[SEED:], len(part[SEED:]) // 4).astype(np.uint32)
    return TripleShare(
        _mask(overlap, part[:SEED], context),
        words[: sites * sites].reshape(sites, sites),
        words[sites * sites :].reshape(sites, overlap.plan.shape.width),
    )


def drawn_columns(opened: Words32, context: Context, count: int) -> Words32:
    """Return the columns of the test, which nobody knew before D was opened."""
    seed = sha256(context.digest + RING.pack(opened.ravel())).digest()
    return _words(seed, context, "columns", (opened.shape[1], count))


def _mask(overlap: OverlapSetting, seed: bytes, context: Context) -> Words32:
    shape = len(overlap.operators.sites), overlap.plan.shape.width
    return _words(seed, context, "mask", shape)


def _words(seed: bytes, context: Context, what: str, shape: tuple[int, int]) -> Words32:
    key = derived_key(seed, context.digest, f"triple {what}", KEY_BYTES)
    return mask(key, shape[0] * shape[1], 32).astype(np.uint32).reshape(shape)


@dataclass(frozen=True)
class OverlapVerdict:
    """The verdict on a list, by its digest.

    It names the seats of the listed sites, and whether each sent bits.
    """

    listed: bytes
    seats: tuple[int, ...]
    bits: tuple[bool, ...]

    def packed(self) -> bytes:
        """Return it as bytes."""
        rows = zip(self.seats, self.bits, strict=True)
        parts = (seat.to_bytes(COUNT, "big") + bytes((fine,)) for seat, fine in rows)
        count = len(self.seats).to_bytes(COUNT, "big")
        return b"".join((self.listed, count, *parts))


def open_overlaps(
    overlap: OverlapSetting, round_number: int, products: Iterable[bytes]
) -> CommonBits:
    """Return the counts, from both aggregators' shares.

    Guarantees:
        Both are of the same list and the same verdict.
    """
    context, roster = overlap.context(round_number), overlap.operators.sites
    most = DIGEST + COUNT + (COUNT + 1) * len(roster) + 1 + 4 * overlap.plan.counts
    parts: dict[str, tuple[bytes, bool, Words32]] = {}
    verdict = OverlapVerdict(b"", (), ())
    for message in products:
        senders, kind = overlap.operators.operators, EnvelopeKind.PRODUCTS
        opened = open_sealed(message, kind, context, senders, range(most + 1))
        verdict, private, words = _read_products(opened.payload, len(roster))
        parts[opened.sender] = verdict.packed(), private, words
    if len(parts) != 2:
        raise SecAggError("both aggregators' shares of the counts are needed")
    (verdict_bytes, mine, left), (other_bytes, theirs, right) = parts.values()
    if verdict_bytes != other_bytes or len(left) != len(right):
        raise SecAggError("the aggregators counted different sites")
    RING.add(left, right)
    decoded = RING.decode(left, overlap.plan.bound).astype(np.float64)
    names = [roster.names[seat] for seat in verdict.seats]
    sites = tuple(n for n, fine in zip(names, verdict.bits, strict=True) if fine)
    counts = np.zeros((len(sites), len(sites)))
    upper = np.triu_indices(len(sites))
    counts[upper] = decoded
    counts.T[upper] = decoded
    return CommonBits(
        sites,
        counts,
        overlap.plan.variance,
        overlap.plan.shape.width,
        tuple(n for n, fine in zip(names, verdict.bits, strict=True) if not fine),
        mine and theirs,
    )


def _read_products(
    payload: memoryview, sites: int
) -> tuple[OverlapVerdict, bool, Words32]:
    reader = Reader(payload, "counts of overlaps")
    listed, count = reader.digest(), reader.number(COUNT)
    rows = [(reader.number(COUNT), reader.number(1) == 1) for _ in range(count)]
    seats = tuple(seat for seat, _ in rows)
    if sorted(set(seats)) != list(seats) or any(seat >= sites for seat in seats):
        raise SecAggError("counts name a site twice, out of order, or a stranger")
    private = reader.number(1) == 1
    fine = sum(bits for _, bits in rows)
    length = fine * (fine + 1) // 2
    words = RING.unpack(reader.take(4 * length), length)
    reader.end()
    verdict = OverlapVerdict(listed, seats, tuple(bits for _, bits in rows))
    return verdict, private, words.astype(np.uint32)
