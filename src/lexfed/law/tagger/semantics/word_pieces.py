# SPDX-License-Identifier: Apache-2.0
"""Words cut into the pieces of a fixed vocabulary, as BERT's WordPiece does.

A word is cut from its beginning, always the longest piece that the vocabulary knows;
pieces that continue a word are written with `##` in front: `geolocation` becomes
`geo ##lo ##cation`. A word that cannot be cut to its end has no pieces at all.

The vocabulary holds the pieces of lower-case ASCII letters and digits only: names
are folded before they come here, and the teacher knows no other script well.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

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
    _ids: dict[str, int] = field(init=False, repr=False, compare=False)
    _longest: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        ids = {piece: number for number, piece in enumerate(self.pieces)}
        longest = max((len(piece) for piece in self.pieces), default=0)
        object.__setattr__(self, "_ids", ids)
        object.__setattr__(self, "_longest", longest)

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
