# SPDX-License-Identifier: Apache-2.0
"""Static embeddings: a text's vector is the mean of the stored vectors of its pieces.

Words are cut into the pieces of a fixed vocabulary as BERT's WordPiece does; pieces
that continue a word are written with `##` in front, so that `geolocation` becomes
`geo ##lo ##cation`. The vocabulary holds lower-case ASCII letters and digits only:
names are folded before.

The vectors are what a sentence encoder makes of each piece on its own, rotated onto
their main axes and weighted by how rare the piece is [Arora, Liang, Ma: A simple but
tough-to-beat baseline, ICLR 2017, 3]. Each is stored as 8-bit integers and a scale:

    vector of piece i  =  scales[i] * rows[i]
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lexfed.arrays import Singles

LONGEST_WORD = 64
"""Letters of the longest word that is cut; no piece is near as long."""


@dataclass(frozen=True)
class WordPiece:
    """A vocabulary of pieces; a piece's number is its place.

    Guarantees:
        The pieces of a word, put together, are the word; or there are none.
        Every piece is the longest that fits where it stands.
        A word of more than 64 letters is not cut.
    """

    pieces: Sequence[str] = field(repr=False)

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {piece: number for number, piece in enumerate(self.pieces)}

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self.pieces), default=0)

    def cut(self, word: str) -> tuple[int, ...]:
        """Return the numbers of the pieces of one folded word; none if unknown."""
        if len(word) > LONGEST_WORD:
            return ()
        found: list[int] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            stop = min(len(word), start + self._longest)
            while stop > start:
                number = self._ids.get(prefix + word[start:stop])
                if number is not None:
                    break
                stop -= 1
            else:
                return ()
            found.append(number)
            start = stop
        return tuple(found)

    def cut_all(self, words: Iterable[str]) -> list[int]:
        """Return the numbers of the pieces of the words, one after another."""
        return [number for word in words for number in self.cut(word)]


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
