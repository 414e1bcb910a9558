# SPDX-License-Identifier: Apache-2.0
"""Static embeddings: what the teacher makes of each piece on its own, made small.

Every piece of lower-case ASCII goes through the teacher alone. The vectors are
centred, rotated onto their 256 main axes (singular value decomposition), weighted by

    w(piece) = a / (a + p(piece))        [Arora, Liang, Ma, ICLR 2017, Eq. 1]

where p follows Zipf's law over the vocabulary, which is sorted by frequency, and
stored in 8 bits with one scale for each. Words of the lexicon's English that are no
single piece (`postcode`, `biometric`) go through the teacher whole and get the same
treatment, with the weight of a rare piece.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from training.tagger.minilm import Teacher

from lexfed.law.tagger.semantics.embeddings import LONGEST_WORD, Embedding, WordPiece
from lexfed.law.tagger.words.lexicon import load_lexicon
from lexfed.law.tagger.words.normalisation import words

WIDTH = 256
FREQUENT = 1e-3
"""The constant `a`: pieces much more frequent than this say little."""
PIECE = re.compile(r"(##)?[a-z0-9]+")


@dataclass(frozen=True)
class Vectors:
    """Pieces and their vectors in 8 bits."""

    pieces: tuple[str, ...]
    rows: NDArray[np.int8]
    scales: NDArray[np.float32]


def static_vectors(teacher: Teacher) -> tuple[Vectors, Vectors]:
    """Return the vectors of the teacher's pieces and of the lexicon's whole words."""
    numbers = [
        number
        for number, piece in enumerate(teacher.vocabulary.pieces)
        if PIECE.fullmatch(piece)
    ]
    pieces = tuple(teacher.vocabulary.pieces[number] for number in numbers)
    raw = teacher.encode_pieces([[number] for number in numbers])
    mean = raw.mean(axis=0, dtype=np.float64)
    _, _, axes = np.linalg.svd(raw - mean, full_matrices=False)
    # The sign of an axis is free; fixing it keeps the result equal across libraries.
    axes = axes[:WIDTH] * np.sign(axes[:WIDTH].sum(axis=1, keepdims=True))
    chance = 1.0 / np.arange(1, len(pieces) + 1)
    chance /= chance.sum()
    weights = FREQUENT / (FREQUENT + chance)
    whole = whole_words(WordPiece(pieces))
    of_words = teacher.encode(whole)
    return (
        _small(pieces, (raw - mean) @ axes.T * weights[:, None]),
        _small(whole, (of_words - mean) @ axes.T),
    )


def whole_words(cutter: WordPiece) -> tuple[str, ...]:
    """Return the English words of the lexicon that are cut into several pieces."""
    found = {
        word
        for entries in load_lexicon().terms.values()
        for entry in entries
        for word in words(entry.gloss or entry.term)
        if word.isascii() and word.isalpha() and len(word) <= LONGEST_WORD
    }
    return tuple(sorted(word for word in found if len(cutter.cut(word)) != 1))


def joined(parts: Sequence[Vectors]) -> Embedding:
    """Return the embedding of pieces and words, as the package loads it."""
    return Embedding(
        WordPiece([piece for part in parts for piece in part.pieces]),
        np.vstack([part.rows for part in parts]),
        np.concatenate([part.scales for part in parts]),
    )


def _small(pieces: tuple[str, ...], vectors: NDArray[np.float64]) -> Vectors:
    scales = np.abs(vectors).max(axis=1) / 127.0
    rows = np.rint(vectors / np.maximum(scales, 1e-12)[:, None]).astype(np.int8)
    return Vectors(pieces, rows, scales.astype(np.float32))
