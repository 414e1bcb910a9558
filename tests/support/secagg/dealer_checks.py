# SPDX-License-Identifier: Apache-2.0
"""A dealer of triples that keeps to the protocol and is curious about its messages.

It knows the triple, and, as a guarantee must allow, all data but one person. It sees
what the aggregators send in the open: TESTED and PRODUCTS. If one share of these is
bare, the right guess of the data explains it and every other guess does not.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from lexfed.federation.sharing import overlap_protocol
from lexfed.federation.sharing.overlap_protocol import (
    RING,
    OverlapSetting,
    deal_triple,
    drawn_columns,
    first_triple,
)
from lexfed.randomness import SeededSource
from lexfed.secagg.envelopes.sealed_messages import DIGEST, EnvelopeKind, open_sealed
from lexfed.secagg.shares.schemes import SEED
from lexfed.sketch.sharing.beaver_triples import (
    TESTS,
    TripleShare,
    Words32,
    completed_share,
    gram_share,
    product,
)
from support.secagg import overlap_sums as sums
from support.secagg.secure_sums import identity, names

NOISE = 2**16
"""More than any noise here, and 2^-15 of all words."""


@dataclass(frozen=True)
class Dealer:
    """What a dealer knows and sees.

    Attributes:
        overlap: the computation.
        triples: both aggregators' parts.
        tested: their messages, in the order of their seats.
        products: likewise.
    """

    overlap: OverlapSetting
    triples: tuple[TripleShare, TripleShare]
    tested: tuple[bytes, ...]
    products: tuple[bytes, ...]

    def explained_counts(self, rows: Words32, seat: int) -> bool:
        """Whether a share of the counts is that of these rows, but for noise.

        A uniform share of n counts is, by chance, with probability 2^(-15 n).
        """
        words = self._words(self.products[seat], EnvelopeKind.PRODUCTS)
        upper = np.triu_indices(len(rows))
        share = gram_share(self._opened(rows), self.triples[seat], seat == 0)[upper]
        left = (words[-len(share) :] - share).view(np.int32).astype(np.int64)
        return bool((np.abs(left) < NOISE).all())

    def explained_test(self, rows: Words32, seat: int) -> bool:
        """Whether a share of the test is that of these rows, for filters of two bits.

        The share is (known - X_i) R, with X_i the aggregator's uniform share of the
        rows. Two columns of R give X_i, and then 62 others fit or do not: by chance
        with probability 2^(-32 * 62) for each site.
        """
        words = self._words(self.tested[seat], EnvelopeKind.TESTED)
        opened, triple = self._opened(rows), self.triples[seat]
        columns = drawn_columns(opened, self.overlap.context(1), TESTS)
        known = np.uint32(2) * opened * triple.mask + triple.squares
        if seat == 0:
            known += opened * opened
        shared = product(known, columns) - words[DIGEST // 4 :].reshape(-1, TESTS)
        found = product(shared[:, _pair(columns)], _inverse(columns))
        return bool(np.array_equal(product(found, columns), shared))

    def _opened(self, rows: Words32) -> Words32:
        return rows - self.triples[0].mask - self.triples[1].mask

    def _words(self, message: bytes, kind: EnvelopeKind) -> Words32:
        """Return a payload's words, counted from its end."""
        roster = self.overlap.operators.operators
        context = self.overlap.context(1)
        payload = open_sealed(message, kind, context, roster, range(2**20)).payload
        whole = payload[len(payload) % 4 :]
        return RING.unpack(whole, len(whole) // 4).astype(np.uint32)


def _pair(columns: Words32) -> list[int]:
    """Return two columns whose determinant is odd; 64 have none with 2^-60 at most."""
    for one, two in combinations(range(TESTS), 2):
        if _determinant(columns[:, [one, two]]) % 2:
            return [one, two]
    raise AssertionError("no two columns can be solved for")


def _determinant(square: Words32) -> int:
    (a, b), (c, d) = square.tolist()
    found: int = a * d - b * c
    return found


def _inverse(columns: Words32) -> Words32:
    square = columns[:, _pair(columns)]
    (a, b), (c, d) = square.tolist()
    scale = pow(_determinant(square), -1, 2**32)
    exact = [[d * scale, -b * scale], [-c * scale, a * scale]]
    return np.array([[word % 2**32 for word in row] for row in exact], dtype=np.uint32)


def dealt(vectors: dict[str, sums.Integers], overlap: OverlapSetting) -> Dealer:
    """Run a round, and return what its dealer has at the end."""
    computation = sums.Computation(overlap)
    computation.deal(vectors)
    source: Any = SeededSource(5, "dealer")
    sent = deal_triple(identity("coordinator"), overlap, 1, computation.keys, source)
    for name, message in sent.items():
        computation.parties[name].receive(message)
    signed = computation.signed()
    one, two = computation.parties.values()
    hidden = one.hide(signed), two.hide(signed)
    tested = one.test(hidden[1]), two.test(hidden[0])
    products = one.multiply(tested[1]), two.multiply(tested[0])
    # The dealer drew the same words itself.
    words = SeededSource(5, "dealer").words(2 * SEED // 8).astype("<u8").tobytes()
    context = overlap.context(1)
    first = first_triple(overlap, words[:SEED], context)
    mask = overlap_protocol._mask(overlap, words[SEED:], context)
    return Dealer(overlap, (first, completed_share(first, mask)), tested, products)


def told_apart(dealer: Dealer, right: Words32, wrong: Words32) -> list[str]:
    """Return the messages by which a dealer tells data from their neighbours."""
    found = []
    for seat in range(2):
        if dealer.explained_counts(right, seat):
            assert not dealer.explained_counts(wrong, seat)
            found.append(f"counts {seat}")
        if right.shape[1] == 2 and dealer.explained_test(right, seat):
            assert not dealer.explained_test(wrong, seat)
            found.append(f"test {seat}")
    return found


def neighbours(width: int) -> tuple[dict[str, sums.Integers], Words32, Words32]:
    """Return bits of four sites, the same as rows, and rows with one person less."""
    vectors = {name: np.zeros(width, dtype=np.int64) for name in names(4)}
    vectors |= {
        name: vector + (np.arange(width) % 2) for name, vector in vectors.items()
    }
    vectors["site000"] = vectors["site000"].copy()
    vectors["site000"][0] = 1
    rows = np.stack(list(vectors.values())).astype(np.uint32)
    less = rows.copy()
    less[0, 0] = 0
    return vectors, rows, less


def read_by_the_dealer() -> list[str]:
    """Return what a dealer reads from messages, in wide and in narrow filters."""
    found = []
    for width in (256, 2):
        vectors, right, wrong = neighbours(width)
        dealer = dealt(vectors, sums.agreed(sums.plan(4, width)))
        found += [f"{each} of {width}" for each in told_apart(dealer, right, wrong)]
    return found


def the_dealer_reads_nothing() -> None:
    """False alarms: below 2^-147: ten counts of four sites, four times."""
    assert read_by_the_dealer() == []


def a_mask_is_for_one_message() -> None:
    """Both make the same; another message, list, triple or round has another one.

    Two masks of 1,024 uniform words are equal with probability 2^-32768.
    """
    overlap = sums.agreed(sums.plan())
    computation = sums.Computation(overlap)
    one, two = computation.parties.values()
    zeros = np.zeros((4, 256), dtype=np.uint32)
    seen = set()
    for number in (1, 2):
        if number == 2:
            computation.number = number
            computation.start()
        for what in ("the test", "the counts"):
            for listed in (bytes(32), b"\x01" * 32):
                for triple in (bytes(32), b"\x01" * 32):
                    mine = one._masked(zeros, what, listed + triple)
                    theirs = two._masked(zeros, what, listed + triple)
                    assert not np.any(mine + theirs)
                    seen.add(mine.tobytes())
    assert len(seen) == 2 * 2 * 2 * 2
    # Other aggregators' masks are others.
    stranger = sums.Computation(overlap).parties["ministry"]
    assert stranger._masked(zeros, "the test", bytes(64)).tobytes() not in seen
    assert not np.any(zeros)
