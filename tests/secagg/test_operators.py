# SPDX-License-Identifier: Apache-2.0
"""Sums over several aggregators are exact, and too few aggregators learn nothing.

Chi-square tests over 256 byte values; each fails by chance once in 10^9 times.
"""

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

from lexfed.arrays import Integers
from lexfed.randomness import SecureSource
from lexfed.secagg.primitives.ring import Ring
from lexfed.secagg.shares import schemes
from lexfed.secagg.shares.schemes import (
    LARGEST,
    PRIME,
    AdditiveSharing,
    PolynomialSharing,
    SharingScheme,
)
from lexfed.secagg.shares.site import OperatorTerms
from support.secagg.operator_sums import Round, additive, agreed, operators, polynomial
from support.secagg.secure_sums import MODEL, names

CHANCE = 1e-9
LENGTH = 20_000


def uniform(data: bytes) -> bool:
    counts = np.bincount(np.frombuffer(data, dtype=np.uint8), minlength=256)
    expected = counts.sum() / 256
    found = float(((counts - expected) ** 2 / expected).sum())
    return found < float(chi2.isf(CHANCE, 255))


def low_bytes(words: NDArray[np.uint64]) -> bytes:
    """The low 56 bits: of uniform elements below 2^61 - 1, uniform to 2^-53."""
    return words.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :7].tobytes()


def small() -> Integers:
    return np.arange(LENGTH, dtype=np.int64) % 100 - 50


@pytest.mark.parametrize("bits", [16, 24, 32])
@pytest.mark.parametrize("count", [2, 3, 7])
def test_additive_sums_are_exact(count: int, bits: int) -> None:
    round_ = Round(agreed(additive(count, bits)))
    for _ in range(2):
        round_.take(names(3))
        signed = round_.sign()
        summed = round_.open(signed, round_.add(signed))
        assert summed.listed.sites == names(3)
        assert summed.values.tolist() == round_.true_sum(names(3))
        round_ = round_.next()


@pytest.mark.parametrize("alive", list(combinations(operators(5), 3)))
def test_three_of_five_survive_any_two_lost(alive: tuple[str, ...]) -> None:
    round_ = Round(agreed(polynomial()))
    assert round_.setting.terms.may_be_lost == 2
    round_.take(alive=alive)
    signed = round_.sign(alive)
    summed = round_.open(signed, round_.add(signed, alive))
    assert summed.values.tolist() == round_.true_sum(names(4))
    assert summed.listed.signers == set(alive)


def test_aggregators_may_be_lost_after_the_list_was_signed() -> None:
    round_ = Round(agreed(polynomial(), liars=2))
    round_.take()
    signed = round_.sign()
    sums = round_.add(signed)
    for used in (sums, sums[1:], sums[2:]):
        opened = round_.open(signed, used)
        assert opened.values.tolist() == round_.true_sum(names(4))


def test_a_site_whose_message_was_lost_on_the_way_is_left_out_everywhere() -> None:
    round_ = Round(agreed(additive()))
    round_.take(names(3))
    for operator in operators(2):
        round_.sessions[operator].take(round_.sent["site003"][operator])
    signed = round_.sign()
    summed = round_.open(signed, round_.add(signed))
    assert summed.values.tolist() == round_.true_sum(names(3))


def test_lists_need_more_signatures_if_aggregators_may_lie() -> None:
    quorums = [OperatorTerms(polynomial(), 2, 9, liars).quorum for liars in range(3)]
    assert quorums == [3, 4, 4]
    for total in range(2, 8):
        for needed in range(2, total + 1):
            for liars in range(needed):
                scheme = PolynomialSharing(total, needed, 1)
                terms = OperatorTerms(scheme, 2, 9, liars)
                assert needed <= terms.quorum <= total
                assert 2 * terms.quorum > total + liars
    assert OperatorTerms(additive(), 2, 9).may_be_lost == 0


def test_extreme_values_are_exact() -> None:
    top = PolynomialSharing(5, 3, 3)
    values = np.array([LARGEST, -LARGEST, 0], dtype=np.int64)
    shares = top.split(values, MODEL, SecureSource())
    sums = {seat: top.add(seat, [shares[seat]], MODEL) for seat in (0, 2, 4)}
    assert top.open(sums, LARGEST).tolist() == values.tolist()
    ring = AdditiveSharing(2, Ring(16), 2)
    edge = np.array([32767, -32767], dtype=np.int64)
    pair = ring.split(edge, MODEL, SecureSource())
    opened = ring.open({at: ring.add(at, [pair[at]], MODEL) for at in (0, 1)}, 32767)
    assert opened.tolist() == edge.tolist()


