# SPDX-License-Identifier: Apache-2.0
"""Static embeddings: a text's vector is the mean of the stored vectors of its pieces.

The vectors are what a sentence encoder makes of each piece on its own, rotated onto
their main axes and weighted by how rare the piece is [Arora, Liang, Ma: A simple but
tough-to-beat baseline, ICLR 2017, 3]. Each is stored as 8-bit integers and a scale:

    vector of piece i  =  scales[i] * rows[i]

`scripts/train-tagger` makes the files; nothing is learned or downloaded here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lexfed.arrays import Singles
from lexfed.law.tagger.semantics.word_pieces import WordPiece

MOST_PIECES = 96
"""Pieces of a text that are read; the rest of a long description adds nothing."""


@dataclass(frozen=True)
class Embedding:
    """Stored vectors of pieces.

    Guarantees:
        A text's vector has length one, or is zero if no piece of it is known.
        The order of the words of a text of at most 96 pieces does not change it.
    """

    cutter: WordPiece
    rows: NDArray[np.int8]
    scales: Singles

    @property
    def width(self) -> int:
        """Number of axes of every vector."""
        return int(self.rows.shape[1])

    def vector(self, words: Iterable[str]) -> Singles:
        """Return the vector of a text given as folded words."""
        pieces = self.cutter.cut_all(words)[:MOST_PIECES]
        if not pieces:
            return np.zeros(self.width, np.float32)
        # Sorted: floating-point sums depend on the order, a text's meaning must not.
        pieces.sort()
        total = self.scales[pieces] @ self.rows[pieces].astype(np.float32)
        length = float(np.linalg.norm(total))
        return total / length if length > 0.0 else total

    def matrix(self, texts: Sequence[Sequence[str]]) -> Singles:
        """Return the vectors of texts, one a row; equal texts are read once."""
        found: dict[tuple[str, ...], Singles] = {}
        out = np.zeros((len(texts), self.width), np.float32)
        for number, text in enumerate(texts):
            key = tuple(text)
            if key not in found:
                found[key] = self.vector(key)
            out[number] = found[key]
        return out
