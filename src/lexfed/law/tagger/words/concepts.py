# SPDX-License-Identifier: Apache-2.0
"""The small grammar of column names: parts of `customer_name` or `store_id`.

A name is a noun that says whom or what a row is about (`customer`, `store`) and a
word that says what is told about it (`name`, `id`). The same second word means
different things after different nouns, so both are needed. The words are data, in
`concepts.tsv`, in English; names in other languages come here through their glosses.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from itertools import zip_longest

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