def test_field_arithmetic_never_overflows() -> None:
    edges = [0, 1, 2**30, 2**31 - 1, 2**31, 2**60, PRIME // 2, PRIME - 2, PRIME - 1]
    drawn = np.random.default_rng(1).integers(0, PRIME, 50).tolist()
    values = np.array(edges + drawn, dtype=np.uint64)
    for factor in edges + drawn:
        expected = [int(value) * factor % PRIME for value in values]
        assert schemes.times(values, factor).tolist() == expected
    words = np.array([0, PRIME, PRIME + 1, 2**64 - 1], dtype=np.uint64)
    assert schemes.reduce(words).tolist() == [int(w) % PRIME for w in words]
    # The largest coefficients at every point: the bound of the module's text.
    rows = np.full((4, 2), PRIME - 1, dtype=np.uint64)
    for point in range(1, 8):
        powers = [(PRIME - 1) * point**j for j in range(4)]
        assert set(schemes.evaluate(rows, point).tolist()) == {sum(powers) % PRIME}
    for point in (0, 8):
        with pytest.raises(ValueError, match="1 to 7"):
            schemes.evaluate(rows, point)
    signed = np.array([LARGEST, -LARGEST, -1, 0], dtype=np.int64)
    back = schemes.to_signed(schemes.from_signed(signed))
    assert back.tolist() == signed.tolist()


def test_the_word_that_is_no_element_is_drawn_again() -> None:
    class Source:
        private = False

        def __init__(self) -> None:
            self.requests: list[int] = []

        def words(self, count: int) -> NDArray[np.uint64]:
            self.requests.append(count)
            found = np.arange(count, dtype=np.uint64)
            if len(self.requests) == 1:
                found[1] = 2**64 - 1
            return found

    source = Source()
    assert schemes.uniform(source, 3).tolist() == [0, 2, 0]
    assert source.requests == [3, 1]


@pytest.mark.parametrize("bits", [16, 24, 32])
def test_the_last_additive_share_is_uniform_whichever_seed_is_missing(
    bits: int,
) -> None:
    scheme = additive(3, bits, LENGTH)
    shares = scheme.split(small(), MODEL, SecureSource())
    assert [len(share) for share in shares[:2]] == [32, 32]
    ring = scheme.ring
    for missing in (0, 1):
        # What two of three can compute: the last share with the mask they know.
        known = ring.unpack(
            scheme.add(1 - missing, [shares[1 - missing]], MODEL), LENGTH
        )
        last = ring.unpack(shares[2], LENGTH)
        ring.add(last, known)
        assert uniform(ring.pack(last))
        assert uniform(shares[2])


def test_two_of_five_polynomial_shares_are_uniform_and_so_are_combinations() -> None:
    scheme = polynomial(length=LENGTH)
    shares = [
        np.frombuffer(each, "<u8").astype(np.uint64)
        for each in scheme.split(small(), MODEL, SecureSource())
    ]
    for first, second in combinations(range(5), 2):
        pair = [shares[first], shares[second]]
        assert uniform(low_bytes(pair[0]))
        # What would open a vector that only two shares protect.
        line = schemes.interpolate([first + 1, second + 1], pair, 0)
        assert uniform(low_bytes(line))


def test_the_test_of_uniformity_notices_what_is_not_shared() -> None:
    assert not uniform(Ring(32).pack(Ring(32).encode(small())))
    weak = PolynomialSharing(5, 2, LENGTH).split(small(), MODEL, SecureSource())
    pair = [np.frombuffer(weak[at], "<u8").astype(np.uint64) for at in (0, 1)]
    assert not uniform(low_bytes(schemes.interpolate([1, 2], pair, 0)))


@pytest.mark.parametrize("scheme", [additive(), polynomial()])
def test_any_vector_explains_what_too_few_aggregators_see(
    scheme: SharingScheme,
) -> None:
    # The simulation argument: one more share makes any other vector of the same view.
    values = np.array([5, -4, 3, -2, 1], dtype=np.int64)
    shares = scheme.split(values, MODEL, SecureSource())
    seen = {at: scheme.add(at, [shares[at]], MODEL) for at in range(scheme.needed - 1)}
    for other in (values, values[::-1].copy(), np.zeros(5, dtype=np.int64)):
        missing = scheme.needed - 1
        if isinstance(scheme, AdditiveSharing):
            ring = scheme.ring
            rest = ring.encode(other)
            for each in seen.values():
                rest -= ring.unpack(each, 5)
            fitting = ring.pack(rest)
        else:
            rows = [np.frombuffer(e, "<u8").astype(np.uint64) for e in seen.values()]
            points = [0, *(at + 1 for at in seen)]
            secret = schemes.from_signed(other)
            row = schemes.interpolate(points, [secret, *rows], missing + 1)
            fitting = row.astype("<u8").tobytes()
        opened = scheme.open({**seen, missing: fitting}, 100)
        assert opened.tolist() == other.tolist()
