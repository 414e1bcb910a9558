# SPDX-License-Identifier: Apache-2.0
"""Tags from the source and from people, joined into one tagged schema.

A built-in source knows its columns; for a file, people say what each column is.
Where both speak, the person wins, and the reason given is kept, and so is what had been
proposed. Which articles apply follows from a column's category, by the catalogues.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from lexfed.data.builtin.declarations import DeclaredTag
from lexfed.data.schema import Schema
from lexfed.law.articles import articles_of, words_of
from lexfed.law.catalogue import LawCatalogue
from lexfed.law.explanations import Consultation, Proposal
from lexfed.law.tagger.pipeline import tag_columns
from lexfed.law.tagger.suggestions import (
    TIER_OF,
    DescribedColumn,
    Suggestion,
    TaggerSettings,
)
from lexfed.law.tags import Obligation, Tag, TaggedSchema
from lexfed.tiers import Tier

UNNAMED = "stated"
"""The category of a column whose tier a person stated without naming a category."""
PERSON_KEY = "key of the person"
"""Description of a column that a configuration names as `data.person`."""


@dataclass(frozen=True)
class StatedTag:
    """A statement about a column; the category may be left open.

    It is `by` a person who decided, or by a rule: a suggestion that was accepted with
    others, and that no person looked at.
    """

    tier: Tier
    reason: str
    category: str | None = None
    by: Literal["person", "rule"] = "person"


def declared_tags(declared: Mapping[str, DeclaredTag]) -> dict[str, Tag]:
    """Return the tags that a built-in source declares for its own columns."""
    tags = {}
    for name, tag in declared.items():
        obligations = tuple(Obligation(*article) for article in tag.articles)
        tags[name] = Tag(tag.tier, tag.category, obligations, tag.reason, "generator")
    return tags


def suggest_by_names(
    names: Iterable[str],
    table: str,
    settings: TaggerSettings,
    person: str | None = None,
) -> dict[str, Suggestion]:
    """Return the tagger's suggestions for columns of one table by their names alone."""
    columns = [
        DescribedColumn(table, name, PERSON_KEY if name == person else "")
        for name in names
        if name.strip()
    ]
    found = tag_columns(columns, settings) if columns else ()
    return {suggestion.column.name: suggestion for suggestion in found}


def tag_schema(
    schema: Schema,
    declared: Mapping[str, Tag],
    stated: Mapping[str, StatedTag],
    jurisdictions: Collection[str] | None = None,
    catalogues: Sequence[LawCatalogue] = (),
    suggestions: Mapping[str, Suggestion] | None = None,
) -> TaggedSchema:
    """Return the schema with every column tagged, or raise `ConfigError`.

    Tags in `declared` came with the source; those of other columns are left out, so
    that a run may use fewer columns. With `jurisdictions` only their articles are kept
    among those of the source. The catalogues are asked about columns that people
    tagged; the tagger's suggestions are kept beside people's decisions.

    Guarantees:
        A person's tier, reason and category stand.
        A column that a person tagged has the articles of its category and tier, or
            those of the source if the person named none that catalogues know.
        What a person overruled is kept beside the decision.
    """
    suggestions = suggestions or {}
    sources = {source for column in schema.columns for source in column.sources}
    known = {*schema.names, *schema.keys, *sources}
    tags = {name: tag for name, tag in declared.items() if name in known}
    if jurisdictions is not None:
        for name, tag in list(tags.items()):
            kept = (o for o in tag.obligations if o.jurisdiction in jurisdictions)
            tags[name] = replace(tag, obligations=tuple(kept))
    named = [name for name in stated if name in known] if catalogues else []
    columns = [
        suggestions[name].column if name in suggestions else DescribedColumn("", name)
        for name in named
    ]
    mentioned = dict(zip(named, words_of(columns), strict=True))
    for name, decision in stated.items():
        before, tier = tags.get(name), decision.tier
        found: Proposal | None = None
        if before is not None:
            found = Proposal(before.tier, before.category, "generator", before.reason)
        elif name in suggestions:
            found = Proposal.of(suggestions[name])
        if before is not None and decision.category not in TIER_OF:
            category = decision.category or before.category
            obligations = before.obligations
        else:
            category = decision.category or UNNAMED
            words = mentioned.get(name, frozenset())
            articles = articles_of(tier.label, category, words, catalogues)
            obligations = tuple(
                Obligation(each.jurisdiction, each.reference, each.id)
                for each in articles
            )
        tags[name] = Tag(
            tier, category, obligations, decision.reason, decision.by, found
        )
    asked = Consultation.of(catalogues, bool(suggestions)) if stated else Consultation()
    return TaggedSchema(schema, tags, asked)


def articles_known(tag: Tag, asked: Consultation) -> bool:
    """Return True if a column's articles were looked up, so that none is a finding.

    A statement of a tier without a category leaves open which articles apply.
    """
    if tag.by != "person" and tag.proposal is None:
        return True
    before, kept = tag.proposal, ("generator", tag.category)
    if before is not None and (before.by, before.category) == kept:
        return True
    return bool(asked.catalogues) and tag.category in TIER_OF
