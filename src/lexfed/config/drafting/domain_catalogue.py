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
ANSWER = "answer"
ASIDE = "aside"
OUTCOME = "outcome"
WORDLESS = (FILLER, ASIDE, OUTCOME)
"""Lines without a domain: words that say nothing, columns that describe nobody, and
names of one outcome."""
KINDS_HELD = ("number", "category", "date", CLASS, ANSWER, *WORDLESS)
"""The subjects of lines: columns of such a kind, classes to predict, answers that any
column may hold, or no domain."""


@dataclass(frozen=True)
class DomainEntry:
    """One name of a line, as a set of words, and the line's number and domain.

    A line without a domain has the reason alone.
    """

    words: frozenset[str]
    joined: str
    line: int
    reason: str
    domain: PublicDomain | None


@dataclass(frozen=True)
class DomainCatalogue:
    """Domains by kind and name, lists for any name, and words that say nothing."""

    entries: Mapping[str, Mapping[str, tuple[DomainEntry, ...]]]
    classes: tuple[PublicDomain, ...]
    answers: tuple[PublicDomain, ...]
    fillers: frozenset[str]

    def domain(self, name: str, kind: str) -> PublicDomain | None:
        """Return the domain of columns of a name and kind, or None if none is known."""
        entry = self._entry(name, kind)
        return None if entry is None else entry.domain

    def holds(self, name: str, kind: str) -> bool:
        """Return True if a name of that kind is listed word for word."""
        entry = self._entry(name, kind)
        return entry is not None and entry.joined == "".join(name_words(name))

    def aside(self, name: str) -> str:
        """Return why a column of that name describes nobody; empty if it may."""
        entry = self._entry(name, ASIDE)
        return "" if entry is None else entry.reason

    def same_outcome(self, first: str, second: str) -> bool:
        """Return True if two names are listed as names of one outcome."""
        entries = [self._entry(name, OUTCOME) for name in (first, second)]
        lines = {None if entry is None else entry.line for entry in entries}
        return len(lines) == 1 and None not in lines

    def _entry(self, name: str, kind: str) -> DomainEntry | None:
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
                    return entry
        return best

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
    listed: dict[str, list[PublicDomain]] = {CLASS: [], ANSWER: []}
    fillers: set[str] = set()
    for line, names, kind, reason, domain in _lines(text):
        if kind == FILLER:
            fillers.update(word for name in names for word in name_words(name))
        elif domain is not None and kind in listed:
            listed[kind].append(domain)
        else:
            for name in names:
                own = name_words(name)
                entry = DomainEntry(frozenset(own), "".join(own), line, reason, domain)
                for key in dict.fromkeys((own[0], entry.joined)):
                    found.setdefault(kind, {}).setdefault(key, []).append(entry)
    entries = {
        kind: {word: tuple(lines) for word, lines in by_word.items()}
        for kind, by_word in found.items()
    }
    classes, answers = (tuple(listed[kind]) for kind in (CLASS, ANSWER))
    return DomainCatalogue(entries, classes, answers, frozenset(fillers))


def _lines(
    text: str,
) -> Iterator[tuple[int, list[str], str, str, PublicDomain | None]]:
    """Yield number, names, kind, reason and domain of every line."""
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
                stated = None if kind in WORDLESS else parse_domain(domain, reason)
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from error
            yield number, listed, kind, reason, stated
