# SPDX-License-Identifier: Apache-2.0
"""The catalogue of public domains, and the search for a column's name in it.

`drafts/public_domains.tsv` says how it is written. A name is taken apart into words as
the tagger does (`lexfed.law.tagger.words.normalisation`), so that `BloodPressure`,
`blood_pressure` and `blood-pressure` are one name.

Guarantees:
    A domain depends on the name and the kind of a column only.
    Words that are neither in the entry nor fillers prevent a match: `age_of_car`,
        `wage` and `heart_rate_medication` are not `age` or `heart rate`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from lexfed.config.drafting.public_domains import PublicDomain, parse_domain
from lexfed.law.tagger.words.normalisation import words

FILLER = "filler"
CLASS = "class"
KINDS_HELD = ("number", "category", "date", CLASS, FILLER)
"""What a line is about: columns of such a kind, classes to predict, filler words."""


@dataclass(frozen=True)
class DomainEntry:
    """One name of a line, as a set of words, and the line's domain."""

    words: frozenset[str]
    joined: str
    domain: PublicDomain


@dataclass(frozen=True)
class DomainCatalogue:
    """Domains by kind and name, lists of classes, and words that say nothing."""

    entries: Mapping[str, Mapping[str, tuple[DomainEntry, ...]]]
    classes: tuple[PublicDomain, ...]
    fillers: frozenset[str]

    def domain(self, name: str, kind: str) -> PublicDomain | None:
        """Return the domain of columns of a name and kind, or None if none is known."""
        own = name_words(name)
        known = self.entries.get(kind, {})
        joined, inside = "".join(own), frozenset(own)
        best: DomainEntry | None = None
        for word in (*own, joined):
            for entry in known.get(word, ()):
                exact = entry.joined == joined
                beside = inside - entry.words
                fits = entry.words <= inside and self._says_nothing(beside)
                if exact or (fits and (best is None or _words(entry) > _words(best))):
                    best = entry
                if exact:
                    return entry.domain
        return None if best is None else best.domain

    def _says_nothing(self, beside: Iterable[str]) -> bool:
        return all(word.isdigit() or word in self.fillers for word in beside)


def _words(entry: DomainEntry) -> int:
    return len(entry.words)


def name_words(name: str) -> tuple[str, ...]:
    """Return the words of a column's name, without the endings of English plurals."""
    return tuple(_singular(word) for word in words(name))


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    plural = len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us"))
    return word[:-1] if plural else word


@cache
def load_domains() -> DomainCatalogue:
    """Return the catalogue that comes with the package; it is read once."""
    path = files("lexfed.config") / "drafts" / "public_domains.tsv"
    return parse_domains(path.read_text("utf-8"))


def parse_domains(text: str) -> DomainCatalogue:
    """Return the catalogue of a text; `ValueError` names a line that is none."""
    found: dict[str, dict[str, list[DomainEntry]]] = {}
    classes: list[PublicDomain] = []
    fillers: set[str] = set()
    for names, kind, domain in _lines(text):
        if kind == FILLER:
            fillers.update(word for name in names for word in name_words(name))
        elif domain is not None and kind == CLASS:
            classes.append(domain)
        elif domain is not None:
            for name in names:
                own = name_words(name)
                entry = DomainEntry(frozenset(own), "".join(own), domain)
                for key in dict.fromkeys((own[0], entry.joined)):
                    found.setdefault(kind, {}).setdefault(key, []).append(entry)
    entries = {
        kind: {word: tuple(listed) for word, listed in by_word.items()}
        for kind, by_word in found.items()
    }
    return DomainCatalogue(entries, tuple(classes), frozenset(fillers))


def _lines(text: str) -> Iterator[tuple[list[str], str, PublicDomain | None]]:
    reason = ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("##"):
            reason = line[2:].strip()
        elif line and not line.startswith("#"):
            try:
                names, kind, domain = line.split("\t")
                listed = [name.strip() for name in names.split(";")]
                if kind not in KINDS_HELD or not all(listed) or not reason:
                    raise ValueError("expected names, a known kind and a reason above")
                stated = None if kind == FILLER else parse_domain(domain, reason)
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from error
            yield listed, kind, stated
