# SPDX-License-Identifier: Apache-2.0
"""Evidence from a column's own name and description.

Terms of the lexicon speak for their category with their weight. Words of the grammar
speak in pairs (`labelling_rules.COMPOUNDS`): the nearest noun of the name decides, and
if the name has none, the noun of its table does. A term that is part of such a pair
speaks less: the key of an admission is a key first, and health data second (rule R3).

A pair that is the whole name (`contact_name`) says outright what the column is, and so
does the description of a number in a codebook.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from lexfed.law.tagger.metadata.labelling_rules import (
    BARE,
    COMPOUNDS,
    NOUN_KEEPS,
    ONLY_ALONE,
    CompoundRule,
)
from lexfed.law.tagger.suggestions import (
    TIER_OF,
    EvidenceKind,
    TagEvidence,
    evidence_for,
)
from lexfed.law.tagger.words.lexicon import NOUNS, concepts_of
from lexfed.law.tagger.words.readings import NOTHING, PhraseReading, TermHit

_COMPOUND = {(row.word, row.noun): row for row in COMPOUNDS}
_PAIR_WORDS = frozenset(row.word for row in COMPOUNDS)
_A = {noun: f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}" for noun in NOUNS} | {
    "created": "a change"
}
"""The nouns as a sentence has them."""
_CODE = re.compile(r"[A-Za-z]{0,4}[-._]?\d[\dA-Za-z._-]*")
_LONG_WORD = re.compile(r"[A-Za-z]{5}")
_MORE = _PAIR_WORDS | {
    "relative", "measure", "deceased", "created", "income", "sampling"
}  # fmt: skip
_SHORT_TEXT = 3
FROM_TABLE = 0.75
"""Factor on a pair whose noun is the table's."""
CODED = 0.2
"""Factor on a name that is a number in a codebook, beside a description."""
IN_PAIR = 0.5
"""Factor on a term that is part of a pair with another meaning."""
REPEATED = 0.3
"""Factor on a word by which a name repeats its table's: in a table of comments,
`comment_author_email` is an e-mail address first."""


class NounPair(NamedTuple):
    """A noun and a word about it, found in a text."""

    row: CompoundRule
    at: int
    noun_at: int | None
    share: float


def is_code(name: str) -> bool:
    """Return True if a name is a number in a codebook, such as `Q171` or `PID-27`."""
    digits = sum(letter.isdigit() for letter in name)
    return (
        digits >= 0.25 * len(name)
        and _CODE.fullmatch(name) is not None
        and _LONG_WORD.search(name) is None
    )


def evidence_of_name(
    name: PhraseReading,
    description: PhraseReading,
    table_nouns: Sequence[str],
    coded: bool,
    title: PhraseReading = NOTHING,
) -> list[TagEvidence]:
    """Return the evidence of a column's name and description by themselves.

    A `coded` name is a number in a codebook. The network has learned without `title`,
    the table's name.
    """
    trust = CODED if coded and description.words else 1.0
    name = _less_repeated(name, title)
    return [
        *evidence_of_terms(name, "name", trust, table_nouns),
        *evidence_of_pairs(name, table_nouns, "name", trust),
        *evidence_of_terms(description, "description", 1.0, (), coded),
        *evidence_of_pairs(description, (), "description", 1.0, coded),
    ]


def _less_repeated(name: PhraseReading, title: PhraseReading) -> PhraseReading:
    """Return a name of several words, less sure of those that its table has too."""
    there = {word.removesuffix("s") for word in title.words}
    again = {
        hit.start
        for hit in name.hits
        if hit.stop - hit.start == 1
        and hit.entry.meaning in TIER_OF
        and name.words[hit.start].removesuffix("s") in there
    }
    if not again or again.issuperset(name.sources):
        return name
    kept = [at for at, source in enumerate(name.sources) if source not in again]
    return replace(
        name,
        hits=tuple(
            hit._replace(surely=hit.surely * REPEATED) if hit.start in again else hit
            for hit in name.hits
        ),
        english=tuple(name.english[at] for at in kept),
        roles=tuple(name.roles[at] for at in kept),
        sources=tuple(name.sources[at] for at in kept),
    )


def nouns_of(reading: PhraseReading) -> tuple[str, ...]:
    """Return the nouns that a name is about, in the order of its words."""
    return tuple(
        noun
        for found in concepts_of(reading.english, reading.roles)
        for noun in NOUNS
        if noun in found
    )


