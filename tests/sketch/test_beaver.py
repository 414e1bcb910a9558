# SPDX-License-Identifier: Apache-2.0
"""Products modulo 2^32 are exact; shared ones are the same, and bits are told."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexfed.sketch.sharing import beaver_triples
from lexfed.sketch.sharing.beaver_triples import TESTS, TripleShare, Words32, product


def _words(rng: np.random.Generator, *shape: int) -> Words32:
    return rng.integers(0, 2**32, shape, dtype=np.uint32)


def _exact(left: Words32, right: Words32) -> list[list[int]]:
    whole = left.astype(object) @ right.astype(object)
    return [[int(value) % 2**32 for value in row] for row in whole]


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 5), st.integers(1, 20), st.integers(1, 5), st.integers(0, 2**32 - 1)
)
def test_products_are_exact(n: int, m: int, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    left, right = _words(rng, n, m), _words(rng, m, k)
    assert product(left, right).tolist() == _exact(left, right)


def test_the_largest_words_are_exact_over_many_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    length = 2 * beaver_triples._BLOCK + 3
    top = np.full((2, length), 2**32 - 1, dtype=np.uint32)
    # (2^32 - 1)^2 is 1 modulo 2^32.
    assert product(top, np.ascontiguousarray(top.T)).tolist() == [[length] * 2] * 2
    monkeypatch.setattr(beaver_triples, "_BLOCK", 3)
    rng = np.random.default_rng(1)
    left, right = _words(rng, 2, 10), _words(rng, 10, 2)
    assert product(left, right).tolist() == _exact(left, right)


def test_what_is_no_matrix_of_words_is_refused() -> None:
    words = np.zeros((2, 3), dtype=np.uint32)
    with pytest.raises(ValueError, match="32 bits"):
        product(words, words.T.astype(np.uint64))
    with pytest.raises(ValueError, match="32 bits"):
        product(words.astype(np.int64), words.T)
    for right in (words, words[0]):
        with pytest.raises(ValueError, match="matrices"):
            product(words, right)


class Shared:
    """Rows in shares and a triple, all drawn."""

    def __init__(self, rows: Words32, seed: int = 1) -> None:
        rng = np.random.default_rng(seed)
        sites, width = rows.shape
        first = _words(rng, sites, width)
        self.rows = first, rows - first
        one = TripleShare(
            _words(rng, sites, width),
            _words(rng, sites, sites),
            _words(rng, sites, width),
        )
        self.triples = (
            one,
            beaver_triples.completed_share(one, _words(rng, sites, width)),
        )
        self.opened = rows - one.mask - self.triples[1].mask
        self.columns = _words(rng, width, TESTS)

    def gram(self) -> Words32:
        left, right = (
            beaver_triples.gram_share(self.opened, triple, at == 0)
            for at, triple in enumerate(self.triples)
        )
        return left + right

    def bits(self) -> list[bool]:
        left, right = (
            beaver_triples.bits_share(self.opened, rows, triple, at == 0, self.columns)
            for at, (rows, triple) in enumerate(
                zip(self.rows, self.triples, strict=True)
            )
        )
        found: list[bool] = beaver_triples.all_bits((left, right)).tolist()
        return found


def test_shared_products_are_the_plain_ones() -> None:
    rows = _words(np.random.default_rng(2), 4, 50)
    assert Shared(rows).gram().tolist() == _exact(rows, rows.T)


def test_rows_of_bits_pass_and_no_others() -> None:
    """Every other row passes with probability 2^-64 at most."""
    rng = np.random.default_rng(3)
    for odd in (2, 3, 2**31, 2**31 + 1, 2**16, 2**32 - 1):
        rows = rng.integers(0, 2, (4, 50), dtype=np.uint32)
        rows[1, 7] = odd
        assert Shared(rows).bits() == [True, False, True, True]


def test_one_column_would_let_half_of_the_worst_rows_pass() -> None:
    """Why there are 64: x = 2^31 has x (x - 1) = 2^31, zero times any even number.

    400 rows: fewer than 120 or more than 280 have probability below 1e-15.
    """
    rows = np.zeros((400, 3), dtype=np.uint32)
    rows[np.arange(400), 0] = 2**31
    columns = _words(np.random.default_rng(4), 400, 3)
    odd = rows * rows - rows
    passed = int(((odd * columns).sum(axis=1, dtype=np.uint32) == 0).sum())
    assert 120 < passed < 280


def test_triples_of_some_sites_are_triples() -> None:
    rows = _words(np.random.default_rng(5), 5, 20)
    shared = Shared(rows)
    some = [0, 3, 4]
    left, right = (
        beaver_triples.gram_share(shared.opened[some], triple.of(some), at == 0)
        for at, triple in enumerate(shared.triples)
    )
    assert (left + right).tolist() == _exact(rows[some], rows[some].T)
