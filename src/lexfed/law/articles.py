# SPDX-License-Identifier: Apache-2.0
"""The articles that apply to a column, jurisdiction by jurisdiction.

Some articles turn on a word: among direct identifiers HIPAA sorts names under (A) and
social security numbers under (G). The words are those the tagger read in the name and
the description, in English, whatever language they are written in. A cryptic name of a
known standard has none; then the standard's own description of it is read.

Laws may disagree. Each answers for itself and both answers stand side by side; the tier
is the strictest reading of them all, whichever laws are asked.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from lexfed.errors import ConfigError, Problem
from lexfed.law.catalogue import BUILT_IN, Article, LawCatalogue, load_catalogue
from lexfed.law.tagger.metadata.packs import load_packs
from lexfed.law.tagger.suggestions import DescribedColumn, Suggestion, TagEvidence
from lexfed.law.tagger.words.lexicon import LANGUAGES
from lexfed.law.tagger.words.normalisation import TEXT_LIMIT, squeeze, words
from lexfed.law.tagger.words.readings import PhraseReading, read_phrase, read_tables

_FEW = 3
"""Standards that a cryptic name may be in for their descriptions to be read."""
_ABOUT_THE_NAME = re.compile(r"\bthe (name|description)\b.*")
_KEY = frozenset({"id", "key", "number", "code", "identifier", "uuid", "unique"})
"""Words of a name that is the key of whatever its table is about."""
_OF_TIME = ("date", "timestamp")
"""Names, or beginnings of names, of types of columns that hold dates."""


@dataclass(frozen=True)
class TaggedColumn:
    """A suggestion together with the articles that apply to the column."""

    suggestion: Suggestion
    articles: tuple[Article, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it as `lexfed tag --json` prints it; never a value of the column."""
        suggestion = self.suggestion
        # A proxy speaks for no tier and weighs nothing.
        risks = (
            TagEvidence("statistics", None, None, 0.0, f"proxy risk: {proxy.words}")
            for proxy in suggestion.proxies
        )
        return {
            "table": suggestion.column.table,
            "column": suggestion.column.name,
            "tier": suggestion.tier,
            "category": suggestion.category,
            "score": round(suggestion.score, 4),
            "review": suggestion.review,
            "articles": [
                {"id": a.id, "jurisdiction": a.jurisdiction, "reference": a.reference}
                for a in self.articles
            ],
            "evidence": [
                {"kind": item.kind, "tier": item.tier, "category": item.category,
                 "weight": round(item.weight, 4), "text": item.text}
                for item in (*suggestion.evidence, *risks)
            ],
        }  # fmt: skip


def load_catalogues(
    jurisdictions: Iterable[str], added: Iterable[Path] = ()
) -> tuple[LawCatalogue, ...]:
    """Return built-in catalogues by name, followed by those of files.

    `ConfigError` tells that there is no such jurisdiction, that a file is not a
    catalogue, or that two catalogues have a rule of the same name.
    """
    wanted = tuple(dict.fromkeys(jurisdictions))
    unknown = [name for name in wanted if name not in BUILT_IN]
    if unknown:
        hint = f"known are {', '.join(BUILT_IN)}; add the file of another as catalogue"
        whats = (f"no law `{name[:60]}` is known" for name in unknown)
        raise ConfigError([Problem("jurisdictions", what, hint) for what in whats])
    names: list[str | Path] = [*wanted, *dict.fromkeys(added)]
    loaded = tuple(load_catalogue(name) for name in names)
    seen: set[str] = set()
    problems = []
    for catalogue in loaded:
        where = f"catalogue `{catalogue.title}`"
        hint = "give rules of your own names of their own"
        ids = {rule.article.id for rule in catalogue.rules}
        for name in sorted(ids & seen):
            what = f"rule `{name}` is in another catalogue too"
            problems.append(Problem(where, what, hint))
        seen |= ids
    if problems:
        raise ConfigError(problems)
    return loaded


def with_articles(
    suggestions: Sequence[Suggestion], catalogues: Sequence[LawCatalogue]
) -> tuple[TaggedColumn, ...]:
    """Return every suggestion with the articles that apply, in the order given.

    Guarantees:
        Every catalogue is asked, and its answer stands whatever the others say.
        A suggestion's tier and category stay as they are.
    """
    tagged = []
    own_words = words_of([each.column for each in suggestions])
    for suggestion, own in zip(suggestions, own_words, strict=True):
        mentioned = own | _of_standard(suggestion) | _of_values(suggestion)
        articles = articles_of(
            suggestion.tier, suggestion.category, mentioned, catalogues
        )
        tagged.append(TaggedColumn(suggestion, articles))
    return tuple(tagged)


def articles_of(
    tier: str,
    category: str,
    mentioned: frozenset[str],
    catalogues: Iterable[LawCatalogue],
) -> tuple[Article, ...]:
    """Return the articles of every catalogue for a column, in the catalogues' order.

    A category that no catalogue knows meets rules of the tier; `mentioned` has the
    English words of name and description, from `words_of`.
    """
    return tuple(
        article
        for catalogue in catalogues
        for article in catalogue.articles(tier, category, mentioned)
    )


def words_of(columns: Sequence[DescribedColumn]) -> list[frozenset[str]]:
    """Return the words of every column in English, and runs of two and three words.

    Columns of a table are read together, because they share a language.
    """
    result: list[frozenset[str]] = [frozenset()] * len(columns)
    for table in read_tables(columns):
        read_all = zip(
            table.places, table.columns, table.names, table.descriptions, strict=True
        )
        for place, column, name, description in read_all:
            date = {"date"} if column.dtype.lower().startswith(_OF_TIME) else set()
            bare = _KEY.issuperset(name.english)
            whose = {w.removesuffix("s") for w in table.title.english if bare}
            result[place] = frozenset(
                {*_runs(name), *_runs(description), *date, *whose}
            )
    return result


def _runs(reading: PhraseReading) -> set[str]:
    """Return the words of a text as written and in English, and runs of them."""
    two = [f"{a} {b}" for a, b in pairwise(reading.english)]
    three = [f"{a} {b.split()[1]}" for a, b in pairwise(two)]
    return {*reading.words, *reading.english, *two, *three}


def _of_standard(suggestion: Suggestion) -> set[str]:
    """Return the words with which standards describe a name that says nothing."""
    column = suggestion.column
    backed = any(
        item.kind == "pack" and item.category == suggestion.category and item.weight > 0
        for item in suggestion.evidence
    )
    if not backed or not read_phrase(column.name, LANGUAGES).unknown:
        return set()
    packs = load_packs()
    same_name = packs.by_column.get(squeeze(column.name), ())
    rows = [row for row in same_name if row.category == suggestion.category]
    if len({row.pack for row in rows}) > _FEW:
        return set()
    mentioned: set[str] = set()
    for row in rows:
        languages = ("en", packs.packs[row.pack].language)
        mentioned |= _runs(read_phrase(row.description, languages, TEXT_LIMIT))
    return mentioned


def _of_values(suggestion: Suggestion) -> set[str]:
    """Return the words for the kinds of values that were recognised; never a value."""
    mentioned: set[str] = set()
    for item in suggestion.evidence:
        if item.kind == "values" and item.category == suggestion.category:
            # What a sentence adds about the name would be taken for a name seen.
            seen = _ABOUT_THE_NAME.sub("", item.text.lower())
            one = [word.removesuffix("s") for word in words(seen, TEXT_LIMIT)]
            mentioned |= {*one, *(f"{a} {b}" for a, b in pairwise(one))}
    return mentioned
