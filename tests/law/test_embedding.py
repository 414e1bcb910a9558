# SPDX-License-Identifier: Apache-2.0
"""Words in pieces and their vectors: one test for each line that is guaranteed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexfed.law.tagger.semantics.embeddings import (
    LONGEST_WORD,
    MOST_PIECES,
    Embedding,
    WordPiece,
)

PIECES = ("geo", "##lo", "##cation", "##location", "a", "##a", "ab", "##b", "birth")
CUTTER = WordPiece(PIECES)
EMBEDDING = Embedding(
    CUTTER,
    np.arange(1, 4 * len(PIECES) + 1, dtype=np.int8).reshape(-1, 4) % 7,
    np.linspace(0.1, 1.0, len(PIECES), dtype=np.float32),
)
WORDS = st.lists(st.text("abgeolction", max_size=12), max_size=8)


def joined(word: str) -> str:
    return "".join(PIECES[number].removeprefix("##") for number in CUTTER.cut(word))


@given(st.text("abgeolction", max_size=20))
def test_pieces_put_together_are_the_word_or_there_are_none(word: str) -> None:
    assert joined(word) in (word, "")


@pytest.mark.parametrize(
    ("word", "pieces"),
    [
        ("geolocation", ["geo", "##location"]),
        ("geolo", ["geo", "##lo"]),
        ("abab", ["ab", "##a", "##b"]),
        ("geox", []),
        ("", []),
    ],
)
def test_every_piece_is_the_longest_that_fits(word: str, pieces: list[str]) -> None:
    assert [PIECES[number] for number in CUTTER.cut(word)] == pieces


def test_a_word_that_is_too_long_is_not_cut() -> None:
    assert len(CUTTER.cut("a" * LONGEST_WORD)) == LONGEST_WORD
    assert CUTTER.cut("a" * (LONGEST_WORD + 1)) == ()


def test_an_empty_vocabulary_knows_nothing() -> None:
    assert WordPiece(()).cut("word") == ()


@given(WORDS)
def test_a_vector_has_length_one_or_is_zero(words: list[str]) -> None:
    length = np.linalg.norm(EMBEDDING.vector(words))
    known = bool(CUTTER.cut_all(words))
    assert length == pytest.approx(1.0 if known else 0.0, abs=1e-5)


@given(WORDS)
def test_the_order_of_words_changes_nothing(words: list[str]) -> None:
    forward, back = EMBEDDING.vector(words), EMBEDDING.vector(words[::-1])
    assert np.array_equal(forward, back)


def test_pieces_that_cancel_give_zero() -> None:
    opposite = Embedding(
        WordPiece(("a", "b")),
        np.array([[1, 2], [-1, -2]], np.int8),
        np.ones(2, np.float32),
    )
    assert not opposite.vector(["a", "b"]).any()


def test_long_texts_are_read_from_their_beginning() -> None:
    start = ["birth"] * MOST_PIECES
    assert np.array_equal(EMBEDDING.vector(start), EMBEDDING.vector([*start, "geo"]))


def test_a_matrix_holds_the_vectors() -> None:
    texts = [("geo",), ("birth", "a"), (), ("geo",)]
    matrix = EMBEDDING.matrix(texts)
    assert matrix.shape == (4, EMBEDDING.width)
    for row, text in zip(matrix, texts, strict=True):
        assert np.array_equal(row, EMBEDDING.vector(text))
