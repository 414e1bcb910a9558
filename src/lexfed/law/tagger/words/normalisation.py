# SPDX-License-Identifier: Apache-2.0
"""Names as people write them, taken apart into words that a lexicon can know.

    PatientID, patient_id, PATIENT-ID        ->  patient id
    HTTPServer, icd10code, NU_IDADE          ->  http server, icd 10 code, nu idade
    Geburtsdatum, GEBDAT                     ->  geburtsdatum, gebdat
    versichertennummer                       ->  versicherten nummer

The first two kinds need no vocabulary (`words`). Run-together words are split by
dynamic programming over the words of a language (`split`): long known words win,
letters that belong to no word cost, and the letters that German and Dutch put
between the parts of a compound cost almost nothing.

Guarantees:
    Every function ends, and returns lower-case words, whatever the text holds.
    Separators, diacritics and the case of whole words do not change a name's words.
"""

import re
import unicodedata
from collections.abc import Callable

NAME_LIMIT = 256
"""Letters of a name that are read; no column has a longer name."""
TEXT_LIMIT = 1000
"""Letters of a description that are read."""

_LIGATURES = str.maketrans(
    {"ß": "ss", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ø": "o", "Ø": "O",
     "ł": "l", "Ł": "L", "đ": "d", "Đ": "D"}
)  # fmt: skip
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})

# An acronym ends before the capital of a word (HTTPServer) or before digits; `IDs`
# is one word, and so is a run of letters of a script without case.
_WORDS = re.compile(
    r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+"
)
_LINKS = ("", "s", "n", "e", "es", "en", "er", "ns")
_SHORT = frozenset({"id", "nr", "no", "dt", "cd", "ip"})
_MOST_SPLIT = 40
_UNKNOWN = -2.5
_PIECE = -3.0


def fold(text: str) -> str:
    """Return text in lower case without diacritics: `Größe` becomes `grosse`."""
    return _plain(text).lower()


def spellings(term: str) -> tuple[str, ...]:
    """Return the folded spellings of a term: `größe` is `grosse` and `groesse`."""
    if term.isascii():
        return (term.lower(),)
    plain, written_out = fold(term), fold(term.lower().translate(_UMLAUTS))
    return (plain,) if plain == written_out else (plain, written_out)


def words(text: str, limit: int = NAME_LIMIT) -> tuple[str, ...]:
    """Return the folded words of a name or of a sentence, in their order."""
    return tuple(word.lower() for word in _WORDS.findall(_plain(text[:limit])))


def squeeze(text: str) -> str:
    """Return a name as one word, to compare it however its parts are joined."""
    return "".join(words(text))


def skeleton(word: str) -> str:
    """Return the first letter and the consonants after it: `payment` is `pymnt`.

    Names of old systems are often shortened so.
    """
    return word[:1] + "".join(letter for letter in word[1:] if letter not in "aeiou")


def split(word: str, is_word: Callable[[str], bool]) -> tuple[str, ...]:
    """Return the known words that a folded, run-together word is made of.

    Unknown ends are left out. There are no parts if less than three quarters of the
    letters belong to known words.
    """
    length = len(word)
    if not 5 <= length <= _MOST_SPLIT:
        return ()
    best = [0.0] + [float("-inf")] * length
    step: list[tuple[int, str]] = [(0, "")] * (length + 1)
    for end in range(1, length + 1):
        best[end], step[end] = best[end - 1] + _UNKNOWN, (end - 1, "")
        for start in range(max(0, end - 20), end - 1):
            piece = word[start:end]
            # Two letters are a word only at an end of the name: `patientid`, `idpol`.
            inside = start > 0 and end < length
            if len(piece) == 2 and (inside or piece not in _SHORT):
                continue
            if not is_word(piece):
                continue
            before, link = _before(best, word, start)
            value = best[before] + len(piece) ** 1.5 + _PIECE + link
            if value > best[end]:
                best[end], step[end] = value, (before, piece)
    pieces: list[str] = []
    at = length
    while at > 0:
        at, piece = step[at]
        if piece:
            pieces.append(piece)
    known = sum(map(len, pieces))
    if len(pieces) < 2 and known < length - 2:
        return ()
    return tuple(reversed(pieces)) if known >= 0.75 * length else ()


def _plain(text: str) -> str:
    if text.isascii():
        return text
    spread = unicodedata.normalize("NFKD", text.translate(_LIGATURES))
    return "".join(letter for letter in spread if not unicodedata.combining(letter))


def _before(best: list[float], word: str, start: int) -> tuple[int, float]:
    """Return the end of the part before `start`, and the cost of the link between."""
    chosen, cost = start, 0.0
    for link in _LINKS[1:]:
        at = start - len(link)
        if (
            at > 2
            and word.startswith(link, at)
            and best[at] - 0.5 > best[chosen] + cost
        ):
            chosen, cost = at, -0.5
    return chosen, cost
