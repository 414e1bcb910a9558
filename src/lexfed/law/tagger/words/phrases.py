# SPDX-License-Identifier: Apache-2.0
"""Reads a name or a description with the lexicon: which terms it holds, in English.

The longest terms win, and each word is read once. A word that the lexicon does not
know is tried, in this order, without its ending, taken apart into known words, as
the consonants of a known word (`pymnt`) and as its beginning (`educ`); each of these
is less sure than the word itself, and counts less.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from lexfed.law.tagger.words.concepts import stopwords
from lexfed.law.tagger.words.lexicon import Lexicon, LexiconEntry, load_lexicon
from lexfed.law.tagger.words.normalisation import NAME_LIMIT, split, words

ENDINGS = (
    ("ies", "y"), ("s", ""), ("es", ""), ("n", ""), ("en", ""), ("e", ""), ("x", ""),
    ("ed", ""), ("i", "o"), ("i", "e"), ("as", "o"), ("os", "o"), ("a", "o"),
)  # fmt: skip
"""Endings of plurals and genders, and what stands there in the lexicon."""
EXACT, INFLECTED, TAKEN_APART, SHORTENED, CUT_OFF = 1.0, 0.95, 0.9, 0.6, 0.55
"""Certainty that a word means the term it is read as."""
FOREIGN, FOREIGN_SHORT = 0.6, 0.25
"""The same for a term of a language that the table is not written in."""
_LONGEST_TERM = 6
_MOST_WORDS = 60


class LexiconWord(NamedTuple):
    """A word as the lexicon knows it, and the certainty that it was meant."""

    text: str
    surely: float


class TermHit(NamedTuple):
    """A term found in a text."""

    entry: LexiconEntry
    surely: float
    start: int
    stop: int


@dataclass(frozen=True)
class PhraseReading:
    """A text as the lexicon reads it.

    Attributes:
        words: its words, run-together ones taken apart.
        hits: the terms found in it, in their order; no two overlap unless one term
            has several meanings.
        english: its words in English, unknown ones as they are.
        roles: for each English word, the role that its term stands for, or empty.
        sources: for each English word, the index of the word it comes from.
        unknown: the words that the lexicon does not know.
    """

    words: tuple[str, ...]
    hits: tuple[TermHit, ...]
    english: tuple[str, ...]
    roles: tuple[str, ...]
    sources: tuple[int, ...]
    unknown: tuple[str, ...]


NOTHING = PhraseReading((), (), (), (), (), ())


@lru_cache(maxsize=20_000)
def read_phrase(
    text: str, languages: tuple[str, ...], limit: int = NAME_LIMIT
) -> PhraseReading:
    """Return a text's reading, in the given languages first."""
    raw = words(text, limit)[:_MOST_WORDS]
    if not raw:
        return NOTHING
    lexicon = load_lexicon()
    refined = [part for word in raw for part in _refine(word, languages, lexicon)]
    spans = sorted(
        _spans(refined, languages, lexicon),
        key=lambda span: (span[0] - span[1], span[0]),
    )
    taken = [False] * len(refined)
    hits: list[TermHit] = []
    for start, stop, entries, surely in spans:
        if not any(taken[start:stop]):
            taken[start:stop] = [True] * (stop - start)
            hits += [TermHit(entry, surely, start, stop) for entry in entries]
    hits.sort(key=lambda hit: hit.start)
    unknown = tuple(
        word.text
        for word, known in zip(refined, taken, strict=True)
        if not known and not word.text.isdigit() and word.text not in stopwords()
    )
    english = tuple(_english(refined, hits))
    return PhraseReading(
        tuple(word.text for word in refined),
        tuple(hits),
        tuple(word for word, _, _ in english),
        tuple(role for _, role, _ in english),
        tuple(source for _, _, source in english),
        unknown,
    )


def _refine(word: str, languages: Sequence[str], lexicon: Lexicon) -> list[LexiconWord]:
    """Return a word as words of the lexicon; itself if nothing fits."""
    if word in lexicon.terms or word in lexicon.languages or word.isdigit():
        return [LexiconWord(word, EXACT)]
    for ending, instead in ENDINGS:
        stem = word.removesuffix(ending) + instead
        if word.endswith(ending) and len(stem) > 3 and stem in lexicon.terms:
            return [LexiconWord(stem, INFLECTED)]
    best: tuple[str, ...] = ()
    for language in languages:
        parts = split(word, lexicon.vocabulary(language))
        if parts and (not best or len("".join(parts)) > len("".join(best))):
            best = parts
    if best:
        return [LexiconWord(part, TAKEN_APART) for part in best]
    full = _lengthen(word, languages, lexicon)
    return [full] if full else [LexiconWord(word, EXACT)]


def _lengthen(
    word: str, languages: Sequence[str], lexicon: Lexicon
) -> LexiconWord | None:
    """Return the word that a shortened one stands for, if it can be told."""
    for full in lexicon.lengthened(word):
        if lexicon.languages[full].intersection(languages):
            return LexiconWord(full, SHORTENED)
    if len(word) < 4:
        return None
    at = bisect_left(lexicon.ordered, word)
    longer = []
    while at < len(lexicon.ordered) and lexicon.ordered[at].startswith(word):
        if lexicon.languages[lexicon.ordered[at]].intersection(languages):
            longer.append(lexicon.ordered[at])
        at += 1
    return LexiconWord(min(longer, key=len), CUT_OFF) if longer else None


def _spans(
    refined: Sequence[LexiconWord], languages: Sequence[str], lexicon: Lexicon
) -> Iterator[tuple[int, int, list[LexiconEntry], float]]:
    """Yield every run of words that is a term: start, stop, meanings, certainty."""
    for start in range(len(refined)):
        run, bag = "", []
        surely = EXACT
        for stop in range(start + 1, min(start + _LONGEST_TERM, len(refined)) + 1):
            word = refined[stop - 1]
            run += word.text
            surely = min(surely, word.surely)
            if word.text not in stopwords():
                bag.append(word.text)
            found = lexicon.terms.get(run)
            if not found and len(bag) > 1 and word.text not in stopwords():
                found = lexicon.bags.get(" ".join(sorted(bag)))
            if found:
                entries, trust = _in_languages(found, languages)
                yield start, stop, entries, surely * trust


def _in_languages(
    found: Sequence[LexiconEntry], languages: Sequence[str]
) -> tuple[list[LexiconEntry], float]:
    """Return the meanings in the languages read, or else in others."""
    for language in languages:
        entries = [entry for entry in found if entry.language == language]
        if entries:
            return entries, EXACT
    first = found[0].language
    others = [entry for entry in found if entry.language == first]
    return others, FOREIGN if len(others[0].term) > 4 else FOREIGN_SHORT


def _english(
    refined: Sequence[LexiconWord], hits: Sequence[TermHit]
) -> Iterator[tuple[str, str, int]]:
    """Yield the English words of a text, with the role of their term and its place."""
    by_start = {hit.start: hit for hit in reversed(hits)}
    at = 0
    while at < len(refined):
        hit = by_start.get(at)
        if hit is None:
            if refined[at].text not in stopwords():
                yield refined[at].text, "", at
            at += 1
            continue
        role = hit.entry.meaning.removeprefix("role:")
        for word in words(hit.entry.gloss or hit.entry.term):
            if word not in stopwords():
                yield word, role if role != hit.entry.meaning else "", hit.start
        at = hit.stop
