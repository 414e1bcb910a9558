# SPDX-License-Identifier: Apache-2.0
"""The lexicon of seven languages, and the small grammar of column names.

`lexicon/<language>.tsv` holds one term a line, fields divided by tabs:

    geburtsdatum    demographic   5   date of birth    [note]
    kunde           word          0   customer
    patient         role:person   3   patient

The second field is a category, or `word` for a word that only needs its English
meaning, or `role:...` for a word that says what the rows of a table are about. The
third is the weight from 0 to 5; 5 decides alone. Terms are found by their letters
alone, so `date of birth`, `date_of_birth` and `dateofbirth` are one.

A name such as `customer_name` or `store_id` is a noun that says whom or what a row is
about, and a word about it, which means different things after different nouns. These
words are in `concepts.tsv`, in English; names in other languages come to them through
their glosses.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import zip_longest
from sys import intern
from typing import NamedTuple

from lexfed.errors import ConfigError, Problem
from lexfed.law.tagger.suggestions import CATEGORIES
from lexfed.law.tagger.words.line_store import (
    LinePlaces,
    LineStore,
    add_place,
    lines_of,
)
from lexfed.law.tagger.words.normalisation import skeleton, spellings

NOUNS = ("person", "case", "event", "organisation", "thing", "definition")
"""Concepts that say whom or what a row is about."""

_OF_ROLE = {
    "person": frozenset({"person"}),
    "organisation": frozenset({"organisation"}),
    "dictionary": frozenset({"definition"}),
    "device": frozenset({"thing"}),
}


@cache
def load_concepts() -> Mapping[str, frozenset[str]]:
    """Return the concepts of every English word of the grammar."""
    text = (files("lexfed.law.tagger") / "concepts.tsv").read_text("utf-8")
    found: dict[str, set[str]] = {}
    for line in text.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        concept, _, listed = line.partition("\t")
        for word in listed.split():
            found.setdefault(word, set()).add(concept)
    return {word: frozenset(concepts) for word, concepts in found.items()}


@cache
def stopwords() -> frozenset[str]:
    """Return the words of all languages that carry no meaning inside a term."""
    known = load_concepts()
    return frozenset(word for word, found in known.items() if "stopword" in found)


def concepts_of(
    english: Iterable[str], roles: Iterable[str] = ()
) -> tuple[frozenset[str], ...]:
    """Return the concepts of each word, in order; a plural counts as its singular.

    `roles` has, for each word, the role that its term stands for in the lexicon.
    """
    known = load_concepts()
    return tuple(
        (known.get(word) or known.get(word.removesuffix("s")) or frozenset())
        | _OF_ROLE.get(role or "", frozenset())
        for word, role in zip_longest(english, roles)
    )


LANGUAGES = ("en", "de", "fr", "es", "pt", "it", "nl")
ROLES = ("person", "organisation", "dictionary", "device", "clinical")
"""Roles of a table, as far as one word can tell them."""
MEANINGS = frozenset({*CATEGORIES, "word", *(f"role:{role}" for role in ROLES)})


class LexiconEntry(NamedTuple):
    """One meaning of a term in one language."""

    term: str
    meaning: str
    weight: float
    gloss: str
    language: str


@dataclass(frozen=True)
class Lexicon:
    """All terms, found by their letters.

    Attributes:
        terms: the entries of a term, by its words run together.
        bags: the entries of a term of several words, by its sorted words.
        languages: the languages a single word belongs to.
        short: full words by their consonants, to read shortened names.
        ordered: all single words in order, to complete cut-off ones.
    """

    terms: Mapping[str, tuple[LexiconEntry, ...]]
    bags: Mapping[str, tuple[LexiconEntry, ...]]
    languages: Mapping[str, frozenset[str]]
    short: Mapping[str, str | tuple[str, ...]]
    ordered: Sequence[str]

    def knows(self, word: str, language: str) -> bool:
        """Return True if a single word belongs to a language."""
        return language in self.languages.get(word, ())

    def lengthened(self, word: str) -> tuple[str, ...]:
        """Return the words that a word holds the consonants of."""
        full = self.short.get(word, ())
        return (full,) if isinstance(full, str) else full


def build_lexicon(texts: Mapping[str, bytes], where: str = "") -> Lexicon:
    """Return the lexicon of files, given as their bytes by language.

    `ConfigError` names every line that is not a term, a meaning and a weight; it calls
    a file `where`, or by its language.
    """
    terms: dict[str, LinePlaces] = {}
    bags: dict[str, LinePlaces] = {}
    languages: dict[str, frozenset[str]] = {}
    problems: list[Problem] = []
    for number, (language, text) in enumerate(texts.items()):
        for place, line, fields in lines_of(number, text):
            if fields[1:2] == ["category"]:
                continue
            wrong = _wrong(fields)
            if wrong:
                problems.append(Problem(f"{where or f'{language}.tsv'}:{line}", wrong))
                continue
            for spelling in spellings(fields[0].strip()):
                parts = spelling.replace("-", " ").replace("'", " ").split()
                add_place(terms, "".join(parts), place)
                content = sorted(part for part in parts if part not in stopwords())
                if len(content) > 1:
                    add_place(bags, " ".join(content), place)
                for part in content:
                    languages[part] = _with(languages.get(part, frozenset()), language)
    if problems:
        raise ConfigError(problems)
    names, stored = tuple(texts), tuple(texts.values())

    def decode(file: int, fields: Sequence[str]) -> LexiconEntry:
        term = fields[0].strip().lower()
        gloss = (fields[3].strip() if len(fields) > 3 else "") or term
        return LexiconEntry(
            term, intern(fields[1]), float(fields[2]), gloss, names[file]
        )

    return Lexicon(
        LineStore(terms, stored, decode), LineStore(bags, stored, decode), languages,
        _short(languages), sorted(languages),
    )  # fmt: skip


def _wrong(fields: Sequence[str]) -> str:
    """Return the problem of a line; empty if there is none."""
    if len(fields) < 3 or not fields[0].strip():
        return "expected term, meaning, weight, gloss"
    if fields[1] not in MEANINGS or fields[2] not in ("0", "1", "2", "3", "4", "5"):
        return f"unknown meaning or weight of `{fields[0]}`"
    return ""


@cache
def _with(known: frozenset[str], language: str) -> frozenset[str]:
    """Return a set with one more language; equal sets are one object."""
    return known | {language}


def _short(languages: Mapping[str, frozenset[str]]) -> dict[str, str | tuple[str, ...]]:
    short: dict[str, str | tuple[str, ...]] = {}
    for word in languages:
        bones = skeleton(word) if len(word) > 4 else word
        if bones != word and len(bones) > 2:
            known = short.get(bones, ())
            if not known:
                short[bones] = word
            else:
                short[bones] = (*((known,) if isinstance(known, str) else known), word)
    return short


@cache
def load_lexicon() -> Lexicon:
    """Return the lexicon that comes with the package; it is read once."""
    folder = files("lexfed.law.tagger") / "lexicon"
    return build_lexicon(
        {language: (folder / f"{language}.tsv").read_bytes() for language in LANGUAGES}
    )
