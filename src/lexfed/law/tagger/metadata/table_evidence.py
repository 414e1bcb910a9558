# SPDX-License-Identifier: Apache-2.0
"""Evidence that a column takes from its table, by the rules of the table's role."""

from collections.abc import Iterator, Mapping

from lexfed.law.tagger.metadata.labelling_rules import (
    CONTENT,
    CONTENTS,
    DTYPES,
    FLIPS,
    HOUSEKEEPING,
    NOUN_KEEPS,
    PRIOR_WEIGHT,
    ROLE_TEXT,
    dtype_kind,
)
from lexfed.law.tagger.metadata.name_evidence import nouns_of
from lexfed.law.tagger.metadata.table_roles import TableView
from lexfed.law.tagger.suggestions import TIER_OF, TagEvidence
from lexfed.law.tagger.words.concepts import concepts_of
from lexfed.law.tagger.words.phrases import PhraseReading

_FLIP = {(flip.role, flip.before): flip for flip in FLIPS}


def evidence_of_table(
    name: PhraseReading,
    description: PhraseReading,
    dtype: str,
    own: Mapping[str, float],
    seen: TableView,
) -> Iterator[TagEvidence]:
    """Yield the evidence of the table's role, given a column's own evidence.

    A flip (`labelling_rules.FLIPS`) takes a share of a reading's weight away and gives
    it to the meaning of that reading in such a table. `own` has the sums of the
    column's own evidence, by category.
    """
    about = f"the table is about {ROLE_TEXT[seen.role]}"
    named, told = _concepts(name), _concepts(description)
    if not (named | told) & HOUSEKEEPING:
        yield from _content(named or told, seen, about)
    nouns = {*nouns_of(name), *nouns_of(description)}
    left = dict(own)
    for category, weight in own.items():
        for kind, damped, share in DTYPES:
            if kind == dtype_kind(dtype) and category in damped and weight > 0:
                left[category] -= weight * share
                yield TagEvidence(
                    "table", TIER_OF[category], category, -weight * share,
                    f"values of type {kind} are hardly {category}",
                )  # fmt: skip
    for category, weight in left.items():
        flip = _FLIP.get((seen.role, category))
        kept = any(category in NOUN_KEEPS.get(noun, ()) for noun in nouns) or (
            category == "technical" and (named | told) & HOUSEKEEPING
        )
        if flip is None or kept or weight <= 0:
            continue
        if flip.only and (seen.medical or flip.only not in named | told):
            continue
        moved = weight * flip.share
        for one, signed in ((flip.before, -moved), (flip.after, moved)):
            yield TagEvidence(
                "table", TIER_OF[one], one, signed,
                f"{about}, where {flip.before} becomes {flip.after} "
                f"(rule {flip.rule})", bool(flip.only),
            )  # fmt: skip
    content = CONTENT.get(seen.role) or seen.topic
    if not content and seen.role == "person":
        content = "other_personal"
    if content:
        yield TagEvidence(
            "table", TIER_OF[content], content, PRIOR_WEIGHT[seen.role],
            f"{about}, and most that is told there is {content}",
        )  # fmt: skip


def _concepts(reading: PhraseReading) -> frozenset[str]:
    return frozenset[str]().union(*concepts_of(reading.english, reading.roles))


def _content(
    said: frozenset[str], seen: TableView, about: str
) -> Iterator[TagEvidence]:
    """Yield the evidence of a plain word (`value`, `date`) in a table of that role."""
    for row in CONTENTS:
        if row.role == seen.role and row.said in said:
            yield TagEvidence(
                "table", TIER_OF[row.category], row.category, row.weight,
                f"{about}, and the name is a {row.said} (rule {row.rule})",
            )  # fmt: skip
            return
