# SPDX-License-Identifier: Apache-2.0
"""The role of a table, the subject of its rows, and what its columns take from it.

`temperature` of a patient is health data, of a street sensor it is not (rule R1).
The role is found by points, from the table's name and from what its columns surely
are. Everything a column takes from its table is one of a few words, never a number,
so that one more column next to it changes nothing unless it changes the role.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lexfed.law.tagger.metadata import labelling_rules as rules
from lexfed.law.tagger.metadata.name_evidence import nouns_of
from lexfed.law.tagger.suggestions import TagEvidence, evidence_for
from lexfed.law.tagger.words.lexicon import concepts_of
from lexfed.law.tagger.words.readings import PhraseReading

STRONG = 2.0
"""Weight from which a column's own evidence counts as sure."""
ENOUGH = 1.0
"""Points that a role needs; a table with less is about something unknown."""
FEW = 1
"""Columns that the name of a table outweighs."""
_MEANING_POINTS: Mapping[str, tuple[rules.TableRole, float]] = {
    "role:person": ("person", 3.0), "role:clinical": ("clinical", 3.0),
    "role:organisation": ("organisation", 3.0), "role:device": ("device", 3.0),
    "role:dictionary": ("dictionary", 4.0), "health": ("clinical", 3.0),
    "genetic": ("clinical", 3.0), "environment": ("device", 3.0),
    "reference": ("dictionary", 3.0), "business": ("thing", 1.5),
}  # fmt: skip
"""Points for a role by a term in the table's name."""
_NOUN_POINTS: Mapping[str, tuple[rules.TableRole, float]] = {
    "person": ("person", 1.5), "case": ("person", 1.0),
    "organisation": ("organisation", 1.5), "thing": ("thing", 1.5),
    "definition": ("dictionary", 2.0),
}  # fmt: skip
"""Points for a role by the first noun of the table's name."""
_SHARE_POINTS: Mapping[str, tuple[rules.TableRole, float]] = {
    "direct_identifier": ("person", 4.0), "contact": ("person", 3.0),
    "demographic": ("person", 5.0), "person_key": ("person", 4.0),
    "employment_education": ("person", 4.0), "financial": ("person", 2.0),
    "behavioural": ("person", 3.0), "ethnicity": ("person", 4.0),
    "political": ("person", 4.0), "religion": ("person", 4.0),
    "criminal": ("person", 4.0), "health": ("clinical", 5.0),
    "genetic": ("clinical", 5.0), "environment": ("device", 5.0),
    "business": ("thing", 4.0), "reference": ("dictionary", 4.0),
}  # fmt: skip
"""Points for a role by the share of the columns of a category."""
_DEFINITIONS = frozenset(
    {"d", "dim", "ref", "lkp", "lookup", "codes", "codelist", "dict", "dictionary"}
)
"""First or last words by which databases mark tables of definitions."""

_PATIENTS = frozenset({"patient", "patients"})


@dataclass(frozen=True)
class TableView:
    """The facts about a table that its columns are read by.

    `topic` is the category that many of its telling columns belong to, or empty;
    `medical` tells that its name, or its role, makes its people patients.
    """

    role: rules.TableRole
    topic: str
    medical: bool


def table_view(name: PhraseReading, sure: Sequence[Mapping[str, float]]) -> TableView:
    """Return a table's role and topic.

    `sure` has the strong evidence of each column, summed by category.
    """
    best = [max(one, key=lambda c: (one[c], c)) for one in sure if one]
    counts = Counter(best)
    nouns = nouns_of(name)
    points = dict.fromkeys(rules.ROLES, 0.0)
    points["unknown"] = ENOUGH
    for role, worth in _name_points(name, nouns):
        points[role] += worth
    for category, number in counts.items():
        role, worth = _SHARE_POINTS.get(category, ("unknown", 0.0))
        points[role] += worth * number / (len(best) + FEW)
    if counts["demographic"] >= 2:
        # Age and sex are told of people only, whatever the table is called.
        points["person"] += 3.0
    chosen = max(rules.ROLES, key=lambda role: points[role])
    if chosen == "person" and _many(counts, "health", len(best)):
        chosen = "clinical"
    medical = chosen == "clinical" or not _PATIENTS.isdisjoint(name.english)
    topics = [c for c in counts if c in rules.TOPICS and _many(counts, c, len(best))]
    topic = max(topics, key=lambda c: (counts[c], c), default="")
    return TableView(chosen, topic, medical)


def evidence_sums(evidence: Sequence[TagEvidence]) -> dict[str, float]:
    """Return evidence by category; more of the same category counts half each time."""
    by: dict[str, list[float]] = {}
    for item in evidence:
        if item.category is not None:
            by.setdefault(item.category, []).append(item.weight)
    return {
        category: sum(
            weight * 0.5**rank
            for rank, weight in enumerate(sorted(weights, key=abs, reverse=True))
        )
        for category, weights in by.items()
    }


