# SPDX-License-Identifier: Apache-2.0
"""Which language the names of a table are in, from the words it shares with each.

Every different word votes once, with one vote divided among the languages that know
it; a run-together word votes for the language that can take it apart. English is
always read too, because names in every country borrow from it.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache

from lexfed.law.tagger.words.lexicon import LANGUAGES, Lexicon, load_lexicon
from lexfed.law.tagger.words.normalisation import NAME_LIMIT, split, words

_SHORTEST = 3
_COMPOUND = 8
ENOUGH = 1.0
"""Votes that a language needs to be read at all."""
BESIDE = 0.3
"""Votes that a second language needs, as a share of those of the first."""


def votes(texts: Iterable[str], limit: int = NAME_LIMIT) -> dict[str, float]:
    """Return the votes of the different words of texts, by language."""
    lexicon = load_lexicon()
    different = {word for text in texts for word in words(text, limit)}
    total = dict.fromkeys(LANGUAGES, 0.0)
    for word in different:
        known = _languages_of(word, lexicon)
        for language in known:
            total[language] += 1.0 / len(known)
    return total


def languages_read(votes: Mapping[str, float]) -> tuple[str, ...]:
    """Return the languages to read a table in, the likeliest first.

    English is always among them; another one is read beside it from a few words on,
    because a term is only looked up there if the language before it has none.
    """
    order = sorted(LANGUAGES, key=lambda language: -votes[language])
    least = max(ENOUGH, BESIDE * votes[order[0]])
    read = [language for language in order if votes[language] >= least][:2]
    return tuple(read) if "en" in read else (*read, "en")


@lru_cache(maxsize=20_000)
def _languages_of_compound(word: str) -> frozenset[str]:
    """Return the languages that can take a word apart best."""
    lexicon = load_lexicon()
    parts = {
        language: len("".join(split(word, lexicon.vocabulary(language))))
        for language in LANGUAGES
    }
    most = max(parts.values())
    return frozenset(lang for lang, known in parts.items() if known == most > 0)


def _languages_of(word: str, lexicon: Lexicon) -> frozenset[str]:
    if len(word) < _SHORTEST or word.isdigit():
        return frozenset()
    if word in lexicon.languages:
        return lexicon.languages[word]
    return _languages_of_compound(word) if len(word) >= _COMPOUND else frozenset()
