# SPDX-License-Identifier: Apache-2.0
"""Texts and tables, read with the lexicon: the terms they hold, their languages.

The longest terms win, and each word is read once. A word that the lexicon does not
know is tried, in this order, without its ending, taken apart into known words, as
the consonants of a known word (`pymnt`) and as its beginning (`educ`); each of these
is less sure than the word itself, and counts less.

A table's languages follow from the words it shares with each. Every different word
votes once, with one vote divided among the languages that know it; a run-together word
votes for the language that can take it apart. English is always read too, because names
in every country borrow from it.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import NamedTuple

from lexfed.law.tagger.suggestions import DescribedColumn
from lexfed.law.tagger.words.lexicon import (
    LANGUAGES,
    Lexicon,
    LexiconEntry,
    load_lexicon,
    stopwords,
)
from lexfed.law.tagger.words.normalisation import NAME_LIMIT, TEXT_LIMIT, split, words

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
        parts = split(word, partial(lexicon.knows, language=language))
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


_RUN = 3
_SHORTEST = 3
_COMPOUND = 8
ENOUGH = 1.0
"""Votes that a language needs to be read at all."""
BESIDE = 0.3
"""Votes that a second language needs, as a share of those of the first."""


@dataclass(frozen=True)
class TableReading:
    """A table with its texts read, before any evidence is drawn from them.

    `places` has the index of each column among the columns given, `title` the table's
    name; `languages` are those of its names, the likeliest first.
    """

    columns: tuple[DescribedColumn, ...]
    places: tuple[int, ...]
    title: PhraseReading
    names: tuple[PhraseReading, ...]
    descriptions: tuple[PhraseReading, ...]
    languages: tuple[str, ...]


def read_tables(columns: Sequence[DescribedColumn]) -> list[TableReading]:
    """Return the tables of columns, in the order in which they first occur."""
    whole = votes({text for one in columns for text in (one.name, one.table)})
    return [
        _read_table(places, [columns[at] for at in places], whole)
        for places in _tables(columns)
    ]


def _tables(columns: Sequence[DescribedColumn]) -> list[list[int]]:
    """Return the indices of the columns of each table.

    A list may hold the schemas of several sources, and two of them a table of the
    same name: a name that comes back after other tables, with a few columns at each
    place, is another table.
    """
    runs: list[list[int]] = []
    for at, column in enumerate(columns):
        if at and columns[at - 1].table == column.table:
            runs[-1].append(at)
        else:
            runs.append([at])
    by_name: dict[str, list[list[int]]] = {}
    for run in runs:
        by_name.setdefault(columns[run[0]].table, []).append(run)
    found: list[list[int]] = []
    for same in by_name.values():
        apart = min(map(len, same)) >= _RUN
        found += same if apart else [[at for run in same for at in run]]
    return sorted(found)


def _read_table(
    places: Sequence[int],
    columns: Sequence[DescribedColumn],
    whole: Mapping[str, float],
) -> TableReading:
    # The other tables have one vote together: they help a table of few words, and
    # cannot outvote one that speaks for itself.
    table = columns[0].table
    total = sum(whole.values()) or 1.0
    own = votes([table, *(column.name for column in columns)])
    languages = languages_read({k: v + whole[k] / total for k, v in own.items()})
    texts = languages_read(votes((c.description for c in columns), TEXT_LIMIT))
    spoken = tuple(dict.fromkeys((*texts, *languages)))
    return TableReading(
        tuple(columns),
        tuple(places),
        read_phrase(table, languages),
        tuple(read_phrase(column.name, languages) for column in columns),
        tuple(
            read_phrase(column.description, spoken, TEXT_LIMIT) for column in columns
        ),
        languages,
    )


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
        language: len("".join(split(word, partial(lexicon.knows, language=language))))
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
