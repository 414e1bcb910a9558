# SPDX-License-Identifier: Apache-2.0
"""Random words: repeatable where seeded, never where secure, uniform in both."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from lexfed.randomness import RandomSource, SecureSource, SeededSource, bernoulli


def test_a_seed_repeats_and_names_separate_streams() -> None:
    one, same = SeededSource(3, "noise/1"), SeededSource(3, "noise/1")
    assert np.array_equal(one.words(5), same.words(5))
    assert np.array_equal(one.words(2), same.words(2))
    for other in (SeededSource(4, "noise/1"), SeededSource(3, "noise/2")):
        assert not np.array_equal(SeededSource(3, "noise/1").words(5), other.words(5))
    assert not one.private


def test_requests_never_share_words() -> None:
    """Three requests of a megabyte: overlapping counters would repeat 64-bit words.

    Among 4e5 true random words a repetition has probability 4e-9.
    """
    source = SeededSource(1)
    words = np.concatenate([source.words(131_072) for _ in range(3)])
    assert len(np.unique(words)) == len(words)


def test_secure_words_do_not_repeat() -> None:
    source = SecureSource()
    words = np.concatenate([source.words(1000) for _ in range(3)])
    assert len(np.unique(words)) == len(words)
    assert source.private
    assert words.dtype == np.uint64


@pytest.mark.parametrize("source", [SecureSource(), SeededSource(9)])
def test_words_are_uniform_bit_by_bit(source: RandomSource) -> None:
    """Each of 64 bits of n words within 7 standard errors: 64 x 3e-12 < 1e-9."""
    words = source.words(20_000)
    for bit in range(64):
        share = float(((words >> np.uint64(bit)) & np.uint64(1)).mean())
        assert abs(share - 0.5) < 7 * 0.5 / 20_000**0.5


@pytest.mark.parametrize("rate", [0.01, 0.3, 0.999])
def test_coins_have_their_rate(rate: float) -> None:
    """Two-sided binomial at 1e-9, and the negative control: 0.8 times fails."""
    heads = int(bernoulli(SeededSource(2, f"{rate}"), rate, 200_000).sum())
    assert stats.binomtest(heads, 200_000, rate).pvalue > 1e-9
    off = rate * 0.8
    wrong = int(bernoulli(SeededSource(2, "off"), off, 200_000).sum())
    assert stats.binomtest(wrong, 200_000, rate).pvalue < 1e-9


def test_rates_at_the_ends() -> None:
    assert bernoulli(SeededSource(1), 1.0, 1000).all()
    assert not bernoulli(SeededSource(1), 0.0, 1000).any()
    assert not bernoulli(SeededSource(1), 2.0**-70, 1000).any()
    nearly = np.nextafter(1.0, 0.0)
    assert bernoulli(SeededSource(1), float(nearly), 1000).all()


def test_a_full_batch_needs_no_coins() -> None:
    source = SeededSource(5)
    bernoulli(source, 1.0, 10)
    assert np.array_equal(source.words(3), SeededSource(5).words(3))


class _Words:
    """A source whose words are given."""

    private = False

    def __init__(self, *requests: list[int]) -> None:
        self._requests = list(requests)

    def words(self, count: int) -> NDArray[np.uint64]:
        words = np.array(self._requests.pop(0), dtype=np.uint64)
        assert len(words) == count
        return words


def test_coins_whose_first_bits_equal_the_rates_are_decided_by_the_rest() -> None:
    rate = 0.25 + 2.0**-40  # first 16 bits 0x4000, then 2^24 of 2^48
    first = 0x4000_4000_3FFF_4001
    below, equal = (2**24 - 1) << 16, 2**24 << 16
    coins = bernoulli(_Words([first], [below, equal]), rate, 4)
    assert sorted(coins.tolist()) == [False, False, True, True]
    assert sum(bernoulli(_Words([first], [below, below]), rate, 4)) == 3
    assert sum(bernoulli(_Words([first], [equal, equal]), rate, 4)) == 1
    # Without the rest, the rate would be that of the first 16 bits.
    assert sum(bernoulli(_Words([first], [0, 0]), 0.25, 4)) == 1
