# SPDX-License-Identifier: Apache-2.0
"""The multilingual lexicon: words of seven languages and what they say of a column.

`lexicon/<language>.tsv` holds one term a line, fields divided by tabs:

    geburtsdatum    demographic   5   date of birth    [note]
    kunde           word          0   customer
    patient         role:person   3   patient

The second field is a category, or `word` for a word that only needs its English
meaning, or `role:...` for a word that says what the rows of a table are about. The
third is the weight from 0 to 5; 5 decides alone. Lines that start with `#` are
comments. Terms are found by their letters alone, so `date of birth`, `date_of_birth`
and `dateofbirth` are one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from lexfed.errors import ConfigError, Problem
from lexfed.law.tagger.column import CATEGORIES
from lexfed.law.tagger.concepts import stopwords
from lexfed.law.tagger.normalise import skeleton, spellings

LANGUAGES = ("en", "de", "fr", "es", "pt", "it", "nl")
ROLES = ("person", "organisation", "dictionary", "device", "clinical")
"""What the rows of a table are about, as far as one word can say it."""

MEANINGS = frozenset({*CATEGORIES, "word", *(f"role:{role}" for role in ROLES)})


class Entry(NamedTuple):
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

    terms: Mapping[str, tuple[Entry, ...]]
    bags: Mapping[tuple[str, ...], tuple[Entry, ...]]
    languages: Mapping[str, frozenset[str]]
    short: Mapping[str, tuple[str, ...]]
    ordered: Sequence[str]

    def vocabulary(self, language: str) -> "Vocabulary":
        """Return the single words of a language, to split run-together names."""
        return Vocabulary(self.languages, language)


class Vocabulary:
    """The words of one language, as a container."""

    def __init__(self, languages: Mapping[str, frozenset[str]], language: str) -> None:
        self._languages, self._language = languages, language

    def __contains__(self, word: object) -> bool:
        return self._language in self._languages.get(word, ())  # type: ignore[call-overload]


def parse_lexicon(language: str, lines: Iterable[str], where: str) -> list[Entry]:
    """Return the entries of one file.

    Raises:
        ConfigError: naming every line that is not a term, a meaning, a weight and a
            gloss.
    """
    entries, problems = [], []
    for number, line in enumerate(lines, 1):
        fields = line.rstrip("\r\n").split("\t")
        if not line.strip() or line.startswith("#") or fields[1:2] == ["category"]:
            continue
        try:
            term, meaning, weight = fields[0].strip(), fields[1], float(fields[2])
            gloss = fields[3].strip() if len(fields) > 3 else ""
        except (IndexError, ValueError):
            problems.append(
                Problem(f"{where}:{number}", "expected term, meaning, weight, gloss")
            )
            continue
        if not term or meaning not in MEANINGS or not 0 <= weight <= 5:
            problems.append(
                Problem(f"{where}:{number}", f"unknown meaning or weight of `{term}`")
            )
            continue
        entries.append(Entry(term.lower(), meaning, weight, gloss, language))
    if problems:
        raise ConfigError(problems)
    return entries


def build(entries: Iterable[Entry]) -> Lexicon:
    """Return the lexicon of entries."""
    terms: dict[str, list[Entry]] = {}
    bags: dict[tuple[str, ...], list[Entry]] = {}
    languages: dict[str, set[str]] = {}
    empty = stopwords()
    for entry in entries:
        for spelling in spellings(entry.term):
            parts = spelling.replace("-", " ").split()
            terms.setdefault("".join(parts), []).append(entry)
            content = [part for part in parts if part not in empty]
            if len(content) > 1:
                bags.setdefault(tuple(sorted(content)), []).append(entry)
            for part in content:
                languages.setdefault(part, set()).add(entry.language)
    short: dict[str, list[str]] = {}
    for word in languages:
        if len(word) > 4 and (bones := skeleton(word)) != word and len(bones) > 2:
            short.setdefault(bones, []).append(word)
    return Lexicon(
        {key: tuple(found) for key, found in terms.items()},
        {key: tuple(found) for key, found in bags.items()},
        _shared(languages),
        {key: tuple(found) for key, found in short.items()},
        sorted(languages),
    )


def _shared(languages: Mapping[str, set[str]]) -> dict[str, frozenset[str]]:
    """Return the sets with equal ones stored once: there are few different ones."""
    once: dict[frozenset[str], frozenset[str]] = {}
    return {
        word: once.setdefault(frozenset(found), frozenset(found))
        for word, found in languages.items()
    }


@cache
def load_lexicon() -> Lexicon:
    """Return the lexicon that comes with the package; it is read once."""
    folder = files("lexfed.law.tagger") / "lexicon"
    entries: list[Entry] = []
    for language in LANGUAGES:
        file = folder / f"{language}.tsv"
        if file.is_file():
            text = file.read_text("utf-8")
            entries += parse_lexicon(language, text.splitlines(), f"{language}.tsv")
    return build(entries)
