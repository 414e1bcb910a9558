# SPDX-License-Identifier: Apache-2.0
"""One of two aggregators that compute overlaps of all pairs of sites.

    start, take, held, sign    as every aggregator (`secagg.aggregator`)
    meet(keys)                 the other's key of the epoch
    receive(TRIPLE)            once a round
    hide(LISTED of both) -> HIDDEN
    test(HIDDEN of the other) -> TESTED
    multiply(TESTED of the other) -> PRODUCTS

Each step is taken once a round and in this order. The bits have no noise of their own,
so they are never added as other vectors are: only counts leave, with noise.

**The dealer** knows A and both shares of the triple. From a bare share of the counts,
X A_1^T + A_1 X^T + noise is left to it, with A_1 uniform and known: a person moves
that by a random word, which no noise hides. So shares leave under a mask that the two
aggregators alone can make. One adds it, the other subtracts it: the sum is the same.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from cryptography.exceptions import InvalidTag

from lexfed.errors import SecAggError
from lexfed.federation.sharing.overlap_protocol import (
    RING,
    OverlapSetting,
    OverlapVerdict,
    drawn_columns,
    first_triple,
    second_triple,
)
from lexfed.privacy.noise.shares import draw_share
from lexfed.randomness import RandomSource, SecureSource
from lexfed.secagg.envelopes.identities import Identity, check_size
from lexfed.secagg.envelopes.key_agreement import pairwise_key
from lexfed.secagg.envelopes.sealed_messages import (
    DIGEST,
    EnvelopeKind,
    OpenedMessage,
    open_sealed,
    seal,
)
from lexfed.secagg.primitives.keystreams import KEY_BYTES, add_mask
from lexfed.secagg.shares.aggregator import AggregatorSession
from lexfed.secagg.shares.site import NONCE, channel, read_keys
from lexfed.sketch.sharing.beaver_triples import (
    TESTS,
    TripleShare,
    Words32,
    all_bits,
    bits_share,
    gram_share,
)

_TAG = 16


@dataclass(frozen=True)
class _Hidden:
    """An aggregator's state after its list was agreed on.

    Attributes:
        named: digest of the list, and the key that names the triple.
        seats: of the listed sites.
        rows: its share of their bits.
        hidden: its share of D.
    """

    named: bytes
    seats: tuple[int, ...]
    rows: Words32
    triple: TripleShare
    hidden: Words32


@dataclass(frozen=True)
class _Tested:
    """Its state after D was opened, and its share of the test, masked."""

    before: _Hidden
    opened: Words32
    share: Words32


class OverlapAggregator(AggregatorSession):
    """An aggregator of overlaps in one epoch.

    Guarantees:
        A triple is used for one list. Each step is taken once a round.
        Counts leave with noise of the full planned variance that it drew itself.
        Its shares of the test and of the counts are uniform to all but the other
        aggregator, also to the dealer of the triple; only their sums are seen.
        Rows that are not of bits are in no count.
        Bits are never added up without noise.
    """

    def __init__(
        self,
        identity: Identity,
        overlap: OverlapSetting,
        source: RandomSource | None = None,
    ) -> None:
        """Start an epoch, with noise from a secure source by default."""
        super().__init__(identity, overlap.operators)
        self._overlap = overlap
        self._source = source or SecureSource()
        self._other, self._peer = "", b""
        self._triple: tuple[bytes, TripleShare] | None = None
        self._work: _Hidden | _Tested | None = None

    def meet(self, announced: Iterable[bytes]) -> None:
        """Take the keys of the epoch."""
        keys = read_keys(self._setting, announced)
        (self._other,) = set(keys) - {self._identity.name}
        self._peer = keys[self._other]

    def start(self, round_number: int, model: bytes) -> None:
        """Start a round of this computation, and of no other."""
        if model != self._overlap.model:
            raise SecAggError("a round of overlaps has the model of its plan")
        super().start(round_number, model)
        self._triple = self._work = None

    def add(self, signed: Sequence[bytes]) -> bytes:
        """Refuse: a sum of bits would leave without noise."""
        del signed
        raise SecAggError("bits of overlaps are not added up: the sum has no noise")

    def receive(self, message: bytes) -> None:
        """Take the dealer's triple of the round, once."""
        self._expect(self._takes and self._triple is None, "no triple is taken now")
        overlap, seat = self._overlap, self._seat
        length = DIGEST + overlap.triple_bytes(seat) + _TAG
        opened = open_sealed(
            message, EnvelopeKind.TRIPLE, self._context, overlap.dealer, (length,)
        )
        named = bytes(opened.payload[:DIGEST])
        part = self._decrypt(opened, named, opened.payload[DIGEST:])
        read = first_triple if seat == 0 else second_triple
        self._triple = named, read(overlap, part, self._context)

    def hide(self, signed: Sequence[bytes]) -> bytes:
        """Return the share of X - A over an agreed list, for the other only."""
        if self._triple is None or not self._peer:
            raise SecAggError("the triple, or the other's key, is not there yet")
        listed, shares = self._agreed_shares(signed)
        (deal, triple), self._triple = self._triple, None
        seats = tuple(self._setting.sites.point(name) - 1 for name in listed.sites)
        rows = np.stack([self._expanded(share) for share in shares])
        mine = triple.of(list(seats))
        hidden = rows - mine.mask
        self._work = _Hidden(listed.digest + deal, seats, rows, mine, hidden)
        names = self._identity.name, self._other
        cipher = channel(self._channel, self._peer, self._context, *names)
        content = self._work.named + RING.pack(hidden.ravel())
        sealed = cipher.encrypt(NONCE, content, None)
        return seal(EnvelopeKind.HIDDEN, self._context, self._identity, sealed)

    def test(self, message: bytes) -> bytes:
        """Open D and return the share of the test of all rows."""
        work = self._work
        if not isinstance(work, _Hidden):
            raise _untimely()
        size, named = work.hidden.size, len(work.named)
        opened = self._from_other(message, EnvelopeKind.HIDDEN, named + 4 * size + _TAG)
        content = self._decrypt(opened, self._peer, opened.payload)
        if content[:named] != work.named:
            raise SecAggError("the other aggregator has another list or triple")
        whole = work.hidden + _matrix(content[named:], work.hidden)
        columns = drawn_columns(whole, self._context, TESTS)
        share = bits_share(whole, work.rows, work.triple, self._first, columns)
        share = self._masked(share, "the test", work.named)
        self._work = _Tested(work, whole, share)
        payload = work.named[:DIGEST] + RING.pack(share.ravel())
        return seal(EnvelopeKind.TESTED, self._context, self._identity, payload)

    def multiply(self, message: bytes) -> bytes:
        """Return the share of all counts of sites that sent bits, noise included.

        If too few sites are left, a `SecAggError` names those that are not.
        """
        work = self._work
        if not isinstance(work, _Tested):
            raise _untimely()
        before = work.before
        listed, length = before.named[:DIGEST], DIGEST + 4 * work.share.size
        opened = self._from_other(message, EnvelopeKind.TESTED, length)
        if opened.payload[:DIGEST] != listed:
            raise SecAggError("the other aggregator has another list")
        theirs = _matrix(opened.payload[DIGEST:], work.share)
        fine = all_bits((work.share, theirs))
        self._work = None
        kept = np.flatnonzero(fine).tolist()
        check_size(len(kept), self._setting.terms.least_sites, "a list of bits")
        share = gram_share(work.opened[kept], before.triple.of(kept), self._first)
        counts = share[np.triu_indices(len(kept))]
        noise = draw_share(self._source, [self._overlap.plan.half], [len(counts)])
        counts = counts + noise.astype(np.uint32)  # two's complement, modulo 2^32
        counts = self._masked(counts, "the counts", before.named)
        verdict = OverlapVerdict(listed, before.seats, tuple(fine.tolist()))
        private = bytes((self._source.private,))
        payload = verdict.packed() + private + RING.pack(counts)
        return seal(EnvelopeKind.PRODUCTS, self._context, self._identity, payload)

    @property
    def _first(self) -> bool:
        return self._seat == 0

    def _masked(self, share: Words32, what: str, named: bytes) -> Words32:
        """Return a share under the mask that the other aggregator's share takes off."""
        purpose = f"mask of {what} of {named.hex()}"
        names, pair = (self._identity.name, self._other), (self._channel, self._peer)
        key = pairwise_key(*pair, self._context.digest, purpose, names, KEY_BYTES)
        masked = share.flatten()
        add_mask(masked, key, 1 if self._first else -1)
        return masked.reshape(share.shape)

    def _expanded(self, share: bytes) -> Words32:
        scheme, context = self._setting.terms.scheme, self._context.digest
        packed = scheme.add(self._seat, [share], context)
        return RING.unpack(packed, scheme.length).astype(np.uint32)

    def _from_other(
        self, message: bytes, kind: EnvelopeKind, length: int
    ) -> OpenedMessage:
        senders = self._setting.operators
        opened = open_sealed(message, kind, self._context, senders, (length,))
        if opened.sender != self._other:
            raise SecAggError("an aggregator's own message came back to it")
        return opened

    def _decrypt(self, opened: OpenedMessage, peer: bytes, sealed: memoryview) -> bytes:
        names = opened.sender, self._identity.name
        cipher = channel(self._channel, peer, self._context, *names)
        try:
            return cipher.decrypt(NONCE, sealed, None)
        except InvalidTag as error:
            what = f"what `{opened.sender}` sent cannot be decrypted"
            raise SecAggError(what) from error


def _matrix(data: bytes | memoryview, like: Words32) -> Words32:
    return RING.unpack(data, like.size).astype(np.uint32).reshape(like.shape)


def _untimely() -> SecAggError:
    return SecAggError("this comes too late or too early in the computation")