def sums_with_evidence(
    sums: Mapping[str, float], evidence: Iterable[TagEvidence]
) -> dict[str, float]:
    """Return sums with further evidence added in full."""
    out = dict(sums)
    for item in evidence:
        if item.category is not None:
            out[item.category] = out.get(item.category, 0.0) + item.weight
    return out


def strong_sums(evidence: Sequence[TagEvidence]) -> dict[str, float]:
    """Return the sums of evidence by which a column is surely of a category."""
    return {c: sum_ for c, sum_ in evidence_sums(evidence).items() if sum_ >= STRONG}


def sums_of_both(
    first: Mapping[str, float], second: Mapping[str, float]
) -> dict[str, float]:
    """Return the sum of two sums, category by category."""
    return {c: first.get(c, 0.0) + second.get(c, 0.0) for c in (*first, *second)}


def _name_points(
    name: PhraseReading, nouns: Sequence[str]
) -> list[tuple[rules.TableRole, float]]:
    # In a table's name a hospital is an organisation, not a fact about a patient.
    first = nouns[:1] == ("organisation",)
    found: list[tuple[rules.TableRole, float]] = [
        (role, worth * hit.surely)
        for hit in name.hits
        if not (first and hit.entry.meaning == "health")
        for role, worth in [_MEANING_POINTS.get(hit.entry.meaning, ("unknown", 0.0))]
    ]
    found += [_NOUN_POINTS[noun] for noun in nouns[:1] if noun in _NOUN_POINTS]
    if name.words and {name.words[0], name.words[-1]} & _DEFINITIONS:
        found.append(("dictionary", 6.0))
    return found


def _many(counts: Counter[str], category: str, total: int) -> bool:
    return counts[category] >= 2 and counts[category] >= 0.2 * total


_FLIP = {(flip.role, flip.before): flip for flip in rules.FLIPS}


def evidence_of_table(
    name: PhraseReading,
    description: PhraseReading,
    dtype: str,
    own: Mapping[str, float],
    view: TableView,
) -> Iterator[TagEvidence]:
    """Yield the evidence of the table's role, given the sums of a column's own one.

    A flip (`labelling_rules.FLIPS`) takes a share of a reading's weight away and gives
    it to the meaning of that reading in such a table.
    """
    about = f"the table is about {rules.ROLE_TEXT[view.role]}"
    named, described = _concepts(name), _concepts(description)
    if not (named | described) & rules.HOUSEKEEPING:
        yield from _content(named or described, view, about)
    nouns = {*nouns_of(name), *nouns_of(description)}
    left = dict(own)
    for category, weight in own.items():
        for kind, damped, share in rules.DTYPES:
            if kind == rules.dtype_kind(dtype) and category in damped and weight > 0:
                left[category] -= weight * share
                yield evidence_for(
                    "table", category, -weight * share,
                    f"values of type {kind} are hardly {category}",
                )  # fmt: skip
    for category, weight in left.items():
        flip = _FLIP.get((view.role, category))
        kept = any(category in rules.NOUN_KEEPS.get(noun, ()) for noun in nouns) or (
            category == "technical" and (named | described) & rules.HOUSEKEEPING
        )
        if flip is None or kept or weight <= 0:
            continue
        if flip.only and (view.medical or flip.only not in named | described):
            continue
        moved = weight * flip.share
        for one, signed in ((flip.before, -moved), (flip.after, moved)):
            yield evidence_for(
                "table", one, signed,
                f"{about}, where {flip.before} becomes {flip.after} "
                f"(rule {flip.rule})", bool(flip.only),
            )  # fmt: skip
    content = rules.CONTENT.get(view.role) or view.topic
    if not content and view.role == "person":
        content = "other_personal"
    if content:
        yield evidence_for(
            "table", content, rules.PRIOR_WEIGHT[view.role],
            f"{about}, and most that is told there is {content}",
        )  # fmt: skip


def _concepts(reading: PhraseReading) -> frozenset[str]:
    return frozenset[str]().union(*concepts_of(reading.english, reading.roles))


def _content(
    concepts: frozenset[str], view: TableView, about: str
) -> Iterator[TagEvidence]:
    """Yield the evidence of a plain word (`value`, `date`) in a table of that role."""
    for row in rules.CONTENTS:
        if row.role == view.role and row.word in concepts:
            yield evidence_for(
                "table", row.category, row.weight,
                f"{about}, and the name is a {row.word} (rule {row.rule})",
            )  # fmt: skip
            return
