# SPDX-License-Identifier: Apache-2.0
"""Whole tables, read: names, descriptions and the languages they are written in.

A table's languages follow from the words it shares with each. Every different word
votes once, with one vote divided among the languages that know it; a run-together word
votes for the language that can take it apart. English is always read too, because names
in every country borrow from it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from lexfed.law.tagger.suggestions import DescribedColumn
from lexfed.law.tagger.words.lexicon import LANGUAGES, Lexicon, load_lexicon
from lexfed.law.tagger.words.normalisation import (
    NAME_LIMIT,
    TEXT_LIMIT,
    split,
    words,
)
from lexfed.law.tagger.words.phrases import PhraseReading, read_phrase

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

    Attributes:
        places: the index of each column among the columns given.
        title: its name.
        languages: the languages its names are in, the likeliest first.
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