def evidence_of_terms(
    reading: PhraseReading,
    kind: EvidenceKind,
    share: float,
    table_nouns: Sequence[str] = (),
    outright: bool = False,
) -> Iterator[TagEvidence]:
    """Yield the evidence of the terms in a name or description."""
    inside = {
        at: pair.row.category
        for pair in _pairs(reading, table_nouns)
        for at in (pair.at, pair.noun_at)
        if at is not None
    }
    for hit in reading.hits:
        meaning = hit.entry.meaning
        tier = TIER_OF.get(meaning)
        if tier is None or hit.entry.weight == 0:
            continue
        term = " ".join(reading.words[hit.start : hit.stop])
        if term in ONLY_ALONE and len(reading.words) > 1:
            continue
        weight = hit.entry.weight * hit.surely * share
        paired = {
            inside[at]
            for at, source in enumerate(reading.sources)
            if source == hit.start and at in inside
        }
        if paired and meaning not in paired:
            weight *= IN_PAIR
        gloss = hit.entry.gloss
        means = f" ({gloss})" if gloss and gloss != term else ""
        yield evidence_for(
            kind, meaning, weight,
            f"`{term}`{means} in the {kind} matches: {meaning}",
            outright or (kind == "name" and _is_of_person(reading, hit)),
        )  # fmt: skip


def _is_of_person(reading: PhraseReading, hit: TermHit) -> bool:
    """Return True if a name is one term, for something that belongs to a person."""
    return (
        hit.stop - hit.start == len(reading.words) > 1
        and hit.entry.meaning in NOUN_KEEPS["person"]
        and "person" in nouns_of(reading)
    )


def evidence_of_pairs(
    reading: PhraseReading,
    table_nouns: Sequence[str],
    kind: EvidenceKind,
    share: float,
    outright: bool = False,
) -> Iterator[TagEvidence]:
    """Yield the evidence of pairs: a noun and a word about it."""
    for pair in _pairs(reading, table_nouns):
        row = pair.row
        whole = pair.noun_at is not None and len(reading.english) == len(
            {pair.at, pair.noun_at}
        )
        yield evidence_for(
            kind, row.category, row.weight * pair.share * share,
            f"the {kind} is the {row.word} of {_A[row.noun]} (rule {row.rule})",
            outright or (whole and kind == "name"),
        )  # fmt: skip


def _pairs(reading: PhraseReading, table_nouns: Sequence[str]) -> list[NounPair]:
    """Return the pairs of a noun and a word about it, one for each category."""
    concepts = concepts_of(reading.english, reading.roles)
    # A term that has a category says itself what its words mean together.
    telling = {hit.start for hit in reading.hits if hit.entry.meaning in TIER_OF}
    found: dict[str, NounPair] = {}
    for at, concept in enumerate(concepts):
        for word in sorted(concept & _PAIR_WORDS):
            pair = _pair(concepts, at, word, table_nouns)
            if pair is None or pair.row.category in found:
                continue
            within = pair.noun_at is not None and reading.sources[at] in telling
            if within and reading.sources[at] == reading.sources[pair.noun_at or 0]:
                continue
            found[pair.row.category] = pair
    bare = None if found else _bare(reading, concepts)
    return [bare] if bare else list(found.values())


def _bare(
    reading: PhraseReading, concepts: Sequence[frozenset[str]]
) -> NounPair | None:
    """Return the noun that a short text begins or ends with and says no more of."""
    if not 1 <= len(concepts) <= _SHORT_TEXT or frozenset().union(*concepts) & _MORE:
        return None
    telling = {hit.start for hit in reading.hits if hit.entry.meaning in TIER_OF}
    for at in (len(concepts) - 1, 0):
        for noun, row in BARE.items():
            if noun in concepts[at] and telling <= {reading.sources[at]}:
                return NounPair(row, at, at, 1.0)
    return None


def _pair(
    concepts: Sequence[frozenset[str]], at: int, word: str, table_nouns: Sequence[str]
) -> NounPair | None:
    """Return the pair of a word and the noun nearest to it, or else its table's."""
    order = sorted(
        (i for i in range(len(concepts)) if i != at), key=lambda i: (abs(i - at), i)
    )
    for i in order:
        for noun in (*NOUNS, "created"):
            if noun in concepts[i] and (word, noun) in _COMPOUND:
                return NounPair(_COMPOUND[word, noun], at, i, 1.0)
    for noun in table_nouns[:1]:
        if (word, noun) in _COMPOUND:
            return NounPair(_COMPOUND[word, noun], at, None, FROM_TABLE)
    return None
