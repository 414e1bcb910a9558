# SPDX-License-Identifier: Apache-2.0
"""GF(65521): exact at its extremes, uniform draws without bias."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from lexfed.randomness import SeededSource
from lexfed.secagg.primitives.shamir import (
    MAX_TERMS,
    PRIME,
    inverse,
    matmul,
    product,
    uniform,
)

ELEMENT = st.integers(0, PRIME - 1)


def test_it_is_the_largest_prime_of_16_bits() -> None:
    def prime(n: int) -> bool:
        return all(n % d for d in range(2, int(n**0.5) + 1))

    assert prime(PRIME)
    assert not any(prime(n) for n in range(PRIME + 1, 2**16))


def test_products_are_exact_where_sums_are_largest() -> None:
    largest = np.full((1, MAX_TERMS), PRIME - 1, dtype=np.float64)
    # (p - 1)^2 = 1 modulo p, and float64 holds the sum as it stands.
    assert MAX_TERMS * (PRIME - 1) ** 2 < MAX_TERMS * 2**32 < 2**53
    assert matmul(largest, largest.T).tolist() == [[MAX_TERMS % PRIME]]


def test_more_terms_are_refused() -> None:
    wide = np.zeros((1, MAX_TERMS + 1))
    with pytest.raises(ValueError, match="at most 1048576 terms"):
        matmul(wide, wide.T)


@given(st.lists(st.lists(ELEMENT, min_size=3, max_size=3), min_size=3, max_size=3))
def test_products_are_those_of_integers(rows: list[list[int]]) -> None:
    exact = np.array(rows, dtype=object)
    wanted = exact @ exact % PRIME
    held = np.array(rows, dtype=np.float64)
    assert matmul(held, held).tolist() == wanted.tolist()


@given(st.lists(ELEMENT, min_size=1, max_size=20))
def test_long_products(factors: list[int]) -> None:
    wanted = 1
    for factor in factors:
        wanted = wanted * factor % PRIME
    assert product(np.array([factors], dtype=np.int64)).tolist() == [wanted]


def test_every_element_but_zero_has_its_inverse() -> None:
    all_of_them = np.arange(1, PRIME, dtype=np.int64)
    assert np.all(all_of_them * inverse(all_of_them) % PRIME == 1)


class _Words:
    """A source that repeats given words of 16 bits."""

    private = False

    def __init__(self, words: list[int]) -> None:
        self._words = np.array(words, dtype=np.uint16)

    def words(self, count: int) -> NDArray[np.uint64]:
        return np.resize(self._words, 4 * count).view(np.uint64)


def test_words_beyond_the_field_are_thrown_away() -> None:
    drawn = uniform(_Words([65535, 65521, 65520, 0, 65522, 7, 65530, 65535]), 30)
    assert drawn[:3].tolist() == [65520, 0, 7]
    assert len(drawn) == 30
    assert set(drawn.tolist()) == {65520, 0, 7}


def test_nothing_may_be_asked_for() -> None:
    assert uniform(SeededSource(1), 0).tolist() == []


def _surprise(values: NDArray[np.uint16]) -> float:
    """The p-value of as many elements below 15 as below any other 15."""
    low = int(np.count_nonzero(values < 15))
    return float(stats.binomtest(low, len(values), 15 / PRIME).pvalue)


def test_draws_are_uniform() -> None:
    """Each wrongly fails with probability 1e-6 over seeds; the seed is fixed."""
    drawn = uniform(SeededSource(3), 2**21)
    assert int(drawn.max()) < PRIME
    counts, edges = np.histogram(drawn, bins=np.linspace(0, PRIME, 257))
    widths = np.diff(np.ceil(edges))
    model = widths / PRIME * len(drawn)
    assert stats.chisquare(counts, model).pvalue > 1e-6
    assert _surprise(drawn) > 1e-6
    # Control: words taken modulo the prime have 0..14 twice as often.
    words = SeededSource(3).words(2**19).view(np.uint16)
    assert _surprise((words % PRIME).astype(np.uint16)) < 1e-6
